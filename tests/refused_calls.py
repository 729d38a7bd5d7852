"""Programs to which system calls of a debugger are refused: by seccomp(2), as a container or a sandbox may have it."""

from __future__ import annotations

import errno
import platform
import sys

PTRACE, READ = "ptrace", "process_vm_readv"
_NUMBERS = {"x86_64": {PTRACE: 101, READ: 310}, "aarch64": {PTRACE: 117, READ: 270}}
_ERRNO, _KILL = 0x00050000, 0x80000000  # linux/seccomp.h: SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS
KILLED = 0

# The filter stays for what the process becomes, and for all that it starts: linux/filter.h, prctl(2).
_BECOME = """
import ctypes, os, struct, sys
answer, numbers = int(sys.argv[1]), [int(one) for one in sys.argv[2].split(",")]
rules = [(0x20, 0, 0, 0)]
for number in numbers:
    rules += [(0x15, 0, 1, number), (0x06, 0, 0, answer)]
rules += [(0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[3], sys.argv[3:])
"""


def without(*calls: str, answer: int = errno.EPERM) -> tuple[str, ...]:
    """The beginning of a command that runs without these calls. ``answer``: an errno, or KILLED."""
    numbers = _NUMBERS[platform.machine()]
    rule = _ERRNO | answer if answer != KILLED else _KILL
    return sys.executable, "-c", _BECOME, str(rule), ",".join(str(numbers[call]) for call in calls)
