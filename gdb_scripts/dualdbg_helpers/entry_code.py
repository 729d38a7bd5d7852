"""What the machine code of a function tells of the registers in which it is given something. For x86-64; pure.

Two things are proofs. Code that reads a register on every way from the entry before anything is written there has been
given it: a compiler that optimises reads nothing that was not. And code that was not optimised begins by storing each
parameter on the stack, and nothing else: there the count is exact. What was not optimised is told by what no optimiser
leaves: on the stack a parameter that is read back while its register still has it, or never again, and a constant that
is read where it was just written.
"""

from __future__ import annotations

import itertools
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from .abi import ARGUMENTS, X86_64
from .att import PARTS, Instruction, Memory, Row, memory, parsed, register

INTEGERS = ARGUMENTS[X86_64]
FLOATS = tuple("xmm%d" % number for number in range(8))
MOST = 20_000  # instructions


class Evidence(NamedTuple):
    """What is known of the arguments in registers, by their names.

    ``read``: registers that are given to the function; of those in ``wide`` all eight bytes count. ``exact``: it is
    given no others; of those in ``narrow`` at most four bytes count then. ``foreign``: it is called by another ABI.
    ``stack``: how far it reaches into what the caller has put on the stack for it, None where it does not. ``lost``:
    registers that may have something else at the entry, for a loop begins there.
    """

    read: Tuple[str, ...] = ()
    wide: Tuple[str, ...] = ()
    narrow: Tuple[str, ...] = ()
    exact: bool = False
    foreign: bool = False
    stack: Optional[int] = None
    lost: Tuple[str, ...] = ()


class Code(NamedTuple):
    """The instructions of a function by their addresses, in order. ``complete``: all of them, with all ways between
    them. ``outside``: where they jump to that is not among them.
    """

    entry: int
    rows: Dict[int, Instruction]
    after: Dict[int, int]  # the next in memory
    complete: bool
    outside: List[int]

    @property
    def jumped_to(self) -> "Set[int]":
        """Where direct jumps go."""
        return {one.target for one in self.rows.values() if one.jumps and one.target is not None}

    def straight(self) -> "List[Instruction]":
        """The instructions from the entry on to the first jump, call or return, or to which there is a jump."""
        targets, found = self.jumped_to, []
        at: Optional[int] = self.entry
        while at is not None and at in self.rows and (at == self.entry or at not in targets):
            one = self.rows[at]
            if at in targets or one.jumps or one.calls or one.returns:
                break
            found.append(one)
            at = self.after.get(at)
        return found

    def following(self, one: Instruction) -> "List[int]":
        """Where control goes behind an instruction, within the function."""
        behind = self.after.get(one.address)
        found = [one.target] if one.jumps and one.target in self.rows else []
        if behind is not None and not one.returns and one.name not in ("jmp", "jmpq", "ud2", "hlt"):
            found.append(behind)
        return [at for at in found if at is not None]


def code_of(parts: "Sequence[Sequence[Row]]", whole: bool = True) -> Code:
    """The code in ``parts``; the first begins with the entry. ``whole``: nothing was left out at the end of a part."""
    rows: Dict[int, Instruction] = {}
    after: Dict[int, int] = {}
    for part in parts:
        code = [parsed(*row) for row in part]
        rows.update((one.address, one) for one in code)
        after.update((code[at - 1].address, code[at].address) for at in range(1, len(code)))
    jumps = [one for one in rows.values() if one.jumps]
    bad = any("(bad)" in text for part in parts for _, text in part)
    complete = whole and not bad and all(one.target is not None for one in jumps)
    outside = sorted({one.target for one in jumps if one.target is not None and one.target not in rows})
    return Code(parts[0][0][0], rows, after, complete, outside)


# -- what is read -----------------------------------------------------------------------------------

