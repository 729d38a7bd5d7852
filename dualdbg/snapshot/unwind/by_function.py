"""The frames of whole functions without call frame information, by their code: a row for each instruction. Pure.

Where a function begins its caller's frame is known by the ABI, and so it is known at each instruction to which control
comes from there. :mod:`by_code` says where the code at one address leads to, and wants a stack that bears it out. Here
no stack is at hand, and only what is sure is told:

- Whether a call returns is not known, but of some functions that they do not. What is behind a call counts where it
  leads to an end of the function at which the stack and the registers are the caller's again, and, as long as no other
  call is on the way, to none at which they are not. Behind a call that does not return there may be another function,
  and that is left with what the first one has put on the stack.
- Where an address is only taken a function may begin there, or a label is in the middle of one. It counts as a
  beginning where what is known leads to such an end. Where it leads to no end at all nobody returns from there, and the
  stack ends.
- Where several ways come to an instruction, and say different things, it has no row.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...probes.placement import iced
from .cfi import How, Row
from .signal_frames import X86_SIGRETURNS
from .stack_effects import BP, LOST, OF_CALLER, SP, State, Value, perform, stack_compared, table_of

_MOST_WAYS = 8  # to come to one instruction with known stack pointers
_MOST_BLOCKS = 5000  # of a function, and of what follows calls that may not return
_MOST_CASES = 4096  # of a switch
_LONGEST_BLOCK = 8192  # bytes
_DEEPEST = 50  # calls that are followed to see whether they return
_TOP = Value(SP, 0)  # where the return address lies
_OUTERMOST = Row(SP, 8, None, ((16, How.UNDEFINED, 0),), 16, is_signal_frame=False)
_OWN = frozenset(Value(one, 0) for one in OF_CALLER)  # what the caller had in them

_FAR = 1 << 32  # bytes; no frame is so large
_Key = tuple[int, "Value | None", "Value | None"]


class _End(Enum):
    """How a way ends."""

    RETURNS = "the stack and the registers are the caller's"
    NOT_SO = "they are not"
    UNKNOWN = "where it goes on is not known"


@dataclass(frozen=True)
class _Frame:
    """Where the CFA is, by the stack pointer and by the frame pointer, where these tell it.

    ``saved``: for each register of the caller where its value lies, counted from the CFA; None for the register itself.
    """

    by_stack: int | None
    by_frame: int | None
    saved: tuple[frozenset[int | None], ...]

    def meet(self, other: _Frame) -> _Frame:
        """What both say."""
        return _Frame(
            self.by_stack if self.by_stack == other.by_stack else None,
            self.by_frame if self.by_frame == other.by_frame else None,
            tuple(one & two for one, two in zip(self.saved, other.saved, strict=False)),
        )

    def row(self) -> Row | None:
        """The rules; None where the CFA is not known."""
        base, offset = (SP, self.by_stack) if self.by_stack is not None else (BP, self.by_frame)
        if offset is None:
            return None
        rules: list[tuple[int, How, int | bytes]] = [(16, How.AT_CFA, -8)]
        for number, places in zip(OF_CALLER, self.saved, strict=True):
            known = [place for place in places if place is not None]
            if known:
                rules.append((number, How.AT_CFA, max(known)))
            elif not places:
                rules.append((number, How.UNDEFINED, 0))
        return Row(base, offset, None, tuple(rules), 16, is_signal_frame=False)


@dataclass
class _Block:
    """Instructions that control takes one after the other, by the address of the first and where the frame is then.

    ``next``: where it goes on for sure; ``behind_call``: where it does if the call that ends it returns.
    """

    address: int
    state: State
    instructions: list[Any] = field(default_factory=list)
    next: list[_Key] = field(default_factory=list)
    behind_call: _Key | None = None
    end: _End | None = None


_Blocks = dict[_Key, _Block]  # the first is where the function begins


class Functions:
    """The functions in pieces of code, each with its address.

    ``begins``: addresses where functions begin, by what is sure; ``may_begin``: addresses that are taken.
    ``read(address, size)`` gives constant data, or None.
    """

    def __init__(
        self,
        pieces: Iterable[tuple[int, bytes]],
        begins: Iterable[int],
        may_begin: Iterable[int],
        read: Callable[[int, int], bytes | None],
    ) -> None:
        self._read = read
        self._pieces = sorted(pieces)
        self._starts = [start for start, _ in self._pieces]
        self._begins = {one for one in begins if self._at(one) is not None}
        self._may_begin = {one for one in may_begin if self._at(one) is not None}
        self._decoded: dict[int, list[Any]] = {}
        self._returning: dict[int, bool] = {}
        self._depth = 0
        self._frames: dict[int, tuple[int, _Frame]] = {}  # by instruction, with its end
        self._last: dict[int, int] = {}  # instructions of what never returns, each with its end

    def _at(self, address: int) -> tuple[bytes, int] | None:
        """The piece in which an address lies, and where in it."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        start, code = self._pieces[index]
        return (code, address - start) if address < start + len(code) else None

    def rows(self) -> list[tuple[int, int, Row]]:
        """Start, end and row of each instruction that has one, ascending."""
        done: set[int] = set()
        while left := sorted(self._begins - done) or sorted(self._may_begin - done):
            for address in left:
                done.add(address)
                self._follow(address, is_sure=address in self._begins)
        rows = {address: (end, frame.row()) for address, (end, frame) in self._frames.items()}
        for address, end in self._last.items():
            rows.setdefault(address, (end, _OUTERMOST))
        return [(start, end, row) for start, (end, row) in sorted(rows.items()) if row is not None]

    def _follow(self, address: int, *, is_sure: bool) -> None:
        blocks = self._blocks(address)
        if blocks is None:
            return
        counted = _counted(blocks, is_sure)
        for key in counted:
            block, before, frame = blocks[key], None, None
            for one in block.instructions:
                now = block.state.marks()
                if frame is None or now != before:
                    before, frame = now, _frame(block.state)
                self._note(one, frame)
                perform(one, block.state)
        if not counted and all(block.end is None for block in blocks.values()):
            for block in blocks.values():
                self._last.update((one.ip, one.next_ip) for one in block.instructions)

    def _note(self, one: Any, frame: _Frame) -> None:
        known = self._frames.get(one.ip)
        self._frames[one.ip] = one.next_ip, frame if known is None else known[1].meet(frame)
        if one.is_call_near and self._at(one.near_branch_target) is not None:
            self._begins.add(one.near_branch_target)
        elif one.is_ip_rel_memory_operand and one.mnemonic == iced.Mnemonic.LEA:
            to = one.ip_rel_memory_address
            if self._at(to) is not None:
                self._may_begin.add(to)

    def _blocks(self, address: int) -> _Blocks | None:
        """All that control comes to from the beginning of a function on. None where there is no end to it, and of what
        a signal handler returns to.
        """
        place = self._at(address)
        if place is None or place[0].startswith(X86_SIGRETURNS, place[1]):
            return None
        blocks: _Blocks = {}
        ways: dict[int, set[_Key]] = {}
        left = [(address, State())]
        while left:
            address, state = left.pop()
            key = _key(address, state)
            known = blocks.get(key)
            if known is not None:
                if not known.state.meet(state):
                    continue
                state = known.state
            if len(blocks) > _MOST_BLOCKS:
                return None
            block = blocks[key] = _Block(address, state)
            for to, after, is_behind_call in self._run(block):
                if len(ways.setdefault(to, set()) | {_key(to, after)}) > _MOST_WAYS:
                    after.registers[SP] = None  # a loop that moves the stack pointer
                other = _key(to, after)
                ways[to].add(other)
                if is_behind_call:
                    block.behind_call = other
                else:
                    block.next.append(other)
                left.append((to, after))
        return blocks

    def _run(self, block: _Block) -> Iterator[tuple[int, State, bool]]:
        """Where control goes at the end of a block, with what the registers have then."""
        flow = iced.FlowControl
        state = block.state.copy()
        block.instructions = self._decode(block.address)
        for one in block.instructions:
            kind = one.flow_control
            if kind == flow.NEXT:
                perform(one, state)
            elif kind == flow.CONDITIONAL_BRANCH:
                taken, other = state.copy(), state
                _compare(block.instructions[:-1], one.mnemonic, taken, other)
                yield from self._jump(block, one.near_branch_target, taken)
                yield one.next_ip, other, False
            elif kind == flow.UNCONDITIONAL_BRANCH:
                yield from self._jump(block, one.near_branch_target, state)
            elif kind in (flow.CALL, flow.INDIRECT_CALL):
                state.forget(LOST)
                if one.next_ip not in self._begins and self._may_go_on(one):
                    yield one.next_ip, state, True
            elif kind == flow.RETURN:
                block.end = _end(state) if state.registers[SP] is not None else _End.UNKNOWN
            elif kind == flow.INDIRECT_BRANCH:
                cases = self._cases(one, state, block.state.most)
                for to in cases:
                    yield from self._jump(block, to, state.copy())
                if not cases:
                    block.end = _End.RETURNS if _end(state) is _End.RETURNS else _End.UNKNOWN
        if not block.instructions:
            block.end = _End.UNKNOWN

    def _jump(self, block: _Block, to: int, state: State) -> Iterator[tuple[int, State, bool]]:
        """To another place of the function, or to another function, which returns to the caller then."""
        is_inside = self._at(to) is not None
        if is_inside and to not in self._begins:
            yield to, state, False
        elif block.end is None:
            block.end = _end(state) if is_inside or _end(state) is _End.RETURNS else _End.UNKNOWN

    def _cases(self, jump: Any, state: State, most: int | None) -> list[int]:
        """Where a jump by a table leads, whose index is no more than ``most``. Empty where that is not known."""
        table = table_of(jump, state)
        if table is None or most is None or most >= _MOST_CASES:
            return []
        data = self._read(table, 4 * (most + 1))
        found = (
            [table + distance for (distance,) in struct.iter_unpack("<i", data)] if data is not None else []
        )
        return list(dict.fromkeys(found)) if all(self._at(one) is not None for one in found) else []

    def _may_go_on(self, call: Any) -> bool:
        """Whether what is called may return; a system call may."""
        return not call.is_call_near or self._may_return(call.near_branch_target)

    def _may_return(self, address: int) -> bool:
        """Whether a way through the function ends. Of one that is being looked at it is taken so."""
        if address in self._returning or self._at(address) is None or self._depth > _DEEPEST:
            return self._returning.get(address, True)
        self._returning[address] = True
        self._depth += 1
        blocks = self._blocks(address)
        self._depth -= 1
        self._returning[address] = blocks is None or any(block.end is not None for block in blocks.values())
        return self._returning[address]

    def _decode(self, address: int) -> list[Any]:
        """Up to what does not go on to the next instruction, or may not."""
        known = self._decoded.get(address)
        place = self._at(address)
        if known is None and place is not None:
            code, at = place
            known = self._decoded[address] = []
            for one in iced.Decoder(64, code[at : at + _LONGEST_BLOCK], ip=address):
                if one.code == iced.Code.INVALID:
                    return []
                known.append(one)
                if one.flow_control != iced.FlowControl.NEXT or one.mnemonic == iced.Mnemonic.HLT:
                    return known
            known.clear()  # the code ends
        return known or []


