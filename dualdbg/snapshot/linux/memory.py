"""The memory of a process or a core, read page by page and kept: what was read once stays as it was.

process_vm_readv(2) needs the right to trace, but neither stops the target nor waits for it. /proc/PID/mem needs that
right when it is opened, and no more after that (mem_open and mem_rw of the kernel's fs/proc/base.c). It is read where a
seccomp filter or a sandbox refuses process_vm_readv(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator

from ...errors import TargetGone, UnreadableMemory
from ...shared import page_size
from ...target.blocked_calls import Call, may_be_fatal, why_blocked
from ...target.permission import refusal

PAGE = page_size.SMALLEST  # bytes that are read and kept at once: what is mapped is whole pages of these
_MOST_PARTS = 1024  # IOV_MAX of the kernel's uio.h
_END_OF_OFFSETS = 1 << 63  # of a file; the vsyscall page lies beyond
_U64, _U32, _I32 = struct.Struct("<Q"), struct.Struct("<I"), struct.Struct("<i")


class Memory(ABC):
    """Addresses of one target. Every read raises UnreadableMemory where nothing is mapped or kept."""

    def __init__(self) -> None:
        self._pages: dict[int, bytes | memoryview] = {}
        self.late_pages = 0  # see ProcessMemory

    @abstractmethod
    def _load(self, page: int) -> bytes | None:
        """The bytes of page number ``page``; None where there are none."""

    def _page(self, number: int) -> bytes | memoryview:
        known = self._pages.get(number)
        if known is None:
            loaded = self._load(number)
            if loaded is None:
                raise UnreadableMemory(f"memory at {number * PAGE:#x} cannot be read")
            known = self._pages[number] = loaded
        return known

    def read(self, address: int, size: int) -> bytes:
        """Exactly ``size`` bytes."""
        offset = address % PAGE
        if offset + size <= PAGE:
            return bytes(self._page(address // PAGE)[offset : offset + size])
        first, last = address // PAGE, (address + size - 1) // PAGE
        data = b"".join(self._page(number) for number in range(first, last + 1))
        return data[offset : offset + size]

    def u64(self, address: int) -> int:
        """A pointer, or an unsigned number of 8 bytes."""
        page = self._pages.get(address >> 12)
        offset = address & 4095
        if page is not None and offset <= PAGE - 8:
            return int(_U64.unpack_from(page, offset)[0])
        return int(_U64.unpack(self.read(address, 8))[0])

    def u32(self, address: int) -> int:
        """An unsigned number of 4 bytes."""
        return int(_U32.unpack(self.read(address, 4))[0])

    def i32(self, address: int) -> int:
        """A signed number of 4 bytes."""
        return int(_I32.unpack(self.read(address, 4))[0])

    def u8(self, address: int) -> int:
        """One byte, unsigned."""
        return self.read(address, 1)[0]

    def text(self, address: int, limit: int = 256) -> str:
        """The zero-terminated string at an address, at most ``limit`` bytes of it."""
        data = b""
        while len(data) < limit:
            room = PAGE - (address + len(data)) % PAGE
            part = self.read(address + len(data), min(room, limit - len(data)))
            before, zero, _ = part.partition(b"\0")
            data += before
            if zero:
                break
        return data.decode("utf-8", "replace")


class _Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


_libc = ctypes.CDLL(None, use_errno=True)
_libc.process_vm_readv.restype = ctypes.c_ssize_t
_libc.process_vm_readv.argtypes = [
    ctypes.c_long,
    ctypes.POINTER(_Iovec),
    ctypes.c_ulong,
    ctypes.POINTER(_Iovec),
    ctypes.c_ulong,
    ctypes.c_ulong,
]


def open_memory(pid: int, mode: int = os.O_RDWR) -> int:
    """A descriptor of the memory of a process, for later. It is of the program that the process runs now.

    Raises PermissionRefused, TargetGone or TargetError.
    """
    try:
        return os.open(f"/proc/{pid}/mem", mode | os.O_CLOEXEC)
    except OSError as error:  # without the file: the process has ended, or a sandbox has none
        raise refusal(pid, error.errno or 0, reading=True) from error


class ProcessMemory(Memory):
    """The memory of a living process. ``file`` is from :func:`open_memory`, where only that may be read.

    After :meth:`freeze` the target may run: pages that were read before keep their contents, and ``late_pages``
    counts those that had to be read afterwards, which may not fit the rest. ``loaded`` are the numbers of the pages
    that were read one by one.
    """

    def __init__(self, pid: int, file: int | None = None) -> None:
        super().__init__()
        self._pid = pid
        self._file = file
        self._frozen = False
        self.loaded: list[int] = []
        self._missing: frozenset[int] = frozenset()  # not mapped when the others were kept

    def freeze(self) -> None:
        """The process may run from now on: what is read later is counted."""
        self._frozen = True

    def forget(self) -> None:
        """Read everything anew: the process is about to be held again."""
        self._pages.clear()
        self._frozen, self.late_pages, self._missing = False, 0, frozenset()
        self.loaded.clear()

    def keeper(self, pages: Collection[int]) -> Callable[[], Callable[[], None]]:
        """A function that copies the pages with these numbers as they are when it is called, by one call where that is
        possible, and gives another one, which keeps them. All that takes time is done before the first, while the
        process still runs, or by the second, when it runs again. Pages that are not mapped are left out.
        """
        runs = list(_runs(sorted(pages)))
        size = sum(count for _, count in runs) * PAGE
        buffer = ctypes.create_string_buffer(size)
        remote = (_Iovec * len(runs))(*(_Iovec(first * PAGE, count * PAGE) for first, count in runs))
        local = _Iovec(ctypes.addressof(buffer), size)
        vector = ctypes.cast(remote, ctypes.POINTER(_Iovec))
        at_once = self._file is None and not may_be_fatal(Call.READ) and len(runs) <= _MOST_PARTS

        def copy() -> Callable[[], None]:
            if (
                at_once
                and _libc.process_vm_readv(self._pid, ctypes.byref(local), 1, vector, len(runs), 0) == size
            ):
                return keep
            for number in pages:
                self.capture(number * PAGE, (number + 1) * PAGE)
            self._missing = frozenset(pages) - self._pages.keys()
            return lambda: None

        def keep() -> None:
            view, at = memoryview(buffer).cast("B"), 0
            for first, count in runs:
                for number in range(first, first + count):
                    self._pages.setdefault(number, view[at : at + PAGE])
                    at += PAGE

        return copy

    def capture(self, start: int, end: int) -> None:
        """Keep the pages of [start, end) as they are now; what is not mapped is left out."""
        first = start // PAGE * PAGE
        self.give(first, self._read_live(first, -(-end // PAGE) * PAGE - first))

    def give(self, start: int, data: bytes) -> None:
        """What was read of the pages from ``start`` on, which is where one begins."""
        view = memoryview(data)
        for offset in range(0, len(data) // PAGE * PAGE, PAGE):
            self._pages[(start + offset) // PAGE] = view[offset : offset + PAGE]

    def _load(self, page: int) -> bytes | None:
        if page in self._missing:
            return None
        self.loaded.append(page)
        if self._frozen:
            self.late_pages += 1
        data = self._read_live(page * PAGE, PAGE)
        return data if len(data) == PAGE else None

    def _read_live(self, address: int, size: int) -> bytes:
        """What can be read from ``address`` on: fewer bytes than ``size`` where the mapping ends."""
        if self._file is not None:
            data = _read_file(self._file, address, size)
            if data is not None:
                return data
        if may_be_fatal(Call.READ):
            return self._read_once(address, size)
        buffer = ctypes.create_string_buffer(size)
        local = _Iovec(ctypes.addressof(buffer), size)
        remote = _Iovec(address, size)
        count = _libc.process_vm_readv(self._pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        if count >= 0:
            return buffer.raw if count == size else buffer.raw[:count]
        problem = ctypes.get_errno()
        if problem == errno.EFAULT:
            return b""
        if problem == errno.ESRCH:
            raise TargetGone(f"process {self._pid} has ended")
        if why_blocked(Call.READ):
            return self._read_once(address, size)
        raise refusal(self._pid, problem, reading=True)

    def _read_once(self, address: int, size: int) -> bytes:
        """By /proc/PID/mem, opened for this alone: nobody has to close it."""
        file = open_memory(self._pid, os.O_RDONLY)
        try:
            data = _read_file(file, address, size)
        finally:
            os.close(file)
        if data is None:
            raise TargetGone(f"process {self._pid} has ended")
        return data


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first of numbers in a row, and how many these are; ``numbers`` are sorted."""
    first = count = 0
    for number in numbers:
        if count and number == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = number, 1
    if count:
        yield first, count


def _read_file(file: int, address: int, size: int) -> bytes | None:
    """What can be read from ``address`` on; None when the program that the file is of has ended."""
    if address + size > _END_OF_OFFSETS:
        return b""
    try:
        data = os.pread(file, size, address)
    except OSError as error:
        if error.errno == errno.EIO:  # nothing is mapped there
            return b""
        raise UnreadableMemory(f"memory at {address:#x} cannot be read: {error.strerror}") from error
    return data or None
