"""Probes: conditions and counts that run in the target. They are in its code only while it runs freely.

At each stop the code is as it was, and no thread stands in ours: where one stood before its moved instructions it is
back at the function, as if it had not come there yet; behind, it is where it would be without us. While the code is
as it was, gdb's own breakpoint does the work, which is off meanwhile. A hit is a signal that a thread sends to itself;
the session tells it as a hit of that breakpoint. No trap is written for it: should gdb die at any moment of that,
nothing ends the program. Each step leaves it in order: a thread gets all registers at once, and code of ours stays as
long as the program.
"""

from __future__ import annotations

from typing import Any, Sequence

import gdb
from dualdbg_shared.requests.probes import (
    ArmProbes,
    CountProbeHits,
    InsertProbe,
    InsertProbes,
    ProbeCode,
    RemoveTrace,
)

from .breakpoints import addresses, breakpoint_of
from .deletions import when_gone
from .interrupting import taken
from .probe_hits import FAULTS, blocking, filtered, forgive, go_past, has_faulted, tell
from .probe_state import Probe, Ring, now
from .registry import answers
from .stopped_threads import (
    INDEX,
    WORD,
    Memory,
    all_threads,
    block,
    forget_registers,
    registers_of,
    set_registers,
    writable_areas,
)

_NO_CALL = WORD  # orig_rax of a thread that is in no system call
_RED_ZONE = 128
_MOST_STACK = 8 << 20  # bytes of a stack that are looked through
_ZERO_FLAG = 1 << 6
_TRACES = 1 << 30  # above it are numbers for which gdb has no breakpoint; dualdbg/backends/gdb_probes.py
_NO_PROBE, _GIVEN_UP = 0xFFFFFFFF, WORD  # dualdbg/probes/recording.py

_reactions: "dict[Any, Any]" = {}  # what listens to gdb, once there was a probe


# -- what the session asks for ----------------------------------------------------------------------


@answers(InsertProbe)
def insert_probe(number: int, probe: ProbeCode) -> None:
    with Memory() as memory:
        now.add([_written(memory, number, probe)])


@answers(InsertProbes)
def insert_probes(rows: "Sequence[tuple[int, ProbeCode]]") -> "dict[int, str]":
    made: "list[Probe]" = []
    failed: "dict[int, str]" = {}
    with Memory() as memory:
        for number, parts in rows:
            try:
                made.append(_written(memory, number, parts))
            except (gdb.error, gdb.GdbError, OSError) as error:
                failed[_key(number, parts)] = str(error)
    now.add(made)
    return failed


def _key(number: int, parts: ProbeCode) -> int:
    return -parts.thunk if parts.is_exit else number


def _written(memory: Memory, number: int, parts: ProbeCode) -> Probe:
    """A probe, whose code is written."""
    moved = dict(parts.moved)
    key = _key(number, parts)
    probe = Probe(
        key, number, parts.address, parts.site, parts.original, parts.jump,
        parts.thunk, parts.code, parts.saved, [row[0] for row in parts.states],
        parts.states, parts.sent, moved, {original: one for one, original in moved.items()},
        parts.counter, parts.limit, parts.traces, Ring(*parts.ring) if parts.ring else None,
        parts.calls, parts.address if parts.is_exit else parts.site,
        bool(parts.sent) or any("asking" in marks for _, _, marks in parts.states),
    )  # fmt: skip
    _begin(parts.signal)
    if key == number < _TRACES:
        when_gone(breakpoint_of(number), lambda: remove_trace(number))
    if not probe.traces:
        memory.write(probe.counter, bytes(16))
    memory.write(probe.thunk, probe.code)
    return probe


def _begin(name: str) -> None:
    pid = gdb.selected_inferior().pid
    if now.pid != pid:
        now.forget()
        now.pid = pid
        if not _reactions:
            _reactions.update(
                {_stopped: gdb.events.stop, _runs: gdb.events.cont, _calls: gdb.events.inferior_call}
            )
            for react, event in _reactions.items():
                event.connect(react)
    if name:
        now.signal = name
        taken.add(name)
    # Else a thread may be in gdb's copy of an instruction when the code changes: results of threads were wrong then.
    gdb.execute("set displaced-stepping off", to_string=True)


@answers(RemoveTrace)
def remove_trace(number: int) -> None:
    now.remove(number)


def forget_probes() -> None:
    """The process runs another program."""
    taken.discard(now.signal)
    now.forget()


@answers(CountProbeHits)
def probe_hits(number: int) -> int:
    probe = now.probes.get(number)
    if probe is None:
        return 0
    with Memory() as memory:
        return memory.word(probe.counter) + now.told.get(number, 0)