_NOT_READ = re.compile(r"nop|endbr|push|prefetch")
_SAME = re.compile(r"(?:xor|sub|sbb|xchg|v?pxor|v?xorp[sd]|v?pcmpeq\w|v?psub\w|cmp)[bwlq]?$")
_WHATEVER_THERE = re.compile(r"(?:andn?[bwlq]? \$0x0$|or[bwlq]? \$0xf+$)")  # what they leave is a constant
_READS_LAST = re.compile(
    r"(?:add|sub|and|or|xor|adc|sbb|imul|inc|dec|neg|not|sh[lr]d?|sal|sar|ro[lr]|cmov\w+|bswap)[bwlq]?$"
)
_COMPARES = re.compile(r"(?:cmp|test)q?$")
_XMM_SOURCE = re.compile(
    r"v?(?:mov[a-z0-9]*|(?:add|sub|mul|div|min|max)[sp][sd]|u?comis[sd]|cvt\w+|sqrt[sp][sd])$"
)


def _read(one: Instruction) -> "Dict[str, bool]":
    """The registers that an instruction reads for certain, and whether all eight bytes of them count."""
    found: Dict[str, bool] = {}
    operands = one.operands
    if _NOT_READ.match(one.name):
        operands = [operand for operand in operands if one.name.startswith("push") and memory(operand)]
    if len(operands) == 2 and operands[0] == operands[1] and _SAME.match(one.name):
        return found
    if len(operands) == 2 and _WHATEVER_THERE.match("%s %s" % (one.name, operands[0])):
        operands = [operand for operand in operands if memory(operand)]
    for at, operand in enumerate(operands):
        place = memory(operand)
        if place is not None:
            for name in (place.base, place.scaled):
                part = register("%" + name) if name else None
                if part is not None and part[1] == 8:
                    found[part[0]] = found.get(part[0], False) or not one.name.startswith("lea")
                elif part is not None:
                    found.setdefault(part[0], False)
            continue
        is_source = at < len(operands) - 1 or one.only_reads or _READS_LAST.match(one.name)
        part = register(operand)
        if part is not None and is_source:
            wide = part[1] == 8 and _COMPARES.match(one.name) is not None
            found[part[0]] = found.get(part[0], False) or wide
        elif operand[1:] in FLOATS and at == 0 and len(operands) == 2 and _XMM_SOURCE.match(one.name):
            found.setdefault(operand[1:], False)
    return found


def _written(one: Instruction) -> "Set[str]":
    """The registers for arguments of which it may write a part."""
    if one.calls or one.name in ("syscall", "cpuid", "rdtsc", "rdtscp", "xgetbv", "rdpmc"):
        return {*INTEGERS, *FLOATS}
    found = set(one.written())
    found.update(operand[1:].replace("ymm", "xmm").replace("zmm", "xmm") for operand in one.operands[-1:])
    if (
        re.match(r"(?:mul|div|idiv|imul|cqto|cltd|cwtd|cqo|cdq|cwd)[bwlq]?$", one.name)
        and len(one.operands) < 2
    ):
        found.add("rdx")
    if one.is_repeated or re.match(r"(?:movs|stos|lods|scas|cmps)[bwlq]?$", one.name):
        found.update(("rdi", "rsi", "rcx"))
    if one.name.startswith("loop"):
        found.add("rcx")
    if re.match(r"cmpxchg(?:8|16)b", one.name):
        found.add("rdx")
    return found & {*INTEGERS, *FLOATS}


def _untouched(code: Code) -> "Dict[int, Set[str]]":
    """By address: the registers to which nothing is written on any way there from the entry."""
    everything = {*INTEGERS, *FLOATS}
    if not code.complete:
        found, left = {}, set(everything)
        for one in code.straight():
            found[one.address] = set(left)
            left -= _written(one)
        return found
    known: Dict[int, Set[str]] = {code.entry: everything}
    waiting = [code.entry]
    while waiting:
        one = code.rows[waiting.pop()]
        left = known[one.address] - _written(one)
        for at in code.following(one):
            before = known.get(at)
            now = left if before is None else before & left
            if now != before:
                known[at] = set(now)
                waiting.append(at)
    return known


# -- what is stored ---------------------------------------------------------------------------------


class _Stored(NamedTuple):
    """Parameters that the beginning of a function stores: by register the bytes of it, and where below the frame.

    ``end``: how many instructions of the straight beginning do that. ``all``: nothing that it moves is left unstored.
    """

    sizes: Dict[str, int]
    slots: Dict[str, int]
    end: int
    all: bool


_CALLER = "caller"  # what was passed on the stack
_MOVES = re.compile(r"(?:v?mov(?:[lqwb]|[sz][bw][lwq]|abs|ss|sd|aps|apd|ups|upd|dqa|dqu|d|q)?)$")


