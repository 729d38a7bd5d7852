"""pydevd does not trace threads that native code starts, up to Python 3.11.

Runs in the target: traces them from their first Python frame on.

sys.settrace serves one thread. pydevd calls it in each thread that Python starts, but a thread of C++ that calls back
into Python was not traced, and passed all breakpoints (microsoft/vscode-python#14098). Its new thread state takes the
GIL in PyEval_RestoreThread (PyGILState_Ensure) or PyEval_AcquireThread (pybind11). Their calls of ``take_gil`` are led
through a few instructions of ours, which put the trace function into each thread state that is new: its
``gilstate_counter`` is 0. The stack never has a frame of ours. x86-64 only.
"""

from __future__ import annotations

import os
import re
import struct
import sys

try:
    import ctypes
except ImportError:  # the interpreter was built without libffi
    ctypes = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple

# From the entry of PyEval_AcquireThread to its call of take_gil: its argument, the thread state, is not changed.
_UP_TO_CALL = re.compile(
    rb"(?:\xf3\x0f\x1e\xfa)?"  # endbr64
    rb"(?:[\x50-\x57]|\x41[\x50-\x57]|\x48\x83\xec."  # push; sub rsp
    rb"|\x48\x89[\xfb\xfd]|\x49\x89[\xfc-\xff]"  # mov rbx|rbp|r12..r15, rdi
    rb"|\x48\x85\xff|\x74.|\x0f\x84....)*\xe8",  # test rdi, rdi; je
    re.DOTALL,
)
_LOOKED_THROUGH = 128  # bytes of PyEval_RestoreThread
_LINE = 64  # bytes of the processor's cache: within one, no other thread sees half of a change
_PAGE = 4096
_REACH = (1 << 31) - (1 << 16)
_READ, _WRITE, _EXECUTE = 1, 2, 4  # sys/mman.h
_PRIVATE_ANONYMOUS = 0x22
# From c_profilefunc to gilstate_counter in PyThreadState (CPython, Include/cpython/pystate.h)
_COUNTER = 72 if sys.version_info >= (3, 11) else 104
_STATE_BYTES = 512  # of PyThreadState that are looked through
_REFERENCES = 1 << 30  # taken at once: thread states give one back each, and some need no GIL to get theirs


class Unsupported(Exception):
    """The interpreter is built in another way, or there is no room."""


def install(pydevd: Any) -> None:
    """Lead the calls to our instructions, once in a process. The program has one thread yet, or is attached to."""
    if (
        ctypes is None
        or os.uname().machine != "x86_64"
        or hasattr(sys, "getobjects")
        or hasattr(pydevd, "dualdbg_native_threads")
    ):
        return
    import pydevd_tracing  # type: ignore[import-not-found]

    try:
        patch = Patch(pydevd)
    except (Unsupported, OSError, AttributeError):  # or it exports nothing
        return  # such threads are not traced, as in plain debugpy
    pydevd.dualdbg_native_threads = patch
    restore = pydevd_tracing.restore_sys_set_trace_func

    def restore_sys_set_trace_func() -> None:  # what each end of the tracing calls
        patch.trace(None)
        restore()

    pydevd_tracing.restore_sys_set_trace_func = restore_sys_set_trace_func


def registering(pydevd: Any, dispatch: Any) -> Any:
    """The first trace function of a thread. pydevd passes over those that ``threading`` does not list."""
    import pydevd_tracing

    listed: Any = {}  # the threads that are so only because of us, by their ident

    def trace(frame: Any, event: str, argument: Any) -> Any:
        active = pydevd.threading._active
        for ident, thread in list(listed.items()):  # others may do the same meanwhile
            if not os.path.exists("/proc/self/task/%d" % thread.native_id):
                listed.pop(ident, None)
                if active.get(ident) is thread:
                    active.pop(ident, None)
        own = pydevd.threading.get_ident()
        if own not in active:
            listed[own] = pydevd.threading.current_thread()
        pydevd_tracing.TracingFunctionHolder._original_tracing(dispatch)
        return dispatch(frame, event, argument)

    return trace


