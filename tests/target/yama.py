"""A kernel with Yama in a virtual machine, ../shared/yama-vm. It sees this machine's files on a disk to throw away."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests import support

VM = support.SHARED / "yama-vm" / "run"
NOBODY = 65534
_SECONDS = 1800  # of an emulated machine; a row of commands takes three minutes
_SUDOERS = "#65534 ALL=(ALL) NOPASSWD: ALL"


def in_vm(
    scope: int, user: int, script: str, first: str = "true", needs: Iterable[Path] = (), arguments: str = ""
) -> list[str]:
    """Runs a Python script in the virtual machine, after root's command ``first``; the lines that it printed.

    ``needs`` are files outside of the project that the user has to be able to read.
    """
    support.require(VM.exists(), "../shared/yama-vm, which boots a kernel with Yama", outside=True)
    interpreter = Path(sys.executable).resolve()
    paths = (interpreter, support.ROOT / "x", *needs)
    closed = {str(folder) for path in paths for folder in path.parents}
    python = (
        f"cd {shlex.quote(str(support.ROOT))} && "
        f"exec {shlex.quote(sys.executable)} -B -c {shlex.quote(script)} {arguments}"
    )
    command = (
        f"{first}; chmod o+x {shlex.join(sorted(closed))}; export HOME=/tmp; "
        f"exec setpriv --reuid={user} --regid={user} --clear-groups /bin/sh -c {shlex.quote(python)}"
    )
    done = subprocess.run(
        [str(VM), str(scope), "0", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "YAMA_VM_SECONDS": str(_SECONDS)},
        timeout=_SECONDS + 60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def sudo_for_nobody() -> str:
    """Root's command that, in the virtual machine, lets nobody use sudo. Where sudo is not here, it is fetched."""
    allow = f"hostname localhost; mkdir -p /etc/sudoers.d; echo {shlex.quote(_SUDOERS)} > /etc/sudoers.d/test"
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
