"""AArch64, from bytes made by hand: what its registers, its frames and its cores say. Runs on every machine."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from dualdbg.snapshot.core_file import Core, _read_notes
from dualdbg.snapshot.interrupted_calls import with_call
from dualdbg.snapshot.linux.procfs import ThreadFacts
from dualdbg.snapshot.linux.registers import (
    AARCH64,
    X86_64,
    Registers,
    known_stack_pointer,
    registers_from_regset,
    with_regset,
)
from dualdbg.snapshot.linux.system_calls import describe, number_of
from dualdbg.snapshot.resting import Resting
from dualdbg.snapshot.unwind.unwinder import RawFrame, Unwinder, Unwound
from dualdbg.symbols.address_space import Module
from tests.snapshot.arm64_image import BASE, TEXT, Function, Words, image

NOP, RET, BTI, PACIASP, SVC = 0xD503201F, 0xD65F03C0, 0xD503245F, 0xD503233F, 0xD4000001
SIGRETURN = [0xD2801168, SVC]
SAVES = 0xA9BE7BFD  # stp x29, x30, [sp, #-32]!
# The next instruction is where they are saved: advance 1, CFA +32, x29 at -32, x30 at -24.
SAVED = bytes([0x41, 0x0E, 32, 0x80 | 29, 4, 0x80 | 30, 3])
SIGNED = b"\x2d"  # DW_CFA_AARCH64_negate_ra_state
OUTERMOST = bytes([0x07, 30])  # x30 is undefined
STACK = 0x7FFFFF000000


def bl(at: int, to: int) -> int:
    return 0x94000000 | (to - at) // 4 & 0x3FFFFFF


def registers(pc: int, sp: int = STACK, signature: int = 0x7F << 48, **values: int) -> Registers:
    words = [values.get(f"x{number}", 0) for number in range(31)]
    made = registers_from_regset(struct.pack("<34Q", *words, sp, pc, 0))
    return with_regset(made, 0x406, struct.pack("<QQ", signature, signature))


def unwound(module: Module, start: Registers, words: dict[int, int]) -> Unwound:
    return Unwinder(Words(words), [module]).unwind(start)


@pytest.mark.parametrize("inside", [True, False], ids=["a file has it", "between the segments of a file"])
def test_a_leaf_that_a_signal_interrupted_is_there(inside: bool) -> None:
    """Neither the vDSO's code has frame information, nor does the leaf use any stack."""
    module = image(
        Function(0x000, [NOP, bl(4, 0x100), NOP], OUTERMOST),  # main calls the leaf
        Function(0x100, [NOP, NOP, RET]),
        Function(0x200, [SAVES, NOP, NOP, NOP], SAVED),  # the handler
        Function(0x2FC, [NOP, *(SIGRETURN if inside else [NOP, NOP])], None),
    )
    code = BASE + TEXT
    trampoline = code + 0x300
    if not inside:
        module = replace(module, end=BASE + 0x10000)
        trampoline = BASE + 0x8000
    frame = STACK + 32  # struct rt_sigframe, at the end of the handler's frame
    interrupted = STACK + 0x2000
    words = {
        STACK: 0, STACK + 8: trampoline,
        frame + 0x138 + 8 * 30: code + 8,
        frame + 0x138 + 8 * 31: interrupted,
        frame + 0x138 + 8 * 32: code + 0x104,
    }  # fmt: skip
    words |= dict.fromkeys(range(frame + 0x138, frame + 0x138 + 8 * 30, 8), 0)
    words[trampoline] = int.from_bytes(struct.pack("<II", *SIGRETURN), "little")
    assert unwound(module, registers(code + 0x20C), words) == Unwound(
        [
            RawFrame(code + 0x20C, STACK, is_call=False),
            RawFrame(trampoline, frame, is_call=True, is_signal=True),
            RawFrame(code + 0x104, interrupted, is_call=False),
            RawFrame(code + 0x008, interrupted, is_call=True),
        ]
    )


@pytest.mark.parametrize("bits", [39, 48, 52])
def test_the_code_of_a_signed_address_has_the_bits_that_the_kernel_says(bits: int) -> None:
    mask = (1 << 55) - (1 << bits)
    module = image(
        Function(0x000, [NOP, bl(4, 0x100), NOP], OUTERMOST),
        Function(0x100, [PACIASP, SAVES, NOP, NOP], b"\x41" + SIGNED + SAVED),
    )
    base = BASE if bits > 39 else 0x4000000000
    module = Module(module.path, base, base + 0x4000, base, module.library)
    code = base + TEXT
    back = code + 8 | 0x5A5A5A5A5A5A5A5A & mask
    found = unwound(module, registers(code + 0x10C, signature=mask), {STACK: 0, STACK + 8: back})
    assert [frame.pc for frame in found.frames] == [code + 0x10C, code + 8]
    assert found.trouble is None


