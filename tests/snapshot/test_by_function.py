"""What is told of whole functions without call frame information agrees with what compilers say of the same code."""

from __future__ import annotations

import os
import platform
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.probes.placement import iced
from dualdbg.snapshot.unwind.by_function import Functions
from dualdbg.snapshot.unwind.cfi import CallFrames, How, Row
from dualdbg.snapshot.unwind.gaps import gaps, has_gap
from dualdbg.snapshot.unwind.made_frames import rows_of_gaps
from dualdbg.snapshot.unwind.stack_effects import OF_CALLER
from dualdbg.symbols.address_space import AddressSpace
from dualdbg.symbols.elf.eh_frame import Fde
from dualdbg.symbols.objfile import Objfile
from tests import rows as test_rows
from tests.snapshot.programs_running import PROGRAMS
from tests.support import require

pytestmark = pytest.mark.skipif(
    iced is None or platform.machine() != "x86_64", reason="needs iced-x86, on x86-64"
)
RSP, RBP, RETURN = 7, 6, 16
WITHOUT_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-s")


def told(code: str, begins: tuple[int, ...] = (0,), may_begin: tuple[int, ...] = ()) -> str:
    """The CFA at each instruction of code in hexadecimal, as register and offset; ``.`` where nothing is said of the
    instruction, ``end`` where nobody returns. Addresses are relative.
    """
    data = bytes.fromhex(code)
    pieces = [(0x1000, data)]
    functions = Functions(
        pieces, [0x1000 + one for one in begins], [0x1000 + one for one in may_begin], _nothing
    )
    rows = {start: row for start, _, row in functions.rows()}
    return " ".join(map(_text, (rows.get(one.ip) for one in iced.Decoder(64, data, ip=0x1000))))


def _nothing(address: int, size: int) -> None:
    """No constant data are known."""


def _text(row: Row | None) -> str:
    if row is None:
        return "."
    if (RETURN, How.UNDEFINED, 0) in row.rules:
        return "end"
    return f"{ {RSP: 'sp', RBP: 'bp'}[row.cfa_register] }{row.cfa_offset}"


CODES = {
    "ret": ("c3", "sp8"),
    "push rbx; pop rbx; ret": ("535bc3", "sp8 sp16 sp8"),
    "push rbp; mov rbp,rsp; sub rsp,rax; leave; ret": ("554889e54829c4c9c3", "sp8 sp16 sp16 bp16 sp8"),
    "push rbx; ret: it does not give back what it took": ("53c3", ". ."),
    "mov ebx,1; ret: nor what was in rbx": ("bb01000000c3", ". ."),
    "push rbx; call far; pop rbx; ret": ("53e8000100005bc3", "sp8 sp16 sp16 sp8"),
    "push rbx; call far; ret: it does not return": ("53e800010000c3", "sp8 sp16 ."),
    "push rbx; call far; jmp far": ("53e800010000e900010000", "sp8 sp16 ."),
    "call far; ret: it may be another function, of which it is right": ("e800010000c3", "sp8 sp8"),
    "ret; push rbx; call to itself: what nobody calls is not looked at": ("c353e8faffffff", "sp8 . ."),
    "push rbx; call +1; int3; hlt: that never returns, so nothing is behind": (
        "53e801000000ccf4",
        "sp8 sp16 . sp8",
    ),
    "push rbx; 2 times: pop rbx or not; ret": ("5374015bc3", ". . . ."),
    "push rbx; je; pop rbx; ret; pop rbx; ret": ("5374025bc35bc3", "sp8 sp16 sp16 sp8 sp16 sp8"),
    "mov eax,15; syscall: a signal handler returns there": ("b80f0000000f05c3", ". . ."),
    "jmp rax: a tail call": ("ffe0", "sp8"),
    "push rbx; jmp rax: anywhere": ("53ffe0", "sp8 sp16"),
}


@pytest.mark.parametrize("text", CODES)
def test_what_code_says(text: str) -> None:
    code, expected = CODES[text]
    assert told(code) == expected


def test_where_an_address_is_taken_a_function_may_begin() -> None:
    """Where what follows returns, as a function does that begins there. In the middle of another it does not."""
    assert told("53 5b c3", begins=(), may_begin=(0,)) == "sp8 sp16 sp8"
    assert told("53 5b c3", begins=(), may_begin=(1,)) == ". . ."
    assert told("53 5b c3", begins=(0,), may_begin=(1,)) == "sp8 sp16 sp8"


def test_the_stack_ends_where_nobody_returns() -> None:
    """As in what a thread begins with: push rbx; call *rdi; jmp to itself."""
    assert told("53 ffd7 ebfe", begins=(), may_begin=(0,)) == "end end end"
    assert told("53 ffd7 ebfe", begins=(0,)) == "sp8 sp16 ."


def library(folder: Path, *flags: str) -> Objfile:
    compiler, target = require(shutil.which("gcc"), "a C compiler"), folder / "library.so"
    folder.mkdir()
    source = PROGRAMS / "without_tables.c"
    subprocess.run([compiler, "-fPIC", "-shared", *flags, "-o", target, source], check=True)
    return Objfile.open(target)