@answers(ArmProbes)
def arm_probes(off: "Sequence[int]") -> "dict[int, str]":
    """The target is about to run freely: put the jumps in. Returns why some are not, by their keys.

    For these gdb's own breakpoints do the work, as they do during steps. ``off``: those that trace and are not wanted.
    """
    switched_off = set(off)
    left_out: "dict[int, str]" = {}
    if now.passed:  # also where gdb's own breakpoint is there, or another one
        with Memory() as memory:
            go_past(memory, 0)
        forget_registers()
    wanted = []
    by_byte: "dict[int, list[Probe]]" = {}
    points = {point.number: point for point in gdb.breakpoints()}
    for probe in now.probes.values():
        if probe.traces:
            is_wanted = probe.number not in switched_off
        else:
            point = points.get(probe.number)
            is_wanted = point is not None and point.enabled
        if not is_wanted:
            continue
        wanted.append(probe)
        for byte in range(min(probe.address, probe.site), probe.site + len(probe.original)):
            others = by_byte.setdefault(byte, [])
            if others:
                left_out[probe.key] = "another probe is there"
            others.append(probe)
    tells = [probe for probe in wanted if not probe.traces]
    if not tells and now.signal:  # one that was sent before is of no interest any more
        gdb.execute("handle %s nostop noprint pass" % now.signal, to_string=True)
    if not wanted:
        return {}  # what is armed later begins anew
    for point in points.values():
        for address in addresses(point) if point.enabled and point.type == gdb.BP_BREAKPOINT else ():
            for probe in by_byte.get(address, ()):
                if probe.number != point.number:
                    left_out[probe.key] = "another breakpoint is there"
    asking = [probe for probe in wanted if probe.asks]
    why = filtered() if asking else None
    if why:
        left_out.update(dict.fromkeys((probe.key for probe in asking), why))
    why = blocking(now.signal) if tells else None
    if why:
        left_out.update(dict.fromkeys((probe.key for probe in tells), why))
    wanted = [probe for probe in wanted if probe.key not in left_out]
    with Memory() as memory:
        threads = list(all_threads())
        for probe in _led_into(memory, wanted, [registers for _, registers in threads]):
            left_out[probe.key] = "a signal handler may return into its first bytes"
        wanted = [probe for probe in wanted if probe.key not in left_out]
        for probe in list(wanted):
            if memory.read(probe.site, len(probe.original)) != probe.original:
                left_out[probe.key] = "its code has changed"
                wanted.remove(probe)
        _move_out(wanted, threads)
        for probe in wanted:
            if probe.limit:
                hits = points[probe.number].hit_count + now.told.get(probe.number, 0)
                memory.write(probe.counter + 8, max(probe.limit - hits, 0).to_bytes(8, "little"))
        if now.missed:
            _forget_calls(memory)
        now.missed = bool(left_out or switched_off)
        for probe in wanted:
            now.armed[probe.key] = probe
            memory.write(probe.site, probe.jump)
            if not probe.traces:
                points[probe.number].enabled = False
    if any(not probe.traces for probe in wanted):
        gdb.execute("handle %s stop print pass" % now.signal, to_string=True)
    now.looked = True
    forget_registers()
    return left_out


def _forget_calls(memory: Memory) -> None:
    """Calls may have been missed: a return could be taken for that of an earlier one at the same place of the stack."""
    for address, size in {probe.calls for probe in now.probes.values() if probe.calls[1]}:
        memory.write(address, bytes(size))


def _led_into(memory: Memory, probes: "list[Probe]", threads: "list[Any]") -> "list[Probe]":
    """The probes into whose bytes, behind the first, a stack leads back: a signal handler runs that came there."""
    inner = {original: probe for probe in probes for original in probe.back if original != probe.site}
    if now.looked or not inner:
        return []
    stacks = writable_areas(now.pid)
    found = {}
    for registers in threads:
        low = registers[INDEX["rsp"]] - _RED_ZONE & ~7
        end = next((end for start, end in stacks if start <= low < end), low)
        data = memory.read(low, min(end - low, _MOST_STACK))
        words = set(memoryview(data[: len(data) & ~7]).cast("Q")) if len(inner) > 16 else None
        for address, probe in inner.items():
            if address in words if words is not None else address.to_bytes(8, "little") in data:
                found[probe.key] = probe
    return list(found.values())


def _move_out(probes: "list[Probe]", threads: "list[Any]") -> None:
    """No thread stands in bytes that a jump takes: it goes on in the moved instructions."""
    inner = {original: probe for probe in probes for original in probe.back if original != probe.site}
    for tid, registers in threads:
        pc = registers[INDEX["rip"]]
        if pc in inner:
            registers[INDEX["rip"]] = inner[pc].back[pc]
            set_registers(tid, registers)
    now.passed.clear()
    now.known.clear()


# -- at a stop --------------------------------------------------------------------------------------


def _calls(event: gdb.Event) -> None:
    now.calls = isinstance(event, gdb.InferiorCallPreEvent)


def _runs(event: gdb.Event) -> None:
    """The target runs, and not for a call of gdb's: what is known of its threads is not true any more."""
    if not now.armed and not now.calls:
        now.looked = False
        now.missed = True
        now.passed.clear()
        now.known.clear()


