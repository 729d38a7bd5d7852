"""``dualdbg job --via`` with what really runs jobs: Slurm of two nodes, MPI; and kubectl, which is played."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from dualdbg.plugins.job import launchers, ray_node
from dualdbg.system.patience import patient
from tests import warm

from ..support import require, wait_until
from .test_gathering import WORKER
from .test_via import free_port, ranks

ROOT = Path(__file__).parents[2]
SYSTEM = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
# Without a namespace of its own a node would have the processes of the other one.
MACHINE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def job(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dualdbg", "job", *words]
    return warm.run(command, env={**os.environ, **env}, text=True, timeout=patient(120))


def expect_odd_rank(done: subprocess.CompletedProcess[str], heading: str) -> None:
    assert done.returncode == 0, done
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == heading, done.stdout
    assert "1 rank: 2" in lines and "3 ranks: 0-1,3" in lines, done.stdout
    assert lines[lines.index("1 rank: 2") + 1].startswith("evaluate train.py:")
    assert lines[lines.index("3 ranks: 0-1,3") + 1].startswith("train train.py:")


def scripts(folder: Path, **texts: str) -> str:
    """A PATH on which these programs come first."""
    (folder / "bin").mkdir()
    for name, text in {"dualdbg": f'exec {sys.executable} -m dualdbg "$@"', **texts}.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    return f"{folder}/bin:{os.environ['PATH']}"


@contextmanager
def daemon(*words: object, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [str(word) for word in words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """munged, slurmctld and a slurmd for each of two nodes, none of which knows of the system's own. The environment
    for its commands."""
    host = socket.gethostname().partition(".")[0]
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    lines = [
        "ClusterName=test",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={free_port()}",
        "SlurmUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "SlurmdParameters=config_overrides",
        "MpiDefault=none",
        *(
            f"NodeName=node{each} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=8"
            for each in (1, 2)
        ),
        "PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP",
    ]
    (folder / "slurm.conf").write_text("\n".join([*lines, ""]))
    for name in ("state", "node1", "node2"):
        (folder / name).mkdir()
    env = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf", "PATH": f"{os.environ['PATH']}:{SYSTEM}"}
    munge = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}"
        for name in ("key-file", "socket", "pid-file", "seed-file", "log-file")
    ]
    with ExitStack() as stack:
        stack.enter_context(daemon(shutil.which("munged", path=SYSTEM), "--foreground", "--force", *munge))
        wait_until(lambda: (folder / "munge.socket").exists(), what="munged listens")
        stack.enter_context(daemon(shutil.which("slurmctld", path=SYSTEM), "-D", env=env))
        for node in ("node1", "node2"):
            stack.enter_context(
                daemon(*MACHINE, shutil.which("slurmd", path=SYSTEM), "-D", "-N", node, env=env)
            )

        def idle() -> bool:
            words = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
            return subprocess.run(words, env=env, capture_output=True, text=True).stdout.strip() == "2"

        wait_until(idle, 60, "both nodes are idle")
        yield env


@pytest.mark.exhaustive
def test_slurm(tmp_path: Path) -> None:
    there = all(shutil.which(name, path=SYSTEM) for name in ("munged", "slurmctld", "slurmd", "srun"))
    require(there, "Slurm: slurmctld, slurmd, srun and munge", outside=True)
    may = os.geteuid() == 0 and subprocess.run([*MACHINE, "true"]).returncode == 0
    require(may, "namespaces of process ids, which make two machines of one", outside=True)
    program = tmp_path / "train.py"
    program.write_text(WORKER)
    (tmp_path / "slurm").mkdir()
    with slurm(tmp_path / "slurm") as env:
        env["PATH"] = scripts(tmp_path) + ":" + SYSTEM
        env["PYTHONPATH"] = str(ROOT)
        rank = f"RANK=$SLURM_PROCID exec {sys.executable} {program} $SLURM_PROCID"
        words = ["srun", "--nodes=2", "--ntasks=4", "sh", "-c", rank]
        with subprocess.Popen(
            words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        ) as srun:
            assert srun.stdout is not None
            assert [srun.stdout.readline() for _ in range(4)] == [b"ready\n"] * 4
            (number,) = subprocess.run(
                ["squeue", "--noheader", "--format=%i"], env=env, capture_output=True, text=True
            ).stdout.split()
            try:
                done = job(env, "--via", f"slurm:{number}")
                other = job(env, "--via", "slurm:4711")
            finally:
                subprocess.run(["scancel", number], env=env, check=True)
                srun.wait(patient(60))
    expect_odd_rank(done, "4 ranks on 2 nodes")
    assert other.returncode == 3 and "squeue -j 4711" in other.stderr, other


@pytest.mark.exhaustive
def test_mpi(tmp_path: Path) -> None:
    require(shutil.which("mpirun"), "mpirun", outside=True)
    program = tmp_path / "train.py"
    program.write_text(WORKER)
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PATH": scripts(tmp_path)}
    env |= {"PYTHONPATH": str(ROOT), "JOB": tmp_path.name}
    rank = f"exec {sys.executable} {program} $OMPI_COMM_WORLD_RANK"
    words = ["mpirun", "--oversubscribe", "--stdin", "all", "-n", "4", "sh", "-c", rank]
    with subprocess.Popen(
        words, env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as mpirun:
        assert mpirun.stdout is not None
        assert [mpirun.stdout.readline() for _ in range(4)] == [b"ready\n"] * 4
        try:
            done = job(env, "--via", "mpi:localhost", str(program))
        finally:
            for each in [*psutil.Process(mpirun.pid).children(recursive=True), mpirun]:
                each.send_signal(signal.SIGKILL)
    expect_odd_rank(done, "4 ranks on 1 node")


# As squeue does for a task of an array: %A is its own number. srun writes down what it is asked.
ARRAY = {
    "squeue": 'case "$5" in %A) echo 41 ;; %N) echo node1 ;; esac',
    "scontrol": "echo node1",
    "srun": 'echo "$@" > "$ASKED"; exit 3',
}


def test_a_task_of_an_array_of_slurm_is_known_by_its_own_number(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    env = {"PATH": scripts(tmp_path, **ARRAY), "ASKED": str(asked)}
    assert job(env, "--via", "slurm:36_1").returncode == 3
    assert "--jobid=41 " in asked.read_text() and "--having SLURM_JOB_ID=41 " in asked.read_text()


PODS = [("worker-0", "Running"), ("worker-1", "Running"), ("worker-2", "Pending")]
# What kubectl writes; `exec` runs the command in a pod, here among the processes of this machine.
KUBECTL = """\
case "$1" in
get) cat "$PODS" ;;
exec | debug)
    while [ "$1" != -- ]; do pod=$1; shift; done
    shift
    export HAVING="MASTER_PORT=$pod"
    exec "$@" ;;
