"""Functions of Cython in a symbol table: found by what their author calls them, and named so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from ...model import NativeFrame
from ...shared.symbol_table import SymbolTable
from ...shared.toolchains.cython import CYTHON_FUSED, CYTHON_GENERATOR, CYTHON_SOURCES, CYTHON_WRAPPER
from ...symbols.names import cxx_names
from ...symbols.names.demangle import demangle_all
from ...symbols.names.name_query import Query
from ..toolchain import HasSymbolTables, NamedFunction, Toolchain
from .names import ACCESSORS, CythonName, Part, cython_function, implementation_of, is_named
from .source_text import function_at, is_of
from .sources import source_of

_CYTHON = b"__pyx_"
_PART = re.compile(rb"\.(?:cold|part)\b|omp_(?:fn|outlined)")  # what the compiler has taken out of a function
_EXTENSION = re.compile(r"(?!lib)[^.]+\.(?:.*\.)?so")  # the file of a module of Python


class Cython(Toolchain):
    """Cython's answers: its C functions carry the author's names, and have lines of many kinds."""

    language = "cython"
    glue_sources = CYTHON_SOURCES
    steps_by_lines = True

    def function_named(self, table: SymbolTable, linkage: str, name: str) -> NamedFunction | None:
        """Return the author's name; a function that passes a call on has none."""
        return ("cython", _cython_name(table, _short(name))) if "__pyx_" in linkage else None

    def region_owner(self, table: SymbolTable, name: str) -> str | None:
        """Return the author's name of the function that the region was in."""
        author = cython_name(table, name) if "__pyx_" in name else None
        return author.text if author is not None else None

    def strings_named(self, table: SymbolTable, query: Query) -> dict[int, str]:
        """Return the functions with the lines that ``module.function`` means, in a module also without ``module``."""
        path = tuple(query.text.split("."))
        if all(map(str.isidentifier, path)) and (len(path) > 1 or is_extension(table.elf.path)):
            return _cython_strings(table, path)
        return {}

    def frame_named(
        self, frame: NativeFrame, function: str | None, objfile: HasSymbolTables | None
    ) -> NativeFrame:
        """Return the frame of the author's function: what was inlined has its own names and lines.

        A wrapper into which its body was inlined keeps its C name, for the body has a frame of its own.
        """
        c_name = (frame.function or "").partition("(")[0]
        if objfile is None or not c_name.startswith("__pyx_"):
            return frame if frame.inlined else replace(frame, function=function or frame.function)
        name = name_in(objfile, c_name)
        if name is None or name.part is Part.WRAPPER:
            return replace(frame, function=c_name)
        # The handling of a function's end, and of errors, has the line of its def.
        source = source_of(frame.file)
        begins = source is not None and any(one.first == frame.line for one in source.functions)
        return replace(frame, function=name.text, source_language="cython", between=frame.between or begins)

    def bodies_inlined(self, name: str) -> tuple[str, ...]:
        """Return the C name of the body behind a wrapper."""
        short = _short(name)
        body = body_of_wrapper(short)
        return (body,) if body != short else ()

    def author_of_line(
        self, objfile: HasSymbolTables, function: str, file: str | None, line: int
    ) -> str | None:
        """Return None for a line outside the function: Cython adds code with lines of other places."""
        name, source = name_in(objfile, function), source_of(file)
        if name is None:
            return None
        if source is not None:
            owner = function_at(source.functions, line)
            if not is_of(name, owner) or (owner is not None and owner.first == line):
                return None
        return name.text


def is_extension(path: str) -> bool:
    """Whether a file is called as a module of Python is: there a name of Cython's needs no module before it."""
    return _EXTENSION.fullmatch(PurePath(path).name) is not None


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


def name_in(objfile: HasSymbolTables, name: str) -> CythonName | None:
    """Return the author's function behind a C name in a library; the function need not be in a symbol table."""
    names = (cython_name(table, name) for table in objfile.tables)
    return next((one for one in names if one is not None), None)


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


def _short(name: str) -> str:
    return cxx_names.parse(name).short
