"""Whether we may trace a process: asks the kernel beforehand, and lowers Yama's ptrace_scope for a moment if told to.

Documentation/admin-guide/LSM/Yama.rst. Under scope 1 a process may be traced by its ancestors, and by the
process that it named with PR_SET_PTRACER and that one's descendants (`ptracer_exception_found` in
security/yama/yama_lsm.c): a launched target names dualdbg, so gdb, our child, may trace it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dualdbg.errors import PermissionRefused

from .permission import YAMA_SCOPE, refusal, yama_scope

PTRACE_SEIZE = 0x4206  # linux/ptrace.h
BY_HAND = "sudo sysctl kernel.yama.ptrace_scope=0"

# Runs as root. It holds a lock while the setting is changed, so that a second dualdbg sees the true old value. No
# signal of the terminal ends it. It puts the old value back when its input ends; the kernel ends the input even when
# dualdbg is killed.
LOWER_AND_RESTORE = """
trap '' HUP INT QUIT TERM
exec 9< "$1"
if command -v flock > /dev/null; then flock 9; fi
old=$(cat "$1/ptrace_scope") && echo 0 > "$1/ptrace_scope" || exit 1
echo "lowered from $old"
while read -r _; do :; done
echo "$old" > "$1/ptrace_scope"
"""


def check(pid: int) -> None:
    """Raises PermissionRefused, TargetGone or TargetError, with the reason, when we may not trace the process."""
    number = probe(pid)
    if number:
        raise refusal(pid, number)


def probe(pid: int) -> int:
    """The errno with which the kernel refuses that we trace the process; 0 when it allows it.

    A child of ours seizes it and ends, which lets it go: nothing stops, no signal is sent. gdb is a child of
    ours as well, so the answer holds for gdb.
    """
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if child == 0:
        refused = ptrace(PTRACE_SEIZE, pid, None, None) != 0
        os._exit(ctypes.get_errno() if refused else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def scope_lowered() -> Iterator[None]:
    """Sets ptrace_scope to 0, with sudo where we are not root, and puts the old value back at the end.

    Keep it short: until then every process of the system may be traced by all processes of its user. Blocks while sudo
    asks for a password. Does nothing where the scope is 0 already. Raises PermissionRefused when it cannot be
    changed, or could not be put back.
    """
    old = yama_scope()
    if not old:
        yield
        return
    if old == 3:
        raise PermissionRefused(
            "Yama's ptrace_scope is 3, and that cannot be changed until a reboot.",
            "Set kernel.yama.ptrace_scope below 3 in /etc/sysctl.d and reboot.",
        )
    shell = _start_as_root()
    assert shell.stdin is not None and shell.stdout is not None
    try:
        if not shell.stdout.readline().startswith(b"lowered"):
            raise PermissionRefused(
                f"ptrace_scope is {old} and could not be lowered: root's shell ended with {shell.wait()}.",
                f"Lower it yourself: {BY_HAND} (in a container: on its host).",
            )
        yield
    finally:
        shell.stdin.close()
        shell.stdout.close()
        shell.wait()
    if yama_scope() not in (old, 0):  # 0: another dualdbg holds it low just now, and will put it back
        raise PermissionRefused(
            f"ptrace_scope was {old} and is {yama_scope()} now.",
            f"sudo sysctl kernel.yama.ptrace_scope={old}",
        )


def _start_as_root() -> subprocess.Popen[bytes]:
    command = ["/bin/sh", "-c", LOWER_AND_RESTORE, "dualdbg-ptrace-scope", str(YAMA_SCOPE.parent)]
    if os.geteuid() != 0:
        sudo = shutil.which("sudo")
        if sudo is None:
            raise PermissionRefused(
                "There is no sudo to lower ptrace_scope with.",
                f"As root: {BY_HAND.removeprefix('sudo ')}",
            )
        prompt = "dualdbg lowers kernel.yama.ptrace_scope while it attaches; password of %p for sudo: "
        command = [sudo, "-p", prompt, *command]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path("/"))
