"""Where a jump to a probe may be placed, and which branches of a function count against it."""

from __future__ import annotations

import random

import pytest

from dualdbg.probes import placement

pytestmark = pytest.mark.skipif(placement.iced is None, reason="needs iced-x86")
_PLAIN = bytes.fromhex("4889f84883fa1031c0c3")  # mov rax,rdi; cmp rdx,16; xor eax,eax; ret


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("31c0c3", "shorter than the jump"),
        ("31c04801f848ffcf75f8c3", "a branch at"),
        ("e800000000c3", "cannot be moved"),
        ("554889e54883ec10ffe0c3", "a jump through a table"),
        ("e3009090909090c3", "cannot be moved"),
        ("0606060606060606", "not all understood"),
        ("eb0331c09048ffc7c3", "shorter than the jump"),
    ],
)
def test_where_no_jump_is_placed(code: str, why: str) -> None:
    with pytest.raises(placement.CannotPlace, match=why):
        placement.place(0x1000, placement.Function(0x1000, bytes.fromhex(code)))


def test_a_label_that_a_neighbour_jumps_to_counts() -> None:
    """As memmove's in glibc, which mempcpy jumps into: in code that has unwind info, and in code that has none."""
    neighbour = b"\xe9" + (0x1003 - 0x2005).to_bytes(4, "little", signed=True)
    for functions in ((), ((0x2000, 0x2005),)):
        for code, fits in ((neighbour, False), (b"\x90" * 5, True)):
            function = placement.Function(0x1000, _PLAIN, around=(0x2000, code), functions=functions)
            if fits:
                assert placement.place(0x1000, function).site == 0x1000
                continue
            with pytest.raises(placement.CannotPlace, match=r"branch at 0x2000"):
                placement.place(0x1000, function)


def test_what_only_looks_like_a_jump_within_an_instruction_does_not_count() -> None:
    """A number has the bytes of a jump: where functions are not known, it may be one."""
    code = (
        bytes.fromhex("48b8e9")
        + (0x1003 - 0x1013).to_bytes(4, "little", signed=True)
        + bytes.fromhex("000000c3")
    )
    around = (0x100C, code)
    with pytest.raises(placement.CannotPlace, match="what may be a branch at 0x100e"):
        placement.place(0x1000, placement.Function(0x1000, _PLAIN, around=around))
    known = placement.Function(0x1000, _PLAIN, around=around, functions=((0x100C, 0x100C + len(code)),))
    assert placement.place(0x1000, known).site == 0x1000


_AT = 0x100000


@pytest.mark.parametrize("seed", range(20))
def test_the_quick_look_at_neighbours_misses_no_branch(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can lead into the jump they are not decoded: the result is the same as with that."""
    dice = random.Random(seed)
    forms = (b"\xe9", b"\xe8", b"\x0f\x84", b"\xeb", b"\x74", b"\xe2")
    for _ in range(100):
        code = bytearray(dice.randbytes(200) if dice.random() < 0.5 else b"\x90" * 200)
        start = _AT + dice.choice([len(_PLAIN), len(_PLAIN) + 3, -len(code), 30_000, -32_000])
        form = dice.choice(forms)
        size = len(form) + (4 if form in forms[:3] else 1)
        at = dice.randrange(len(code) - size)
        leads = dice.randrange(_AT - 4, _AT + 10) - (start + at + size)
        if size > 2 or -128 <= leads < 128:
            code[at : at + size] = form + leads.to_bytes(size - len(form), "little", signed=True)
        functions = dice.choice([(), ((start, start + len(code)),)])
        function = placement.Function(_AT, _PLAIN, around=(start, bytes(code)), functions=functions)
        quick = _refused(function)
        with monkeypatch.context() as patched:
            patched.setattr(placement, "_may_lead_into", lambda *_: True)
            assert quick == _refused(function), (start, code.hex())


def _refused(function: placement.Function) -> str:
    try:
        placement.place(_AT, function)
    except placement.CannotPlace as error:
        return str(error)
    return ""


def test_exceptions_that_land_there_count() -> None:
    with pytest.raises(placement.CannotPlace, match="exceptions land"):
        placement.place(0x1000, placement.Function(0x1000, _PLAIN, pads=(0x1003,)))


def test_it_is_written_at_once_or_not_at_all() -> None:
    with pytest.raises(placement.CannotPlace, match="two pages"):
        placement.place(0x1FFC, placement.Function(0x1FFC, _PLAIN))


def test_code_that_the_unwind_table_does_not_know_has_an_end() -> None:
    """A name alone says that it is code; a call may be the last instruction, where it does not return."""
    for code, fits in (
        (_PLAIN, True),
        (_PLAIN[:-1] + b"\xe8\0\0\0\0", True),
        (b"\1\0\0\0\0\0\0\0" * 2, False),
    ):
        for is_described in (True, False):
            function = placement.Function(0x1000, code, is_described=is_described)
            if fits or is_described:
                assert placement.place(0x1000, function).site == 0x1000
                continue
            with pytest.raises(placement.CannotPlace, match="it may be data"):
                placement.place(0x1000, function)