def test_a_state_that_is_restored_is_signed_as_it_was() -> None:
    """GCC remembers it before an early return, which takes the signature off (autiasp), and restores it behind."""
    frame = b"\x41" + SIGNED + SAVED + b"\x41\x0a" + bytes([0x41, 0x0E, 0, 0xDD, 0xDE]) + SIGNED + b"\x41\x0b"
    module = image(
        Function(0x000, [NOP, bl(4, 0x100), NOP], OUTERMOST),
        Function(0x100, [PACIASP, SAVES, NOP, NOP, RET, NOP, NOP], frame),
    )
    code = BASE + TEXT
    words = {STACK: 0, STACK + 8: code + 8 | 0x2A << 48}
    found = unwound(module, registers(code + 0x118), words)
    assert [frame.pc for frame in found.frames] == [code + 0x118, code + 8]
    # In the early return the address is in x30, without a signature.
    found = unwound(module, registers(code + 0x110, x30=code + 8), {})
    assert [frame.pc for frame in found.frames] == [code + 0x110, code + 8]


LEAF = Function(0x100, [NOP, SVC, RET])  # as __syscall_cancel_arch of glibc 2.41


def sleeper(*functions: Function) -> Unwound:
    """The stack of a thread that nobody stopped, which waits in LEAF: /proc says pc and sp, and nothing else."""
    code = BASE + TEXT
    words = {STACK: 0, STACK + 8: code + 8}
    return unwound(image(*functions), known_stack_pointer(AARCH64, code + 0x108, STACK, None), words)


def test_the_only_caller_of_a_leaf_is_found_without_its_return_address() -> None:
    code = BASE + TEXT
    main = Function(0x000, [NOP, bl(4, 0x200), NOP], OUTERMOST)
    caller = Function(0x200, [SAVES, NOP, bl(0x208, 0x100), NOP], SAVED)
    found = sleeper(main, LEAF, caller)
    assert [frame.pc for frame in found.frames] == [code + 0x108, code + 0x20C, code + 8]
    assert found.trouble is None


@pytest.mark.parametrize(
    "functions",
    [
        [Function(0x200, [SAVES, bl(0x204, 0x100), bl(0x208, 0x100), NOP], SAVED)],
        [Function(0x200, [SAVES, bl(0x204, 0x100), 0x17FFFFBE, NOP], SAVED)],  # b 0x100
        [Function(0x200, [SAVES, NOP, NOP, NOP], SAVED)],
    ],
    ids=["two calls", "a jump too", "none"],
)
def test_a_caller_that_is_not_certain_is_said_to_be_unknown(functions: list[Function]) -> None:
    found = sleeper(Function(0x000, [NOP, bl(4, 0x200), NOP], OUTERMOST), LEAF, *functions)
    assert len(found.frames) == 1
    assert (
        found.trouble
        == "where it returns to is in a register, which is not known without stopping the thread"
    )


def test_another_file_may_call_what_is_exported() -> None:
    leaf = Function(LEAF.offset, LEAF.code, exported="read")
    caller = Function(0x200, [SAVES, NOP, bl(0x208, 0x100), NOP], SAVED)
    assert len(sleeper(Function(0x000, [NOP, bl(4, 0x200), NOP], OUTERMOST), leaf, caller).frames) == 1


def test_a_stack_that_does_not_bear_a_caller_out() -> None:
    """What lies where the caller would have saved its return address is no place behind a call."""
    caller = Function(0x200, [SAVES, NOP, bl(0x208, 0x100), NOP], SAVED)
    found = sleeper(Function(0x000, [NOP, NOP, NOP], OUTERMOST), LEAF, caller)
    assert len(found.frames) == 1
    assert found.trouble is not None


def note(kind: int, body: bytes, name: bytes = b"LINUX\0") -> bytes:
    return (
        struct.pack("<III", len(name), len(body), kind)
        + name
        + bytes(-len(name) % 4)
        + body
        + bytes(-len(body) % 4)
    )


def status(tid: int, pc: int) -> bytes:
    """NT_PRSTATUS: struct elf_prstatus with the 34 words of struct user_pt_regs."""
    body = (
        bytes(32)
        + struct.pack("<i", tid)
        + bytes(76)
        + struct.pack("<34Q", *range(31), STACK, pc, 0)
        + bytes(8)
    )
    return note(1, body, b"CORE\0")


def test_the_other_register_sets_of_a_core_belong_to_the_thread_before_them() -> None:
    core = Core("core")
    mask = struct.pack("<QQ", 0x7F << 48, 0x70 << 48)
    _read_notes(
        status(7, 0x100)
        + note(0x401, struct.pack("<QQ", 0x1234, 0))
        + note(0x406, mask)
        + note(0x404, struct.pack("<i", -1))
        + status(8, 0x200)
        + note(0x401, struct.pack("<Q", 0x5678))
        + note(0x404, struct.pack("<i", 98)),
        core,
    )
    (first, one), (second, two) = core.threads
    assert (first, one.pc, one.thread_pointer, one.signature, one.system_call) == (
        7,
        0x100,
        0x1234,
        0x70 << 48,
        None,
    )
    assert (second, two.pc, two.thread_pointer, two.system_call) == (8, 0x200, 0x5678, (98, 0, 1, 2, 3, 4, 5))


