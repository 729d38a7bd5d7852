"""Reading PyTorch's native_functions.yaml one operator at a time, by text, without a YAML parser.

The file is 600 kB. To find one operator by text takes 0.7 ms. To import PyYAML takes 22 ms, and to read the file with
it 0.23 s, or 1.1 s where PyYAML was built without libyaml. Every entry starts in column 0 with
``- func: NAME(`` or ``- func: NAME.OVERLOAD(``, its keys stand in column 2 and the entries of a nested
table in column 4 (torchgen/packaged/ATen/native/README.md), so a text search finds the few entries of an operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import SymbolError

FILE = Path("torchgen/packaged/ATen/native/native_functions.yaml")
_ENTRY = "- func: "


@dataclass(frozen=True)
class NativeFunction:
    """One entry of native_functions.yaml: one overload of an operator.

    ``name`` is the operator (``add``, ``add_``), ``overload`` its overload name ("" for the default one),
    ``schema`` the whole signature as written. ``dispatch`` maps a dispatch key to the kernel's name as
    written. ``delegate`` is the overload (``add.out``) whose structured kernel does the work; ``structured``
    is true for that one. ``implicit``: there is no dispatch table, the one kernel is the operator's own name
    for CompositeImplicitAutograd. ``autogen`` are the overloads that torchgen makes from this one;
    ``generated_from`` is set on those, and their ``schema`` is empty. ``tags`` and ``variants`` (``function``,
    ``method``) are as written. ``precomputed``: what a structured kernel is given in place of an argument of this
    name, as the arguments of a schema are written; where the name is empty, behind those that are no outputs.
    """

    name: str
    overload: str
    schema: str
    dispatch: tuple[tuple[str, str], ...] = ()
    structured: bool = False
    delegate: str | None = None
    implicit: bool = False
    ufunc: bool = False
    variants: tuple[str, ...] = ("function",)
    python_module: str | None = None
    autogen: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    precomputed: tuple[tuple[str, str], ...] = ()
    generated_from: NativeFunction | None = None

    @property
    def full_name(self) -> str:
        """``add.Tensor``; the bare name for the default overload."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def unambiguous_name(self) -> str:
        """``add_Tensor``: what torchgen makes of it in C++ (``OperatorName.unambiguous_name``)."""
        return f"{self.name}_{self.overload}" if self.overload else self.name

    @property
    def out_variant(self) -> bool:
        """True when the schema writes into keyword-only arguments (``*, Tensor(a!) out``)."""
        keyword_only = self.schema.split("->")[0].partition(", *, ")[2] or self.schema.partition("(*, ")[2]
        return bool(re.search(r"Tensor\([a-z]!\)(\[\])? \w+", keyword_only))


def read_text(torch_directory: Path) -> str:
    """The text of native_functions.yaml of the torch in ``torch_directory`` (``…/site-packages/torch``).

    :raises SymbolError: the file is not there or cannot be read.
    """
    path = torch_directory.parent / FILE
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SymbolError(
            f"cannot read PyTorch's operator table {path}: {error.strerror}",
            "operators are known from the torchgen package that pip installs beside torch; "
            "name the C++ function instead, for example at::native::randn",
        ) from error


def find(text: str, name: str) -> list[NativeFunction]:
    """The entries of the operator ``name`` (no overload) in file order; empty when there is none."""
    return [parse(block) for block in _blocks(text, name)]


def find_generated(text: str, name: str) -> list[NativeFunction]:
    """The overloads of ``name`` that torchgen makes from other entries (their ``autogen:`` lines).

    As in ``torchgen/native_function_generation.py``, composite implicit operators outside the core get none.
    """
    found: dict[str, NativeFunction] = {}
    for origin in _origins(text, name):
        composite = origin.implicit or "CompositeImplicitAutograd" in dict(origin.dispatch)
        if composite and "core" not in origin.tags:
            continue
        for generated in origin.autogen:
            base, _, overload = generated.partition(".")
            if base == name:
                found.setdefault(generated, NativeFunction(base, overload, schema="", generated_from=origin))
    return list(found.values())


