"""The machine code of probes, run in this very process: values of conditions, what it keeps, what it counts."""

from __future__ import annotations

import ctypes
import mmap
import platform
import random
import shutil
import signal
import threading

import pytest

from dualdbg.probes import placement, thunk
from dualdbg.probes.bytecode import CannotCompile, Operation, listings
from tests.probes.in_process import (
    SIGNAL,
    Patched,
    Room,
    Told,
    address_of,
    compiled,
    constant,
    operations,
    size_of,
    write,
)

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]
_WORD = (1 << 64) - 1

_SOURCE = r"""
#include <string.h>
__attribute__((noinline, noclone)) long add(long a, long b, long c, long d, long e, long f) {
    __asm__ volatile("");
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f;
}
unsigned long before[20], after[20];
unsigned char vectors[2][16 * 16];
/* Puts known values into every register, below the stack pointer and into the flags, goes through the function, and
   takes down what is there then. */
__asm__(
".globl watched\n.type watched,@function\nwatched:\n"
"  movq %rsp, %r11\n  movq %r10, %r11\n  ret\n  nop\n nop\n nop\n"
".size watched,.-watched\n");
extern void watched(void);
void through(unsigned long seed);
__asm__(
".globl through\n.type through,@function\nthrough:\n"
"  push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
"  movq before@GOTPCREL(%rip), %r11\n"
"  movq %rsp, 128(%r11)\n"
"  pushq 120(%r11)\n popfq\n"
"  movq 0(%r11), %rax\n movq 8(%r11), %rbx\n movq 16(%r11), %rcx\n movq 24(%r11), %rdx\n movq 32(%r11), %rsi\n"
"  movq 40(%r11), %rdi\n movq 48(%r11), %rbp\n movq 56(%r11), %r8\n movq 64(%r11), %r9\n movq 72(%r11), %r10\n"
"  movq 80(%r11), %r12\n movq 88(%r11), %r13\n movq 96(%r11), %r14\n movq 104(%r11), %r15\n"
"  call watched\n"
"  movq after@GOTPCREL(%rip), %r11\n"
"  movq %rax, 0(%r11)\n movq %rbx, 8(%r11)\n movq %rcx, 16(%r11)\n movq %rdx, 24(%r11)\n movq %rsi, 32(%r11)\n"
"  movq %rdi, 40(%r11)\n movq %rbp, 48(%r11)\n movq %r8, 56(%r11)\n movq %r9, 64(%r11)\n movq %r10, 72(%r11)\n"
"  movq %r12, 80(%r11)\n movq %r13, 88(%r11)\n movq %r14, 96(%r11)\n movq %r15, 104(%r11)\n movq %rsp, 128(%r11)\n"
"  pushfq\n popq 120(%r11)\n cld\n"
"  pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");
/* A leaf that keeps values below the stack pointer, with the breakpoint behind that. */
long leaf(long a);
__asm__(
".globl leaf\n.type leaf,@function\nleaf:\n"
"  movq %rdi, -8(%rsp)\n movq %rdi, -128(%rsp)\n"
".globl inside\ninside:\n"
"  movq -8(%rsp), %rax\n addq -128(%rsp), %rax\n ret\n.size leaf,.-leaf\n");
long looped(long n);
__asm__(
".globl looped\n.type looped,@function\nlooped:\n"
"  xorl %eax, %eax\n1: addq %rdi, %rax\n decq %rdi\n jne 1b\n ret\n.size looped,.-looped\n");
/* The whole loop lies in the bytes that a jump takes. */
long turning(long n);
__asm__(
".globl turning\n.type turning,@function\nturning:\n"
"  decq %rdi\n jg turning\n movq %rdi, %rax\n ret\n.size turning,.-turning\n");
"""
_SIZES: dict[str, int] = {}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = compiled(_SOURCE, tmp_path_factory.mktemp("machine-code"), "-O2", "-fcf-protection=none")
    _SIZES.update({name: size_of(made, name) for name in ("add", "watched", "leaf", "looped", "turning")})
    made.add.restype = made.leaf.restype = made.looped.restype = made.turning.restype = ctypes.c_long
    made.add.argtypes = [ctypes.c_long] * 6
    made.leaf.argtypes = made.looped.argtypes = made.turning.argtypes = [ctypes.c_long]
    return made


def _signed(number: int) -> int:
    number &= _WORD
    return number - (1 << 64) if number >> 63 else number


# -- values -----------------------------------------------------------------------------------------

_BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "bit_and": lambda a, b: a & b,
    "bit_or": lambda a, b: a | b,
    "bit_xor": lambda a, b: a ^ b,
    "equal": lambda a, b: int(_signed(a) == _signed(b)),
    "less_signed": lambda a, b: int(_signed(a) < _signed(b)),
    "less_unsigned": lambda a, b: int(a & _WORD < b & _WORD),
    "div_signed": lambda a, b: _quotient(_signed(a), _signed(b)),
    "rem_signed": lambda a, b: _signed(a) - _signed(b) * _quotient(_signed(a), _signed(b)),
    "div_unsigned": lambda a, b: (a & _WORD) // (b & _WORD),
    "rem_unsigned": lambda a, b: (a & _WORD) % (b & _WORD),
    "lsh": lambda a, b: a << (b & _WORD),
    "rsh_signed": lambda a, b: _signed(a) >> (b & _WORD),
    "rsh_unsigned": lambda a, b: (a & _WORD) >> (b & _WORD),
}
_ARGUMENTS = (5, 4, 3, 2, 8, 9)  # gdb's numbers of rdi, rsi, rdx, rcx, r8, r9


class _NoValue(Exception):
    """A division by zero, or a shift that C++ does not define: gdb is to look at it."""


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _random_expression(
    chance: random.Random, arguments: list[int], depth: int
) -> tuple[list[tuple[str, int] | str], int]:
    """Operations that leave a value, and the value."""
    if depth == 0 or chance.random() < 0.2:
        if chance.random() < 0.5:
            at = chance.randrange(6)
            return [("reg", _ARGUMENTS[at])], arguments[at]
        number = _interesting(chance)
        return list(constant(number)), number
    if chance.random() < 0.3:
        rows, value = _random_expression(chance, arguments, depth - 1)
        name = chance.choice(("ext", "zero_ext", "log_not", "bit_not"))
        if name == "log_not":
            return [*rows, name], int(value & _WORD == 0)
        if name == "bit_not":
            return [*rows, name], ~value
        bits = chance.choice((1, 5, 8, 16, 31, 32, 33, 64))
        low = value & (1 << bits) - 1
        signed = name == "ext" and low >> (bits - 1)
        return [*rows, (name, bits)], low - (1 << bits) if signed else low
    name = chance.choice(list(_BINARY))
    left, a = _random_expression(chance, arguments, depth - 1)
    right, b = _random_expression(chance, arguments, depth - 1)
    if name.startswith(("div", "rem")) and b & _WORD == 0:
        raise _NoValue
    if name.startswith(("lsh", "rsh")) and not 0 <= _signed(b) < 64:
        raise _NoValue
    return [*left, *right, name], _BINARY[name](a, b)


def _interesting(chance: random.Random) -> int:
    near = chance.choice((0, 1, 63, 127, 1 << 15, 1 << 31, 1 << 32, 1 << 63, chance.getrandbits(64)))
    return _signed(chance.choice((1, -1)) * near + chance.randrange(-2, 3))


@pytest.mark.parametrize("seed", range(12))
def test_a_condition_is_true_where_its_value_is_not_zero(library: ctypes.CDLL, seed: int) -> None:
    """Against an evaluation by Python's numbers; what has no value tells a hit too, so that gdb looks at it."""
    chance = random.Random(seed)
    address = address_of(library, "add")
    room = Room(address)
    tried = {True: 0, False: 0}
    with Told() as told:
        while sum(tried.values()) < 150:
            arguments = [_interesting(chance) for _ in range(6)]
            try:
                rows, value = _random_expression(chance, arguments, chance.randrange(1, 5))
                holds = value & _WORD != 0
                if chance.random() < 0.5:  # else nearly all are true
                    rows, holds = [*rows, *constant(_signed(value)), "equal"], True
                    if chance.random() < 0.5:
                        rows, holds = [*rows, "log_not"], False
            except _NoValue:
                continue
            plain = library.add(*arguments)
            try:
                patched = Patched(address, _SIZES["add"], thunk.Wish(operations(*rows)), room)
            except CannotCompile as error:
                assert "nested too deeply" in str(error)
                continue
            with patched:
                assert library.add(*arguments) == plain
            assert told.was_hit() == holds, (rows, arguments, value)
            tried[holds] += 1
    assert min(tried.values()) > 20


@pytest.mark.parametrize(
    "name", ["div_signed", "div_unsigned", "rem_signed", "rem_unsigned", "lsh", "rsh_signed"]
)
def test_what_has_no_value_is_left_to_gdb(library: ctypes.CDLL, name: str) -> None:
    wrong = 64 if name.startswith(("lsh", "rsh")) else 0
    rows = operations(("reg", 5), *constant(wrong), name, *constant(0), "mul")
    with Told() as told, Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(rows)):
        library.add(7, 0, 0, 0, 0, 0)
        assert told.was_hit()


