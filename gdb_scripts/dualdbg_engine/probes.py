"""Probes: conditions and counts that run in the target. They are in its code only while it runs freely.

At each stop the code is as it was, and no thread stands in ours: where one stood before its moved instructions it is
back at the function, as if it had not come there yet; behind, it is where it would be without us. While the code is
as it was, gdb's own breakpoint does the work, which is off meanwhile. A hit is a signal that a thread sends to itself;
the session tells it as a hit of that breakpoint. No trap is written for it: should gdb die at any moment of that,
nothing ends the program. Each step leaves it in order: a thread gets all registers at once, and code of ours stays as
long as the program.
"""

from __future__ import annotations

import bisect
import ctypes
import os
import re
import signal
from typing import Any, Iterator, NamedTuple

import gdb
from dualdbg_helpers import language
from dualdbg_shared.proc_files import read_status

from .breakpoints import addresses, breakpoint_of, when_gone
from .calls import settings, without_breakpoints
from .interrupting import taken
from .leaving import calling
from .threads import find_thread, select_innermost

_TGKILL = 234  # asm/unistd_64.h
_GETREGS, _SETREGS, _SETSIGMASK = 12, 13, 0x420B  # sys/ptrace.h
# struct user_regs_struct of x86-64, sys/user.h.
_ORDER = [
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"),
    *("orig_rax", "rip", "cs", "flags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"),
]
_INDEX = {name: index for index, name in enumerate(_ORDER)}
_Registers = ctypes.c_uint64 * len(_ORDER)
_WORD = (1 << 64) - 1
_NO_CALL = _WORD  # orig_rax of a thread that is in no system call
_RED_ZONE = 128
_MOST_STACK = 8 << 20  # bytes of a stack that are looked through
_GROWTH = 1 << 30  # bytes that are left free for the heap and the main stack
_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_MAP_PRIVATE, _MAP_ANONYMOUS, _MAP_FIXED_NOREPLACE = 0x02, 0x20, 0x100000


class _Probe(NamedTuple):
    """A probe as dualdbg/probes/thunk.py has made it; ``number`` is gdb's breakpoint that it stands for."""

    number: int
    address: int
    site: int
    original: bytes
    jump: bytes
    thunk: int
    code: bytes
    saved: "list[str]"
    starts: "list[int]"
    states: "list[list[Any]]"
    sent: int
    moved: "dict[int, int]"  # address of a moved instruction -> that of the original
    back: "dict[int, int]"  # the other way
    counter: int
    limit: int  # the hit from which on it stops; 0 where it does not count

    @property
    def end(self) -> int:
        return self.thunk + len(self.code)


class _State:
    def __init__(self) -> None:
        self.pid = 0
        self.probes: "dict[int, _Probe]" = {}
        self.thunks: "list[_Probe]" = []  # every one that was ever written, by address: a thread may be there yet
        self.armed: "dict[int, _Probe]" = {}
        self.passed: "dict[int, int]" = {}  # thread -> where it stands, at a hit that was told
        self.known: "set[int]" = set()  # those threads of which gdb itself knows that
        self.told: "dict[int, int]" = {}  # gdb's number of a breakpoint -> its hits that gdb itself did not see
        self.looked = False  # no stack leads into bytes that a jump takes
        self.signal = ""
        self.calls = False  # gdb calls a function of the program, or lets a thread stop where it stands


_now = _State()
_reactions: "dict[Any, Any]" = {}  # what listens to gdb, once there was a probe


class _Memory:
    """The target's memory. Its code is written to by the kernel, whatever its pages allow (proc(5), mem)."""

    def __init__(self) -> None:
        self._file = os.open("/proc/%d/mem" % gdb.selected_inferior().pid, os.O_RDWR | os.O_CLOEXEC)

    def __enter__(self) -> "_Memory":
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._file)

    def read(self, address: int, size: int) -> bytes:
        """As much as can be read."""
        try:
            return os.pread(self._file, size, address)
        except OSError:
            return b""

    def write(self, address: int, data: bytes) -> None:
        """All at once, where it is within a page."""
        if os.pwrite(self._file, data, address) != len(data):
            raise gdb.GdbError("memory at %#x cannot be written" % address)

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")