FLAGS = (
    "-O2",
    "-O0 -fomit-frame-pointer",
    "-O3 -fstack-protector-all",
    "-Os",
    "-O1 -fno-omit-frame-pointer",
    "-O2 -fcf-protection -fno-plt -fstack-clash-protection",
)


@pytest.mark.parametrize("flags", test_rows.some(FLAGS, 3))
def test_a_library_without_tables_is_told_as_its_twin_with_them_says(tmp_path: Path, flags: str) -> None:
    twin = library(tmp_path / "with", *flags.split(), "-fasynchronous-unwind-tables")
    other = library(tmp_path / "without", *flags.split(), *WITHOUT_TABLES)
    texts = [one.elf.section(".text") for one in (twin, other)]
    assert [texts[0], texts[1]] != [None, None]
    (with_tables, without) = (one for one in texts if one is not None)
    assert twin.elf.contents(with_tables) == other.elf.contents(without)
    by = with_tables.address - without.address
    rows = [
        (start + by, end + by, row)
        for start, end, row in rows_of_gaps(other)
        if without.address <= start < without.address + without.size
    ]
    covered, wrong = compared(twin, rows)
    assert wrong == []
    described = sum(fde.end - fde.start for fde in twin.frames.between(with_tables.address, 1 << 40))
    assert covered > 0.85 * described


def compared(library: Objfile, rows: list[tuple[int, int, Row]]) -> tuple[int, list[str]]:
    """How many bytes of code are told by rows of which the table of a file says something, and what it denies."""
    table, covered, wrong = CallFrames(library.elf), 0, []
    for start, end, row in rows:
        fde = library.frames.find(start)
        if fde is None or (RETURN, How.UNDEFINED, 0) in row.rules:
            continue
        covered += end - start
        said = table.row(fde, start)
        if said.cfa_expression is None and not _agree(said, row):
            wrong.append(f"{start:#x}: {row}, the table has {said}")
    return covered, wrong


def _agree(said: Row, told: Row) -> bool:
    """Whether both are the same frame; by two registers that cannot be compared without a stack.

    Where a register was saved and has not been changed since, both ways to recover it are right; it may be left out.
    """
    if said.cfa_register == told.cfa_register and said.cfa_offset != told.cfa_offset:
        return False
    ours, theirs = _saved(told), _saved(said)
    return all(
        theirs.get(number, rule) == rule for number, rule in ours.items() if rule[0] is not How.UNDEFINED
    )


def _saved(row: Row) -> dict[int, tuple[How, int | bytes]]:
    return {number: (how, value) for number, how, value in row.rules if number in OF_CALLER}


def test_what_is_told_of_the_c_library_is_what_its_table_says() -> None:
    """Of functions drawn at random. A table that says one thing of a whole function may be that of assembler whose
    author has left out what it does with the stack, as in glibc's __mpn_addmul_1: it is no witness.
    """
    space = AddressSpace(os.getpid())
    space.refresh()
    (libc,) = [
        one.library for one in space.modules if one.library and Path(one.path).name.startswith("libc.so")
    ]
    text = libc.elf.section(".text")
    assert text is not None
    fdes = libc.frames.between(text.address, text.address + text.size)
    drawn = random.Random(7).sample(fdes, 400)
    pieces = [(one.start, _code(libc, one)) for one in drawn]
    rows = Functions(pieces, _entries(drawn), (), _nothing).rows()
    plain = {one.start for one in drawn if _is_plain(libc, one)}
    judged = [row for row in rows if (fde := libc.frames.find(row[0])) is not None and fde.start not in plain]
    covered, wrong = compared(libc, judged)
    assert covered > 10_000
    assert wrong == []


def _code(library: Objfile, fde: Fde) -> bytes:
    offset = library.elf.offset_of(fde.start)
    assert offset is not None
    return library.elf.bytes_at(offset, fde.end - fde.start)


def _entries(drawn: list[Fde]) -> Iterator[int]:
    """Of those that begin as functions do: at an address that compilers align, as the cold part of one does not."""
    return (one.start for one in drawn if one.start % 16 == 0)


def _is_plain(library: Objfile, fde: Fde) -> bool:
    table = CallFrames(library.elf)
    return table.row(fde, fde.start) == table.row(fde, fde.end - 1)


def test_the_gaps_are_what_no_table_covers(tmp_path: Path) -> None:
    twin = library(tmp_path / "with", "-O2", "-fasynchronous-unwind-tables")
    other = library(tmp_path / "without", "-O2", *WITHOUT_TABLES)
    (function,) = other.find_functions("all")
    assert has_gap(other, function.address)
    assert not has_gap(twin, twin.find_functions("all")[0].address)
    assert any(start <= function.address < end for start, end in gaps(other))
    assert not has_gap(other, 0)
    assert not any(
        other.frames.find(address) for start, end in gaps(other) for address in range(start, end, 16)
    )