*) exit 1 ;;
esac
"""


def test_kubernetes_with_a_kubectl_that_is_played(tmp_path: Path) -> None:
    rows = [
        {"metadata": {"name": name, "namespace": "ml"}, "status": {"phase": phase}} for name, phase in PODS
    ]
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": rows}))
    # A pod has processes of its own: the dualdbg of the play takes those of its name.
    dualdbg = f'exec {sys.executable} -m dualdbg stacks --having "$HAVING" --watch 1 --diagnose --packed'
    path = scripts(tmp_path, kubectl=KUBECTL, dualdbg=dualdbg)
    env = {"PATH": path, "PODS": str(tmp_path / "pods.json"), "PYTHONPATH": str(ROOT)}
    with ExitStack() as stack:
        for name, numbers in (("worker-0", (0, 1)), ("worker-1", (2, 3))):
            stack.enter_context(ranks(tmp_path, *numbers, port=name))
        done = job(env, "--via", "k8s:app=train -n ml")
    expect_odd_rank(done, "4 ranks on 2 of 3 nodes")
    assert "worker-2: it does not run" in done.stderr and "its phase is Pending" in done.stderr


def test_options_of_kubectl_go_to_the_command_that_has_them(tmp_path: Path) -> None:
    row = {"metadata": {"name": "worker-0", "namespace": "ml"}, "status": {"phase": "Running"}}
    (tmp_path / "pods.json").write_text(json.dumps({"items": [row]}))
    kubectl = 'echo "$@" >> "$ASKED"\n[ "$1" = exec ] || cat "$PODS"'
    env = {"PATH": scripts(tmp_path, kubectl=kubectl), "PODS": str(tmp_path / "pods.json")}
    env["ASKED"] = str(tmp_path / "asked")
    options = "-A -c main --container=main --field-selector status.phase=Running --context a"
    job(env, "--via", f"k8s:app=train {options}")
    asked, run = (tmp_path / "asked").read_text().splitlines()
    listed = "get pods -o json -A --field-selector status.phase=Running --context a -l app=train"
    assert asked == listed
    assert run.startswith("exec -c main --container=main --context a -n ml worker-0 -- ")


def test_a_container_of_its_own_where_exec_is_not_possible(tmp_path: Path) -> None:
    row = {"metadata": {"name": "worker-0", "namespace": "ml"}, "status": {"phase": "Running"}}
    (tmp_path / "pods.json").write_text(json.dumps({"items": [row]}))
    kubectl = 'echo "$@" >> "$ASKED"\n[ "$1" = debug ] || cat "$PODS"'
    env = {"PATH": scripts(tmp_path, kubectl=kubectl), "PODS": str(tmp_path / "pods.json")}
    env["ASKED"] = str(tmp_path / "asked")
    job(env, "--via", "k8s:app=train -A --image=ours/dualdbg --target main --context a")
    job(env, "--via", "k8s:app=train --image=ours/dualdbg --target=main --profile=sysadmin")
    listed, run, _, other = (tmp_path / "asked").read_text().splitlines()
    assert listed == "get pods -o json -A --context a -l app=train"
    begin = "debug --quiet --attach --profile=general --image=ours/dualdbg --target main --context a -n ml worker-0 -- "
    assert run.startswith(begin)
    assert other.startswith(
        "debug --quiet --attach --image=ours/dualdbg --target=main --profile=sysadmin -n ml "
    )


@pytest.mark.parametrize(
    "options", ["-c main --context a", "--image=ours/dualdbg --target main --env=A=b --profile=sysadmin"]
)
def test_the_real_kubectl_knows_the_words(tmp_path: Path, options: str) -> None:
    """It takes all of them, and then finds no cluster."""
    kubectl = require(shutil.which("kubectl"), "kubectl")
    (tmp_path / "pods.json").write_text(
        json.dumps(
            {"items": [{"metadata": {"name": "a", "namespace": "ml"}, "status": {"phase": "Running"}}]}
        )
    )
    config = tmp_path / "config"
    cluster = {"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "a", "context": {"cluster": "none", "user": ""}}
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [cluster],
                "contexts": [context],
                "current-context": "a",
            }
        )
    )
    get = f'if [ "$1" = get ]; then cat "$PODS"; else exec {kubectl} "$@"; fi'
    env = {
        "PATH": scripts(tmp_path, kubectl=get),
        "PODS": str(tmp_path / "pods.json"),
        "KUBECONFIG": str(config),
    }
    done = job(env, "--via", f"k8s:app=train {options}")
    assert "127.0.0.1:1 was refused" in done.stderr, done.stderr
    assert "unknown" not in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [("--target=main", "--target is for kubectl debug"), ("--image=ours/dualdbg", "--target is missing")],
)
def test_a_container_needs_an_image_and_whose_processes_it_sees(
    tmp_path: Path, options: str, told: str
) -> None:
    done = job({"PATH": scripts(tmp_path, kubectl="exit 1")}, "--via", f"k8s:app=train {options}")
    assert done.returncode == 2 and told in done.stderr and "--image=IMAGE --target=CONTAINER" in done.stderr


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "[]",
        '{"items": [{"metadata": {"name": "--help", "namespace": "x"}, "status": {"phase": "Running"}}]}',
        "[" * 100_000,
    ],
)
def test_what_kubectl_lists_is_not_trusted(tmp_path: Path, answer: str) -> None:
    (tmp_path / "pods.json").write_text(answer)
    env = {"PATH": scripts(tmp_path, kubectl=KUBECTL), "PODS": str(tmp_path / "pods.json")}
    done = job(env, "--via", "k8s:app=train")
    assert done.returncode in (2, 3) and not done.stdout and "did not foresee" not in done.stderr, done
    assert len(done.stderr.splitlines()) <= 2


def test_a_launcher_that_is_missing_is_named(tmp_path: Path) -> None:
    done = job({"PATH": str(tmp_path)}, "--via", "slurm:4711")
    assert done.returncode == 3 and "squeue is not installed here" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise ImportError('no\\nmodule')", "Ray cannot be imported: no module"),
        ("def init(**_): raise RuntimeError('Version mismatch:\\n 2.60')", "Version mismatch: 2.60"),
    ],
)
def test_a_ray_that_fails_is_told_in_a_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    told: str,
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text(text + "\n")
    (tmp_path / "ray" / "exceptions.py").write_text("class RayError(Exception): pass\n")
    monkeypatch.setenv("RAY_DEDUP_LOGS", "")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [each for each in sys.modules if each.partition(".")[0] == "ray"]:
        monkeypatch.delitem(sys.modules, name)
    try:
        assert ray_node.main(["list", "auto"]) == ray_node.FAILED
    finally:
        for name in ("ray", "ray.exceptions"):
            sys.modules.pop(name, None)
    assert capsys.readouterr().err.splitlines() == [told]


def test_a_ray_on_pythonpath_is_known_to_the_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text("")
    asked: list[str] = []
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(launchers, "ask", lambda command, hint: asked.extend(command) or "[]")
    assert not launchers.LAUNCHERS["ray"].nodes("auto").prefixes
    assert any(str(tmp_path) in word.split(os.pathsep) for word in asked), asked


RAY_JOB = """\
import sys, time
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
ray.init(address=sys.argv[1], log_to_driver=False)
def train(seconds):
    time.sleep(seconds)
