"""The frame of a function without call frame information, by its code: where it goes on, until it returns. Pure.

A C library such as musl's, code of assembler and of some compilers at run time have no unwind table and no frame
pointer. What such code does with the stack from an address on, up to its ``ret``, says where it returns to and where it
has saved the registers that it restores on the way: the tables say no more. Whether a call on the way returns is not
known, and behind one that does not there may be another function's code. So there may be several answers: those of the
ways with the fewest calls come first, and who asks sees which of them the stack bears out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from ...probes.placement import CannotPlace, iced
from .cfi import How, Row
from .stack_effects import LOST, OF_CALLER, SP, State, Value, perform

_MOST_INSTRUCTIONS = 3000  # 20 ms; printf of musl, which has most, has 2300
_LONGEST = 15  # bytes of an instruction
_PIECES = (512, 64, 16)  # bytes that are read at once; fewer where a page without code follows


def rows_by_code(
    address: int, read: Callable[[int, int], bytes | None], is_behind_call: bool
) -> tuple[tuple[Row, ...], ...] | None:
    """What may be the rules at ``address`` in code of x86-64, surer ones first; none where no way leads to a return.

    Rows in one group are as sure as each other. ``is_behind_call``: a call returns there. ``read(address, size)`` gives
    code, or None. None where that cannot be told: without iced-x86.
    """
    if iced is None:
        return None
    groups: dict[int, dict[Row, None]] = {}
    try:
        for calls, row in _Walk(read).rows(address, is_behind_call):
            groups.setdefault(calls, {})[row] = None
    except CannotPlace:  # it is installed, and cannot be loaded
        return None
    return tuple(tuple(rows) for _, rows in sorted(groups.items()))


class _Walk:
    """Along all ways from one address, those with the fewest calls first, each instruction once."""

    def __init__(self, read: Callable[[int, int], bytes | None]) -> None:
        self._read = read
        self._next: list[tuple[int, int, int, State, bool]] = []
        self._pushed = 0
        self._seen: set[int] = set()

    def rows(self, address: int, is_behind_call: bool) -> Iterator[tuple[int, Row]]:
        """Each with the number of calls on the way to it."""
        self._push(0, address, State(), is_behind_call)
        while self._next:
            calls, _, address, state, is_behind_call = heappop(self._next)
            row = self._along(calls, address, state, is_behind_call)
            if row is not None:
                yield calls, row

    def _push(self, calls: int, address: int, state: State, is_behind_call: bool = False) -> None:
        self._pushed += 1  # states have no order
        heappush(self._next, (calls, self._pushed, address, state, is_behind_call))

    def _along(self, calls: int, address: int, state: State, is_behind_call: bool) -> Row | None:
        """One after the other up to a jump, a call, a return, or what is no code."""
        flow = iced.FlowControl
        for one in self._instructions(address):
            if one.ip in self._seen or len(self._seen) >= _MOST_INSTRUCTIONS:
                return None
            if is_behind_call and one.mnemonic == iced.Mnemonic.NOP and one.ip == address:
                return None  # padding: the compiler knows that the call does not return, and another function follows
            self._seen.add(one.ip)
            if one.flow_control == flow.NEXT and one.mnemonic != iced.Mnemonic.HLT:
                perform(one, state)
            elif one.flow_control == flow.CONDITIONAL_BRANCH:
                self._push(calls, one.near_branch_target, state.copy())
            elif one.flow_control in (flow.CALL, flow.INDIRECT_CALL):
                for number in LOST:
                    state.registers[number] = None
                if one.mnemonic == iced.Mnemonic.CALL:  # the kernel comes back
                    self._push(calls + 1, one.next_ip, state, is_behind_call=True)
                    return None
            elif one.flow_control == flow.UNCONDITIONAL_BRANCH:
                self._push(calls, one.near_branch_target, state)
                return None
            else:
                return _at_return(state) if one.mnemonic == iced.Mnemonic.RET else None
            if state.registers[SP] is None:
                return None
        return None

    def _instructions(self, address: int) -> Iterator[Any]:
        while True:
            code = next((code for size in _PIECES if (code := self._read(address, size)) is not None), b"")
            end = address + len(code)
            for one in iced.Decoder(64, code, ip=address):
                if one.code == iced.Code.INVALID:
                    return
                yield one
                address = one.next_ip
                if end - address < _LONGEST and len(code) > _LONGEST + 1:
                    break
            else:
                return


def _at_return(state: State) -> Row | None:
    """The rules of where the walk began, where the code comes to a ``ret`` like this."""
    sp = state.registers[SP]
    if sp is None or not sp.is_known or sp in state.stored:  # what it has pushed itself is no return address
        return None
    rules: list[tuple[int, How, int | bytes]] = [(16, How.AT_CFA, -8)]
    cfa = sp.offset + 8
    for number in OF_CALLER:
        value = state.registers[number]
        if value is not None and value.loaded and value.register == sp.register:
            rules.append((number, How.AT_CFA, value.offset - cfa))
        elif value != Value(number, 0):
            rules.append((number, How.UNDEFINED, 0))
    rules += [(number, How.UNDEFINED, 0) for number in LOST]
    return Row(sp.register, cfa, None, tuple(rules), 16, is_signal_frame=False)