# -- registers of a thread, all at once -------------------------------------------------------------


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long
_libc.syscall.restype = ctypes.c_long


def _registers(tid: int) -> "ctypes.Array[ctypes.c_uint64] | None":
    """The registers of a thread that is stopped; None for one that has ended."""
    found = _Registers()
    return found if _libc.ptrace(_GETREGS, tid, None, ctypes.byref(found)) == 0 else None


def _set_registers(tid: int, values: "ctypes.Array[ctypes.c_uint64]") -> None:
    if _libc.ptrace(_SETREGS, tid, None, ctypes.byref(values)) != 0:
        raise gdb.GdbError(
            "thread %d does not take its registers: %s" % (tid, os.strerror(ctypes.get_errno()))
        )


def _threads() -> "Iterator[tuple[int, ctypes.Array[ctypes.c_uint64]]]":
    for thread in gdb.selected_inferior().threads():
        registers = _registers(thread.ptid[1])
        if registers is not None:
            yield thread.ptid[1], registers


def _forget_registers() -> None:
    gdb.execute("maintenance flush register-cache", to_string=True)


# -- what the session asks for ----------------------------------------------------------------------


def probe_room(near: int, size: int, reach: int, mmap: int, thread: int) -> int:
    """Map new memory near an address: ``size`` bytes of code, and behind them as many of data. Returns its address.

    ``mmap`` is the address of the C library's: a thread calls it, alone. No page is ever writable and executable at
    once. Raises GdbError where there is no room.
    """
    base = _gap(near, 2 * size, reach)
    select_innermost(thread)
    call = "((long(*)(long,long,long,long,long,long))%d)(%d,%d,%d,%d,-1,0)"
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_FIXED_NOREPLACE
    with without_breakpoints(), settings({"scheduler-locking": "on", "unwindonsignal": "on"}), calling():
        for at, access in ((base, _PROT_READ | _PROT_EXEC), (base + size, _PROT_READ | _PROT_WRITE)):
            found = int(language.evaluate(call % (mmap, at, size, access, flags))) & _WORD
            if found != at:
                raise gdb.GdbError("no memory could be mapped near it")
    return base


def _gap(near: int, size: int, reach: int) -> int:
    """The nearest free place of this size, that is, all of it, within reach."""
    rows: "list[tuple[int, int]]" = []
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as file:
        for line in file:
            start, end = (int(one, 16) for one in line.split(" ", 1)[0].split("-"))
            grown = _GROWTH if line.rstrip().endswith("[heap]") else 0
            down = _GROWTH if line.rstrip().endswith("[stack]") else 0
            rows.append((max(start - down, rows[-1][1] if rows else 0), end + grown))
    best = None
    before = 0x10000
    for start, end in [*rows, (1 << 47, 0)]:
        low, high = before + 0x10000, start - size - 0x10000
        before = max(before, end)
        if high < low:
            continue
        at = min(max(near, low), high) & ~0xFFFF
        if (
            at >= low
            and abs(at - near) + size < reach
            and (best is None or abs(at - near) < abs(best - near))
        ):
            best = at
    if best is None:
        raise gdb.GdbError("there is no room within 2 GB of it")
    return best