def _compare(before: list[Any], branch: Any, taken: State, other: State) -> None:
    """What a branch tells, by what was compared before it.

    The stack pointer is what another register is: so ends a loop that touches each page of a large frame. Or a number
    is no more than another: so a switch makes sure of its table.
    """
    compare = next(
        (one for one in reversed(before) if one.mnemonic not in (iced.Mnemonic.MOV, iced.Mnemonic.LEA)), None
    )
    taken.most = other.most = None
    if compare is None or compare.mnemonic != iced.Mnemonic.CMP:
        return
    if (compared := stack_compared(compare)) is not None:
        if branch == iced.Mnemonic.JE:
            taken.registers[SP] = taken.registers[compared]
        elif branch == iced.Mnemonic.JNE:
            other.registers[SP] = other.registers[compared]
    elif compare.op1_kind in (iced.OpKind.IMMEDIATE8, iced.OpKind.IMMEDIATE8TO32, iced.OpKind.IMMEDIATE32):
        if branch == iced.Mnemonic.JA:
            other.most = compare.immediate(1)
        elif branch == iced.Mnemonic.JBE:
            taken.most = compare.immediate(1)


def _key(address: int, state: State) -> _Key:
    """What ways to an address must have in common to be one: where the frame is."""
    sp = state.registers[SP]
    return address, sp, state.registers[BP] if sp is None else None


