"""Functions of Rust, Cython and Fortran: found by what their authors call them, and named so. OpenMP's parts too.

Each of these languages has linkage names of its own, beside those of C and C++ which ``name_query.py`` knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from ...known.binding_layers import RUST_RUNTIME, functions_of_macro, implementation_of
from ...shared.binding_names import CYTHON_FUSED, CYTHON_GENERATOR, CYTHON_WRAPPER
from ...shared.elf import ElfFile
from ...shared.symbol_table import SymbolTable
from ...symbols.names import cxx_names
from ...symbols.names.demangle import demangle_all
from ...symbols.names.name_query import Query
from ..rust.debug_info import is_in_debug_info
from ..rust.names import demangle_rust, is_rust, short_rust_name
from .names import ACCESSORS, CythonName, Part, cython_function, is_named

_RUSTC = b"rustc version"  # what rustc writes into .comment, which strip leaves in place
_FORTRAN_RUNTIMES = ("libgfortran", "libflang", "libifcore", "libFortranRuntime", "libnvf")
_FORTRAN_COMPILERS = (b"GNU Fortran", b"flang", b"Intel(R) Fortran")  # DW_AT_producer
_FORTRAN_LIBRARY = re.compile(r"blas|lapack|arpack|libmkl_|libflame|scalapack")
_FORTRAN = re.compile(r"[a-z][a-z\d_]*?[a-z\d]_{1,2}")
_FORTRAN_MODULE = re.compile(r"__(?P<module>[a-z]\w*?)_MOD_(?P<name>[a-z]\w*)")
_OUTLINED = re.compile(
    r"(?P<name>.+?)(?: \[clone)?[ .]+(?:\._?)?(?:_?omp_fn|omp_outlined(?:_debug__)?)[.\d]*\]?$"
)
_CYTHON = b"__pyx_"
_PART = re.compile(rb"\.(?:cold|part)\b|omp_(?:fn|outlined)")  # what the compiler has taken out of a function
_EXTENSION = re.compile(r"(?!lib)[^.]+\.(?:.*\.)?so")  # the file of a module of Python
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def spoken(table: SymbolTable, linkage: str, name: str) -> tuple[str | None, str | None]:
    """(language, what the author calls it) of the function with this linkage name and demangled name.

    None where the name tells no language, or is as the author wrote it.
    """
    if is_rust(linkage):
        return "rust", _rust_name(table, name)
    if RUST_RUNTIME.match(linkage) and has_rust(table.elf):
        return "rust", None
    if "omp_" in linkage and (outlined := _OUTLINED.match(name)) is not None:
        short = _short(outlined["name"])
        author = cython_name(table, short) if "__pyx_" in linkage else None
        language = "cython" if author is not None else None
        return language, f"{author.text if author is not None else short} [parallel region]"
    if "__pyx_" in linkage:
        return "cython", _cython_name(table, cxx_names.parse(name).short)
    module = _FORTRAN_MODULE.fullmatch(linkage)
    if module is not None:
        return "fortran", f"{module['module']}::{module['name']}"
    if linkage.endswith("_") and _FORTRAN.fullmatch(linkage) and is_fortran(table.elf):
        return "fortran", linkage.rstrip("_")
    return ("c++" if linkage.startswith("_Z") else None), None


def _short(name: str) -> str:
    return cxx_names.parse(name).short


def has_rust(elf: ElfFile) -> bool:
    """Whether rustc made some of this file."""
    comment = elf.section(".comment")
    return comment is not None and _RUSTC in elf.contents(comment)


def is_fortran(elf: ElfFile) -> bool:
    """Whether Fortran is in this file, or what is called as Fortran is: by what it needs, its debug info, its name."""
    if any(name.startswith(_FORTRAN_RUNTIMES) for name in elf.needed):
        return True
    if _FORTRAN_LIBRARY.search(PurePath(elf.path).name):
        return True
    strings = elf.section(".debug_str")
    return strings is not None and any(
        elf.find(compiler, strings.offset, strings.end) >= 0 for compiler in _FORTRAN_COMPILERS
    )


def is_extension(path: str) -> bool:
    """Whether a file is called as a module of Python is: there a name of Cython's needs no module before it."""
    return _EXTENSION.fullmatch(PurePath(path).name) is not None