def _stored(rows: "Sequence[Instruction]") -> "Optional[_Stored]":
    """What the beginning stores that sets up a frame first; None where it does not."""
    if not _sets_frame(rows):
        return None
    at = 1 if rows[0].name == "endbr64" else 0
    holds: Dict[str, Tuple[str, int]] = {name: (name, 8) for name in INTEGERS}
    holds.update((name, (name, 16)) for name in FLOATS)
    sizes: Dict[str, int] = {}
    slots: Dict[str, int] = {}
    moved: Set[str] = set()
    at += 2
    while at < len(rows):
        one = rows[at]
        if one.name == "push" or (one.name in ("sub", "add") and one.operands[-1] == "%rsp"):
            at += 1
            continue
        if one.name == "and" and one.operands[0] == "$0x1" and register(one.operands[-1]):
            at += 1  # a bool
            continue
        if not _MOVES.match(one.name) or len(one.operands) != 2:
            break
        source, target = one.operands
        what = _piece(source, one.name, holds)
        place = memory(target)
        if source == "$0x0" and register(target):
            holds.pop((register(target) or ("", 0))[0], None)  # what an object is put together in
            at += 1
            continue
        if what is None or (place is not None and (place.base != "rbp" or place.scaled or place.segment)):
            break
        if place is not None:
            if what[0] != _CALLER:
                sizes[what[0]] = max(sizes.get(what[0], 0), what[1])
                slots[what[0]] = place.offset
        else:
            part = register(target)
            name = part[0] if part is not None else target[1:]
            moved.add(what[0])
            if part is not None and part[1] < 4:
                what = (what[0], min(what[1], part[1]))
            holds[name] = what
        at += 1
    return _Stored(sizes, slots, at, moved <= {*sizes, _CALLER})


def _sets_frame(rows: "Sequence[Instruction]") -> bool:
    at = 1 if rows and rows[0].name == "endbr64" else 0
    frame = [(one.name, one.operands) for one in rows[at : at + 2]]
    return frame == [("push", ["%rbp"]), ("mov", ["%rsp", "%rbp"])]


def sets_frame_first(code: Code) -> bool:
    """Whether a function begins by making ``rbp`` the base of its frame, as all that is not optimised does.

    Behind what aligns the stack it may come later; what a scheduler has put between the two instructions shows that
    there was one.
    """
    rows = code.straight()
    pairs = ((rows[at].operands, rows[at + 1].operands) for at in range(len(rows) - 1))
    return (["%rbp"], ["%rsp", "%rbp"]) in pairs


def _piece(operand: str, name: str, holds: "Dict[str, Tuple[str, int]]") -> "Optional[Tuple[str, int]]":
    """The argument of which an operand holds a copy, and how many bytes of it are moved."""
    part, place = register(operand), memory(operand)
    if place is not None:
        return (_CALLER, 8) if _is_slot(place) and place.offset >= 16 else None
    whole = part[0] if part is not None else operand[1:]
    held = holds.get(whole) if operand.startswith("%") else None
    if held is None:
        return None
    size = part[1] if part is not None else 4 if name.endswith(("ss", "movd")) else held[1]
    return held[0], min(held[1], size)


# What an optimiser never leaves, whatever is volatile or atomic and wherever addresses go: a copy of a register that
# nothing else reads, while the register to which it is copied was free all along. Its allocator makes one of the two.
_NEAR = 8  # instructions
_WHOLE = re.compile(r"v?mov(?:aps|ups)$")
_SAVED_VECTOR = re.compile(r"%xmm(?:[6-9]|1[0-5])$")
_UNSEEN = re.compile(r"i?mul|i?div|cmpxchg|stos|lods|scas|c[lwqb]t|xlat|in|out|syscall")


def _is_unoptimised(rows: "Sequence[Instruction]", targets: "Set[int]", start: int) -> bool:
    """``start``: how many of the rows store parameters."""
    return any(
        _is_loaded_and_moved(rows, at, targets, start)
        or _is_moved_and_stored(rows, at, targets)
        or _is_there_and_back(rows, at)
        for at in range(len(rows))
    )


