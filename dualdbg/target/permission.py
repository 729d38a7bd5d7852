"""Why the kernel does not let us trace or read a process, and what to change: one message for each case.

The rules are those of ptrace(2), "Ptrace access mode checking", and Documentation/admin-guide/LSM/Yama.rst.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import DualdbgError, PermissionRefused, TargetError, TargetGone
from ..shared.libraries import is_sanitizer
from ..shared.proc_files import mappings, read_maps, read_status
from .blocked_calls import Call, may_be_fatal, why_blocked

CAP_SYS_PTRACE = 19  # linux/capability.h
YAMA_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_SECCOMP_FILTER = 2
# What can be had of a process without ptrace(2).
_WITHOUT_PTRACE = (
    "without it there are dualdbg stacks --no-stop, dualdbg core, and dualdbg run --report (without stacks)"
)

CONTAINER_HINT = (
    "docker run --cap-add SYS_PTRACE …, or in Kubernetes: securityContext: {capabilities: {add: [SYS_PTRACE]}}; "
    "or run dualdbg in a sidecar with shareProcessNamespace: true and that capability"
)


# For a program that we start and that names us as its tracer: scope 1 allows that.
LOWER_FOR_RUN = (
    "sudo sysctl kernel.yama.ptrace_scope=1 is enough for what dualdbg starts; or as root: sudo dualdbg …"
)


NO_LEAK_CHECK = "LeakSanitizer does not work in a program that is traced, and ends it with an error"
NO_LEAK_CHECK_HINT = "ASAN_OPTIONS=detect_leaks=0 in its environment turns LeakSanitizer off"


def sanitizers_in(pid: int) -> list[str]:
    """The names of the run-time libraries of sanitizers that are loaded into a process."""
    try:
        rows = mappings(read_maps(pid))
    except OSError:
        return []
    return [Path(row.path).name for row in rows if is_sanitizer(row.path)]


def forbids_leak_check(pid: int) -> bool:
    """Whether LeakSanitizer is to run at the end of a process: it needs to trace, and a traced process cannot."""
    if not any("asan" in name or "lsan" in name for name in sanitizers_in(pid)):
        return False
    options = re.findall(
        rb"\0(?:ASAN|LSAN)_OPTIONS=([^\0]*)", b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    )
    return not any(re.search(rb"detect_leaks=(0|false)", one) for one in options)


class ScopeRefused(PermissionRefused):
    """Yama's ptrace_scope forbids to trace the process; a lower one would allow it. ``scope`` is 1 or 2."""

    def __init__(self, message: str, hint: str, scope: int) -> None:
        super().__init__(message, hint)
        self.scope = scope


@dataclass(frozen=True)
class Situation:
    """What decides whether we may trace a process. ``yama`` is None where the kernel has no Yama.

    ``owner`` is the user of the process. ``shown_owner`` is the user of its files in /proc: root for a process that is
    not dumpable. ``capable`` is true when we have CAP_SYS_PTRACE. ``state`` is the letter of proc(5). ``blocked`` says
    how ptrace(2) is refused whatever it asks; it is empty where that is carried out.
    """

    pid: int
    name: str
    state: str
    parent: int
    tracer: int
    tracer_name: str
    owner: int
    shown_owner: int
    our_user: int
    capable: bool
    yama: int | None
    seccomp: bool
    blocked: str
    in_container: bool


def refusal(pid: int, error_number: int, reading: bool = False) -> DualdbgError:
    """The exception to raise after a request about ``pid`` failed with ``error_number``.

    ``reading``: the process was only to be read (process_vm_readv, /proc/PID/mem), not to be stopped.
    """
    situation = look(pid)
    if situation is None or error_number == errno.ESRCH:
        return TargetGone(f"there is no process {pid} (any more)", "dualdbg ps lists the Python processes")
    for applies, explain in _EXPLANATIONS:
        if applies(situation, reading):
            return explain(situation)
    what = "read the memory of" if reading else "trace"
    call = f", and {Call.READ.value} refuses whatever it asks" if reading and why_blocked(Call.READ) else ""
    return PermissionRefused(
        f"the kernel does not let us {what} process {pid} ({situation.name}): {os.strerror(error_number)}{call}",
        CONTAINER_HINT if situation.in_container else "try again as root",
    )


def check_not_fatal(pid: int) -> None:
    """Before the first ptrace(2) of a process of ours: raises PermissionRefused where it would end us (seccomp(2))."""
    if may_be_fatal(Call.PTRACE):
        raise refusal(pid, errno.EPERM)


def check_not_blocked() -> None:
    """Raises PermissionRefused where ptrace(2) is refused whatever it asks: no program can even ask to be traced."""
    if why_blocked(Call.PTRACE):
        raise refusal(os.getpid(), errno.EPERM)