def strings_named(table: SymbolTable, query: Query) -> Iterator[dict[int, str]]:
    """File offset -> demangled text of the strings in the table that the query means in these languages."""
    if query.exact or query.is_linkage_name:
        return
    if has_rust(table.elf):
        yield _rust_strings(table, query)
    path = tuple(query.text.split("."))
    if all(map(str.isidentifier, path)) and (len(path) > 1 or is_extension(table.elf.path)):
        yield _cython_strings(table, path)
    if is_fortran(table.elf):
        yield _fortran_strings(table, query.text.lower())


# -- Rust -----------------------------------------------------------------------------------------


def _rust_strings(table: SymbolTable, query: Query) -> dict[int, str]:
    needles = _IDENTIFIER.findall(query.text.rpartition(">::")[2])
    if not needles:
        return {}
    wanted = max(needles, key=len) if query.is_glob else needles[-1]
    found: dict[int, str] = {}
    for offset, string in table.strings.holding(wanted.encode()):
        if string.startswith((b"_R", b"_ZN")):
            text = demangle_rust(string.decode("utf-8", "replace"))
            if text is not None and query.matches_rust(text):
                found[offset] = text
    return found or _rust_wrappers(table, query, wanted)


def _rust_wrappers(table: SymbolTable, query: Query, wanted: str) -> dict[int, str]:
    """The functions that PyO3's macros made around the one that is meant, which the compiler put into them."""
    found = {}
    for offset, string in table.strings.holding(wanted.encode()):
        if b"__pymethod_" not in string and b"__pyfunction_" not in string:
            continue
        text = demangle_rust(string.decode("utf-8", "replace"))
        if text is not None and any(
            query.matches_rust(own) for own in functions_of_macro(short_rust_name(text))
        ):
            found[offset] = text
    return found


def _rust_name(table: SymbolTable, name: str) -> str:
    """What the author calls a function; also one of PyO3's macros, where the author's own is in it and nowhere else."""
    short = short_rust_name(name)
    own = functions_of_macro(short)
    return own[0] if own and not any(_has_rust_function(table, one) for one in own) else short


def _has_rust_function(table: SymbolTable, path: str) -> bool:
    """Whether a function of Rust has this path, one that was inlined too."""
    query = Query.of(f"::{path}")
    wrappers = _rust_wrappers(table, query, path.rpartition("::")[2])
    return bool(_rust_strings(table, query).keys() - wrappers.keys()) or is_in_debug_info(table.elf, path)


# -- Cython ---------------------------------------------------------------------------------------


def _cython_strings(table: SymbolTable, path: tuple[str, ...]) -> dict[int, str]:
    """Of the C functions that belong to one function of the author, the one with its lines.

    Of fused types each combination has one; what chooses between them for a call from Python has none.
    """
    found: dict[tuple[str, ...], list[tuple[Part, int, str]]] = {}
    needles = dict.fromkeys((path[-1], path[-2] if path[-1] in ACCESSORS and len(path) > 1 else path[-1]))
    functions = [row for needle in needles for row in _cython_functions(table, needle.encode())]
    wanted = [*functions, *_generators(table)]
    for offset, text, function in wanted:
        if is_named(function, path):
            found.setdefault(function.path, []).append((function.part, offset, text))
    chosen: dict[int, str] = {}
    for parts in found.values():
        typed = _of_types(text for _, _, text in parts)
        parts = [one for one in parts if _written(_short(one[2])) in typed] or parts
        best = min(part for part, _, _ in parts)
        chosen |= {
            offset: text for part, offset, text in parts if part is best
        }  # a compiler may have made several
    return chosen


def _of_types(texts: Iterable[str]) -> set[str]:
    """Of the C functions that belong to one function of the author, those for one combination of fused types each."""
    typed = {name for text in texts if CYTHON_FUSED in (name := _written(_short(text)))}
    return typed | {body_of_wrapper(name) for name in typed}


def cython_name(table: SymbolTable, name: str) -> CythonName | None:
    """The function of the author behind a C name; the names in the table decide where that has two meanings."""
    name = _written(name)
    function = cython_function(name, lambda other: _has(table, other))
    if function is not None and function.part is Part.GENERATOR:
        path = _path_of_generator(table, name)
        return CythonName(path, function.part) if path is not None else function
    if function is None or function.part not in (Part.BODY, Part.WRAPPER) or CYTHON_FUSED in name:
        return function
    same = (
        text for _, text, one in _cython_functions(table, CYTHON_FUSED.encode()) if one.path == function.path
    )
    typed = _of_types(same)
    if typed and name not in typed:
        return replace(function, part=Part.CHOICE)
    passes = function.part is Part.BODY and _cython_parts(table, function, Part.C_FUNCTION)
    return replace(function, part=Part.PASSING) if passes else function


