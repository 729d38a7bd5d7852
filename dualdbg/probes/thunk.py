"""The machine code of a probe: evaluate, count, say so where it holds, do the moved instructions, go on. Pure.

The stack is as the function left it whenever one of its own instructions runs, and nothing is called: who unwinds never
meets a frame of ours. A hit is a signal that the thread sends to itself, and that is ignored: its tracer sees it, and
where there is none any more nothing happens. There is no trap instruction that could end a program whose debugger
died.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .bytecode import STACK_EFFECT, CannotCompile, Operation
from .placement import JUMP, CannotPlace, Placement, iced

RED_ZONE = 128  # bytes below the stack pointer that a function may use, System V AMD64 ABI
REACH = (1 << 31) - (1 << 16)  # bytes that a jump can go, less some
TRAP = 0xCC
# gdb's numbers of the registers (gdb/amd64-tdep.h); rip has 16.
_REGISTERS = (
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"
)  # fmt: skip
_RSP, _RBP, _RIP = 7, 6, 16
_STACK = ("r8", "r9", "rbx", "r12", "r13", "r14", "r15", "rbp")  # hold the values of the stack machine
_FOR_CALLS = ("rax", "rcx", "r11", "rdi", "rsi", "rdx", "r10")  # a system call's own
_GETPID, _GETTID, _TGKILL, _RT_SIGPROCMASK = 39, 186, 234, 14  # asm/unistd_64.h
_UNBLOCK, _SETMASK = 1, 2  # asm-generic/signal-defs.h
MASK = "mask"
"""The name of what is saved of a thread that is no register: the signals that it blocks."""
_EINVAL = 22
_ABOVE = 256  # bytes above a frame that belong to the stack: its callers'


@dataclass(frozen=True)
class Wish:
    """What is to be evaluated: a condition (else always true), then a count (stop from this hit on), in one thread.

    ``thread``: the thread pointer of the only one that counts. ``known``: memory that is there as long as the
    function is, as pairs of start and end.
    """

    condition: tuple[Operation, ...] | None = None
    hits: int | None = None
    thread: int | None = None
    known: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Probe:
    """Machine code that is ready to be written.

    ``saved``: what is pushed, in order, ``flags`` first. ``states``: where an instruction begins, how many of them are
    on the stack there (-1: the red zone is not left yet), whether the hit is counted by then, and whether the thread
    blocks other signals than it wants to. ``sent``: where the
    signal has been sent. ``moved``: pairs of an address in the thunk and that of the original instruction.
    """

    site: int
    jump: bytes
    original: bytes
    thunk: int
    code: bytes
    saved: tuple[str, ...]
    states: tuple[tuple[int, int, bool, bool], ...]
    sent: int
    moved: tuple[tuple[int, int], ...]


def build(placement: Placement, wish: Wish, thunk: int, counter: int, signal: int) -> Probe:
    """The probe with its code at ``thunk``, and its counter of 64 bits at ``counter``.

    Raises CannotCompile or CannotPlace. The bytes of the jump have no trap instruction among them, which whoever cleans
    up behind a dead debugger would take for a breakpoint.
    """
    distance = thunk - (placement.site + JUMP)
    if abs(distance) > REACH:
        raise CannotPlace("there is no room within 2 GB of it")
    jump = b"\xe9" + struct.pack("<i", distance) + b"\x90" * (len(placement.original) - JUMP)
    if TRAP in jump:
        raise CannotPlace("no address fits")
    if wish.condition is not None and wish.hits is not None:
        raise CannotCompile("it has a condition and a count")
    trial = _Writer(placement, wish, counter, signal)
    trial.write([*_STACK, *_FOR_CALLS])
    writer = _Writer(placement, wish, counter, signal)
    writer.write([name for name in (*_STACK, *_FOR_CALLS) if name in trial.changed])
    encoder = iced.BlockEncoder(64)
    encoder.add_many([one.instruction for one in writer.rows])
    try:
        code = encoder.encode(thunk)
    except ValueError as error:
        raise CannotPlace(f"its first instructions cannot be moved: {error}") from error
    places = [one.ip for one in iced.Decoder(64, code, ip=thunk)]
    if len(places) != len(writer.rows):
        raise CannotPlace("its first instructions cannot be moved: they become longer")
    rows = list(zip(places, writer.rows, strict=True))
    states = tuple(
        (place, row.pushed, row.counted, row.masked) for place, row in rows if row.pushed is not None
    )
    sent = next(place for place, row in rows if row.is_sent)
    first = len(writer.rows) - 1 - len(placement.moved)
    moved = tuple((place, one.ip) for place, one in zip(places[first:], placement.moved, strict=False))
    return Probe(
        placement.site, jump, placement.original, thunk, code, tuple(writer.saved), states, sent, moved
    )


@dataclass
class _Row:
    instruction: Any
    pushed: int | None  # None: the stack is the function's own
    counted: bool = False
    masked: bool = False
    is_sent: bool = False


@dataclass
class _Writer:
    placement: Placement
    wish: Wish
    counter: int
    signal: int
    rows: list[_Row] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)  # what the evaluation writes to
    _pushed: int = -1
    _counted: bool = False
    _masked: bool = False
    _label: int = 0
    _next_labels: list[int] = field(default_factory=list)

    # -- instructions -------------------------------------------------------------------------------

    def _add(self, instruction: Any) -> None:
        if self._next_labels:
            instruction.ip = self._next_labels.pop()
            assert not self._next_labels
        self.rows.append(_Row(instruction, self._pushed, self._counted, self._masked))

    def _new_label(self) -> int:
        self._label += 1
        return self._label

    def _here(self, label: int) -> None:
        """The next instruction has this label: an instruction has one, so a second one gets a nop."""
        if self._next_labels:
            self._add(iced.Instruction.create(iced.Code.NOPD))
        self._next_labels.append(label)

    def _push(self, name: str) -> None:
        if name == "flags":
            self._add(iced.Instruction.create(iced.Code.PUSHFQ))
        else:
            self._add(iced.Instruction.create_reg(iced.Code.PUSH_R64, _register(name)))
        if name not in self.saved:
            self.saved.append(name)
        self._pushed += 1

    def _pop(self) -> None:
        name = self.saved[self._pushed - 1]
        if name == "flags":
            self._add(iced.Instruction.create(iced.Code.POPFQ))
        else:
            self._add(iced.Instruction.create_reg(iced.Code.POP_R64, _register(name)))
        self._pushed -= 1

    def _rr(self, code: str, to: str, source: str) -> None:
        self.changed.update((_whole(to), _whole(source)) if code.startswith("XCHG") else (_whole(to),))
        self._add(iced.Instruction.create_reg_reg(getattr(iced.Code, code), _register(to), _register(source)))

    def _ri(self, code: str, to: str, number: int) -> None:
        self.changed.add(_whole(to))
        self._add(iced.Instruction.create_reg_i32(getattr(iced.Code, code), _register(to), number))

    def _load(self, code: str, to: str, base: str, offset: int = 0) -> None:
        self.changed.add(_whole(to))
        place = iced.MemoryOperand(base=_register(base), displ=offset, displ_size=8 if offset else 0)
        self._add(iced.Instruction.create_reg_mem(getattr(iced.Code, code), _register(to), place))

    def _number(self, to: str, number: int) -> None:
        self.changed.add(to)
        number &= (1 << 64) - 1
        if number < 1 << 31:
            self._add(iced.Instruction.create_reg_u32(iced.Code.MOV_R32_IMM32, _register(_low(to)), number))
        else:
            self._add(iced.Instruction.create_reg_u64(iced.Code.MOV_R64_IMM64, _register(to), number))

    def _branch(self, code: str, label: int) -> None:
        self._add(iced.Instruction.create_branch(getattr(iced.Code, code), label))

    def _system_call(self, number: int) -> None:
        self.changed.update(("rax", "rcx", "r11"))
        self._number("rax", number)
        self._add(iced.Instruction.create(iced.Code.SYSCALL))

    # -- the whole ----------------------------------------------------------------------------------

    def write(self, saved: Sequence[str]) -> None:
        """Write all of it. The evaluation may change the registers ``saved``."""
        condition = self.wish.condition
        self._false, self._true = self._new_label(), self._new_label()
        self._load("LEA_R64_M", "rsp", "rsp", -RED_ZONE)
        self._pushed = 0
        self._push("flags")
        for name in saved:
            self._push(name)
        if self.wish.thread is not None:
            self._only_in(self.wish.thread)
        if condition is not None:
            self._evaluate(condition)
        if self.wish.hits is not None:
            self._count(self.wish.hits)
        self._here(self._true)
        evaluated = frozenset(self.changed)
        within = self._pushed
        for name in _FOR_CALLS:
            if name not in self.saved[:within]:
                self._push(name)
        self._counted = self.wish.hits is not None
        at = self._tell()
        while self._pushed > within:
            self._pop()
        self._here(self._false)
        while self._pushed > 0:
            self._pop()
        self._load("LEA_R64_M", "rsp", "rsp", RED_ZONE)
        self.rows[at].is_sent = True
        self._pushed = None  # type: ignore[assignment]
        for one in self.placement.moved:
            self.rows.append(_Row(one, None))
        self._branch("JMP_REL32_64", self.placement.end)
        self.changed = set(evaluated)

    def _tell(self) -> int:
        """The thread sends the signal to itself, and takes it now. Returns which row comes next then.

        It may block the signal, for a while or for ever.
        """
        self._number("rax", 1 << (self.signal - 1))
        self._push_slot("wanted")
        self._push_slot(MASK)
        self._number("rdi", _UNBLOCK)
        self._load("LEA_R64_M", "rsi", "rsp", 8)
        self._load("LEA_R64_M", "rdx", "rsp")
        self._number("r10", 8)
        self._system_call(_RT_SIGPROCMASK)
        self._masked = True
        self._system_call(_GETPID)
        self._rr("MOV_R64_RM64", "rdi", "rax")
        self._system_call(_GETTID)
        self._rr("MOV_R64_RM64", "rsi", "rax")
        self._number("rdx", self.signal)
        self._system_call(_TGKILL)
        at = len(self.rows)
        self._add(iced.Instruction.create(iced.Code.NOPD))  # nobody else comes here
        self._number("rdi", _SETMASK)
        self._load("LEA_R64_M", "rsi", "rsp")
        self._number("rdx", 0)
        self._number("r10", 8)
        self._system_call(_RT_SIGPROCMASK)
        self._masked = False
        self._load("LEA_R64_M", "rsp", "rsp", 16)
        self._pushed -= 2
        return at

    def _push_slot(self, name: str) -> None:
        self._add(iced.Instruction.create_reg(iced.Code.PUSH_R64, _register("rax")))
        self.saved.append(name)
        self._pushed += 1

    def _only_in(self, pointer: int) -> None:
        """Its thread pointer lies at its beginning (System V ABI, "Thread-Local Storage")."""
        place = iced.MemoryOperand(displ=0, displ_size=4, seg=iced.Register.FS)
        self._add(iced.Instruction.create_reg_mem(iced.Code.MOV_R64_RM64, _register("rax"), place))
        self.changed.update(("rax", "r8"))
        self._number("r8", pointer)
        self._rr("CMP_R64_RM64", "rax", "r8")
        self._branch("JNE_REL32_64", self._false)

    def _count(self, hits: int) -> None:
        """Goes on where this is hit number ``hits`` or a later one."""
        place = iced.MemoryOperand(base=iced.Register.RIP, displ=self.counter, displ_size=8)
        self._number("rax", 1)
        add = iced.Instruction.create_mem_reg(iced.Code.XADD_RM64_R64, place, _register("rax"))
        add.has_lock_prefix = True
        self._add(add)
        self._counted = True
        limit = iced.MemoryOperand(base=iced.Register.RIP, displ=self.counter + 8, displ_size=8)
        self._ri("ADD_RM64_IMM8", "rax", 1)
        self._add(iced.Instruction.create_reg_mem(iced.Code.CMP_R64_RM64, _register("rax"), limit))
        self._branch("JL_REL32_64", self._false)

    # -- the condition ------------------------------------------------------------------------------

    def _evaluate(self, condition: Sequence[Operation]) -> None:
        targets = {one.operand for one in condition if one.name in ("goto", "if_goto")}
        labels = {place: self._new_label() for place in targets if place is not None}
        depths: dict[int, int] = {}
        kinds: list[
            tuple[str, int] | None
        ] = []  # what is known of each value: ("number", n), ("rsp", offset)
        reachable = True
        for one in condition:
            if one.label in labels:
                if one.label in depths:
                    if reachable and len(kinds) != depths[one.label]:
                        raise CannotCompile("it jumps with another stack")
                    kinds = [None] * depths[one.label]
                    reachable = True
                self._here(labels[one.label])
            if not reachable:
                raise CannotCompile("a part of it is never reached")
            if one.name not in STACK_EFFECT:
                raise CannotCompile(f"gdb's operation {one.name} is not done here")
            taken, left = STACK_EFFECT[one.name]
            if taken > len(kinds) or len(kinds) - taken + left > len(_STACK):
                raise CannotCompile("it is nested too deeply")
            self._operation(one, kinds, labels)
            if one.name in ("goto", "if_goto"):
                assert one.operand is not None
                if one.operand <= one.label:
                    raise CannotCompile("it has a loop")
                depths[one.operand] = len(kinds)
                reachable = one.name == "if_goto"
            if one.name == "end":
                return
        raise CannotCompile("it has no end")

    def _operation(self, one: Operation, kinds: list[Any], labels: dict[int, int]) -> None:
        name, operand = one.name, one.operand or 0
        depth = len(kinds)
        top = _STACK[depth - 1] if depth else ""
        below = _STACK[depth - 2] if depth > 1 else ""
        if name.startswith("const"):
            kinds.append(("number", operand))
            self._number(_STACK[depth], operand)
        elif name == "reg":
            kinds.append(self._read_register(operand, _STACK[depth]))
        elif name == "dup":
            self._rr("MOV_R64_RM64", _STACK[depth], top)
            kinds.append(kinds[-1])
        elif name == "pop":
            kinds.pop()
        elif name == "swap":
            self._rr("XCHG_RM64_R64", below, top)
            kinds[-2:] = [kinds[-1], kinds[-2]]
        elif name == "goto":
            self._branch("JMP_REL32_64", labels[operand])
        elif name in ("if_goto", "end"):
            self._rr("TEST_RM64_R64", top, top)
            if name == "end":
                self._branch("JE_REL32_64", self._false)
            else:
                kinds.pop()
                self._branch("JNE_REL32_64", labels[operand])
        elif name in ("ext", "zero_ext"):
            self._extend(name == "ext", operand, top)
            kinds[-1] = _extended(kinds[-1], name == "ext", operand)
        elif name.startswith("ref"):
            self._read_memory(int(name[3:]) // 8, top, kinds[-1])
            kinds[-1] = None
        elif name == "log_not":
            self._rr("TEST_RM64_R64", top, top)
            self._as_bool("SETE_RM8", top)
            kinds[-1] = None
        elif name == "bit_not":
            self._add(iced.Instruction.create_reg(iced.Code.NOT_RM64, _register(top)))
            kinds[-1] = None
        else:
            self._binary(name, below, top)
            right, left = kinds.pop(), kinds.pop()
            kinds.append(_combined(name, left, right))

    def _read_register(self, number: int, to: str) -> tuple[str, int] | None:
        if number == _RIP:
            self._number(to, self.placement.site)
            return ("number", self.placement.site)
        if not 0 <= number < len(_REGISTERS):
            raise CannotCompile("it is about a register that is not a general one")
        name = _REGISTERS[number]
        if number == _RSP:
            self._load("LEA_R64_M", to, "rsp", RED_ZONE + 8 * self._pushed)
            return ("rsp", 0)
        if name in self.saved:
            self._load("MOV_R64_RM64", to, "rsp", 8 * (self._pushed - 1 - self.saved.index(name)))
        else:
            self._rr("MOV_R64_RM64", to, name)
        if number == _RBP and self.placement.frame is not None:
            return ("rsp", self.placement.frame)
        return None

    def _extend(self, signed: bool, bits: int, top: str) -> None:
        if bits == 64:
            return
        if bits not in (8, 16, 32):
            shift = 64 - bits
            self._shift("SHL_RM64_IMM8", top, shift)
            self._shift("SAR_RM64_IMM8" if signed else "SHR_RM64_IMM8", top, shift)
        elif bits == 32 and not signed:
            self._rr("MOV_R32_RM32", _low(top), _low(top))
        elif bits == 32:
            self._rr("MOVSXD_R64_RM32", top, _low(top))
        else:
            code = f"{'MOVSX_R64' if signed else 'MOVZX_R32'}_RM{bits}"
            self._rr(code, top if signed else _low(top), _part(top, bits))

    def _shift(self, code: str, top: str, count: int) -> None:
        self._ri(code, top, count)

    def _as_bool(self, code: str, to: str) -> None:
        self._add(iced.Instruction.create_reg(getattr(iced.Code, code), _register(_part(to, 8))))
        self._rr("MOVZX_R32_RM8", _low(to), _part(to, 8))

    def _binary(self, name: str, below: str, top: str) -> None:
        plain = {"add": "ADD_R64_RM64", "sub": "SUB_R64_RM64", "mul": "IMUL_R64_RM64", "bit_and": "AND_R64_RM64",
                 "bit_or": "OR_R64_RM64", "bit_xor": "XOR_R64_RM64"}  # fmt: skip
        tests = {"equal": "SETE_RM8", "less_signed": "SETL_RM8", "less_unsigned": "SETB_RM8"}
        shifts = {"lsh": "SHL_RM64_CL", "rsh_signed": "SAR_RM64_CL", "rsh_unsigned": "SHR_RM64_CL"}
        if name in plain:
            self._rr(plain[name], below, top)
        elif name in tests:
            self._rr("CMP_R64_RM64", below, top)
            self._as_bool(tests[name], below)
        elif name in shifts:
            self._ri("CMP_RM64_IMM8", top, 63)
            self._branch("JA_REL32_64", self._true)  # gdb says what it thinks of it
            self._rr("MOV_R64_RM64", "rcx", top)
            self._add(
                iced.Instruction.create_reg_reg(
                    getattr(iced.Code, shifts[name]), _register(below), iced.Register.CL
                )
            )
        else:
            self._divide(name, below, top)

    def _divide(self, name: str, below: str, top: str) -> None:
        """A division by zero has no value: gdb says so. One by -1 may overflow, and is a negation."""
        done = self._new_label()
        self._rr("TEST_RM64_R64", top, top)
        self._branch("JE_REL32_64", self._true)
        rest = name.startswith("rem")
        if name.endswith("_signed"):
            usual = self._new_label()
            self._ri("CMP_RM64_IMM8", top, -1)
            self._branch("JNE_REL32_64", usual)
            if rest:
                self._number(below, 0)
            else:
                self._add(iced.Instruction.create_reg(iced.Code.NEG_RM64, _register(below)))
            self._branch("JMP_REL32_64", done)
            self._here(usual)
            self._rr("MOV_R64_RM64", "rax", below)
            self.changed.add("rdx")
            self._add(iced.Instruction.create(iced.Code.CQO))
            self._add(iced.Instruction.create_reg(iced.Code.IDIV_RM64, _register(top)))
        else:
            self._rr("MOV_R64_RM64", "rax", below)
            self._number("rdx", 0)
            self._add(iced.Instruction.create_reg(iced.Code.DIV_RM64, _register(top)))
        self._rr("MOV_R64_RM64", below, "rdx" if rest else "rax")
        self._here(done)

    def _read_memory(self, size: int, top: str, kind: tuple[str, int] | None) -> None:
        """Read behind an address. One that is not sure to be there is asked of the kernel first: nothing can fault.

        rt_sigprocmask reads the eight bytes, and refuses with EINVAL for it knows no such operation; or with EFAULT.
        """
        if not self._is_known(kind, size):
            self._check(top, 0)
            if size > 1:
                self._check(top, size - 1)
        code = {1: "MOVZX_R32_RM8", 2: "MOVZX_R32_RM16", 4: "MOV_R32_RM32", 8: "MOV_R64_RM64"}[size]
        self._load(code, top if size == 8 else _low(top), top)

    def _check(self, top: str, offset: int) -> None:
        skip = None
        self._load("LEA_R64_M", "rsi", top, offset)
        if offset:  # only where the value lies in two words
            skip = self._new_label()
            self._rr("MOV_R64_RM64", "rax", top)
            self._rr("XOR_R64_RM64", "rax", "rsi")
            self._ri("CMP_RM64_IMM8", "rax", 8)
            self._branch("JB_REL32_64", skip)
        self._ri("AND_RM64_IMM8", "rsi", -8)
        self._ri("OR_RM64_IMM8", "rdi", -1)
        self._number("rdx", 0)
        self._number("r10", 8)
        self._system_call(_RT_SIGPROCMASK)
        self._ri("CMP_RM64_IMM8", "rax", -_EINVAL)
        self._branch("JNE_REL32_64", self._true)  # gdb says why it has no value
        if skip is not None:
            self._here(skip)

    def _is_known(self, kind: tuple[str, int] | None, size: int) -> bool:
        return _is_known(kind, size, self.placement.frame, self.wish.known)


def _is_known(
    kind: tuple[str, int] | None, size: int, frame: int | None, known: Sequence[tuple[int, int]]
) -> bool:
    """Whether memory is sure to be there: of the frame, or of the library that the function is in."""
    if kind is None:
        return False
    what, number = kind
    if what == "rsp":
        return -RED_ZONE <= number <= (frame or 0) + _ABOVE - size
    return any(start <= number and number + size <= end for start, end in known)


def _combined(name: str, left: Any, right: Any) -> tuple[str, int] | None:
    if left is None or right is None or name not in ("add", "sub", "mul"):
        return None
    if name == "add":
        if left[0] == "rsp" and right[0] == "rsp":
            return None
        return ("rsp" if "rsp" in (left[0], right[0]) else "number", left[1] + right[1])
    if right[0] == "rsp" or (name == "mul" and left[0] == "rsp"):
        return None
    return (left[0], left[1] - right[1] if name == "sub" else left[1] * right[1])


def _extended(kind: Any, signed: bool, bits: int) -> tuple[str, int] | None:
    if kind is None or kind[0] == "rsp":
        return kind if bits == 64 else None
    number = kind[1] & ((1 << bits) - 1)
    return ("number", number - (1 << bits) if signed and number >> (bits - 1) else number)


def _register(name: str) -> Any:
    return getattr(iced.Register, name.upper())


def _whole(name: str) -> str:
    """The 64 bits of which a register is a part."""
    return _WHOLE[name]


def _low(name: str) -> str:
    """The name of a register's lower 32 bits."""
    return f"{name}d" if name[1:].isdigit() else f"e{name[1:]}"


def _part(name: str, bits: int) -> str:
    """The name of a register's lower 8 or 16 bits."""
    if name[1:].isdigit():
        return name + ("l" if bits == 8 else "w")
    short = name[1:]
    return short if bits == 16 else (short[0] + "l" if short in ("ax", "bx", "cx", "dx") else short + "l")


_WHOLE = {part: name for name in _REGISTERS for part in (name, _low(name), _part(name, 8), _part(name, 16))}