def insert_probe(number: int, address: int, parts: "dict[str, Any]") -> None:
    """Write the code of a probe that stands for gdb's breakpoint ``number``. It is in force from the next run on."""
    code = bytes.fromhex(parts["code"])
    moved = {int(one): int(original) for one, original in parts["moved"]}
    probe = _Probe(
        number, address, parts["site"], bytes.fromhex(parts["original"]), bytes.fromhex(parts["jump"]),
        parts["thunk"], code, parts["saved"], [row[0] for row in parts["states"]],
        parts["states"], parts["sent"], moved, {original: one for one, original in moved.items()},
        parts["counter"], parts["limit"],
    )  # fmt: skip
    _begin(parts["signal"])
    with _Memory() as memory:
        memory.write(probe.counter, bytes(16))
        memory.write(probe.thunk, code)
    _now.probes[number] = probe
    _now.thunks.append(probe)
    _now.thunks.sort(key=lambda one: one.thunk)
    _now.looked = False
    when_gone(breakpoint_of(number), lambda: _gone(number))


def _begin(name: str) -> None:
    pid = gdb.selected_inferior().pid
    if _now.pid != pid:
        _now.__init__()  # type: ignore[misc]
        _now.pid = pid
        if not _reactions:
            _reactions.update(
                {_stopped: gdb.events.stop, _runs: gdb.events.cont, _calls: gdb.events.inferior_call}
            )
            for react, event in _reactions.items():
                event.connect(react)
    _now.signal = name
    taken.add(name)
    # Else a thread may be in gdb's copy of an instruction when the code changes: results of threads were wrong then.
    gdb.execute("set displaced-stepping off", to_string=True)


def _gone(number: int) -> None:
    """gdb's breakpoint is deleted, at a stop: nothing of the probe is in the function then."""
    _now.probes.pop(number, None)
    _now.told.pop(number, None)


def forget_probes() -> None:
    """The process runs another program."""
    taken.discard(_now.signal)
    _now.pid = 0
    _now.probes.clear()
    _now.thunks.clear()
    _now.armed.clear()
    _now.passed.clear()
    _now.known.clear()
    _now.told.clear()


def probe_hits(number: int) -> int:
    """How many hits of a breakpoint gdb has not seen: those that its probe has counted, and told."""
    probe = _now.probes.get(number)
    if probe is None:
        return 0
    with _Memory() as memory:
        return memory.word(probe.counter) + _now.told.get(number, 0)


def arm_probes() -> "dict[str, str]":
    """The target is about to run freely: put the jumps in. Returns why some are not, by gdb's number of the breakpoint.

    For these gdb's own breakpoints do the work, as they do during steps.
    """
    left_out: "dict[str, str]" = {}
    if _now.passed:  # also where gdb's own breakpoint is there, or another one
        with _Memory() as memory:
            _go_past(memory, 0)
        _forget_registers()
    wanted = []
    by_byte: "dict[int, list[_Probe]]" = {}
    points = {point.number: point for point in gdb.breakpoints()}
    for probe in _now.probes.values():
        point = points.get(probe.number)
        if point is None or not point.enabled:
            continue
        wanted.append(probe)
        for byte in range(min(probe.address, probe.site), probe.site + len(probe.original)):
            by_byte.setdefault(byte, []).append(probe)
    if not wanted:
        if _now.signal:  # one that was sent before is of no interest any more
            gdb.execute("handle %s nostop noprint pass" % _now.signal, to_string=True)
        return {}
    for point in points.values():
        for address in addresses(point) if point.enabled and point.type == gdb.BP_BREAKPOINT else ():
            for probe in by_byte.get(address, ()):
                if probe.number != point.number:
                    left_out[str(probe.number)] = "another breakpoint is there"
    blocking = _blocking(_now.signal)
    if blocking:
        left_out.update(dict.fromkeys((str(probe.number) for probe in wanted), blocking))
    wanted = [probe for probe in wanted if str(probe.number) not in left_out]
    with _Memory() as memory:
        threads = list(_threads())
        for probe in _led_into(memory, wanted, [registers for _, registers in threads]):
            left_out[str(probe.number)] = "a signal handler may return into its first bytes"
        wanted = [probe for probe in wanted if str(probe.number) not in left_out]
        for probe in list(wanted):
            if memory.read(probe.site, len(probe.original)) != probe.original:
                left_out[str(probe.number)] = "its code has changed"
                wanted.remove(probe)
        _move_out(wanted, threads)
        for probe in wanted:
            if probe.limit:
                hits = points[probe.number].hit_count + _now.told.get(probe.number, 0)
                memory.write(probe.counter + 8, max(probe.limit - hits, 0).to_bytes(8, "little"))
        for probe in wanted:
            _now.armed[probe.number] = probe
            memory.write(probe.site, probe.jump)
            points[probe.number].enabled = False
    if wanted:
        gdb.execute("handle %s stop print pass" % _now.signal, to_string=True)
    _now.looked = True
    _forget_registers()
    return left_out


