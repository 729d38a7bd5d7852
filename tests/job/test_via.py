"""``dualdbg job --via`` with real processes: on this machine, and over ssh on two that are this one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from dualdbg.system.patience import patient
from tests import warm

from ..refused_calls import PTRACE, without
from ..support import require
from .test_gathering import WORKER, dualdbg

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/usr/local/sbin")


@contextmanager
def ranks(folder: Path, *numbers: int, before: tuple[str, ...] = (), port: str = "") -> Iterator[list[int]]:
    """Processes that a launcher might have started. ``before``: words before each command. ``port``: a name that they
    alone have in their environment, that of the folder where there is none."""
    program = folder / "train.py"
    program.write_text(WORKER)
    running = []
    try:
        for rank in numbers:
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "4", "MASTER_PORT": port or folder.name}
            command = [*before, sys.executable, str(program), str(rank)]
            running.append(subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for each in running:
            assert each.stdout is not None and each.stdout.readline() == b"ready\n"
        yield [each.pid for each in running]
    finally:
        for each in running:
            end(each)
            each.communicate()


def end(process: subprocess.Popen[bytes]) -> None:
    """Also what nsenter has started: that does not end with it."""
    for each in [*psutil.Process(process.pid).children(), process]:
        each.send_signal(signal.SIGKILL)


@pytest.mark.smoke
def test_on_this_machine(tmp_path: Path) -> None:
    with ranks(tmp_path, 0, 1, 2, 3) as pids:
        by_pid = dualdbg("job", "--via", "local", *map(str, pids))
        by_environment = dualdbg("job", "--via", "local", "--having", f"MASTER_PORT={tmp_path.name}")
        no_such = dualdbg("job", "--via", "local", "--having", "MASTER_PORT=none")
    assert by_pid.returncode == 0 and not by_pid.stderr, by_pid
    assert by_environment.stdout == by_pid.stdout
    lines = [line.strip() for line in by_pid.stdout.decode().splitlines()]
    assert lines[0] == "4 ranks on 1 node"
    odd, others = lines.index("1 rank: 2"), lines.index("3 ranks: 0-1,3")
    assert odd < others
    assert lines[odd + 1] == "evaluate train.py:4" and lines[others + 1] == "train train.py:7"
    assert no_such.returncode == 3 and b"this machine: its dualdbg could read nothing" in no_such.stderr
    assert b"has MASTER_PORT=none in its environment" in no_such.stderr


def test_where_ptrace_is_refused_it_says_what_to_type(tmp_path: Path) -> None:
    with ranks(tmp_path, 0, 1) as pids:
        called = [*without(PTRACE), sys.executable, "-m", "dualdbg", "job", "--via", "local", *map(str, pids)]
        done = subprocess.run(called, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 3 and not done.stdout, done
    *refused, hint, end = done.stderr.splitlines()
    assert [f"process {pid}: " in line for pid, line in zip(pids, refused, strict=True)] == [True, True], done
    assert hint.startswith("  ") and "SYS_PTRACE" in hint
    assert end == "dualdbg: no process of the job could be read"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--via", "telepathy:a"], "there are: local, ssh:HOSTS"),
        (["--via", "ssh"], "ssh:HOSTS"),
        (["--via", "ssh:-oProxyCommand=x"], "is no name of a node"),
        (["--via", "slurm:4711;x"], "is no number of a job"),
        (["--via", "k8s:app='x"], "no closing quotation"),
        (["--via", "k8s: "], "--via 'k8s:app=train -n ml'"),
        (["--via", "local", "--dualdbg", "'x"], "no closing quotation"),
        (["--via", "local", "--dualdbg", ""], "--dualdbg 'python -m dualdbg'"),
        (["--via", "local", "--having", "A=1 2", "train.py"], "train.py, and --having 'A=1 2'"),
        (["--via", "local", "--timeout", "0"], "--help"),
        (["--via", "local", "--window", "0"], "--help"),
        (
            ["--via", "telepathy:a", "--html", "/no-such-folder/job.html"],
            "/no-such-folder/job.html cannot be written",
        ),
        ([], "dualdbg job merge FILE"),
        (["merge"], "dualdbg stacks --tree PID --json"),
        (["merge", "--having", "A=1", "file"], "--having is for nodes that are asked"),
        (["merge", "--timeout", "5", "file"], "--timeout is for nodes that are asked"),
    ],
)
def test_what_cannot_be_asked(words: list[str], told: str) -> None:
    done = dualdbg("job", *words)
    assert done.returncode == 2 and told in done.stderr.decode(), done


class Cluster:
    """Two sshds that a key of ours opens, each in a namespace of process ids of its own: two machines."""

    NODES = ("node1", "node2")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sshds: list[subprocess.Popen[bytes]] = []
        self.init: list[int] = []

    def __enter__(self) -> Cluster:
        folder = self._folder
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        (folder / "bin").mkdir()
        for name, text in {
            "dualdbg": f'exec {sys.executable} -m dualdbg "$@"',
            "ssh": f'exec {shutil.which("ssh")} -F {folder}/client "$@"',
        }.items():
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / "bin" / name).chmod(0o755)
        (folder / "authorized").write_text((folder / "user.pub").read_text())
        client = [
            f"IdentityFile {folder}/user",
            "IdentitiesOnly yes",
            "StrictHostKeyChecking no",
            f"UserKnownHostsFile {folder}/known",
            "HostName 127.0.0.1",
        ]
        for node in self.NODES:
            port = self._start(node)
            client = [*client, f"Match originalhost {node}", f"Port {port}"]
        (folder / "client").write_text("\n".join([*client, "Match originalhost node3", "Port 1", ""]))
        return self

    def _start(self, node: str) -> int:
        folder, port = self._folder, free_port()
        (folder / node).write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {folder}/authorized\nUsePAM no\nPasswordAuthentication no\n"
            f"SetEnv PATH={folder}/bin:/usr/bin:/bin PYTHONPATH={Path(__file__).parents[2]}\n"
        )
        words = [
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            str(SSHD),
            "-D",
            "-e",
            "-f",
            folder / node,
        ]
        sshd = subprocess.Popen(words, stderr=subprocess.PIPE, bufsize=0)
        self._sshds.append(sshd)
        assert sshd.stderr is not None
        while line := sshd.stderr.readline():
            if b"listening" in line:
                break
        else:
            pytest.fail("sshd has ended")
        (child,) = Path(f"/proc/{sshd.pid}/task/{sshd.pid}/children").read_text().split()
        self.init.append(int(child))
        return port

    def on(self, node: int) -> tuple[str, ...]:
        """The words that run a command among the processes of this node."""
        return "nsenter", "--pid", "--mount", "--target", str(self.init[node])

    def job(self, hosts: str, *words: str) -> subprocess.CompletedProcess[str]:
        """``dualdbg job --via ssh:HOSTS``, with our ssh."""
        env = {**os.environ, "PATH": f"{self._folder}/bin:{os.environ['PATH']}"}
        command = [sys.executable, "-m", "dualdbg", "job", "--via", f"ssh:{hosts}", *words]
        return warm.run(command, env=env, text=True, timeout=patient(120))

    def clush(self, hosts: str, *words: str, gateways: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """ClusterShell's own tool, on a machine from which nodes behind gateways cannot be reached."""
        folder = self._folder
        outside = folder / "outside"
        outside.mkdir()
        unreachable = "".join(f"Host {node}\nPort 1\n" for node in gateways.values())
        (outside / "client").write_text(f"{unreachable}Host *\n{(folder / 'client').read_text()}")
        (outside / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {outside}/client "$@"\n')
        (outside / "ssh").chmod(0o755)
        here = socket.gethostname().partition(".")[0]
        routes = [f"{here}: {','.join(gateways)}", *(f"{one}: {behind}" for one, behind in gateways.items())]
        (outside / "topology.conf").write_text("\n".join(["[routes]", *routes, ""]))
        env = {
            **os.environ,
            "PATH": f"{outside}:{os.environ['PATH']}",
            "CLUSTERSHELL_CFGDIR": str(outside),
            "CLUSTERSHELL_GW_PYTHON_EXECUTABLE": sys.executable,
            "CLUSTERSHELL_GW_LOG_DIR": str(outside),
        }
        command = [sys.executable, "-m", "ClusterShell.CLI.Clush", "-w", hosts, "-u", "100", *words]
        return subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(120)
        )

    def __exit__(self, *_: object) -> None:
        for sshd in self._sshds:
            sshd.kill()
            sshd.wait()
            assert sshd.stderr is not None
            sshd.stderr.close()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    require(SSHD and shutil.which("ssh"), "OpenSSH's server and client", outside=True)
    may = (
        os.geteuid() == 0
        and subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"]).returncode == 0
    )
    require(may, "namespaces of process ids, which make two machines of one", outside=True)
    Path("/run/sshd").mkdir(exist_ok=True)  # it will not start without
    folder = tmp_path / "cluster"
    folder.mkdir(mode=0o700)
    with Cluster(folder) as running:
        yield running