def _is_loaded_and_moved(rows: "Sequence[Instruction]", at: int, targets: "Set[int]", start: int) -> bool:
    """``mov -0x8(%rbp),%rax``, ``mov %rax,%rdi``, and nothing more of ``rax``. Nothing from ``start`` on reads ``rdi``
    before, which a scheduler may have moved there.
    """
    one = rows[at]
    if one.name not in ("mov", "lea") or len(one.operands) != 2 or one.operands[1] != "%rax":
        return False
    place = memory(one.operands[0])
    if place is None or not _is_slot(place):
        return False
    between: Set[str] = set()
    for behind in range(at + 1, min(at + _NEAR, len(rows))):
        move = rows[behind]
        if move.address in targets or not _is_move(move):
            return False
        if move.operands[0] == "%rax":
            part = register(move.operands[1])
            if part is None or part[1] != 8 or part[0] in {*between, "rax", "rsp", "rbp"}:
                return False
            was_used = any(part[0] in _read(before) for before in _same_block(rows[start:at], targets))
            return not was_used and _is_dead("rax", rows[behind + 1 :], targets)
        between |= _named(move)
        if "rax" in between:
            return False
    return False


def _same_block(rows: "Sequence[Instruction]", targets: "Set[int]") -> "List[Instruction]":
    """The last of the rows, back to a jump, a call, or where a jump leads."""
    found: List[Instruction] = []
    for one in reversed(rows):
        if one.jumps or one.calls or one.returns:
            break
        found.append(one)
        if one.address in targets:
            break
    return found


def _is_moved_and_stored(rows: "Sequence[Instruction]", at: int, targets: "Set[int]") -> bool:
    """``mov %esi,%eax``, ``mov %al,-0xc(%rbp)``, and nothing more of ``eax``, though ``sil`` could be stored."""
    one = rows[at]
    source, target = (
        (register(operand) for operand in one.operands) if len(one.operands) == 2 else (None, None)
    )
    if one.name != "mov" or source is None or target is None or source[0] not in INTEGERS or source[1] != 4:
        return False
    for behind in range(at + 1, min(at + _NEAR, len(rows))):
        move = rows[behind]
        part, place = (
            (register(move.operands[0]), memory(move.operands[1])) if _is_move(move) else (None, None)
        )
        if (
            part is not None
            and part[0] == target[0]
            and part[1] < 4
            and place is not None
            and _is_slot(place)
        ):
            rest = itertools.takewhile(lambda after: not after.jumps and not after.calls, rows[behind + 1 :])
            kept = not any(
                source[0] in after.written() for after in rest
            )  # a scheduler may have moved it there
            return kept and _is_dead(target[0], rows[behind + 1 :], targets)
        if not _is_move(move) or target[0] in _named(move) or source[0] in move.written():
            return False
    return False


def _is_there_and_back(rows: "Sequence[Instruction]", at: int) -> bool:
    """``movq %xmm0,%rax``, ``movq %rax,%xmm0``."""
    if at + 1 == len(rows) or rows[at].name != "movq" or rows[at + 1].name != "movq":
        return False
    there, back = rows[at].operands, rows[at + 1].operands
    return len(there) == 2 and there[0][1:] in FLOATS and there[1] == "%rax" and back == [*reversed(there)]


def _is_move(one: Instruction) -> bool:
    return len(one.operands) == 2 and (_MOVES.match(one.name) is not None or one.name == "lea")


def _named(one: Instruction) -> "Set[str]":
    names = re.findall(r"%(\w+)", " ".join(one.operands))
    return {PARTS[name][0] for name in names if name in PARTS}


def _is_dead(name: str, rows: "Sequence[Instruction]", targets: "Set[int]") -> bool:
    """Whether a register is written to, or lost in a call, before anything reads it."""
    for one in rows:
        if one.address in targets or one.jumps or one.returns:
            return False
        if one.calls:
            return name not in INTEGERS and name not in _named(one)
        if name in _named(one):
            part = register(one.operands[-1])
            is_new = _is_move(one) and part is not None and part[0] == name and part[1] >= 4
            return is_new and "%" + name not in one.operands[0] and name not in _sources(one)
        if not one.operands or one.is_repeated or _UNSEEN.match(one.name):
            return False  # perhaps it reads rax without naming it
    return False


def _sources(one: Instruction) -> "Set[str]":
    return _named(one._replace(operands=one.operands[:-1]))


