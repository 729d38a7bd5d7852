"""The way of generation: the files that torchgen makes of an operator, by what, and in which library they are.

Nothing of it is guessed: a row is there where the library has a function of the name that the generator gives it. Which
of the numbered files (shards) the function was written to is read from the library's symbol table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...shared.libraries import TORCH_CPU, TORCH_CUDA, TORCH_PYTHON
from ...shared.symbol_table import ENTRY, STT_FUNC
from ..objfile import Objfile
from ..source_files import SourceFiles
from . import derivatives, native_functions
from .generation_rules import (
    BACKEND,
    BINDING,
    DISPATCHER,
    FUNCTIONAL,
    FUNCTIONALIZATION,
    INPLACE,
    KERNEL_KEY,
    NODE,
    ORDER,
    OUT,
    PYTHON_NODE,
    SCHEMA,
    TRACE,
    UFUNC,
    UFUNC_KERNEL,
    VARIABLE,
    VIEW_COPY,
    Generator,
    Rule,
)
from .native_functions import NativeFunction
from .operator_chain import TorchInstallation
from .operators import cpp_name, wrapper_names

_KEY = re.compile(r"Register(?!Functionalization_)(\w+)_\d+\.cpp")
_GENERATED_BY = re.compile(r"@generated (?:by (\S+) )?from (\S+)")
# Functions that torchgen makes are called through these, and mostly inlined into them (ATen/core/boxing/impl).
_CALLER = re.compile(r"_ZN3c104impl\d+(wrap_kernel_functor_unboxed_|make_boxed_from_unboxed_functor)I")


@dataclass(frozen=True)
class Place:
    """A generated function in a library; ``inside`` is the function that it was inlined into."""

    function: str
    library: str
    address: int
    inside: str | None = None


@dataclass(frozen=True)
class GeneratedFile:
    """A source file that torchgen has made.

    ``path`` is where PyTorch's build writes it, None where the symbol table does not tell. ``template`` is its template
    in the folder of the installed packages, None where that is not there. ``library`` is the one that it was compiled
    into. ``generator`` is None where the functions are written by hand: in the template, or (None too) elsewhere.
    """

    layer: str
    path: str | None
    library: str
    template: str | None
    generator: Generator | None
    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Header:
    """A generated header of the wheel, by its path there, and from which template it says that it was made."""

    path: str
    template: str


@dataclass(frozen=True)
class Entry:
    """An overload in native_functions.yaml: its line; ``made_from`` is the entry that torchgen makes it from."""

    overload: str
    schema: str | None
    line: int
    made_from: str | None


@dataclass(frozen=True)
class Generation:
    """All that torchgen makes of an operator. ``commit`` is the one that PyTorch was built from."""

    operator: str
    entries: tuple[Entry, ...]
    headers: tuple[Header, ...]
    files: tuple[GeneratedFile, ...]
    commit: str | None


@dataclass(frozen=True)
class _Wanted:
    """A function that a generator would write: its name for people, and the end of its mangled name."""

    rule: Rule
    function: str
    mangled: str


def generation(torch: TorchInstallation, name: str) -> Generation:
    """What torchgen makes of an operator (``randn``) or one overload (``add.Tensor``).

    :raises SpecError: there is no such operator. :raises SymbolError: a file of the installation cannot be read.
    """
    torch.table.symbols_for(name)  # raises SpecError for an operator that does not exist
    entries = torch.table.lookup(name)
    text = native_functions.read_text(torch.directory)
    rows = tuple(
        Entry(
            one.full_name,
            one.schema or None,
            native_functions.line_of(text, one),
            one.generated_from.full_name if one.generated_from else None,
        )
        for one in entries
    )
    libraries = [_Library(name, found) for name in _LIBRARIES if (found := torch.library(name)) is not None]
    keys = sorted({key for one in libraries for key in one.keys})
    wanted = [one for entry in entries for one in _wanted(torch, entry, keys)]
    packages = torch.directory.parent
    files = [file for library in libraries for file in library.files(wanted, packages)]
    files.sort(key=lambda one: ([rule.layer for rule in ORDER].index(one.layer), one.path or ""))
    return Generation(
        name.removeprefix("aten::"),
        rows,
        _headers(torch.directory, entries, keys),
        tuple(files),
        torch.commit,
    )


_LIBRARIES = (TORCH_PYTHON, TORCH_CPU, TORCH_CUDA)


def _wanted(torch: TorchInstallation, entry: NativeFunction, keys: list[str]) -> Iterator[_Wanted]:
    plain = cpp_name(entry)
    with_overload = f"{plain}_{entry.overload}" if entry.overload else plain
    local = "_GLOBAL__N_1"
    yield _Wanted(
        BINDING,
        f"torch::autograd::THPVariable_{entry.name}",
        f"8autogradL{_sized(f'THPVariable_{entry.name}')}E",
    )
    yield _Wanted(
        DISPATCHER,
        f"at::_ops::{entry.unambiguous_name}::call",
        f"4_ops{_sized(entry.unambiguous_name)}4callE",
    )
    yield _Wanted(BACKEND, f"at::(anonymous namespace)::{plain}", f"{local}{_sized(plain)}E")
    for rule, scope in ((TRACE, "TraceType"), (INPLACE, "ADInplaceOrView"), (VARIABLE, "VariableType")):
        outer = "torch::autograd::VariableType" if rule is VARIABLE else f"torch::{scope}"
        yield _Wanted(
            rule,
            f"{outer}::(anonymous namespace)::{with_overload}",
            f"{_sized(scope)}12{local}{_sized(with_overload)}E",
        )
    yield _Wanted(
        FUNCTIONALIZATION,
        f"at::functionalization::{with_overload}",
        f"{_sized('functionalization')}{_sized(with_overload)}E",
    )
    for key in keys:
        for wrapper in wrapper_names(entry, key):
            yield _Wanted(KERNEL_KEY, f"at::(anonymous namespace)::{wrapper}", f"{local}{_sized(wrapper)}E")
    made_by = FUNCTIONAL
    if entry.overload.endswith("out"):
        made_by = OUT
    elif entry.name.endswith("_copy"):
        made_by = VIEW_COPY
    for kernel in (with_overload, f"{with_overload}_symint", plain, f"{plain}_symint"):
        yield _Wanted(made_by, f"at::native::{kernel}", f"6native{_sized(kernel)}E")
    if entry.ufunc or entry.delegate is not None:
        made = f"structured_ufunc_{entry.name}_CPU"
        yield _Wanted(UFUNC, f"at::native::{made}::impl", f"6native{_sized(made)}4implE")
        kernel = f"{entry.name}_kernel"
        yield _Wanted(
            UFUNC_KERNEL,
            f"at::native::(anonymous namespace)::{kernel}",
            f"6native12{local}{_sized(kernel)}E",
        )
    for one in derivatives.find(torch.derivatives, entry.full_name):
        if one.node is not None:
            yield _Wanted(
                NODE,
                f"torch::autograd::generated::{one.node}::apply",
                f"9generated{_sized(one.node)}5applyE",
            )
            getters = f"THP{one.node}_"
            yield _Wanted(PYTHON_NODE, f"torch::autograd::generated::{getters}*", getters)
        if one.key != derivatives.DEFAULT:
            with_key = f"{with_overload}_{one.key}"
            yield _Wanted(
                VARIABLE,
                f"torch::autograd::VariableType::(anonymous namespace)::{with_key}",
                f"12VariableType12{local}{_sized(with_key)}E",
            )


def _sized(name: str) -> str:
    """A name as mangled names have it (Itanium C++ ABI, 5.1.2)."""
    return f"{len(name)}{name}"


# By rule and source file (None: not known), the places of each function.
_Found = dict[tuple[Rule, str | None], dict[str, Place]]


@dataclass
class _Library:
    """A library of PyTorch, and the source files that it was made from."""

    name: str
    file: Objfile
    _sources: SourceFiles = field(init=False)

    def __post_init__(self) -> None:
        self._sources = SourceFiles(self.file)

    @cached_property
    def keys(self) -> set[str]:
        """The dispatch keys for which the library has generated registrations."""
        return {match[1] for name in self._sources.names if (match := _KEY.fullmatch(name))}

    def files(self, wanted: list[_Wanted], packages: Path) -> Iterator[GeneratedFile]:
        """The generated files with the wanted functions that the library has."""
        if SCHEMA.files in self._sources.names:
            yield self._file(SCHEMA, SCHEMA.files, packages, ())
        found: _Found = {}
        for one, mangled, address, size in self._located(list(dict.fromkeys(wanted))):
            source = self._sources.name_of(mangled, address, size)
            if one.rule.only and (source is None or not re.fullmatch(one.rule.files, source)):
                continue
            match = _CALLER.match(mangled)
            if match is None and not _is_named(mangled, one.mangled):
                continue  # another template that has the function among its arguments
            place = Place(one.function, self.name, address, f"c10::impl::{match[1]}" if match else None)
            known = found.setdefault((one.rule, source), {})
            if one.function not in known or (known[one.function].inside and not place.inside):
                known[one.function] = place
        for (rule, source), places in _sorted_out(found).items():
            yield self._file(rule, source, packages, tuple(places.values()))

    def _file(
        self, rule: Rule, source: str | None, packages: Path, places: tuple[Place, ...]
    ) -> GeneratedFile:
        if source is None:
            return GeneratedFile(
                rule.layer, None, self.name, None, _defined(packages, rule.generator), places
            )
        if not re.fullmatch(rule.files, source):
            return GeneratedFile(rule.layer, source, self.name, None, None, places)
        template = _there(packages, rule.template_of(source))
        by_hand = template is not None and _are_in((packages / template).read_text(encoding="utf-8"), places)
        generator = None if by_hand else _defined(packages, rule.generator)
        return GeneratedFile(rule.layer, f"{rule.folder}/{source}", self.name, template, generator, places)

    def _located(self, wanted: list[_Wanted]) -> Iterator[tuple[_Wanted, str, int, int]]:
        """The functions of the library whose mangled names have a wanted end: that name, the address, the size."""
        elf = self.file.elf
        symbols, strings = elf.section(".symtab"), elf.section(".strtab")
        if symbols is None or strings is None:
            return
        text = bytes(elf.view(strings))
        by_end = {one.mangled.encode(): one for one in wanted}
        named = {
            text.rfind(b"\0", 0, at) + 1: one for end, one in by_end.items() for at in _occurrences(text, end)
        }
        for name, info, _, section, address, size in ENTRY.iter_unpack(elf.view(symbols)):
            if name in named and info & 15 == STT_FUNC and section and size:
                mangled = text[name : text.index(b"\0", name)].decode()
                if not mangled.endswith(".cold"):
                    yield named[name], mangled, address, size


def _sorted_out(found: _Found) -> _Found:
    """The same where a function whose file is not known goes to the one that another place of it is in."""
    files = {(rule, name): places for (rule, source), places in found.items() if source for name in places}
    for (rule, source), places in found.items():
        for name in [*places] if source is None else ():
            if (rule, name) in files:
                files[rule, name][name] = places.pop(name)
    return {key: places for key, places in found.items() if places}


def _is_named(mangled: str, end: str) -> bool:
    """Whether a mangled name is that of the function whose name has this end: only scopes stand before it."""
    at, found = len("_ZN"), mangled.index(end)
    while at < found:
        part = re.compile(r"L?(\d+)").match(mangled, at)
        if part is None:
            return False
        at = part.end() + int(part[1])
    # The anonymous namespace is a part of the scopes that the end begins within.
    return at >= found


def _occurrences(text: bytes, part: bytes) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        # A digit before the number that the part begins with would be part of that number.
        if not (part[:1].isdigit() and text[at - 1 : at].isdigit()):
            yield at
        at = text.find(part, at + 1)


def _are_in(template: str, places: tuple[Place, ...]) -> bool:
    """Whether a template has the functions themselves."""
    names = [place.function.rpartition("::")[2] for place in places]
    return bool(names) and all(re.search(rf"\b{re.escape(name)}\(", template) for name in names)


def _there(packages: Path, path: str) -> str | None:
    return path if (packages / path).is_file() else None


def _defined(packages: Path, generator: Generator) -> Generator:
    """The generator with the line of its definition, where this PyTorch has brought its file."""
    try:
        text = (packages / generator.file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return generator
    match = re.search(rf"^(?:def|class) {generator.function}\b", text, re.MULTILINE)
    line = text.count("\n", 0, match.start()) + 1 if match else None
    return Generator(generator.file, generator.function, line)


def _headers(torch: Path, entries: list[NativeFunction], keys: list[str]) -> tuple[Header, ...]:
    """The operator's own headers that are in the wheel."""
    roots = dict.fromkeys(_root(entry) for entry in entries)
    ends = ["", "_ops", "_native", "_meta", *(f"_{key.lower()}_dispatch" for key in keys)]
    found = []
    for root in roots:
        for end in ends:
            path = f"include/ATen/ops/{root}{end}.h"
            if (torch / path).is_file():
                match = _GENERATED_BY.search(
                    (torch / path).read_text(encoding="utf-8", errors="replace")[:400]
                )
                found.append(Header(f"torch/{path}", match[2] if match else "not known"))
    return tuple(found)


def _root(entry: NativeFunction) -> str:
    """``add`` for ``add_`` and ``__iadd__`` (``BaseOperatorName`` in torchgen/model.py)."""
    dunder = re.fullmatch(r"__(i?)([^_]+)__", entry.name)
    base = dunder[2] if dunder else entry.name.removesuffix("_")
    return base.removesuffix("_functional")
