"""Paths, lines and languages of frames, made short enough for a line. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from ..model import Frame, NativeFrame, ProgramLine
from ..system.folders import here


def short_path(path: str, directory: str | None = None) -> str:
    """A path as the user would type it: relative to where they are when it lies below."""
    return path.removeprefix((directory or str(here())).rstrip("/") + "/")


def file_name(path: str | None) -> str:
    """The last part of a path; ``?`` where the file is not known."""
    return PurePath(path).name if path else "?"


def computed_text(frame: Frame) -> str:
    """What a frame of generated code computes: ``computes model.py:5, 10-12``. Empty where that is not known."""
    return f"computes {lines_text(frame.computes)}" if frame.computes else ""


def lines_text(lines: Iterable[ProgramLine]) -> str:
    """Lines by their files: ``model.py:5, 10-12; layers.py:7``."""
    numbers: dict[str, list[int]] = {}
    for one in lines:
        numbers.setdefault(one.file, []).append(one.line)
    return "; ".join(f"{file_name(file)}:{_ranges(found)}" for file, found in numbers.items())


def _ranges(numbers: Iterable[int]) -> str:
    parts: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1] = parts[-1][0], number
        else:
            parts.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def frame_place(frame: Frame) -> str:
    """Where a frame is, in short: file and line, else its file, or the library that its label does not name."""
    if frame.file is not None:
        return package_path(frame.file) + (f":{frame.line}" if frame.line is not None else "")
    if not isinstance(frame, NativeFrame) or (not frame.function and frame.offset is not None):
        return ""
    return file_name(frame.library) if frame.library else ""


def package_path(path: str) -> str:
    """A path inside site-packages or the standard library, from the package on; else :func:`short_path`."""
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return short_path(path)


# By the language of the source: those that have another tag than their name.
_TAGS = {
    "asm": "asm",
    "cython": "cy",
    "fortran": "f90",
    "minimal": "c++",
    "numba": "jit",
    "objective-c": "objc",
}


def native_tag(frame: NativeFrame) -> str:
    """The language of a native frame in at most four letters: ``c++`` also where it is not known."""
    language = frame.source_language or "c++"
    return _TAGS.get(language, language[:4])