def _counted(blocks: _Blocks, is_sure: bool) -> set[_Key]:
    """The blocks of which it is sure that control comes to them, and where their frame is."""
    first = next(iter(blocks))
    sure = _reached(blocks, [first])
    if any(blocks[key].end is _End.NOT_SO for key in sure):
        return set()
    good = _leading_back(blocks, sure if is_sure else set())
    if not is_sure and first not in good:
        return set()
    left = list(sure)
    while left:
        behind = blocks[left.pop()].behind_call
        if behind is not None and behind in good and behind not in sure:
            more = _reached(blocks, [behind]) - sure
            sure |= more
            left += more
    return sure


def _reached(blocks: _Blocks, left: list[_Key]) -> set[_Key]:
    """Without those behind calls."""
    found: set[_Key] = set()
    while left:
        key = left.pop()
        if key not in found:
            found.add(key)
            left += blocks[key].next
    return found


def _leading_back(blocks: _Blocks, sure: set[_Key]) -> set[_Key]:
    """The blocks from which control may come to an end of the function or to a sure block, and, as long as no call
    is on the way, to no end that is none.
    """
    before: dict[_Key, list[_Key]] = {}
    calls: dict[_Key, list[_Key]] = {}
    for key, block in blocks.items():
        for other in block.next:
            before.setdefault(other, []).append(key)
        if block.behind_call is not None:
            calls.setdefault(block.behind_call, []).append(key)
    bad: set[_Key] = set()
    left = [key for key, block in blocks.items() if block.end is _End.NOT_SO]
    while left:
        key = left.pop()
        if key not in bad:
            bad.add(key)
            left += before.get(key, ())
    good: set[_Key] = set()
    left = [key for key, block in blocks.items() if block.end is _End.RETURNS or key in sure]
    while left:
        key = left.pop()
        if key not in good and key not in bad:
            good.add(key)
            left += before.get(key, ())
            left += calls.get(key, ())
    return good


