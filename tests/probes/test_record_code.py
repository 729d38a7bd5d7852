"""The machine code that takes hits down, run in this very process: what it writes, what it keeps, what it drops."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from dualdbg.probes import recording, thunk
from dualdbg.probes.recording import PythonPlaces, Shared, Trace
from dualdbg.snapshot.cpython.layout import layout_of
from dualdbg.snapshot.cpython.reader import find_interpreter
from dualdbg.snapshot.linux.memory import ProcessMemory
from dualdbg.symbols.address_space import AddressSpace
from dualdbg.trace.collector import Collector, Source
from dualdbg.trace.memory import TraceMemory
from dualdbg.trace.python_lines import PythonLines, identity_of
from tests.probes.in_process import Patched, address_of, operations
from tests.probes.test_machine_code import _SIZES as SIZES
from tests.probes.test_machine_code import library, pytestmark
from tests.support import wait_until

__all__ = ["library", "pytestmark"]

_TID = 0x2D0  # of glibc's struct pthread
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


@pytest.fixture
def memory() -> Iterator[TraceMemory]:
    shared = replace(Shared.for_records(4), capacity=1 << 12)
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, shared.size + shared.private)
    address = _libc.mmap(None, shared.size + shared.private, 3, 1, descriptor, 0)
    assert address not in (None, ctypes.c_void_p(-1).value)
    made = TraceMemory(f"/proc/self/fd/{descriptor}", shared, address)
    os.close(descriptor)
    yield made
    made.close()


def _wish(memory: TraceMemory, python: PythonPlaces | None = None) -> thunk.Wish:
    return thunk.Wish(trace=Trace(memory.new_probe(), memory.address, memory.shared, _TID, True, python))


def _taken(memory: TraceMemory) -> list[list[int]]:
    rows = []
    for piece in memory.take():
        words = piece.tolist()
        rows += [words[at : at + recording.WORDS] for at in range(0, len(words), recording.WORDS)]
    return rows


def test_a_record_has_what_was_passed(library: ctypes.CDLL, memory: TraceMemory) -> None:
    with Patched(address_of(library, "add"), SIZES["add"], _wish(memory)):
        assert library.add(1, -2, 3, 4, 5, 6) == 1 - 4 + 9 + 20 + 35 + 66
        assert library.add(7, 0, 0, 0, 0, 0) == 7
    first, second = _taken(memory)
    for row, number in ((first, 1), (second, 2)):
        assert row[recording.NUMBER] == number
        assert row[recording.THREAD] == threading.get_native_id()
        assert row[recording.CODE] == 0
    assert first[recording.ARGUMENTS :] == [1, (1 << 64) - 2, 3, 4, 5, 6]
    assert second[recording.ARGUMENTS] == 7
    assert first[recording.TIME] < second[recording.TIME]
    assert memory.hits(0) == 2
    assert _taken(memory) == []


@pytest.mark.every_row
@pytest.mark.parametrize("flags", [0x202, 0x202 | 0x8D5, 0x202 | 0x400])
@pytest.mark.parametrize("condition", [None, 0, 1])
@pytest.mark.parametrize("records", [True, False])
def test_registers_and_flags_are_kept(
    library: ctypes.CDLL, memory: TraceMemory, flags: int, condition: int | None, records: bool
) -> None:
    before = (ctypes.c_ulong * 20).in_dll(library, "before")
    after = (ctypes.c_ulong * 20).in_dll(library, "after")
    for index in range(14):
        before[index] = 0x1111111111111111 * (index + 1)
    before[15] = flags
    wish = _wish(memory)
    assert wish.trace is not None
    if condition is not None:
        rows: Sequence[tuple[str, int] | str] = [("reg", 7), "ref64", "pop", ("const8", condition)]
        wish = replace(wish, condition=operations(*rows))
    if not records:
        wish = replace(wish, trace=replace(wish.trace, tid=None))
    with Patched(address_of(library, "watched"), SIZES["watched"], wish):
        library.through(0)
    assert list(after[:14]) == list(before[:14])
    assert after[15] & 0xCD5 == flags & 0xCD5
    assert after[16] == before[16]
    hits = 0 if condition == 0 else 1
    assert memory.hits(0) == hits
    found = _taken(memory)
    assert len(found) == (hits if records else 0)
    if found:  # rdi, rsi, rdx, rcx, r8, r9 in the order in which the test sets them
        assert found[0][recording.ARGUMENTS :] == [before[at] for at in (5, 4, 3, 2, 7, 8)]


@pytest.mark.every_row
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_the_kernel_answers_at_every_address(library: ctypes.CDLL, memory: TraceMemory, size: int) -> None:
    """Null pointers, the ends of what is mapped and of all addresses: none is one at which it does not say.

    Both outcomes of the comparison count nothing where nothing is there.
    """
    page = mmap.PAGESIZE
    start = _libc.mmap(None, 3 * page, 3, 0x22, -1, 0)  # MAP_PRIVATE | MAP_ANONYMOUS
    assert start not in (None, ctypes.c_void_p(-1).value)
    for hole in (start, start + 2 * page):
        assert _libc.mprotect(hole, page, 0) == 0
    first, end = start + page, start + 2 * page
    ctypes.memset(first, 1, page)
    there = {*range(first, first + 20), *range(end - 20, end - size + 1)}
    tops = (end, page, 1 << 47, 1 << 48, 1 << 63, 1 << 64)
    missing = {(top + offset) % (1 << 64) for top in tops for offset in range(-20, 20)} - there
    missing |= {first - at for at in range(1, 20)} | set(range(20))
    missing = {address for address in missing if not first <= address <= end - size}
    one = int.from_bytes(b"\1" * size, "little")
    wish, refused = _wish(memory), memory.new_probe()
    assert wish.trace is not None
    rows = operations(("reg", 5), f"ref{8 * size}", ("reg", 4), "equal")
    trace = replace(wish.trace, tid=None, refused=refused)
    with Patched(address_of(library, "add"), SIZES["add"], replace(wish, condition=rows, trace=trace)):
        for expected in (one, 0):
            for address in sorted(there | missing):
                before = memory.hits(trace.probe)
                library.add(ctypes.c_long(address), expected, 0, 0, 0, 0)
                is_hit = memory.hits(trace.probe) > before
                assert is_hit == (address in there and expected == one), hex(address)
                assert memory.hits(refused) == 0, hex(address)
    assert _libc.munmap(start, 3 * page) == 0


def test_a_full_ring_takes_nothing_and_loses_nothing_that_it_has(
    library: ctypes.CDLL, memory: TraceMemory
) -> None:
    """Four threads, and nobody reads: each hit is counted, and the first of each ring are there, in order."""
    with Patched(address_of(library, "add"), SIZES["add"], _wish(memory)):

        def work(number: int) -> None:
            for at in range(20000):
                library.add(at, number, 0, 0, 0, 0)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert memory.hits(0) == 80000
    rows = _taken(memory)
    assert memory.shared.capacity <= len(rows) <= memory.shared.capacity * memory.shared.rings
    for number in range(4):
        mine = [row for row in rows if row[recording.ARGUMENTS + 1] == number]
        in_order = sorted(mine, key=lambda row: row[recording.TIME])
        assert len({row[recording.ARGUMENTS] for row in mine}) == len(mine)
        assert [row[recording.ARGUMENTS] for row in in_order] == sorted(
            row[recording.ARGUMENTS] for row in mine
        )


def test_a_reader_beside_them_gets_each_record_once(library: ctypes.CDLL, memory: TraceMemory) -> None:
    """The rings are used many times over, and are never full: the writers wait when they have filled one."""
    collector = Collector(lambda: [Source(memory, lambda: None)], lambda *_: ())
    rounds, calls = 125, memory.shared.capacity // 8 - 1

    def taken() -> int:
        return collector.records[memory, 0].count if (memory, 0) in collector.records else 0

    def wait_for_the_reader() -> None:
        wait_until(lambda: taken() == memory.hits(0), 60, "what was written has been read")

    collector.start()
    with Patched(address_of(library, "add"), SIZES["add"], _wish(memory)):
        written = threading.Barrier(8, action=wait_for_the_reader)

        def work(number: int) -> None:
            for _ in range(rounds):
                for at in range(calls):
                    library.add(at, number, 0, 0, 0, 0)
                written.wait()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    collector.stop()
    assert memory.hits(0) == 8 * rounds * calls > 10 * memory.shared.capacity * memory.shared.rings
    by_thread = Counter[int]()
    for site, count in collector.records[memory, 0].sites.items():
        by_thread[site.tid] += count
    assert list(by_thread.values()) == [rounds * calls] * 8


def null_offset() -> int:
    """Of a word of the C library's data of a thread that is 0."""
    words = memoryview(ctypes.string_at(threading.get_ident(), 0x900)).cast("Q")
    return next(8 * at for at in reversed(range(len(words))) if words[at] == 0)


