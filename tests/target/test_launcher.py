"""Starting, ending and losing a target: commands, errors, signals, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.errors import TargetError, UsageError
from dualdbg.model import Exit
from dualdbg.target.keeping import KeptProgram
from dualdbg.target.launcher import Launch, Meeting, spawn
from tests import support

from .client import DEADLINE, connected, outcome
from .programs import ORPHANS, ORPHANS_END


def piped(**what: Any) -> Launch:
    return Launch(sys.executable, stdin="pipe", stdout="pipe", stderr="pipe", **what)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"script": "a.py", "args": ("-c", "x")}, ["a.py", "-c", "x"]),
        ({"module": "m", "flags": ("-X", "dev")}, ["-X", "dev", "-m", "m"]),
        ({"code": "", "args": ("1",)}, ["-c", "", "1"]),
    ],
)
def test_the_command_is_what_a_user_would_type(what: dict[str, Any], words: list[str]) -> None:
    assert Launch("/usr/bin/python3", **what).command() == ["/usr/bin/python3", *words]


@pytest.mark.parametrize("what", [{}, {"script": "a.py", "module": "m"}])
def test_exactly_one_thing_is_run(what: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Launch("python3", **what).command()


def test_a_keeper_that_is_killed_before_the_program_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeptProgram, "fork", lambda kept, own_group: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(TargetError, match="somebody has ended the process that was to keep it"):
        asyncio.run(spawn(piped(code="1"), Meeting("/nowhere")))


@pytest.mark.parametrize("flag", ["-I", "-E", "-S", "-IB"])
def test_options_that_keep_the_bootstrap_out_are_refused(flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        asyncio.run(spawn(piped(code="1", flags=("-X", "dev", flag)), Meeting("/nowhere")))


@pytest.mark.parametrize(
    ("launch", "complaint"),
    [
        (Launch("/nowhere/python", code="1"), "/nowhere/python cannot be started: there is no such file"),
        (Launch("/etc/passwd", code="1"), "/etc/passwd cannot be started: it may not be executed"),
        (Launch(sys.executable, code="1", cwd="/nowhere"), "cannot start in /nowhere"),
    ],
)
def test_what_cannot_be_started_is_named(launch: Launch, complaint: str) -> None:
    with pytest.raises(TargetError) as raised:
        asyncio.run(spawn(launch, Meeting("/nowhere")))
    assert complaint in raised.value.message
    assert raised.value.hint


@pytest.mark.smoke
def test_signals_are_what_a_shell_would_give(tmp_path: Path) -> None:
    """dualdbg may ignore or block signals for itself; what it was started with (nohup) goes on to the target."""
    program = (
        "import signal; print([s.name for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN])"
    )
    program += "; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    driver = tmp_path / "driver.py"
    driver.write_text(
        "import asyncio, signal\n"
        "from tests.target.client import run_to_its_end\n"
        "from tests.target.test_launcher import piped\n"
        "for number in (signal.SIGTTOU, signal.SIGINT, signal.SIGUSR1):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2])\n"
        f"print(asyncio.run(run_to_its_end(piped(code={program!r}))).stdout, end='')\n"
    )
    shell = f"trap '' HUP; exec {sys.executable} {driver}"
    env = {**os.environ, "PYTHONPATH": str(support.ROOT)}
    done = subprocess.run(["/bin/sh", "-c", shell], env=env, capture_output=True, text=True, timeout=DEADLINE)
    assert done.stdout.splitlines() == ["['SIGHUP', 'SIGPIPE', 'SIGXFSZ']", "set()"], done.stderr


def test_kill_ends_the_target_and_says_how() -> None:
    async def run() -> None:
        async with connected(piped(code="import time; print('up', flush=True); time.sleep(100)")) as client:
            await client.start()
            assert client.target.stdout is not None
            await client.target.stdout.readline()
            assert client.target.exit is None
            client.target.kill()
            ends = await asyncio.gather(client.target.wait(), client.target.wait())
            assert ends == [Exit(signal=signal.SIGKILL)] * 2
            assert client.target.exit == Exit(signal=signal.SIGKILL)
            client.target.kill()  # of a target that has ended: nothing

    asyncio.run(run())


def test_a_target_is_killed_before_its_keeper_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """gdb leaves next, and what it held would run on until then."""

    async def run() -> None:
        async with connected(piped(code="import time; time.sleep(1000)")) as client:
            await client.start()
            (keeper,) = keepers()
            os.kill(int(keeper), signal.SIGSTOP)
            held = os.pidfd_open(client.target.pid)
            with monkeypatch.context() as slow:
                slow.setattr("dualdbg.target.keeping.wake", lambda process: None)
                client.target.kill()
            assert select.select([held], [], [], DEADLINE)[0]
            os.close(held)
            os.kill(int(keeper), signal.SIGCONT)
            assert await client.target.wait() == Exit(signal=signal.SIGKILL)

    asyncio.run(run())


def test_a_target_that_sits_in_a_pipe_full_of_output_can_be_killed() -> None:
    async def run() -> None:
        async with connected(piped(code="import sys\nwhile True: sys.stdout.write('x' * 100000)")) as client:
            await client.start()
            assert client.target.stdout is not None
            await client.target.stdout.readexactly(1_000_000)
            client.target.kill()
            assert await client.target.wait() == Exit(signal=signal.SIGKILL)

    asyncio.run(run())


DRIVER = """
import asyncio, os, signal, sys
from tests.target.client import connected
from tests.target.test_launcher import piped
async def main():
    async with connected(piped(script=sys.argv[2])) as client:
        if sys.argv[1] != "early":
            await client.start()
            print(client.target.pid, (await client.target.stdout.readline()).decode(), flush=True, end="")
        else:
            print(client.target.pid, flush=True)
        if sys.argv[1] == "detach":
            client.target.detach()
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""