def _written(name: str) -> str:
    """The C name as Cython has written it, without what a compiler calls its copy: ``f.lto_priv.0``."""
    return name.partition(".")[0]


def body_of_wrapper(name: str) -> str:
    """The C name of the body that a wrapper calls, or that was inlined into it; of any other function its own."""
    return implementation_of(_written(name)) or name


def _cython_functions(table: SymbolTable, needle: bytes) -> Iterator[tuple[int, str, CythonName]]:
    """(offset, demangled name, function) of the C functions of Cython with ``needle`` in their names."""
    rows = [(at, string) for at, string in table.strings.holding(needle) if _CYTHON in string]
    rows = [(at, string) for at, string in rows if not _PART.search(string)]
    texts = demangle_all(string.partition(b"@")[0] for _, string in rows)
    for (offset, _), text in zip(rows, texts, strict=True):
        function = cython_function(_written(_short(text)), lambda name: _has(table, name))
        if function is not None:
            yield offset, text, function


def _generators(table: SymbolTable) -> Iterator[tuple[int, str, CythonName]]:
    for offset, text, function in _cython_functions(table, CYTHON_GENERATOR.encode()):
        path = _path_of_generator(table, _written(_short(text)))
        if path is not None:
            yield offset, text, CythonName(path, function.part)


def _cython_name(table: SymbolTable, name: str) -> str | None:
    """What the author calls a C function. None for one that passes a call on to another, and for Cython's own."""
    function = cython_name(table, name)
    if function is None:
        return None
    if function.part is Part.WRAPPER and _cython_parts(table, function, Part.BODY):
        return None
    return function.text


def _cython_parts(table: SymbolTable, function: CythonName, part: Part) -> bool:
    rows = _cython_functions(table, function.path[-1].encode())
    return any(other.path == function.path and other.part is part for _, _, other in rows)


_GENERATOR = re.compile(CYTHON_GENERATOR + r"(?P<scope>\w*?_)(?P<number>\d+)generator\d*")


def _path_of_generator(table: SymbolTable, name: str) -> tuple[str, ...] | None:
    """The function that a generator's body belongs to: the one whose wrapper has the number before it."""
    match, generator = _GENERATOR.fullmatch(name), cython_function(name)
    if match is None or generator is None:
        return None
    before = f"{CYTHON_WRAPPER}{match['scope']}{int(match['number']) - 1}"
    for _, text, function in _cython_functions(table, before.encode()):
        # The digits may also begin a longer number (_pw_1m_71other), or be that of a scope (_pw_1m_7closure_1add).
        goes_on = _written(_short(text)).partition(before)[2][:1].isdigit()
        if not goes_on and function.path[:-1] == generator.path[:-1]:
            return function.path
    return None


def _has(table: SymbolTable, name: str) -> bool:
    """Whether a static function of this C name is there, compiled as C or as C++, or a copy of it."""
    strings = table.strings
    if next(strings.exact(name.encode()), None) is not None:
        return True
    if next(strings.holding(f"{name}.".encode()), None) is not None:
        return True
    return next(strings.holding(f"_ZL{len(name)}{name}".encode()), None) is not None


# -- Fortran --------------------------------------------------------------------------------------


def _fortran_strings(table: SymbolTable, name: str) -> dict[int, str]:
    """Compilers add one ``_`` or two to a name, and put the module before it; letters are small."""
    parts = name.split("::")
    if not all(_IDENTIFIER.fullmatch(part) for part in parts):
        return {}
    if len(parts) == 2:
        ways = [f"__{parts[0]}_MOD_{parts[1]}".encode()]
    elif len(parts) == 1:
        ways = [f"{name}_".encode(), f"{name}__".encode()]
    else:
        return {}
    found = {at: way.decode() for way in ways for at in table.strings.exact(way)}
    if len(parts) == 1:
        for offset, string in table.strings.ending(f"_MOD_{name}".encode()):
            if _FORTRAN_MODULE.fullmatch(text := string.decode("utf-8", "replace")):
                found[offset] = text
    return found