@pytest.mark.parametrize("is_second", [False, True])
def test_the_python_line_is_that_of_the_caller(
    library: ctypes.CDLL, memory: TraceMemory, is_second: bool
) -> None:
    """Also where the place that is looked at first has no thread state: that of the GIL's holder, from 3.15 on."""
    image = AddressSpace(os.getpid())
    image.refresh()
    interpreter = find_interpreter(image.modules)
    assert interpreter is not None
    read = partial(ProcessMemory, os.getpid())
    layout = layout_of(read(), interpreter.runtime, interpreter.version)
    lines = PythonLines(interpreter, read)
    offsets = lines.state_offsets()
    assert offsets
    memory.state_offsets = (null_offset(), offsets[0]) if is_second else offsets
    places = PythonPlaces(
        interpreter.runtime + layout.finalizing,
        layout.current_frame,
        layout.cframe_frame,
        layout.frame_code,
        layout.frame_instruction,
        layout.frame_owner,
        layout.frame_previous,
        layout.has_frame_objects,
        identity_of(layout),
    )
    with Patched(address_of(library, "add"), SIZES["add"], _wish(memory, places)):

        def inner() -> None:
            library.add(1, 2, 3, 4, 5, 6)

        inner()
        thread = threading.Thread(target=inner)
        thread.start()
        thread.join()
    rows = _taken(memory)
    assert len({row[recording.THREAD] for row in rows}) == len(rows) == 2
    for row in rows:
        place = row[recording.CODE], row[recording.INSTRUCTION]
        found = lines.of([place])[place]
        assert found is not None
        assert found.function.rpartition(".")[2] == "inner" and found.file == __file__
        assert found.line == inner.__code__.co_firstlineno + 1


