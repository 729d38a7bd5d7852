"""A kernel with Yama in a virtual machine, ../shared/yama-vm. It sees this machine's files on a disk to throw away."""

from __future__ import annotations

import compileall
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import support

VM = support.SHARED / "yama-vm" / "run"
ROOT = 0
NOBODY = 65534
_SECONDS = 1800  # for a job on an emulated machine; a row of commands takes three minutes
_BOOTS = 5  # at most
_SUDOERS = "#65534 ALL=(ALL) NOPASSWD: ALL"
_SUDOERS_FILE = "/etc/sudoers.d/test"
_ENDS = "-- the job ended with "


@dataclass(frozen=True)
class Job:
    """A Python script that a user runs there under one of Yama's scopes; with ``sudo`` nobody may use that."""

    scope: int
    user: int
    script: str
    arguments: tuple[str, ...] = ()
    sudo: bool = False


@dataclass(frozen=True)
class Output:
    """What a job printed, and its exit status."""

    lines: list[str]
    status: int


def run(jobs: Sequence[Job], core: Path) -> dict[Job, Output]:
    """Runs them one after the other in one virtual machine, for to boot one takes a while.

    The core file is named to them by the environment, as CORE.
    """
    support.require(VM.exists(), "../shared/yama-vm, which boots a kernel with Yama", outside=True)
    # What is compiled here need not be compiled there, by each command anew: nobody cannot write it.
    for package in ("dualdbg", "gdb_scripts"):
        compileall.compile_dir(support.ROOT / package, quiet=2)
    interpreter = Path(sys.executable).resolve()
    paths = (interpreter, support.ROOT / "x", core)
    closed = {str(folder) for path in paths for folder in path.parents}
    in_turn = sorted(jobs, key=lambda job: job.scope)  # from scope 3 no way leads back
    commands = [
        f"chmod o+x {shlex.join(sorted(closed))}; cd {shlex.quote(str(support.ROOT))}",
        f"export HOME=/tmp CORE={shlex.quote(str(core))}",
        *(line for job in in_turn for line in _commands(job)),
    ]
    done = _boot(min(job.scope for job in jobs), "\n".join(commands), _SECONDS * len(jobs))
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(zip(in_turn, _outputs(done.stdout), strict=True))


def _boot(scope: int, commands: str, seconds: int) -> subprocess.CompletedProcess[str]:
    """What the virtual machine printed. It is booted again where its kernel gives up before it runs anything.

    On a busy machine the emulated timer may be so late that the kernel takes it for broken (check_timer in
    arch/x86/kernel/apic/io_apic.c). The kernel's option no_timer_check would prevent that.
    """
    for _ in range(_BOOTS):
        done = subprocess.run(
            [str(VM), str(scope), "0", commands],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "YAMA_VM_SECONDS": str(seconds)},
            timeout=seconds + 60,
        )
        if "IO-APIC + timer doesn't work" not in done.stderr:
            break
    return done


def _commands(job: Job) -> Iterator[str]:
    yield sudo_for_nobody() if job.sudo else f"rm -f {_SUDOERS_FILE}"
    yield f"echo {job.scope} > /proc/sys/kernel/yama/ptrace_scope"
    by = f"setpriv --reuid={job.user} --regid={job.user} --clear-groups"
    yield f"timeout {_SECONDS} {by} {shlex.join([sys.executable, '-B', '-c', job.script, *job.arguments])}"
    yield f"echo {shlex.quote(_ENDS)}$?"


def _outputs(text: str) -> Iterator[Output]:
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(_ENDS):
            yield Output(lines, int(line.removeprefix(_ENDS)))
            lines = []
        else:
            lines.append(line)


def sudo_for_nobody() -> str:
    """Root's command that, in the virtual machine, lets nobody use sudo. Where sudo is not here, it is fetched."""
    allow = f"hostname localhost; mkdir -p /etc/sudoers.d; echo {shlex.quote(_SUDOERS)} > {_SUDOERS_FILE}"
    if shutil.which("sudo"):
        return allow
    folder = support.ROOT / "build" / "sudo"
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("sudo_*.deb")):
        fetch = ["apt-get", "download", "-qq", "sudo"]
        subprocess.run(fetch, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    packages = list(folder.glob("sudo_*.deb"))
    support.require(packages, "sudo, or an apt-get that can fetch it", outside=True)
    unpack = "tar x -C / --keep-directory-symlink"  # dpkg -x would put a folder where /lib is a link
    return f"dpkg-deb --fsys-tarfile {shlex.quote(str(packages[0]))} | {unpack}; {allow}"