def _is_slot(place: Memory) -> bool:
    return place.base == "rbp" and place.scaled is None and not place.segment


def _is_beginning(names: "Set[str]", order: "Sequence[str]") -> bool:
    return names == set(order[: len(names)])


def _is_foreign(code: Code, straight: "Sequence[Instruction]") -> bool:
    """Whether a function gives back registers that are its own to use by our ABI, or stores what it is given above its
    frame: Microsoft's (``__attribute__((ms_abi))``).
    """
    saved = {one.operands[0] for one in straight if one.name.startswith("push")} & {"%rdi", "%rsi"}
    moved = [(one.operands[0], one.operands[1]) for one in code.rows.values() if _WHOLE.match(one.name)]
    vectors = {source for source, target in moved if _SAVED_VECTOR.match(source) and memory(target)}
    back = {target for source, target in moved if memory(source) and target in vectors}
    back |= {one.operands[0] for one in code.rows.values() if one.name.startswith("pop")} & saved
    return bool(back) or any(_is_above(one) for one in straight[:_NEAR])


def _is_above(one: Instruction) -> bool:
    part, place = (register(one.operands[0]), memory(one.operands[1])) if _is_move(one) else (None, None)
    is_argument = part is not None and part[0] in INTEGERS
    return is_argument and place is not None and _is_slot(place) and place.offset >= 16


# -- both -------------------------------------------------------------------------------------------


def evidence(code: Code) -> Evidence:
    """What the code of a function tells of its arguments."""
    straight = code.straight()
    if _is_foreign(code, straight):
        return Evidence(foreign=True)
    lost = set().union(*map(_written, code.rows.values())) if code.entry in code.jumped_to else ()
    return _of_registers(code, straight)._replace(lost=tuple(sorted(lost)))


def passed_on(code: Code) -> "Optional[Tuple[int, List[int]]]":
    """Where a function jumps that does nothing but move its arguments, and which of them, counted from 0, are then in
    the registers for those of the other function (-1: none). None of any other function.
    """
    rows = [*code.rows.values()]
    holds = {name: at for at, name in enumerate(INTEGERS)}
    for one in rows[:-1]:
        if one.name.startswith(("nop", "endbr")):
            continue
        source, target = map(register, one.operands) if _is_move(one) else (None, None)
        if one.name != "mov" or source is None or target is None or {source[1], target[1]} != {8}:
            return None
        holds[target[0]] = holds.get(source[0], -1)
    if not code.complete or not rows or not rows[-1].goes_on or rows[-1].target not in code.outside:
        return None
    return code.outside[0], [holds[name] for name in INTEGERS]


def _of_registers(code: Code, straight: "Sequence[Instruction]") -> Evidence:
    stored = _stored(straight)
    rows = [*code.rows.values()]
    may_be = stored is not None and stored.sizes and stored.all
    if stored is not None and may_be and _is_unoptimised(rows, code.jumped_to, stored.end):
        return _of_stores(straight, stored)
    found: Dict[str, bool] = {}
    for at, left in _untouched(code).items():
        for name, wide in _read(code.rows[at]).items():
            if name in left:
                found[name] = found.get(name, False) or wide
    wide_ones = {name for name in found if found[name]}
    # Code that was not optimised moves about what nobody has given it (the rest of a small object). It never uses an
    # argument where that was passed.
    names = set(found) if stored is None or wide_ones else set(stored.sizes)
    return Evidence(tuple(sorted(names)), tuple(sorted(wide_ones)))


def _of_stores(straight: "Sequence[Instruction]", stored: _Stored) -> Evidence:
    names = set(stored.sizes)
    integers, floats = names & set(INTEGERS), names & set(FLOATS)
    left = {*INTEGERS, *FLOATS} - names
    exact = stored.all and _is_beginning(integers, INTEGERS) and _is_beginning(floats, FLOATS)
    for one in straight[stored.end :]:
        exact = exact and not (set(_read(one)) & left)  # perhaps it goes on to store parameters
        left -= _written(one)
    wide = sorted(name for name in integers if stored.sizes[name] == 8)
    narrow = sorted(name for name in integers if stored.sizes[name] <= 4)
    return Evidence(tuple(sorted(names)), tuple(wide), tuple(narrow), exact)
