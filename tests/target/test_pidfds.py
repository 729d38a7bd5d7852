"""Descriptors of processes in a Python that has no function for them: one compiled without the kernel's headers."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.shared.pidfds import pidfd_open
from dualdbg.target import keeper

OWN = {"gdb_scripts/dualdbg_shared/pidfds.py", "dualdbg/target/keeper.py", "dualdbg/cli/event_loop.py"}


@pytest.mark.parametrize("opens", [pidfd_open, keeper._pidfd_open])
def test_without_pythons_own_the_system_call_is_made(opens: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(opens)
    monkeypatch.delattr(os, "pidfd_open")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        descriptor = opens(process.pid)
        assert not os.get_inheritable(descriptor)
        assert select.select([descriptor], [], [], 0)[0] == []
        process.kill()
        assert select.select([descriptor], [], [], 60)[0] == [descriptor]
        os.close(descriptor)
    with pytest.raises(ProcessLookupError):
        opens(process.pid)


def test_nobody_else_asks_python_for_one() -> None:
    root = Path(__file__).parents[2]
    users = {
        str(path.relative_to(root))
        for folder in ("dualdbg", "gdb_scripts")
        for path in (root / folder).rglob("*.py")
        if "os.pidfd_open" in path.read_text()
    }
    assert users == OWN