def that_dispatch_to(text: str, kernel: str) -> list[NativeFunction]:
    """The entries in whose dispatch tables a kernel of this bare name stands."""
    pattern = re.compile(rf"^    [\w, ]+: (?:\w+::)*{re.escape(kernel)}\s*(?:#.*)?$", re.MULTILINE)
    starts = dict.fromkeys(
        text.rfind("\n" + _ENTRY, 0, match.start()) + 1 for match in pattern.finditer(text)
    )
    return [parse(_block_at(text, start)) for start in starts]


def exists(text: str, name: str) -> bool:
    """Whether the table has an overload of the operator ``name``, be it written there or generated."""
    return next(_blocks(text, name), None) is not None or bool(find_generated(text, name))


def names(text: str) -> list[str]:
    """Every operator name, without overloads, in file order, each once."""
    return list(dict.fromkeys(re.findall(r"^- func: ([\w:]+)", text, re.MULTILINE)))


def line_of(text: str, entry: NativeFunction) -> int:
    """The line, from 1, at which an entry begins; for an overload that torchgen makes, that of its origin."""
    written = entry.generated_from or entry
    return text.count("\n", 0, text.index(f"\n{_ENTRY}{written.schema}") + 1) + 1


def _blocks(text: str, name: str) -> Iterator[str]:
    for end in "(.":
        needle = f"\n{_ENTRY}{name}{end}"
        at = text.find(needle)
        while at >= 0:
            yield _block_at(text, at + 1)
            at = text.find(needle, at + len(needle))


def _origins(text: str, name: str) -> Iterator[NativeFunction]:
    """The entries whose ``autogen:`` line names the operator, each once."""
    before = -1
    at = text.find(f" {name}")
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        follows = text[at + 1 + len(name) : at + 2 + len(name)]
        if follows in (".", ",", "\n") and text.startswith("  autogen: ", line):
            start = text.rfind("\n" + _ENTRY, 0, line) + 1
            if start != before:
                yield parse(_block_at(text, start))
            before = start
        at = text.find(f" {name}", at + 1)


def _block_at(text: str, start: int) -> str:
    end = text.find("\n" + _ENTRY, start)
    return text[start : end if end >= 0 else len(text)]


def parse(block: str) -> NativeFunction:
    """One entry, from its ``- func:`` line to the line before the next entry."""
    scalars: dict[str, str] = {}
    tables: dict[str, list[tuple[str, str]]] = {}
    precomputed: list[tuple[str, str]] = []
    key = "func"
    for line in block.splitlines():
        content = _without_comment(line)
        if not content.strip():
            continue
        indent = len(content) - len(content.lstrip())
        left, colon, right = content.strip().partition(": ")
        if line.startswith(_ENTRY):
            scalars["func"] = content[len(_ENTRY) :].strip()
        elif key == "precomputed" and content.lstrip().startswith("- "):
            name, arrow, instead = content.strip()[len("- ") :].partition(" -> ")
            precomputed.append((name, instead) if arrow else ("", name))
        elif indent == 2:
            key = left.rstrip(":")
            if colon:
                scalars[key] = right.strip()
        elif indent > 2 and colon:
            tables.setdefault(key, []).append((left.strip(), right.strip()))
    schema = scalars["func"]
    name, _, overload = schema.partition("(")[0].partition(".")
    dispatch = tuple(
        (one.strip(), kernel) for keys, kernel in tables.get("dispatch", []) for one in keys.split(",")
    )
    structured = _is_true(scalars.get("structured"))
    delegate = scalars.get("structured_delegate")
    return NativeFunction(
        name=name,
        overload=overload,
        schema=schema,
        dispatch=dispatch,
        structured=structured,
        delegate=delegate,
        implicit=not structured and delegate is None and not {"dispatch"} & (scalars.keys() | tables.keys()),
        ufunc="ufunc_inner_loop" in scalars or "ufunc_inner_loop" in tables,
        variants=_listed(scalars.get("variants", "function")),
        python_module=scalars.get("python_module"),
        autogen=_listed(scalars.get("autogen", "")),
        tags=_listed(scalars.get("tags", "").strip("[]")),
        precomputed=tuple(precomputed),
    )


def _without_comment(line: str) -> str:
    if line.lstrip().startswith("#"):
        return ""
    return line.split(" #", 1)[0].rstrip()


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() == "true"


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