MOV_X8 = 0xD2800008  # mov x8, #0; the number is in bits 5 to 20


def in_call(functions: list[Function], pc: int, words: dict[int, int] | None = None, **values: int) -> object:
    """The number of the system call that the thread at ``pc`` is in, and its arguments."""
    module = image(*functions)
    start = registers(BASE + TEXT + pc, **values)
    memory = Words(words or {})
    memory.code = BASE + TEXT, module.library.elf.bytes_at(TEXT, 0x1000) if module.library else b""
    return with_call(start, memory, lambda: Unwinder(memory, [module])).system_call


def test_the_call_that_a_stop_interrupted() -> None:
    """The kernel has put the pc back to the svc, and x0 to the argument."""
    function = Function(0x100, [NOP, MOV_X8 | 63 << 5, SVC, RET])
    values = {"x8": 63, "x0": 5, "x1": 0x7000, "x2": 10, "x3": 3, "x4": 4, "x5": 6}
    assert in_call([function], 0x108, **values) == (63, 5, 0x7000, 10, 3, 4, 6)
    assert in_call([function], 0x104, **values) is None
    assert in_call([function], 0x10C, **values) is None  # the call has returned


@pytest.mark.parametrize(
    ("call", "sleeps"),
    [
        ("98 0x9 0x80 0x0 0x0 0x0 0x0 0x7000 0x1004", True),  # 0x1000 is its svc
        ("98 0x9 0x80 0x0 0x0 0x0 0x0 0x7000 0x1000", True),
        ("98 0x9 0x80 0x0 0x0 0x0 0x0 0x7000 0x1008", False),
        ("98 0x9 0x80 0x0 0x0 0x0 0x0 0x7010 0x1004", False),
        ("-1 0x7000 0x1010", False),
        ("running", False),
    ],
)
def test_a_thread_that_was_held_is_known_to_sleep_by_the_place_of_its_call(call: str, sleeps: bool) -> None:
    stack = 0x7000
    registers = registers_from_regset(struct.pack("<34Q", *[0] * 31, stack, 0x1000, 0))
    thread = ThreadFacts(7, "sleeper", "S", "futex")
    memory = Words(dict.fromkeys(range(stack, stack + 0x40, 8), 1))
    told = {7: call.encode() + b"\n"}
    found = Resting(1).learn([thread], told, {7: registers}, memory, {7: stack + 0x40})
    assert set(found) == ({7} if sleeps else set())


@pytest.mark.parametrize("wait", [98, 101, 115])
def test_the_own_number_of_a_wait_that_is_restarted(wait: int) -> None:
    begin, values = [NOP] * 64, {"x8": 128, "x0": 9}
    function = Function(0x100, [*begin, MOV_X8 | wait << 5, NOP, SVC, RET])
    assert in_call([function], 0x208, **values) == (wait, 9, 0, 0, 0, 0, 0)
    other = Function(0x100, [*begin, MOV_X8 | 73 << 5, NOP, SVC, RET])  # ppoll is restarted as itself
    assert in_call([other], 0x208, **values) == (128, 9, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("several", [False, True], ids=["one thread", "several threads"])
def test_the_own_number_is_found_where_the_c_library_passes_it_on(several: bool) -> None:
    """glibc 2.41: nanosleep loads it, __internal_syscall_cancel or __syscall_cancel_arch makes the call."""
    code = BASE + TEXT
    load = Function(
        0x200, [*[NOP] * 32, SAVES, 0xD2800006 | 115 << 5, bl(0x288, 0x300), NOP], b"\x60" + SAVED
    )
    middle = Function(
        0x300, [PACIASP, SAVES, 0xAA0603E8, bl(0x30C, 0x400), SVC, NOP], b"\x41" + SIGNED + SAVED
    )
    leaf = Function(0x400, [BTI, NOP, 0xAA0103E8, SVC, RET])
    main = Function(0x000, [NOP, bl(4, 0x200), NOP], OUTERMOST)
    words = {STACK: 0, STACK + 8: code + 0x28C, STACK + 32: 0, STACK + 40: code + 8}
    pc, values = (0x40C, {"x30": code + 0x310}) if several else (0x310, {})
    functions = [main, load, middle, leaf]
    assert in_call(functions, pc, words, x8=128, x0=9, **values) == (115, 9, 0, 0, 0, 0, 0)
    assert in_call([main, load, middle, leaf], pc, {}, x8=128, x0=9, **values) == (128, 9, 0, 0, 0, 0, 0)


def test_what_is_futex_on_one_machine_is_another_call_on_the_other() -> None:
    assert number_of(AARCH64, "futex") == 98
    assert number_of(X86_64, "futex") == 202
    assert describe(AARCH64, 202) == ("accept", 0)