def test_over_ssh_on_two_machines(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("ClusterShell")
    with ExitStack() as stack:
        stack.enter_context(ranks(tmp_path, 0, 1, before=cluster.on(0)))
        stack.enter_context(ranks(tmp_path, 2, 3, before=cluster.on(1)))
        done = cluster.job("node[1-3]", "--timeout", "100")
        none = cluster.job("node1", "--dualdbg", "no-such-dualdbg")
    assert done.returncode == 0, done
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == "4 ranks on 2 of 3 nodes"
    assert "1 rank: 2" in lines and "3 ranks: 0-1,3" in lines
    assert "node3: ssh could not connect (exit status 255)" in done.stderr
    assert none.returncode == 3 and "--dualdbg PATH" in none.stderr


def test_what_clush_collects_over_a_gateway(cluster: Cluster, tmp_path: Path) -> None:
    """As docs/jobs.md says: node2 is reached from node1 alone, and what both send is put together."""
    require(importlib.util.find_spec("ClusterShell"), "ClusterShell")
    sent = tmp_path / "sent"
    ask = "dualdbg stacks --having RANK --watch 2 --diagnose --packed"
    with ExitStack() as stack:
        stack.enter_context(ranks(tmp_path, 0, 1, before=cluster.on(0)))
        stack.enter_context(ranks(tmp_path, 2, 3, before=cluster.on(1)))
        done = cluster.clush("node[1-3]", f"--outdir={sent}", ask, gateways={"node1": "node2"})
    assert (sent / "node3").stat().st_size == 0 and "node3: exited with exit code 255" in done.stderr, done
    merged = dualdbg("job", "merge", *map(str, sorted(sent.iterdir())))
    lines = [line.strip() for line in merged.stdout.decode().splitlines()]
    assert "1 rank: 2" in lines and "3 ranks: 0-1,3" in lines, (done, merged)
