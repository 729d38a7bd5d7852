"""Which lock a thread waits for and which locks a thread holds, from the locks' own memory.

A Lock does not say who has it. A thread has it where the ``with`` block of a frame keeps the exit of the lock, or of a
Condition over it, on the value stack. Condition.wait gives the lock away meanwhile; code that calls ``release`` within
the block may have done so too, so of that nothing is known.

pthread_mutex_t: glibc's sysdeps/nptl/bits/struct_mutex.h (__lock, __count, __owner). ``_thread.lock`` and
``_thread.RLock``: Modules/_threadmodule.c; up to 3.13.0 their lock is a semaphore, on which a waiter sleeps. Later it
is a PyMutex, a byte: a waiter sleeps on a semaphore of its own, behind the address of that byte (``struct wait_entry``,
Python/parking_lot.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import UnreadableMemory
from ...model import PythonFrame
from ..facts import Lock
from .fields import Fields
from .reader import PythonReader, PythonThreadState
from .slots import PythonSlots, readable_objects

_LOCK_TYPES = {"_thread.lock": "lock", "_thread.RLock": "rlock"}
MUTEX_OWNER = 8  # offset of __owner
_RLOCK_OWNER = 8  # behind the lock itself
_PARKED_AT = 8  # bytes from wait_entry.addr to its semaphore
_IMPORTLIB = "<frozen importlib._bootstrap>"


class LockReader:
    """Reads the locks of one process while it stands still."""

    def __init__(
        self,
        reader: PythonReader | None,
        states: dict[int, PythonThreadState],
        fields: Fields | None = None,
    ) -> None:
        self._reader = reader
        self._fields = fields
        self._errors = fields.errors if fields is not None else ()
        self._slots = PythonSlots(reader) if reader is not None else None
        self._states = states

    def awaited(self, tid: int, word: int, owner_word: int) -> Lock:
        """The lock whose futex word is at ``word``: a lock of Python, else a mutex; None where it is no lock."""
        state = self._states.get(tid)
        if state is not None and state.frames:
            found = self._of_module(state.frames[0])
            found = found or self._parked_for(word) or self._found_in(state.frames[0], word)
            if found is not None and _is_of_queue(state.frames):
                found = replace(found, name="a Queue")
            if found is not None:
                return found
        return Lock("mutex", word, owner_word)

    def _of_module(self, frame: PythonFrame) -> Lock | None:
        """The lock of a module that others import, where a thread waits for it. It says who has it."""
        if frame.file != _IMPORTLIB or not _is_named(frame, "acquire") or self._fields is None:
            return None
        try:
            lock = self._fields.own(frame)
            if lock is None or self._fields.kind(lock).tp_name != "_ModuleLock":
                return None
            owner, name = (self._fields.attribute(lock, each) for each in ("owner", "name"))
            identity = self._fields.integer(owner) if owner else None
            text = self._fields.text(name) if name else None
            return Lock("import", lock, self._thread_of(identity) if identity else None, name=text)
        except self._errors:
            return None

    def _parked_for(self, word: int) -> Lock | None:
        assert self._reader is not None
        try:
            lock = self._reader.memory.u64(word - _PARKED_AT) - self._reader.layout.head
        except UnreadableMemory:
            return None
        return self._lock_at(lock) if self._reader.layout.version >= (3, 13) else None

    def _found_in(self, frame: PythonFrame, word: int) -> Lock | None:
        for address in self._objects(frame, guarded=False):
            lock = self._python_lock(address)
            if lock is not None and self._semaphore(lock.address) == word:
                return lock
        return None

    def held(self, tid: int) -> tuple[int, ...]:
        """Addresses of the Python locks whose ``with`` block the thread is in, and that it has not released there."""
        state = self._states.get(tid)
        found: list[int] = []
        released: set[int] = set()
        for frame in state.frames if state is not None else ():
            objects = map(self._python_lock, self._objects(frame, guarded=True))
            locks = {lock.address for lock in objects if lock is not None}
            if self._fields is not None:
                if _is_in_threading(frame.file) and _is_named(frame, "wait"):
                    released |= self._lock_of_condition(self._fields.own(frame))
                for owner, file, name in self._fields.managers(frame):
                    if _is_in_threading(file) and name == "Condition.__exit__":
                        locks |= self._lock_of_condition(owner)
            if locks - released and not self._releases(frame):
                found += locks - released
        return tuple(dict.fromkeys(found))

    def _lock_of_condition(self, address: int | None) -> set[int]:
        """The Lock or RLock of a Condition; nothing of another object."""
        assert self._fields is not None
        try:
            lock = self._fields.attribute(address, "_lock") if address else None
        except self._errors:
            return set()
        return {lock} if lock and self._lock_at(lock) is not None else set()

    def _releases(self, frame: PythonFrame) -> bool:
        """Whether the code of a frame may release a lock before its block ends; also where that cannot be read."""
        assert self._slots is not None and frame.address is not None
        try:
            return self._slots.uses(frame.address, "release")
        except UnreadableMemory:
            return True

    def _objects(self, frame: PythonFrame, guarded: bool) -> list[int]:
        assert self._slots is not None and frame.address is not None
        return readable_objects(self._slots, frame.address, guarded)

    def _python_lock(self, address: int) -> Lock | None:
        """The lock at ``address``: the object itself, or the lock that this bound method belongs to."""
        assert self._reader is not None
        reader, head = self._reader, self._reader.layout.head
        try:
            if reader.type_name(address) == "builtin_function_or_method":
                address = reader.memory.u64(address + head + 8)  # m_self
        except UnreadableMemory:
            return None
        return self._lock_at(address) if address else None

    def _lock_at(self, address: int) -> Lock | None:
        """The lock object at ``address``; None where there is none."""
        assert self._reader is not None
        try:
            kind = self._reader.type_name(address)
            if kind not in _LOCK_TYPES:
                return None
            return Lock(_LOCK_TYPES[kind], address, self._owner(address) if kind == "_thread.RLock" else None)
        except UnreadableMemory:
            return None

    def _semaphore(self, lock: int) -> int:
        assert self._reader is not None
        return self._reader.memory.u64(lock + self._reader.layout.head)

    def identity(self, rlock: Lock) -> int:
        """What its owner is called by Python (``threading.get_ident()``); 0 for nobody. Raises UnreadableMemory."""
        return self._identity(rlock.address)

    def _identity(self, lock: int) -> int:
        assert self._reader is not None
        return self._reader.memory.u64(lock + self._reader.layout.head + _RLOCK_OWNER)

    def _owner(self, lock: int) -> int:
        """The OS thread id of an RLock's owner; 0 for nobody, -1 for a thread that Python does not know."""
        assert self._reader is not None
        identity = self._identity(lock)
        return 0 if identity == 0 else self._thread_of(identity)

    def _thread_of(self, identity: int) -> int:
        """The OS thread id of what ``threading.get_ident()`` is in it; -1 for a thread that Python does not know."""
        return next((tid for tid, state in self._states.items() if state.pthread == identity), -1)


def _is_in_threading(file: str | None) -> bool:
    return (file or "").endswith("/threading.py")


def _is_of_queue(frames: Sequence[PythonFrame]) -> bool:
    """Whether a method of queue.Queue takes its lock, by one of its Conditions."""
    enters = _is_in_threading(frames[0].file) and _is_named(frames[0], "__enter__")
    return enters and len(frames) > 1 and (frames[1].file or "").endswith("/queue.py")


def _is_named(frame: PythonFrame, method: str) -> bool:
    return frame.function.rpartition(".")[2] == method
