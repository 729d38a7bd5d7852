"""Which lock a thread waits for and which locks a thread holds, from the locks' own memory.

pthread_mutex_t: glibc's sysdeps/nptl/bits/struct_mutex.h (__lock, __count, __owner). ``_thread.lock`` and
``_thread.RLock``: Modules/_threadmodule.c; up to 3.13.0 their lock is a semaphore, on which a waiter sleeps. Later it
is a PyMutex, a byte: a waiter sleeps on a semaphore of its own, behind the address of that byte (``struct wait_entry``,
Python/parking_lot.c).
"""

from __future__ import annotations

from ...errors import UnreadableMemory
from ...model import PythonFrame
from ..facts import Lock
from .reader import PythonReader, PythonThreadState
from .slots import PythonSlots, readable_objects

_LOCK_TYPES = {"_thread.lock": "lock", "_thread.RLock": "rlock"}
MUTEX_OWNER = 8  # offset of __owner
_RLOCK_OWNER = 8  # behind the lock itself
_PARKED_AT = 8  # bytes from wait_entry.addr to its semaphore


class LockReader:
    """Reads the locks of one process while it stands still."""

    def __init__(self, reader: PythonReader | None, states: dict[int, PythonThreadState]) -> None:
        self._reader = reader
        self._slots = PythonSlots(reader) if reader is not None else None
        self._states = states

    def awaited(self, tid: int, word: int, owner_word: int) -> Lock:
        """The lock whose futex word is at ``word``: a lock of Python, else a mutex; None where it is no lock."""
        state = self._states.get(tid)
        if state is not None and state.frames:
            found = self._parked_for(word) or self._found_in(state.frames[0], word)
            if found is not None:
                return found
        return Lock("mutex", word, owner_word)

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
        """Addresses of the Python locks whose ``with`` block the thread is in."""
        state = self._states.get(tid)
        found: list[int] = []
        for frame in state.frames if state is not None else ():
            for address in self._objects(frame, guarded=True):
                lock = self._python_lock(address)
                if lock is not None:
                    found.append(lock.address)
        return tuple(dict.fromkeys(found))

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
        if identity == 0:
            return 0
        return next((tid for tid, state in self._states.items() if state.pthread == identity), -1)
