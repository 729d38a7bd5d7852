"""What AArch64's machine code points to, from instructions written by hand."""

from __future__ import annotations

from dualdbg.symbols.elf.code_references import targets
from dualdbg.symbols.objfile import Objfile
from tests.snapshot.arm64_image import TEXT, Function, image

ADRP_X0, ADRP_X20 = 0x90000100, 0xB0000114  # adrp x0, the 32nd page behind; adrp x20, the 33rd
PAGE_0, PAGE_20 = TEXT + 0x20000, TEXT + 0x21000
BL, STR_X0 = 0x94000010, 0xF9000020  # str x0, [x1]


def found(*code: int) -> list[int]:
    library = image(Function(0x100, list(code))).library
    assert isinstance(library, Objfile)
    return list(targets(library.elf, TEXT + 0x100, 4 * len(code)))


def test_pages_and_offsets() -> None:
    add, load = 0x91048002, 0xF9409003  # add x2, x0, #0x120; ldr x3, [x0, #0x120]
    assert found(ADRP_X0, add, STR_X0, load) == [PAGE_0 + 0x120, PAGE_0 + 0x120]
    assert found(0xF0FFFFE0, 0x91000000) == [TEXT - 0x1000]  # adrp x0, the page before; add x0, x0, #0


def test_a_register_that_was_written_points_nowhere() -> None:
    add = 0x91048002
    assert found(ADRP_X0, 0xAA0403E0, add) == []  # mov x0, x4
    assert found(ADRP_X0, 0x91048000, add) == [PAGE_0 + 0x120]  # add x0, x0, #0x120: it is no page any more
    assert found(ADRP_X0, BL, add) == []
    assert found(ADRP_X20, BL, 0x91048282) == [PAGE_20 + 0x120]  # a call keeps x20
