"""From a condition to instructions: the values of gdb's stack machine are held in registers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .bytecode import STACK_EFFECT, CannotCompile, Operation
from .machine import RED_ZONE, REGISTERS, Writer, low, part, register
from .placement import Placement, iced

STACK = ("r8", "r9", "rbx", "r12", "r13", "r14", "r15", "rbp")
"""Hold the values of the stack machine."""
RT_SIGPROCMASK = 14  # asm/unistd_64.h
_RSP, _RBP, _RIP = 7, 6, 16
_EINVAL = 22
_PAGE = 4096
_ABOVE = 256  # bytes above a frame that belong to the stack: its callers'


@dataclass
class ConditionWriter:
    """Writes conditions about what is true at a placement.

    ``known``: memory that is there as long as the function is, as pairs of start and end. The program goes on at the
    label ``not_true`` where the condition is false, and at ``undecided`` where it has no value; else behind it. At
    ``refused`` rax has the error by which the kernel did not say that memory is there.
    """

    writer: Writer
    placement: Placement
    known: Sequence[tuple[int, int]]
    not_true: int
    undecided: int
    refused: int

    def write(self, condition: Sequence[Operation]) -> None:
        """Write it. Raises CannotCompile."""
        targets = {one.operand for one in condition if one.name in ("goto", "if_goto")}
        labels = {place: self.writer.new_label() for place in targets if place is not None}
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
                self.writer.here(labels[one.label])
            if not reachable:
                raise CannotCompile("a part of it is never reached")
            if one.name not in STACK_EFFECT:
                raise CannotCompile(f"gdb's operation {one.name} is not done here")
            taken, left = STACK_EFFECT[one.name]
            if taken > len(kinds) or len(kinds) - taken + left > len(STACK):
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
        top = STACK[depth - 1] if depth else ""
        below = STACK[depth - 2] if depth > 1 else ""
        if name.startswith("const"):
            kinds.append(("number", operand))
            self.writer.number(STACK[depth], operand)
        elif name == "reg":
            kinds.append(self._read_register(operand, STACK[depth]))
        elif name == "dup":
            self.writer.rr("MOV_R64_RM64", STACK[depth], top)
            kinds.append(kinds[-1])
        elif name == "pop":
            kinds.pop()
        elif name == "swap":
            self.writer.rr("XCHG_RM64_R64", below, top)
            kinds[-2:] = [kinds[-1], kinds[-2]]
        elif name == "goto":
            self.writer.branch("JMP_REL32_64", labels[operand])
        elif name in ("if_goto", "end"):
            self.writer.rr("TEST_RM64_R64", top, top)
            if name == "end":
                self.writer.branch("JE_REL32_64", self.not_true)
            else:
                kinds.pop()
                self.writer.branch("JNE_REL32_64", labels[operand])
        elif name in ("ext", "zero_ext"):
            self._extend(name == "ext", operand, top)
            kinds[-1] = _extended(kinds[-1], name == "ext", operand)
        elif name.startswith("ref"):
            self._read_memory(int(name[3:]) // 8, top, kinds[-1])
            kinds[-1] = None
        elif name == "log_not":
            self.writer.rr("TEST_RM64_R64", top, top)
            self._as_bool("SETE_RM8", top)
            kinds[-1] = None
        elif name == "bit_not":
            self.writer.add(iced.Instruction.create_reg(iced.Code.NOT_RM64, register(top)))
            kinds[-1] = None
        else:
            self._binary(name, below, top)
            right, left = kinds.pop(), kinds.pop()
            kinds.append(_combined(name, left, right))

    def _read_register(self, number: int, to: str) -> tuple[str, int] | None:
        if number == _RIP:
            self.writer.number(to, self.placement.site)
            return ("number", self.placement.site)
        if not 0 <= number < len(REGISTERS):
            raise CannotCompile("it is about a register that is not a general one")
        name = REGISTERS[number]
        if number == _RSP:
            self.writer.load("LEA_R64_M", to, "rsp", RED_ZONE + 8 * self.writer.pushed)
            return ("rsp", 0)
        if name in self.writer.saved:
            self.writer.load(
                "MOV_R64_RM64", to, "rsp", 8 * (self.writer.pushed - 1 - self.writer.saved.index(name))
            )
        else:
            self.writer.rr("MOV_R64_RM64", to, name)
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
            self.writer.rr("MOV_R32_RM32", low(top), low(top))
        elif bits == 32:
            self.writer.rr("MOVSXD_R64_RM32", top, low(top))
        else:
            code = f"{'MOVSX_R64' if signed else 'MOVZX_R32'}_RM{bits}"
            self.writer.rr(code, top if signed else low(top), part(top, bits))

    def _shift(self, code: str, top: str, count: int) -> None:
        self.writer.ri(code, top, count)

    def _as_bool(self, code: str, to: str) -> None:
        self.writer.add(iced.Instruction.create_reg(getattr(iced.Code, code), register(part(to, 8))))
        self.writer.rr("MOVZX_R32_RM8", low(to), part(to, 8))

    def _binary(self, name: str, below: str, top: str) -> None:
        plain = {"add": "ADD_R64_RM64", "sub": "SUB_R64_RM64", "mul": "IMUL_R64_RM64", "bit_and": "AND_R64_RM64",
                 "bit_or": "OR_R64_RM64", "bit_xor": "XOR_R64_RM64"}  # fmt: skip
        tests = {"equal": "SETE_RM8", "less_signed": "SETL_RM8", "less_unsigned": "SETB_RM8"}
        shifts = {"lsh": "SHL_RM64_CL", "rsh_signed": "SAR_RM64_CL", "rsh_unsigned": "SHR_RM64_CL"}
        if name in plain:
            self.writer.rr(plain[name], below, top)
        elif name in tests:
            self.writer.rr("CMP_R64_RM64", below, top)
            self._as_bool(tests[name], below)
        elif name in shifts:
            self.writer.ri("CMP_RM64_IMM8", top, 63)
            self.writer.branch("JA_REL32_64", self.undecided)  # gdb says what it thinks of it
            self.writer.rr("MOV_R64_RM64", "rcx", top)
            self.writer.add(
                iced.Instruction.create_reg_reg(
                    getattr(iced.Code, shifts[name]), register(below), iced.Register.CL
                )
            )
        else:
            self._divide(name, below, top)

    def _divide(self, name: str, below: str, top: str) -> None:
        """A division by zero has no value: gdb says so. One by -1 may overflow, and is a negation."""
        done = self.writer.new_label()
        self.writer.rr("TEST_RM64_R64", top, top)
        self.writer.branch("JE_REL32_64", self.undecided)
        rest = name.startswith("rem")
        if name.endswith("_signed"):
            usual = self.writer.new_label()
            self.writer.ri("CMP_RM64_IMM8", top, -1)
            self.writer.branch("JNE_REL32_64", usual)
            if rest:
                self.writer.number(below, 0)
            else:
                self.writer.add(iced.Instruction.create_reg(iced.Code.NEG_RM64, register(below)))
            self.writer.branch("JMP_REL32_64", done)
            self.writer.here(usual)
            self.writer.rr("MOV_R64_RM64", "rax", below)
            self.writer.changed.add("rdx")
            self.writer.add(iced.Instruction.create(iced.Code.CQO))
            self.writer.add(iced.Instruction.create_reg(iced.Code.IDIV_RM64, register(top)))
        else:
            self.writer.rr("MOV_R64_RM64", "rax", below)
            self.writer.number("rdx", 0)
            self.writer.add(iced.Instruction.create_reg(iced.Code.DIV_RM64, register(top)))
        self.writer.rr("MOV_R64_RM64", below, "rdx" if rest else "rax")
        self.writer.here(done)

    def _read_memory(self, size: int, top: str, kind: tuple[str, int] | None) -> None:
        """Read behind an address. One that is not sure to be there is asked of the kernel first.

        rt_sigprocmask reads eight bytes of the page, and refuses with EINVAL for it knows no such operation; or with
        EFAULT. A null pointer would mean to it that there is no operation: the bytes are never the first of memory.
        What another thread unmaps between that and the read faults: gdb takes that (probe_hits.py).
        """
        if not self._is_known(kind, size):
            self._check(top, 0)
            if size > 1:
                self._check(top, size - 1)
        code = {1: "MOVZX_R32_RM8", 2: "MOVZX_R32_RM16", 4: "MOV_R32_RM32", 8: "MOV_R64_RM64"}[size]
        self.writer.marks.add("reading")
        self.writer.load(code, top if size == 8 else low(top), top)
        self.writer.marks.remove("reading")

    def _check(self, top: str, offset: int) -> None:
        skip = None
        self.writer.load("LEA_R64_M", "rsi", top, offset)
        if offset:  # only where the value lies in two pages
            skip = self.writer.new_label()
            self.writer.rr("MOV_R64_RM64", "rax", top)
            self.writer.rr("XOR_R64_RM64", "rax", "rsi")
            self.writer.ri("CMP_RM64_IMM32", "rax", _PAGE)
            self.writer.branch("JB_REL32_64", skip)
        self.writer.ri("AND_RM64_IMM8", "rsi", -8)
        self.writer.ri("OR_RM64_IMM8", "rsi", 8)
        self.writer.ri("OR_RM64_IMM8", "rdi", -1)
        self.writer.number("rdx", 0)
        self.writer.number("r10", 8)
        self.writer.marks.add("asking")
        self.writer.system_call(RT_SIGPROCMASK)
        self.writer.marks.remove("asking")
        self.writer.ri("CMP_RM64_IMM8", "rax", -_EINVAL)
        self.writer.branch("JNE_REL32_64", self.refused)
        if skip is not None:
            self.writer.here(skip)

    def _is_known(self, kind: tuple[str, int] | None, size: int) -> bool:
        return _is_known(kind, size, self.placement.frame, self.known)


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