def evaluate(seconds):
    time.sleep(seconds)
nodes = {row["NodeName"]: row["NodeID"] for row in ray.nodes()}
for name, function in (("node1", train), ("node2", evaluate)):
    where = NodeAffinitySchedulingStrategy(nodes[name], soft=False)
    task = ray.remote(function).options(scheduling_strategy=where)
    ray.get(task.remote(0))
    running = task.remote(1000)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.exhaustive
def test_ray(tmp_path: Path) -> None:
    require(importlib.util.find_spec("ray"), "Ray: pip install ray", outside=True)
    may = os.geteuid() == 0 and subprocess.run([*MACHINE, "true"]).returncode == 0
    require(may, "namespaces of process ids, which make two machines of one", outside=True)
    (tmp_path / "job.py").write_text(RAY_JOB)
    address = f"127.0.0.1:{free_port()}"
    env = {**os.environ, "PATH": scripts(tmp_path), "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=2"]
    first = [
        *start,
        "--head",
        f"--port={address.partition(':')[2]}",
        "--node-name=node1",
        "--include-dashboard=false",
    ]
    second = [*start, f"--address={address}", "--node-name=node2"]
    listed = [sys.executable, "-m", "dualdbg.plugins.job.ray_node", "list", address]

    def nodes(count: int) -> bool:
        try:
            done = subprocess.run(listed, env=env, capture_output=True, text=True, timeout=patient(30))
        except subprocess.TimeoutExpired:  # Ray waits for ever for a head that has ended
            return False
        return done.returncode == 0 and len(json.loads(done.stdout)) == count

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())  # a short path: Ray has sockets in it
        stack.enter_context(daemon(*MACHINE, *first, f"--temp-dir={folder}", env=env))
        wait_until(lambda: nodes(1), 60, "the first node is there")
        stack.enter_context(daemon(*MACHINE, *second, env=env))
        wait_until(lambda: nodes(2), 60, "the second node is there")
        command = [sys.executable, str(tmp_path / "job.py"), address]
        driver = stack.enter_context(
            subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        )
        stack.callback(driver.kill)
        assert driver.stdout is not None and driver.stdout.readline() == b"ready\n"
        done = job(env, "--via", f"ray:{address}", "--all")
    assert done.returncode == 0 and done.stdout.splitlines()[0].endswith(" on 2 nodes"), done
    assert "train job.py:6" in done.stdout and "evaluate job.py:8" in done.stdout, done.stdout