def test_a_record_is_waited_for_while_the_target_stands(
    memory: TraceMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop, at which a user may think for minutes, is met by threads in the middle of a record."""
    words, number = memory._words, memory.shared.records(0) // 8
    words[memory.shared.control(0) // 8 + recording.HEAD // 8] = 1
    now, stands = 0.0, True
    monkeypatch.setattr("dualdbg.trace.memory.time", SimpleNamespace(monotonic=lambda: now))
    memory.may_write = lambda: not stands

    def look(seconds: float) -> bool:
        """Look after so many seconds; whether the record was given up."""
        nonlocal now
        now += seconds
        assert list(memory.take()) == []
        return words[number] == recording.GIVEN_UP

    assert not any(look(0.002) for _ in range(400))
    assert not any(look(60.0) for _ in range(10))
    stands = False
    assert not look(60.0)  # where we come late, so does its thread
    assert not any(look(0.002) for _ in range(400))
    assert any(look(0.002) for _ in range(400))


def test_a_record_that_nobody_completes_holds_up_no_other(library: ctypes.CDLL, memory: TraceMemory) -> None:
    """Its place is used no more, until who was slow completes it after all: the rings go round three times."""
    for ring in range(memory.shared.rings):  # as many that were begun, at the beginning of each ring
        memory._words[memory.shared.control(ring) // 8 + recording.HEAD // 8] = 2
    collector = Collector(lambda: [Source(memory, lambda: None)], lambda *_: ())
    collector.start()
    with Patched(address_of(library, "add"), SIZES["add"], _wish(memory)):
        for at in range(3 * memory.shared.capacity):
            library.add(at, 0, 0, 0, 0, 0)
            if at % 64 == 0:
                collector.take()
        used = [
            ring
            for ring in range(memory.shared.rings)
            if memory._words[memory.shared.control(ring) // 8 + recording.HEAD // 8] > memory.shared.capacity
        ]
        given_up = [memory.shared.records(ring) // 8 for ring in used]
        assert used and all(memory._words[at] == recording.GIVEN_UP for at in given_up)
        before = memory.hits(0)
        for at in given_up:
            memory._words[at] = 1
        for at in range(memory.shared.rings * memory.shared.capacity):
            library.add(at, 0, 0, 0, 0, 0)
            if at % 64 == 0:
                collector.take()
    collector.stop()
    assert before == 3 * memory.shared.capacity
    # Of each round one is lost at each place that was given up, and what found no room while it was waited for.
    lost = memory.hits(0) - collector.records[memory, 0].count
    assert 0 < lost < memory.hits(0) // 2