FAMILY = """
import os, subprocess, sys, time
print(os.getpid(), subprocess.Popen(["sleep", "1000"]).pid, flush=True)
time.sleep(1000)
"""


def drive(tmp_path: Path, what: str) -> list[int]:
    """Runs a dualdbg that ends in the given way; returns the processes that it told of."""
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "family.py").write_text(FAMILY)
    command = [sys.executable, str(tmp_path / "driver.py"), what, str(tmp_path / "family.py")]
    env = {**os.environ, "PYTHONPATH": str(support.ROOT)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=DEADLINE)
    assert done.returncode == (0 if what == "detach" else -signal.SIGKILL)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("when", ["early", "running"])
def test_a_target_does_not_outlive_dualdbg(tmp_path: Path, when: str) -> None:
    family = drive(tmp_path, when)
    support.wait_until(lambda: not any(map(support.is_running, family)), what="all have ended")
    support.wait_until(lambda: not keepers(), what="the keeper has ended")


def test_a_detached_target_outlives_dualdbg(tmp_path: Path) -> None:
    target, same, child = drive(tmp_path, "detach")
    assert target == same
    support.wait_until(lambda: not keepers(), what="the keeper has ended")
    assert support.is_running(target) and support.is_running(child)
    for pid in (child, target):
        os.kill(pid, signal.SIGKILL)


def keepers() -> list[str]:
    mark = f"DUALDBG_TEST_RUN={os.environ['DUALDBG_TEST_RUN']}".encode()
    return [
        path.name
        for path in Path("/proc").iterdir()
        if path.name.isdigit()
        and b"/target/keeper.py" in _read(path / "cmdline")
        and mark in _read(path / "environ")
    ]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_who_kills_the_keeper_kills_the_target() -> None:
    async def run() -> None:
        async with connected(piped(code="import time; time.sleep(1000)")) as client:
            (keeper,) = keepers()
            os.kill(int(keeper), signal.SIGKILL)
            assert await client.target.wait() == Exit(signal=signal.SIGKILL)
            await client.target.cleared()

    asyncio.run(run())


def test_a_spared_process_outlives_the_rest() -> None:
    async def run() -> None:
        program = (
            "import os, subprocess, time\n"
            "def start(): return subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL).pid\n"
            "print(*[start() for _ in range(3)], flush=True)\n"
            "time.sleep(1000)"
        )
        async with connected(piped(code=program)) as client:
            await client.start()
            assert client.target.stdout is not None
            spared, kept, other = map(int, (await client.target.stdout.readline()).split())
            for pid in (spared, kept):
                client.target.spare(pid)
            client.target.keep(kept)
            client.target.kill()
            await client.target.cleared()
            assert [support.is_running(pid) for pid in (spared, kept, other)] == [True, False, False]
            os.kill(spared, signal.SIGKILL)

    asyncio.run(run())


def test_how_a_process_without_a_parent_ended_is_known() -> None:
    async def run() -> list[Exit]:
        async with connected(piped(code=ORPHANS)) as client:
            await client.start()
            target = client.target
            assert target.stdout is not None and target.stdin is not None
            children = [int(word) for word in (await target.stdout.readline()).split()]
            for pid in children:
                target.keep(pid)
            target.stdin.write(b"go\n")
            assert int(await target.stdout.readline()) == children[2]
            support.wait_until(lambda: not any(map(support.is_running, children)), what="their end")
            ends = [await target.how_ended(pid) for pid in children]
            target.kill()
            await target.cleared()
            assert [await target.how_ended(pid) for pid in children] == ends
            return ends

    assert asyncio.run(run()) == ORPHANS_END


def test_the_keeper_ends_with_the_target() -> None:
    async def run() -> None:
        async with connected(piped(code="print(1)")) as client:
            await client.start()
            assert keepers()
            await outcome(client.target)
            await client.target.cleared()
            assert not keepers()

    asyncio.run(run())


# A job whose group is orphaned (cron, a service, setsid), with a stopped process in it: whose end makes the group
# orphaned anew hangs all of it up, the script and us too.
_SCRIPT = """
trap 'echo HUP' HUP
"$0" -c 'import os; os.kill(os.getpid(), 19)' </dev/null >/dev/null 2>&1 &
other=$!
while [ "$(cut -d' ' -f3 /proc/$other/stat)" != T ]; do :; done
"$@"
echo "status $?"
kill -9 $other
"""


@pytest.mark.parametrize(
    "command", [["-c"], ["-m", "dualdbg", "run", "--batch", "-c"]], ids=["python", "dualdbg"]
)
def test_the_end_of_the_program_hangs_nobody_up(command: list[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", _SCRIPT, sys.executable, sys.executable, *command, "print('done')"],
        start_new_session=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip
    assert "done" in done.stdout and done.stdout.endswith("status 0\n") and "HUP" not in done.stdout, done


def test_output_to_a_descriptor(tmp_path: Path) -> None:
    async def run() -> None:
        with (tmp_path / "out").open("wb") as file:
            launch = Launch(
                sys.executable, code="print('é')", stdout=file.fileno(), stderr="pipe", stdin="pipe"
            )
            async with connected(launch) as client:
                await client.start()
                await client.target.wait()

    asyncio.run(run())
    assert (tmp_path / "out").read_text() == "é\n"