def _end(state: State) -> _End:
    """Whether the stack and the registers are as the caller is to have them when the function returns."""
    registers = state.registers
    is_so = registers[SP] == _TOP and _TOP not in state.stored
    return (
        _End.RETURNS if is_so and all(registers[one] == Value(one, 0) for one in OF_CALLER) else _End.NOT_SO
    )


def _frame(state: State) -> _Frame:
    """What the registers say of the frame when they have this."""
    sp = state.registers[SP]
    # A signal handler may overwrite what was saved below the stack pointer. Where that is not known it has gone down.
    lowest = sp.offset if sp is not None else -_FAR
    saved: dict[int, set[int | None]] = {one: set() for one in OF_CALLER}
    for place, value in state.stored.items():
        if value in _OWN and place.register == SP and lowest <= place.offset < 0:
            saved[value.register].add(place.offset - 8)
    for number in OF_CALLER:
        if state.registers[number] == Value(number, 0):
            saved[number].add(None)
    if _TOP in state.stored:
        return _Frame(None, None, ())
    return _Frame(_distance(sp), _distance(state.registers[BP]), tuple(map(frozenset, saved.values())))


def _distance(value: Value | None) -> int | None:
    """From where a register points to up to the CFA; None where that is not known, or is above the return address."""
    if value is None or value.loaded or value.register != SP or value.offset > 0:
        return None
    return 8 - value.offset
