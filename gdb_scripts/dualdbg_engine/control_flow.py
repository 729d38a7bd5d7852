"""Where control goes after an instruction, as gdb's disassembly says, and what it comes to. For x86-64 and AArch64."""

from __future__ import annotations

import re
from typing import Any, Callable, Container, Iterable, Iterator, NamedTuple, TypeVar

import gdb

State = TypeVar("State")

_AT_ONCE = 16  # instructions
_X86 = re.compile(
    r"(?:(?:bnd|notrack|rep|repz|repnz|data16|cs|ds)\s+)*"
    r"(?:(?P<returns>i?ret\w*)|(?P<stops>hlt|ud2|\(bad\))|(?P<jump>jmpq?)|(?P<branch>j\w+|loop\w*))(?:\s|$)"
)
_ARM = re.compile(
    r"(?:(?P<returns>ret\w*)|(?P<stops>brk|udf)|(?P<jump>b|br\w*)|(?P<branch>bc?\.\w+|cb\w+|tbn?z))(?:\s|$)"
)
_CALL = re.compile(r"(?:(?:bnd|notrack)\s+)*(?:callq?|blr?(?:a[ab]z?)?)\s+(?:[^<]*<(?P<name>[^>@+.]+))?")
_TARGET = re.compile(r"[^*]*?[\s,](0x[0-9a-f]+)(?:\s|$)")  # a star is before the place that has the address


class Flow(NamedTuple):
    """Where control goes after an instruction: to ``addresses``, the one behind it first.

    ``returns``: to the caller. ``indirect``: to where a register or the memory says. ``calls``: the name of the
    function that it calls, as linked, without version and number of a copy: empty where it is not known, None where
    nothing is called. ``is_nop``: it does nothing.
    """

    addresses: tuple[int, ...]
    returns: bool = False
    indirect: bool = False
    calls: str | None = None
    is_nop: bool = False

    @property
    def is_known(self) -> bool:
        """Whether control goes to ``addresses`` and nowhere else."""
        return not self.returns and not self.indirect


def flow(architecture: str, row: dict[str, Any]) -> Flow:
    """Where control goes after an instruction, as gdb's Python disassembles it: ``row`` has addr, length and asm."""
    behind = row["addr"] + row["length"]
    text = row["asm"].strip()
    found = (_ARM if architecture.startswith("aarch64") else _X86).match(text)
    kind = found.lastgroup if found is not None else None
    if kind in (None, "stops"):
        call = _CALL.match(text) if kind is None else None
        calls = (call["name"] or "") if call is not None else None
        return Flow((behind,) if kind is None else (), calls=calls, is_nop=text.startswith("nop"))
    if kind == "returns":
        return Flow((), returns=True)
    target = _TARGET.match(text)
    goes = (behind,) if kind == "branch" else ()
    return Flow(goes, indirect=True) if target is None else Flow((*goes, int(target.group(1), 16)))


def flows(start: int, end: int) -> dict[int, Flow]:
    """The instructions that begin in [start, end), in their order. Raises gdb.error where memory cannot be read."""
    architecture = gdb.selected_inferior().architecture()
    name = architecture.name()
    return {row["addr"]: flow(name, row) for row in architecture.disassemble(start, end - 1)}


class Code:
    """Machine code, disassembled some instructions at a time."""

    def __init__(self) -> None:
        self._architecture = gdb.selected_inferior().architecture()
        self._flows: dict[int, Flow] = {}

    def flow(self, address: int) -> Flow | None:
        """Where control goes after the instruction at an address; None where memory cannot be read."""
        for count in (_AT_ONCE, 1):  # memory may end soon behind it
            if address not in self._flows:
                self._read(address, count)
        return self._flows.get(address)

    def _read(self, address: int, count: int) -> None:
        try:
            rows = self._architecture.disassemble(address, count=count)
        except gdb.error:
            return
        name = self._architecture.name()
        self._flows.update((row["addr"], flow(name, row)) for row in rows)

    def following(self, address: int) -> tuple[int, ...]:
        """The addresses to which control goes after the instruction at an address, as far as they are known."""
        found = self.flow(address)
        return found.addresses if found is not None else ()


def reached(
    begin: Iterable[State], following: Callable[[State], Iterable[State]], without: Container[State] = ()
) -> Iterator[State]:
    """What control comes to from ``begin``, and not through ``without``: each address once, as soon as it is found.

    ``following`` says where control goes after an instruction. It is asked for an address only when a caller wants
    more than that. What is asked for may as well be addresses with what has happened on the way.
    """
    found = dict.fromkeys(address for address in begin if address not in without)
    waiting = list(found)
    yield from waiting.copy()
    while waiting:
        for address in following(waiting.pop()):
            if address not in found and address not in without:
                found[address] = None
                waiting.append(address)
                yield address