def _blocking(name: str) -> "str | None":
    """Why a hit could not be told by the signal; None where it can."""
    mask = 1 << int(signal.Signals[name]) - 1
    own = read_status("/proc/self/status")
    for thread in gdb.selected_inferior().threads():
        try:
            status = read_status("/proc/%d/task/%d/status" % (_now.pid, thread.ptid[1]))
        except OSError:
            continue
        # A container's filter lets gdb do what a probe does.
        if any(status.get(row) != own.get(row) for row in ("Seccomp", "Seccomp_filters")):
            return "system calls are filtered (seccomp) in thread %d" % thread.ptid[1]
        if int(status.get("SigBlk", "0"), 16) & mask:
            return "thread %d blocks %s" % (thread.ptid[1], name)
        if int(status.get("SigCgt", "0"), 16) & mask:
            return "the program handles %s" % name
    return None


def _led_into(memory: _Memory, probes: "list[_Probe]", threads: "list[Any]") -> "list[_Probe]":
    """The probes into whose bytes, behind the first, a stack leads back: a signal handler runs that came there."""
    inner = {original: probe for probe in probes for original in probe.back if original != probe.site}
    if _now.looked or not inner:
        return []
    stacks = _stacks()
    found = {}
    for registers in threads:
        low = registers[_INDEX["rsp"]] - _RED_ZONE & ~7
        end = next((end for start, end in stacks if start <= low < end), low)
        data = memory.read(low, min(end - low, _MOST_STACK))
        words = set(memoryview(data[: len(data) & ~7]).cast("Q")) if len(inner) > 16 else None
        for address, probe in inner.items():
            if address in words if words is not None else address.to_bytes(8, "little") in data:
                found[probe.number] = probe
    return list(found.values())


def _stacks() -> "list[tuple[int, int]]":
    with open("/proc/%d/maps" % _now.pid) as file:
        rows = [line.split(" ", 2) for line in file]
    return [tuple(int(one, 16) for one in row[0].split("-")) for row in rows if row[1].startswith("rw")]  # type: ignore[misc]


def _move_out(probes: "list[_Probe]", threads: "list[Any]") -> None:
    """No thread stands in bytes that a jump takes: it goes on in the moved instructions."""
    inner = {original: probe for probe in probes for original in probe.back if original != probe.site}
    for tid, registers in threads:
        pc = registers[_INDEX["rip"]]
        if pc in inner:
            registers[_INDEX["rip"]] = inner[pc].back[pc]
            _set_registers(tid, registers)
    _now.passed.clear()
    _now.known.clear()


def _go_past(memory: _Memory, but: int) -> bool:
    """Threads at a hit that was told go on in the moved instructions. Returns whether the thread ``but`` is at one."""
    entries = {at: probe for probe in _now.thunks for at in (probe.address, probe.site)}
    is_at_one = False
    for tid, registers in _threads():
        pc = registers[_INDEX["rip"]]
        probe = entries.get(pc) if _now.passed.get(tid) == pc else None
        if probe is None or memory.read(probe.site, len(probe.original)) != probe.original:
            continue
        if tid == but:
            is_at_one = True
            continue
        registers[_INDEX["rip"]] = probe.back[probe.site]
        _set_registers(tid, registers)
    return is_at_one


