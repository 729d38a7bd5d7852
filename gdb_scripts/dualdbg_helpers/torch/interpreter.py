"""TorchScript's interpreter: the code of a function, and the frames of a run (torch/csrc/jit/runtime)."""

from __future__ import annotations

from typing import Any

from ..errors import Implausible
from .graph import Graphs
from .ivalue import SIZE, IValues
from .schema import quoted

CODE = "N5torch3jit11interpreter8CodeImplE"
STATE = "N5torch3jit20InterpreterStateImplE"
MAX_INSTRUCTIONS = 100000

_OPERANDS = {
    # operations whose operands are shown; torch/csrc/jit/runtime/instruction.h has the meaning of each letter
    "OP": "O",
    "OPN": "OI",
    "LOAD": "R",
    "MOVE": "R",
    "STOREN": "RI",
    "STORE": "R",
    "DROPR": "R",
    "LOADC": "C",
    "JF": "P",
    "JMP": "P",
    "LOOP": "PI",
    "CALL": "F",
    "GUARD": "T",
    "TYPECHECK": "TN",
    "FAIL_GUARD": "T",
    "PROFILE_OP": "F",
    "TAIL_CALL": "F",
    "INTERFACE_CALL": "CI",
    "GET_ATTR": "S",
    "SET_ATTR": "S",
    "LIST_UNPACK": "I",
    "TUPLE_CONSTRUCT": "I",
    "NAMED_TUPLE_CONSTRUCT": "TI",
    "LIST_CONSTRUCT": "TI",
    "DICT_CONSTRUCT": "TI",
    "CREATE_OBJECT": "T",
    "ISINSTANCE": "TI",
    "TUPLE_SLICE": "II",
    "FORMAT": "I",
    "FORK": "CN",
    "WARN": "I",
    "ENTER": "EN",
    "EXIT": "EX",
    "AWAITABLE": "CN",
}


class Frame:
    """One running function: ``code`` is its CodeImpl, ``pc`` the index of its current instruction."""

    __slots__ = ("base", "code", "pc", "registers")
    base: int
    code: int
    pc: int
    registers: Any


class Interpreter:
    """Reads code and interpreter states of one target."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        layout = target.layout
        self._code = layout.record("torch::jit::interpreter::CodeImpl")
        self._frame = layout.record("torch::jit::interpreter::Frame")
        self._state = layout.record("dualdbg::InterpreterStateImpl")
        self._instruction = layout.record("torch::jit::Instruction")
        self._opcodes = layout.enum("torch::jit::OpCode")

    def is_code(self, address):
        """Whether the object at ``address`` is the code of a function."""
        return self._target.rtti.is_a(address, CODE)

    def is_state(self, address):
        """Whether the object at ``address`` is the state of a run."""
        return self._target.rtti.is_a(address, STATE)

    def function_name(self, code):
        """The name of the function, from its code."""
        return self._target.cxx.text(code + self._code["function_name_"], 500)

    def graph(self, code):
        """The address of the graph that the code was made of."""
        return self._memory.pointer(code + self._code["graph_"])

    def register_count(self, code):
        return self._memory.i32(code + self._code["register_size_"])

    def instructions(self, code):
        """Texts of the instructions of the ``CodeImpl`` at ``code``; raises :class:`Implausible` when there is none."""
        if not self.is_code(code):
            raise Implausible(f"no code at 0x{code:x}")
        size = self._instruction.size
        first, count = self._target.cxx.vector(code + self._code["instructions_"], size)
        return [self.instruction(first + i * size, code, i) for i in range(min(count, MAX_INSTRUCTIONS))]

    def instruction(self, address, code=None, index=None):
        """``LOADC 3``, and with ``code`` what the operand stands for."""
        record, memory = self._instruction, self._memory
        name = self._opcodes.get(memory.u8(address + record["op"]))
        if name is None:
            raise Implausible(f"no instruction at 0x{address:x}")
        operands = _OPERANDS.get(name, "")
        first, second = memory.i32(address + record["X"]), memory.u16(address + record["N"])
        text = " ".join([name, *[str(n) for n in (first, second)[: len(operands)]]])
        comment = self._comment(operands[:1], first, code, index) if code is not None else None
        return f"{text}  # {comment}" if comment else text

    def _comment(self, letter, operand, code, index):
        if letter == "C":
            first, count = self._target.cxx.vector(code + self._code["constant_table_"], SIZE)
            if 0 <= operand < count:
                value = self._target.decoder(IValues).read(first + operand * SIZE)
                return quoted(value.text) if value.kind == "String" else value.text
        elif letter in ("O", "F"):
            first, count = self._target.cxx.vector(code + self._code["instructions_source_"], 8)
            node = self._memory.pointer(first + 8 * index) if index < count else 0
            if node:
                return self._target.decoder(Graphs).node(node).split("\n")[0]
        return None

    def frames(self, state):
        """The :class:`Frame` list of the ``InterpreterStateImpl`` at ``state``, innermost first."""
        if not self.is_state(state):
            raise Implausible(f"no InterpreterStateImpl at 0x{state:x}")
        size = self._frame.size
        first, count = self._target.cxx.vector(state + self._state["frames"], size)
        end, left = self._registers_end(state)
        found = []
        for i in range(count - 1, -1, -1):
            place = first + i * size
            frame = Frame()
            frame.code = self._memory.pointer(place + self._frame["function"])
            if not self.is_code(frame.code):
                raise Implausible(f"no frames of an interpreter at 0x{state:x}")
            frame.pc = self._memory.u64(place + self._frame["pc"])
            frame.base = self._memory.u64(place + self._frame["base_pointer"])
            number = min(self.register_count(frame.code), left)
            # The registers of the innermost frame are the last ones; register n is counted from their end.
            frame.registers = [(n, end - SIZE * n) for n in range(1, number + 1)]
            end, left = end - SIZE * number, left - number
            found.append(frame)
        return found

    def _registers_end(self, state):
        first, count = self._target.cxx.vector(state + self._state["registers"], SIZE)
        return first + SIZE * count, count
