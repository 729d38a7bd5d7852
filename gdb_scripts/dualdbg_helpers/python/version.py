"""Which CPython the inferior runs, according to its memory and the names of its files."""

import re

from dualdbg_shared.cpython import Version
from dualdbg_shared.python_versions import NEWEST, OLDEST

from ..errors import LayoutMissing, Unreadable

_FILE_NAMES = (
    # (what a mapped file is called, most telling first; groups: minor version, ABI flags)
    re.compile(r"^libpython3\.(\d+)([a-z]*)\.so"),
    re.compile(r"^python3\.(\d+)([a-z]*)$"),
    re.compile(r"\.cpython-3(\d+)([a-z]*)-[^/]*\.so$"),
)


def find(memory, mappings, told=None):
    """The :class:`Version` of the inferior's CPython; ``told`` ("3.9", "3.13t") is what the user says it is.

    Raises :class:`LayoutMissing` when the process runs no CPython, or one older than the known versions.
    """
    found = (
        _told(told)
        or _from_runtime(memory, mappings)
        or _from_variable(memory, mappings)
        or _from_files(mappings)
    )
    if found is None:
        raise LayoutMissing("No CPython interpreter is mapped in this process.")
    if found[:2] < OLDEST:
        raise LayoutMissing(_known_range("The objects of CPython {}.{} are not known", found))
    return found


def warning_of(version):
    """The warning about a version newer than the known ones, which is read like the newest of them; else None."""
    if version[:2] <= NEWEST:
        return None
    return _known_range("CPython {}.{} is newer than dualdbg: its objects may be shown wrong", version)


def _known_range(text, version):
    return (text + " (known: {}.{} to {}.{}).").format(version.major, version.minor, *(OLDEST + NEWEST))


def _told(text):
    if not text:
        return None
    match = re.match(r"^(\d+)\.(\d+)(t?)$", text)
    if match is None:
        raise LayoutMissing(f"{text!r} is no version of CPython.", "Such as: set dualdbg python-version 3.9.")
    return Version(int(match.group(1)), int(match.group(2)), bool(match.group(3)))


def _from_runtime(memory, mappings):
    """3.13 and later: ``_PyRuntime`` starts with a cookie, the version, and whether there is a GIL."""
    address = mappings.in_interpreter("_PyRuntime")
    try:
        if address is None or memory.read(address, 8) != b"xdebugpy":
            return None
        number, free_threaded = memory.words(address + 8, 2)
    except Unreadable:
        return None
    return _of(number, bool(free_threaded))


def _from_variable(memory, mappings):
    """3.11 and later: ``Py_Version``, a constant."""
    address = mappings.in_interpreter("Py_Version")
    try:
        number = memory.u64(address) if address is not None else 0
    except Unreadable:
        return None
    return _of(number, False) if number else None


def _of(number, free_threaded):
    """The version that ``number`` says, as PY_VERSION_HEX has it."""
    return Version(number >> 24 & 0xFF, number >> 16 & 0xFF, free_threaded, number >> 8 & 0xFF)


def _from_files(mappings):
    for expression in _FILE_NAMES:
        for library in mappings.libraries:
            match = expression.search(library.name)
            if match:
                return Version(3, int(match.group(1)), "t" in match.group(2))
    return None