def pass_hits(number: int) -> bool:
    """A step of thread ``number`` begins: no thread comes upon a breakpoint of gdb at which its hit was told already.

    The others go on in the moved instructions. Returns whether gdb does not know it of the thread itself: it knows it
    only of one that it has seen stop there. :func:`stop_again` is to follow then.
    """
    if not _now.passed:
        return False
    own = find_thread(number).ptid[1]
    with _Memory() as memory:
        is_at_one = _go_past(memory, own)
    _forget_registers()
    return is_at_one and own not in _now.known


def stop_again(number: int) -> None:
    """Let gdb see a thread stop where it stands: by a signal that it takes before the next instruction."""
    thread = find_thread(number)
    tid = thread.ptid[1]
    thread.switch()
    _now.calls = True
    try:
        with without_breakpoints(), settings({"scheduler-locking": "on"}):
            gdb.execute("handle %s stop print pass" % _now.signal, to_string=True)
            if _libc.syscall(_TGKILL, _now.pid, tid, int(signal.Signals[_now.signal])) != 0:
                raise gdb.GdbError("thread %d takes no signal: %s" % (tid, os.strerror(ctypes.get_errno())))
            gdb.execute("continue", to_string=True)
            gdb.execute("queue-signal 0", to_string=True)
            _now.known.add(tid)
    finally:
        _now.calls = False


# -- at a stop --------------------------------------------------------------------------------------


def _calls(event: gdb.Event) -> None:
    _now.calls = isinstance(event, gdb.InferiorCallPreEvent)


def _runs(event: gdb.Event) -> None:
    """The target runs, and not for a call of gdb's: what is known of its threads is not true any more."""
    if not _now.armed and not _now.calls:
        _now.looked = False
        _now.passed.clear()
        _now.known.clear()


def _stopped(event: gdb.StopEvent) -> None:
    """Take the jumps out, and let no thread stand in code of ours."""
    if gdb.selected_inferior().pid != _now.pid or _now.calls:
        return
    thread = gdb.selected_thread()
    tid = thread.ptid[1] if thread is not None else 0
    before = _registers(tid) if tid else None
    disarm_probes()
    registers = _registers(tid) if tid else None
    if before is None or registers is None:
        return
    if not isinstance(event, gdb.SignalEvent):
        _now.passed[tid] = registers[_INDEX["rip"]]
        _now.known.add(tid)
    elif event.stop_signal == _now.signal:
        _tell(tid, before[_INDEX["rip"]])


def _tell(tid: int, pc: int) -> None:
    """A thread has taken the signal of a hit; the session tells it (dualdbg/backends/gdb_probes.py).

    It has just sent it, or it was put back to the function before it could take it.
    """
    for probe in _now.probes.values():
        if pc in (probe.sent, probe.address):
            _now.passed[tid] = probe.address
            _now.told[probe.number] = _now.told.get(probe.number, 0) + 1
            gdb.execute("queue-signal 0", to_string=True)  # it is ours: the program does not get it


def disarm_probes() -> None:
    """The code of the program is as it was."""
    if not _now.thunks:
        return
    with _Memory() as memory:
        first = _now.thunks[0]
        if memory.read(first.thunk, len(first.code)) != first.code:
            forget_probes()  # the process runs another program; the session deletes breakpoints at this stop
            return
        for probe in _now.armed.values():
            # A library may be gone, and another be there.
            if memory.read(probe.site, len(probe.jump)) == probe.jump:
                memory.write(probe.site, probe.original)
        moved = [_leave(memory, tid, registers) for tid, registers in _threads()]
        for number, probe in _now.armed.items():
            # Where a library is gone, the session deletes its breakpoints at this stop.
            if number in _now.probes and memory.read(probe.site, len(probe.original)) == probe.original:
                point = breakpoint_of(number)
                if probe.limit:
                    done = memory.word(probe.counter) + point.hit_count + _now.told.get(number, 0)
                    point.ignore_count = max(probe.limit - 1 - done, 0)
                point.enabled = True
    _now.armed.clear()
    if any(moved):
        _forget_registers()