@pytest.mark.parametrize("name", ["div_signed", "rem_signed"])
def test_the_division_that_overflows_does_not_trap(library: ctypes.CDLL, name: str) -> None:
    rows = operations(
        ("reg", 5), *constant(-1), name, *constant(-(1 << 63) if name[0] == "d" else 0), "equal"
    )
    with Told() as told, Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(rows)):
        library.add(-(1 << 63), 0, 0, 0, 0, 0)
        assert told.was_hit()


def test_both_ways_of_a_jump(library: ctypes.CDLL) -> None:
    """``a == 3 && b > 2``, as gdb lists it."""
    text = """Scope: 0x1
  0  reg 5
  3  const8 3
  5  equal
  6  if_goto 12
  9  goto 22
 12  const8 2
 14  reg 4
 16  less_signed
 17  if_goto 24
 20  goto 22
 22  const8 0
 24  end
"""
    rows = list(listings(text)[1])
    rows[-1:] = [Operation(23, "goto", 26), Operation(24, "const8", 1), Operation(26, "end")]
    with Told() as told, Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(tuple(rows))):
        for a in range(6):
            for b in range(5):
                library.add(a, b, 0, 0, 0, 0)
                assert told.was_hit() == (a == 3 and b > 2), (a, b)


# -- memory -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_memory_that_is_not_there_tells_a_hit_and_never_faults(library: ctypes.CDLL, size: int) -> None:
    """At each place around the end of what is mapped, and at addresses that nothing can be at."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    pages.write(bytes(range(1, 256)) * 32 + b"\1" * 32)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    end = start + mmap.PAGESIZE
    assert libc.mprotect(end, mmap.PAGESIZE, 0) == 0
    rows = operations(("reg", 5), f"ref{8 * size}", ("reg", 4), "equal")
    with Told() as told, Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(rows)):
        for address in range(end - 24, end - size + 1):
            there = int.from_bytes(ctypes.string_at(address, size), "little")
            library.add(address, _signed(there), 0, 0, 0, 0)
            assert told.was_hit(), address
            library.add(address, _signed(there) ^ 1, 0, 0, 0, 0)
            assert not told.was_hit(), address
        for address in (*range(end - size + 1, end + 9), 0, 1, -1, -9, 1 << 47, 1 << 63, 0x1234567890ABCDEF):
            library.add(_signed(address), 0, 0, 0, 0, 0)
            assert told.was_hit(), hex(address)
    libc.mprotect(end, mmap.PAGESIZE, 3)


def test_memory_of_the_frame_is_read_without_asking(library: ctypes.CDLL) -> None:
    """The return address, above the stack pointer: the code has no system call before a hit."""
    address = address_of(library, "add")
    rows = operations(("reg", 7), "ref64", *constant(0), "equal")
    with Told() as told, Patched(address, _SIZES["add"], thunk.Wish(rows)) as patched:
        library.add(1, 2, 3, 4, 5, 6)
        assert not told.was_hit()
    assert patched.probe.code.count(b"\x0f\x05") == 5


# -- what is kept -----------------------------------------------------------------------------------


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("flags", [0x202, 0x202 | 0x8D5, 0x202 | 0x400])
def test_registers_and_flags_are_kept(library: ctypes.CDLL, holds: bool, flags: int) -> None:
    """With a condition that uses all of them, and reads memory."""
    before = (ctypes.c_ulong * 20).in_dll(library, "before")
    after = (ctypes.c_ulong * 20).in_dll(library, "after")
    for index in range(14):
        before[index] = 0x1111111111111111 * (index + 1)
    before[15] = flags
    rows = operations(
        ("reg", 7), "ref64", "pop", ("reg", 0), ("reg", 1), ("reg", 2), ("reg", 3), ("reg", 12), ("reg", 13),
        ("reg", 14), "add", "add", "add", "add", "add", "add", *constant(0), "mul", *constant(0 if holds else 1),
        "equal",
    )  # fmt: skip
    with Told() as told, Patched(address_of(library, "watched"), _SIZES["watched"], thunk.Wish(rows)):
        library.through(0)
        assert told.was_hit() == holds
    assert list(after[:14]) == list(before[:14])
    assert after[15] & 0xCD5 == flags & 0xCD5
    assert after[16] == before[16]


def test_what_lies_below_the_stack_pointer_is_kept(library: ctypes.CDLL) -> None:
    """128 bytes of it, which a leaf may use: the probe is behind the instructions that write there."""
    leaf, inside = address_of(library, "leaf"), address_of(library, "inside")
    place = placement.place(inside, placement.Function(leaf, ctypes.string_at(leaf, _SIZES["leaf"])))
    assert place.site == inside
    with Told() as told:
        patched = Patched(leaf, _SIZES["leaf"], thunk.Wish(operations(("reg", 5))))
        wish = thunk.Wish(operations(("reg", 5)))
        patched.probe = thunk.build(place, wish, patched.probe.thunk, patched.counter, SIGNAL)
        write(patched.probe.thunk, patched.probe.code)
        with patched:
            assert library.leaf(21) == 42
        assert told.was_hit()


@pytest.mark.smoke
def test_a_thread_that_blocks_the_signal_tells_a_hit_too(library: ctypes.CDLL) -> None:
    """It blocks afterwards what it did before."""
    wanted = {SIGNAL, signal.SIGUSR1}
    with (
        Told() as told,
        Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(operations(("reg", 5)))),
    ):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
        try:
            assert library.add(1, 0, 0, 0, 0, 0) == 1
            assert told.was_hit()
            assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before | wanted
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- counts -----------------------------------------------------------------------------------------


def test_hits_are_counted_across_threads(library: ctypes.CDLL) -> None:
    with (
        Told() as told,
        Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(hits=1 << 40)) as patched,
    ):

        def work() -> None:
            for _ in range(20000):
                library.add(1, 2, 3, 4, 5, 6)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert patched.counted == 80000
        assert not told.was_hit()


@pytest.mark.smoke
def test_it_stops_from_a_hit_on(library: ctypes.CDLL) -> None:
    with Told() as told, Patched(address_of(library, "add"), _SIZES["add"], thunk.Wish(hits=3)):
        told_at = []
        for number in range(1, 6):
            library.add(1, 2, 3, 4, 5, 6)
            if told.was_hit():
                told_at.append(number)
    assert told_at == [3, 4, 5]


def test_one_thread_counts(library: ctypes.CDLL) -> None:
    """By its thread pointer, which lies where it points to."""
    libc = ctypes.CDLL(None)
    libc.pthread_self.restype = ctypes.c_ulong  # glibc: the same address
    wish = thunk.Wish(operations(*constant(1)), thread=libc.pthread_self())
    with Told() as told, Patched(address_of(library, "add"), _SIZES["add"], wish):
        library.add(1, 2, 3, 4, 5, 6)
        assert told.was_hit()
        other = threading.Thread(target=lambda: library.add(1, 2, 3, 4, 5, 6))
        other.start()
        other.join()
        assert not told.was_hit()


def test_each_turn_of_a_loop_within_the_moved_bytes_is_a_hit(library: ctypes.CDLL) -> None:
    """A jump among them leads back to the function: gdb's breakpoint there would stop at each turn."""
    address, size = address_of(library, "turning"), _SIZES["turning"]
    with Patched(address, size, thunk.Wish(hits=8)) as patched, Told() as told:
        library.turning(7)
        assert patched.counted == 7 and not told.was_hit()
        library.turning(7)
        assert patched.counted == 14 and told.was_hit()
    for number, is_met in ((3, True), (0, False), (8, False)):
        condition = operations(("reg", 5), *constant(number), "equal")
        with Patched(address, size, thunk.Wish(condition)), Told() as told:
            assert library.turning(7) == 0
            assert told.was_hit() is is_met, number