def _stopped(event: gdb.StopEvent) -> None:
    """Take the jumps out, and let no thread stand in code of ours."""
    if gdb.selected_inferior().pid != now.pid or now.calls:
        return
    thread = gdb.selected_thread()
    tid = thread.ptid[1] if thread is not None else 0
    before = registers_of(tid) if tid else None
    disarm_probes(tid)
    registers = registers_of(tid) if tid else None
    if before is None or registers is None:
        return
    if not isinstance(event, gdb.SignalEvent):
        now.passed[tid] = registers[INDEX["rip"]]
        now.known.add(tid)
    elif event.stop_signal == now.signal:
        tell(tid, before[INDEX["rip"]])
    elif event.stop_signal in FAULTS:
        forgive(tid, before[INDEX["rip"]])


def disarm_probes(told: int) -> None:
    """The code of the program is as it was. ``told`` is the thread whose stop is told."""
    if not now.thunks:
        return
    with Memory() as memory:
        first = now.thunks[0]
        if memory.read(first.thunk, len(first.code)) != first.code:
            forget_probes()  # the process runs another program; the session deletes breakpoints at this stop
            return
        for probe in now.armed.values():
            # A library may be gone, and another be there.
            if memory.read(probe.site, len(probe.jump)) == probe.jump:
                memory.write(probe.site, probe.original)
        moved = [
            _leave(memory, tid, registers)
            for tid, registers in all_threads()
            if tid == told or not has_faulted(tid, registers[INDEX["rip"]])
        ]
        for number, probe in now.armed.items():
            # Where a library is gone, the session deletes its breakpoints at this stop.
            if probe.traces:
                continue  # keys are numbers of breakpoints from here on
            if number in now.probes and memory.read(probe.site, len(probe.original)) == probe.original:
                point = breakpoint_of(number)
                if probe.limit:
                    done = memory.word(probe.counter) + point.hit_count + now.told.get(number, 0)
                    point.ignore_count = max(probe.limit - 1 - done, 0)
                point.enabled = True
    now.armed.clear()
    if any(moved):
        forget_registers()


def _leave(memory: Memory, tid: int, registers: Any) -> bool:
    """Let a thread stand in the function where it stands in a thunk. Returns whether it did."""
    pc = registers[INDEX["rip"]]
    probe = now.thunk_at(pc)
    if probe is None:
        return False
    if pc in probe.moved:
        original = probe.moved[pc]
        if original == probe.head:
            now.passed[tid] = probe.address
        registers[INDEX["rip"]] = probe.address if original == probe.head else original
    elif pc >= probe.starts[-1] and pc > max(probe.moved):
        registers[INDEX["rip"]] = probe.site + len(probe.original)
    else:
        pushed, marks = probe.state_at(pc)
        if "masked" in marks:
            # They are the last that was pushed.
            block(tid, memory.word(registers[INDEX["rsp"]]))
        is_zero = bool(registers[INDEX["flags"]] & _ZERO_FLAG)
        if "reserved" in marks or ("reserving" in marks and is_zero):
            _give_up(memory, probe, registers)
        if "claimed" in marks or ("claiming" in marks and is_zero):  # its call is not timed
            memory.write(registers[INDEX["r11"]], bytes(8))
        _undo(memory, probe, registers, pushed)
        registers[INDEX["rip"]] = probe.address
        if "counted" in marks:  # it will be again
            memory.write(probe.counter, (memory.word(probe.counter) - 1 & WORD).to_bytes(8, "little"))
        if "passed" in marks:  # it is not to be counted again
            now.passed[tid] = probe.address
    set_registers(tid, registers)
    return True


def _give_up(memory: Memory, probe: Probe, registers: Any) -> None:
    """Complete a record that is reserved, as one that is none: the reader goes past it.

    Its number is in r9, the control block of its ring in r8.
    """
    assert probe.ring is not None
    ring, number = probe.ring, registers[INDEX["r9"]]
    turn = (registers[INDEX["r8"]] - ring.control) // ring.block
    record = ring.records + (turn * ring.capacity + (number - 1) % ring.capacity) * ring.record
    if memory.word(record) == _GIVEN_UP:  # another thread may be slow, and write there yet
        return
    memory.write(record + 20, _NO_PROBE.to_bytes(4, "little"))
    memory.write(record, number.to_bytes(8, "little"))


def _undo(memory: Memory, probe: Probe, registers: Any, pushed: int) -> None:
    """The registers as the function had them, where so many of them are on the stack."""
    if pushed < 0:
        return
    top = registers[INDEX["rsp"]]
    for index, name in enumerate(probe.saved[:pushed]):
        if name in INDEX:
            registers[INDEX[name]] = memory.word(top + 8 * (pushed - 1 - index))
    registers[INDEX["rsp"]] = top + 8 * pushed + _RED_ZONE & WORD
    registers[INDEX["orig_rax"]] = _NO_CALL