def look(pid: int) -> Situation | None:
    """The situation of a process; None when there is no such process."""
    try:
        status = read_status(f"/proc/{pid}/status")
        shown_owner = Path(f"/proc/{pid}/status").stat().st_uid  # the folder itself is always its user's
    except OSError:
        return None
    ours = read_status("/proc/self/status")
    tracer = int(status.get("TracerPid", "0"))
    return Situation(
        pid=pid,
        name=status["Name"],
        state=status["State"][0],
        parent=int(status["PPid"]),
        tracer=tracer,
        tracer_name=_name(tracer) if tracer else "",
        owner=int(status["Uid"].split()[0]),
        shown_owner=shown_owner,
        our_user=os.geteuid(),
        capable=bool(int(ours["CapEff"], 16) >> CAP_SYS_PTRACE & 1),
        yama=yama_scope(),
        seccomp=int(ours.get("Seccomp", "0")) == _SECCOMP_FILTER,
        blocked=why_blocked(Call.PTRACE),
        in_container=in_container(),
    )


def yama_scope() -> int | None:
    """Yama's ptrace_scope, 0 to 3; None where the kernel has no Yama."""
    try:
        return int(YAMA_SCOPE.read_text())
    except (OSError, ValueError):
        return None


def in_container() -> bool:
    """Whether this looks like the inside of a container (Docker, Podman, Kubernetes)."""
    if os.environ.get("container") or os.environ.get("KUBERNETES_SERVICE_HOST"):  # noqa: SIM112 (Podman's and systemd's name)
        return True
    return any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


def _zombie(situation: Situation) -> TargetError:
    parent = situation.parent
    return TargetError(
        f"process {situation.pid} ({situation.name}) has ended already: it is a zombie that waits for its parent "
        f"{parent} ({_name(parent)}) to collect it",
        f"look at the parent instead: {parent}",
    )


def _traced(situation: Situation) -> PermissionRefused:
    return PermissionRefused(
        f"process {situation.pid} is traced by process {situation.tracer} ({situation.tracer_name}) already, and "
        "the kernel allows one tracer",
        f"detach there first, or end it: kill {situation.tracer}",
    )


def _other_user(situation: Situation) -> PermissionRefused:
    return PermissionRefused(
        f"process {situation.pid} belongs to {_user(situation.owner)}, and you are {_user(situation.our_user)}",
        f"run dualdbg as that user or as root: sudo -u '#{situation.owner}' dualdbg …",
    )


def _not_dumpable(situation: Situation) -> PermissionRefused:
    return PermissionRefused(
        f"process {situation.pid} ({situation.name}) is not dumpable: it changed its user, or is a program with "
        "special rights, or asked for it (prctl PR_SET_DUMPABLE)",
        "run dualdbg as root",
    )


_FIX = "type it again with --fix-ptrace (sudo lowers it for a moment), or: sudo sysctl kernel.yama.ptrace_scope=0"


def _yama_descendants(situation: Situation) -> ScopeRefused:
    return ScopeRefused(
        f"Yama's ptrace_scope is 1: only a parent may trace, and process {situation.pid} is not our child",
        f"{_FIX}. Programs that import dualdbg.allow need neither",
        1,
    )


def _yama_admin(situation: Situation) -> ScopeRefused:
    return ScopeRefused(
        f"Yama's ptrace_scope is 2: only a process with CAP_SYS_PTRACE may trace process {situation.pid}",
        f"{_FIX}. Or as root: sudo dualdbg …",
        2,
    )


def _yama_never(situation: Situation) -> PermissionRefused:
    return PermissionRefused(
        "Yama's ptrace_scope is 3: no process may trace or read another, not even root's, and that cannot be changed "
        "until a reboot",
        "set kernel.yama.ptrace_scope below 3 in /etc/sysctl.d and reboot",
    )


def _no_capability(situation: Situation) -> PermissionRefused:
    return PermissionRefused(
        f"this container has no CAP_SYS_PTRACE, which tracing process {situation.pid} needs", CONTAINER_HINT
    )


def _blocked(situation: Situation) -> PermissionRefused:
    who = "a seccomp filter" if situation.seccomp else "a sandbox, or a kernel without it"
    unconfined = (
        "docker run --security-opt seccomp=unconfined --cap-add SYS_PTRACE … (Docker before 19.03 needs both)"
    )
    return PermissionRefused(
        f"{Call.PTRACE.value} is refused here, whatever it asks ({situation.blocked}): that is {who}",
        f"{unconfined}; {_WITHOUT_PTRACE}" if situation.seccomp else _WITHOUT_PTRACE,
    )


def _user(number: int) -> str:
    import pwd

    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


def _owned_by_another(situation: Situation, reading: bool) -> bool:
    return not situation.capable and situation.owner != situation.our_user


# The first that applies is the reason; the order is that of the kernel's own checks.
_EXPLANATIONS: tuple[tuple[Callable[[Situation, bool], bool], Callable[[Situation], DualdbgError]], ...] = (
    (lambda s, reading: s.state in "ZX", _zombie),
    (lambda s, reading: bool(s.blocked) and not reading, _blocked),
    (lambda s, reading: s.tracer != 0 and not reading, _traced),
    (lambda s, reading: s.yama == 3, _yama_never),
    (_owned_by_another, _other_user),
    (lambda s, reading: not s.capable and s.shown_owner != s.owner, _not_dumpable),
    (lambda s, reading: not s.capable and s.yama == 2, _yama_admin),
    (lambda s, reading: not s.capable and s.yama == 1, _yama_descendants),
    (lambda s, reading: not s.capable and s.our_user == 0, _no_capability),
)