# -- where it cannot be -----------------------------------------------------------------------------


def test_a_branch_of_the_cold_part_counts(library: ctypes.CDLL) -> None:
    code = bytes.fromhex("55534883ec1031c0c3")
    cold = (0x2000, b"\xe9" + (0x1001 - 0x2005).to_bytes(4, "little", signed=True))
    placement.place(0x1000, placement.Function(0x1000, code))
    with pytest.raises(placement.CannotPlace, match="a branch at 0x2000"):
        placement.place(0x1000, placement.Function(0x1000, code, (cold,)))


def test_the_landing_pad_of_an_entry_stays(library: ctypes.CDLL) -> None:
    place = placement.place(0x1000, placement.Function(0x1000, bytes.fromhex("f30f1efa554889e54883ec10c3")))
    assert place.site == 0x1004


def test_no_jump_has_a_trap_instruction_in_it(library: ctypes.CDLL) -> None:
    """Who cleans up behind a dead debugger takes it for a breakpoint."""
    place = placement.place(0x1000, placement.Function(0x1000, bytes.fromhex("554889e54883ec10c3")))
    with pytest.raises(placement.CannotPlace, match="no address fits"):
        thunk.build(place, thunk.Wish(hits=1), 0x1005 + 0xCC00, 0x200000, 23)


def test_too_far_away(library: ctypes.CDLL) -> None:
    place = placement.place(0x1000, placement.Function(0x1000, bytes.fromhex("554889e54883ec10c3")))
    with pytest.raises(placement.CannotPlace, match="no room"):
        thunk.build(place, thunk.Wish(hits=1), 1 << 32, 0x200000, 23)


def test_a_loop_at_the_entry_is_seen(library: ctypes.CDLL) -> None:
    address = address_of(library, "looped")
    with pytest.raises(placement.CannotPlace, match="a branch at"):
        Patched(address, _SIZES["looped"], thunk.Wish(hits=1))