class Patch:
    """The instructions in the target, and the calls that lead to them."""

    def __init__(self, pydevd: Any) -> None:
        self._pydevd = pydevd
        api = ctypes.pythonapi
        acquire, restore = (
            ctypes.cast(one, ctypes.c_void_p).value or 0
            for one in (api.PyEval_AcquireThread, api.PyEval_RestoreThread)
        )
        matched = _UP_TO_CALL.match(ctypes.string_at(acquire, _LOOKED_THROUGH))
        if matched is None:
            raise Unsupported
        first = acquire + matched.end() - 1
        target = _called(first)
        others = (restore + at for at in range(_LOOKED_THROUGH))
        second = next(
            (one for one in others if ctypes.string_at(one, 1) == b"\xe8" and _called(one) == target), 0
        )
        is_alone = len(os.listdir("/proc/self/task")) == 1
        self._calls = [one + 1 for one in (first, second)]  # where the distances are
        if not second or (not is_alone and any(one % _LINE > _LINE - 4 for one in self._calls)):
            raise Unsupported
        function, profile = _layout()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._page = self._map_near(target)
        code = _code(profile)
        data = -(-len(code) // 8) * 8
        self._slot = self._page + data + 8
        content = code.ljust(data, b"\xcc") + struct.pack("<QQQ", target, 0, function)
        ctypes.memmove(self._page, content, len(content))
        self._protect(self._page, _READ | _WRITE | _EXECUTE)
        self._lead_to(self._page)

    def trace(self, dispatch: Any) -> None:
        """Have new threads traced by this function of pydevd's from now on, by none if it is None."""
        first = 0
        if dispatch is not None:
            function = registering(self._pydevd, dispatch)
            ctypes.c_ssize_t.from_address(id(function)).value += _REFERENCES
            first = id(function)
        ctypes.c_uint64.from_address(self._slot).value = first

    def _lead_to(self, destination: int) -> None:
        for one in self._calls:
            for page in {one & -_PAGE, (one + 3) & -_PAGE}:
                self._protect(page, _READ | _WRITE | _EXECUTE)
            ctypes.c_int32.from_address(one).value = destination - (one + 4)
            for page in {one & -_PAGE, (one + 3) & -_PAGE}:
                self._protect(page, _READ | _EXECUTE)

    def _protect(self, page: int, protection: int) -> None:
        if self._libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), protection):
            raise OSError(ctypes.get_errno(), "mprotect")

    def _map_near(self, address: int) -> int:
        """A page of ours to which a call from ``address`` reaches."""
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            rows = [[int(one, 16) for one in line.split(" ", 1)[0].split("-")] for line in file]
        # In front of another mapping, for the heap grows behind one.
        free = [
            rows[at + 1][0] - 16 * _PAGE
            for at, one in enumerate(rows[:-1])
            if rows[at + 1][0] - one[1] >= 32 * _PAGE
        ]
        nearest = min(free, key=lambda one: abs(one - address))
        size = ctypes.c_size_t(_PAGE)
        got: int = self._libc.mmap(
            ctypes.c_void_p(nearest), size, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, ctypes.c_size_t(0)
        )
        if abs(got - address) < _REACH:
            return got
        self._libc.munmap(ctypes.c_void_p(got), size)
        raise Unsupported


def _called(call: int) -> int:
    """Where a call with a distance of 32 bits leads to."""
    return call + 5 + ctypes.c_int32.from_address(call + 1).value


def _layout() -> Tuple[int, int]:
    """The interpreter's C function that calls a trace function, and the offset of c_profilefunc in a thread state.

    Both are read off the state of this thread while it has a trace function.
    """
    state_of: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
    state = state_of()

    def nothing(*_: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(nothing)
    words = struct.unpack("<%dQ" % (_STATE_BYTES // 8), ctypes.string_at(state, _STATE_BYTES))
    # c_profilefunc, c_tracefunc, c_profileobj, c_traceobj
    profile = words.index(id(nothing)) * 8 - 24 if id(nothing) in words else 0
    is_known = profile > 0 and _is_tracing(state + profile)
    sys.settrace(before)
    if not is_known or not 0 < ctypes.c_int32.from_address(state + profile + _COUNTER).value < 1 << 16:
        raise Unsupported
    return words[profile // 8 + 1], profile


def _is_tracing(profile: int) -> bool:
    """Whether the flag of a traced thread is where ``_code`` sets it: ``use_tracing`` (pystate.h)."""
    if sys.version_info < (3, 10):
        return ctypes.c_int32.from_address(profile - 8).value == 1
    frame = ctypes.c_uint64.from_address(profile - 8).value
    if sys.version_info < (3, 11):
        return ctypes.c_int32.from_address(frame).value == 1
    return ctypes.c_uint8.from_address(frame).value == 255


def _code(profile: int) -> bytes:
    """Instructions in front of take_gil. Behind them lie its address, the trace function, and the C function for it.

    The registers that they change are free at a call, but for rdi: the thread state.
    """
    offset = struct.Struct("<i").pack
    if sys.version_info < (3, 10):
        flag = b"\xc7\x87" + offset(profile - 8) + offset(1)  # mov dword [rdi + ...], 1
    else:
        flag = b"\x48\x8b\x87" + offset(profile - 8)  # mov rax, [rdi + ...]
        is_int = sys.version_info < (3, 11)
        flag += (
            b"\xc7\x00" + offset(1) if is_int else b"\xc6\x00\xff"
        )  # mov dword [rax], 1; mov byte [rax], 255
    into = (
        b"\x48\x89\x87" + offset(profile + 24)  # mov [rdi + c_traceobj], rax
        + b"\x48\x89\x8f" + offset(profile + 8)  # mov [rdi + c_tracefunc], rcx
        + flag
    )  # fmt: skip
    new = b"\x48\x83\xbf" + offset(profile + 8) + b"\0"  # cmp qword [rdi + c_tracefunc], 0
    new += b"\x75" + bytes([len(into)])  # jne
    counter = b"\x83\xbf" + offset(profile + _COUNTER) + b"\0"  # cmp dword [rdi + gilstate_counter], 0
    counter += b"\x75" + bytes([len(new) + len(into)])
    wanted = b"\x48\x85\xc0" + b"\x74" + bytes([len(counter) + len(new) + len(into)])  # test rax, rax; je
    body = wanted + counter + new + into
    size = 7 + 7 + len(body) + 6
    data = -(-size // 8) * 8
    return (
        b"\x48\x8b\x05" + offset(data + 8 - 7)  # mov rax, [rip + ...]: the trace function
        + b"\x48\x8b\x0d" + offset(data + 16 - 14)  # mov rcx, [rip + ...]: the C function
        + body
        + b"\xff\x25" + offset(data - size)  # jmp [rip + ...]
    )  # fmt: skip