def _leave(memory: _Memory, tid: int, registers: Any) -> bool:
    """Let a thread stand in the function where it stands in a thunk. Returns whether it did."""
    pc = registers[_INDEX["rip"]]
    at = bisect.bisect_right([one.thunk for one in _now.thunks], pc) - 1
    if at < 0 or pc >= _now.thunks[at].end:
        return False
    probe = _now.thunks[at]
    if pc in probe.moved:
        original = probe.moved[pc]
        if original == probe.site:
            _now.passed[tid] = probe.address
        registers[_INDEX["rip"]] = probe.address if original == probe.site else original
    elif pc >= probe.starts[-1] and pc > max(probe.moved):
        registers[_INDEX["rip"]] = probe.site + len(probe.original)
    else:
        _, pushed, counted, masked = probe.states[bisect.bisect_right(probe.starts, pc) - 1]
        if masked:
            _block_again(memory, tid, registers[_INDEX["rsp"]])
        _undo(memory, probe, registers, pushed)
        registers[_INDEX["rip"]] = probe.address
        if counted:  # it will be again
            memory.write(probe.counter, (memory.word(probe.counter) - 1 & _WORD).to_bytes(8, "little"))
    _set_registers(tid, registers)
    return True


def _block_again(memory: _Memory, tid: int, top: int) -> None:
    """The thread blocks the signals again that it did before it told a hit: they are the last that was pushed."""
    blocked = ctypes.c_uint64(memory.word(top))
    if _libc.ptrace(_SETSIGMASK, tid, 8, ctypes.byref(blocked)) != 0:
        raise gdb.GdbError("thread %d does not take its mask: %s" % (tid, os.strerror(ctypes.get_errno())))


def _undo(memory: _Memory, probe: _Probe, registers: Any, pushed: int) -> None:
    """The registers as the function had them, where so many of them are on the stack."""
    if pushed < 0:
        return
    top = registers[_INDEX["rsp"]]
    for index, name in enumerate(probe.saved[:pushed]):
        if name in _INDEX:
            registers[_INDEX[name]] = memory.word(top + 8 * (pushed - 1 - index))
    registers[_INDEX["rsp"]] = top + 8 * pushed + _RED_ZONE & _WORD
    registers[_INDEX["orig_rax"]] = _NO_CALL


# -- conditions -------------------------------------------------------------------------------------


def condition_operations(address: int, condition: str, named: bool) -> str:
    """What gdb makes of a condition at an address, as ``maintenance agent-eval`` lists it.

    ``named``: it is about variables that are known there. Raises gdb.error where gdb has no such code for it.
    """
    condition = _CHARACTER.sub(lambda found: "(char)%d" % _code_of(found[1]), condition)
    if not named:
        with language.ours():
            return str(gdb.execute("maintenance agent-eval %s" % condition, to_string=True))
    line = gdb.find_pc_line(address)
    if line.symtab is None:
        raise gdb.GdbError("debug info does not tell its line")
    place = "%s:%d" % (line.symtab.fullname(), line.line)
    return str(gdb.execute("maintenance agent-eval -at %s, %s" % (place, condition), to_string=True))


# gdb has no agent code for characters.
_CHARACTER = re.compile(r"(?<![\w'\"])'([^'\\\"]|\\[0abfnrtv'\"\\])'(?!['\"])")
_ESCAPES = dict(zip("0abfnrtv", (0, 7, 8, 12, 10, 13, 9, 11)))


def _code_of(character: str) -> int:
    code = ord(character) if len(character) == 1 else _ESCAPES.get(character[1], ord(character[1]))
    if code > 127:
        raise gdb.GdbError("a character that is not of ASCII")
    return code
