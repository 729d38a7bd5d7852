"""An interpreter as distributions ship it, and worse: stripped, and without the name of its evaluation loop."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from tests.support import require

_LOOP, _OTHER = b"\0_PyEval_EvalFrameDefault\0", b"\0_PyEval_NoSuchFunction00\0"
_SECTIONS_AT, _SECTIONS = 0x28, 0x3A  # e_shoff; e_shentsize, e_shnum, e_shstrndx of an ELF64 header
_STRING_TABLE, _OFFSET_OF_OFFSET, _ALLOCATED = 3, 0x18, 2  # SHT_STRTAB; sh_offset; SHF_ALLOC


def nameless(python: Path, folder: Path) -> Path:
    """A command that runs ``python`` with a stripped copy of its libpython in which the loop has no name for tools.

    The loader reads the dynamic segment, tools read the section headers: these get a table of names of their own.
    """
    command, copy = _stripped(python, folder)
    data = bytearray(copy.read_bytes())
    (headers,) = struct.unpack_from("<Q", data, _SECTIONS_AT)
    size, count, _ = struct.unpack_from("<HHH", data, _SECTIONS)
    for header in range(headers, headers + size * count, size):
        _, kind, flags, _, offset, length = struct.unpack_from("<IIQQQQ", data, header)
        if kind == _STRING_TABLE and flags & _ALLOCATED:
            names = bytes(data[offset : offset + length])
            assert names.count(_LOOP) == 1 and len(_LOOP) == len(_OTHER)
            struct.pack_into("<Q", data, header + _OFFSET_OF_OFFSET, len(data))
            data += names.replace(_LOOP, _OTHER)
    copy.write_bytes(data)
    return command


def stripped(python: Path, folder: Path) -> Path:
    """A command that runs ``python`` with a copy of its libpython that has the exported names alone."""
    return _stripped(python, folder)[0]


def _stripped(python: Path, folder: Path) -> tuple[Path, Path]:
    question = "import sys; print([l.split()[-1] for l in open('/proc/self/maps') if 'libpython3.' in l][0])"
    asked = subprocess.run([python, "-c", question], capture_output=True, text=True)
    require(asked.returncode == 0, f"{python} has no libpython of its own to copy", outside=True)
    copy = folder / Path(asked.stdout.strip()).name
    shutil.copy(asked.stdout.strip(), copy)
    subprocess.run(["strip", "--strip-all", copy], check=True)
    command = folder / python.name
    command.write_text(f'#!/bin/sh\nLD_PRELOAD={copy} exec {python} "$@"\n')
    command.chmod(0o755)
    return command, copy
