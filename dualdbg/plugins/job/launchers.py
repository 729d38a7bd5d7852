"""What runs a job, as rows of a table: which nodes it has, and the command that runs words on one of them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import DualdbgError, UsageError
from ...system.environment import own_module
from ...system.patience import patient
from . import fields
from .ray_node import FAILED as RAY_FAILED

HERE = "this machine"
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")  # in the environment of a rank
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,254}")
_JOB = re.compile(r"[0-9]{1,12}([_.+][0-9]{1,12})?")
_SECONDS = patient(30.0)  # for a question to a scheduler
_MOST_NODES = 100_000
_MOST_ANSWER = 256 << 20  # bytes
_RAY = "Ray could not run it there"
_CONNECT = patient(10.0)  # seconds for a connection
# exec keeps the program's status; where there is no such program, every shell says 127.
_SHELL = ("sh", "-c", 'exec "$0" "$@"')

# Options of kubectl that only some of its commands have (`kubectl get --help` and so on), and whether a value follows.
_ONLY_EXEC = {"-c": True, "--container": True}
_ONLY_GET = {"-A": False, "--all-namespaces": False, "--field-selector": True}
# `kubectl debug` puts a container of its own into the pod: --image says which, --target whose processes it sees.
_ONLY_DEBUG = {
    "--image": True,
    "--image-pull-policy": True,
    "--target": True,
    "--profile": True,
    "--custom": True,
    "--env": True,
}
_WITH_IMAGE = "--image"
_PROFILE = "--profile=general"  # it may trace: SYS_PTRACE


@dataclass(frozen=True)
class Nodes:
    """The nodes of a job by their names, each with the words that run a command there; those left out, with why."""

    prefixes: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Launcher:
    """One row. ``address``: what stands behind the colon of ``--via``. ``targets``: the words for ``dualdbg stacks``
    that name the processes of the job, by the address. ``statuses``: what its own exit statuses mean. ``quotes``: a
    shell on the node reads the words once more. ``needs_address``: there is no default. ``by_hand``: how a user runs
    something on the node; the words before a command where it is empty."""

    name: str
    address: str
    nodes: Callable[[str], Nodes]
    targets: Callable[[str], tuple[str, ...]] = lambda address: having(RANKS)
    statuses: Mapping[int, str] = field(default_factory=dict)
    quotes: bool = False
    needs_address: bool = True
    by_hand: str = ""

    def command(self, prefix: Sequence[str], words: Sequence[str]) -> list[str]:
        """The command here that runs the words on a node."""
        there = [*words] if not prefix else [*_SHELL, *words]
        return [*prefix, shlex.join(there)] if self.quotes else [*prefix, *there]


def find(via: str) -> tuple[Launcher, str]:
    """The launcher and its address, of what the user typed behind ``--via``. Raises UsageError."""
    name, _, address = via.partition(":")
    launcher = LAUNCHERS.get(name)
    forms = ", ".join(
        f"{each.name}:{each.address}" if each.address else each.name for each in LAUNCHERS.values()
    )
    if launcher is None:
        raise UsageError(f"--via {via}: there is no launcher {name!r}", f"there are: {forms}")
    if launcher.needs_address and not address:
        raise UsageError(
            f"--via {via}: the address is missing", f"dualdbg job --via {name}:{launcher.address}"
        )
    return launcher, address


# -- which nodes -----------------------------------------------------------------------------------


def _local(address: str) -> Nodes:
    if address:
        raise UsageError(
            "--via local has no address", "the PID of the launcher follows: dualdbg job --via local 4711"
        )
    return Nodes({HERE: ()})


def _ssh(address: str) -> Nodes:
    options = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT:.0f}", "-T", "--")
    return Nodes({node: ("ssh", *options, node) for node in node_set(address)})


def _mpi(address: str) -> Nodes:
    nodes = _host_file(address) if "/" in address else node_set(address)
    return Nodes({node: ("mpirun", "-host", node, "-n", "1") for node in nodes})


def _slurm(address: str) -> Nodes:
    hint = f"squeue -j {address}"
    number = _number_in_slurm(address)
    listed = ask(["squeue", "--noheader", "--jobs", address, "--format", "%N"], hint).split()
    if not listed:
        raise DualdbgError(f"job {address} of Slurm has no nodes: it does not run now", hint)
    expanded = ask(["scontrol", "show", "hostnames", ",".join(listed)], hint).split()
    srun = ("srun", "--overlap", f"--jobid={number}", "--nodes=1", "--ntasks=1", "--quiet")
    return Nodes({node: (*srun, f"--nodelist={node}") for node in _names(expanded)})


def _of_slurm(address: str) -> tuple[str, ...]:
    return having([f"SLURM_JOB_ID={re.split('[.+]', _number_in_slurm(address))[0]}"])


def _number_in_slurm(address: str) -> str:
    """The number by which srun and the environment of the ranks know the job: a task of an array, 36_1, has one of
    its own."""
    if not _JOB.fullmatch(address):
        raise UsageError(f"{address!r} is no number of a job of Slurm", "squeue --me lists your jobs")
    if "_" not in address:
        return address
    hint = f"squeue -j {address}"
    found = ask(["squeue", "--noheader", "--jobs", address, "--format", "%A"], hint).split()
    if len(found) != 1 or not _JOB.fullmatch(found[0]):
        raise DualdbgError(f"task {address} of Slurm does not run now", hint)
    return found[0]


def _ray(address: str) -> Nodes:
    ray = importlib.util.find_spec("ray")
    if ray is None:
        raise UsageError(
            f"Ray is not installed in the Python of dualdbg, {sys.executable}",
            "install dualdbg where the job runs, and run it from there: pip install dualdbg",
        )
    if address.startswith("-"):
        raise UsageError(f"{address!r} is no address of a Ray cluster", "--via ray:auto, or ray:HOST:6379")
    # It may be in PYTHONPATH, which the helper does not heed.
    folders = [str(Path(each).parent) for each in ray.submodule_search_locations or ()]
    helper = own_module("dualdbg.plugins.job.ray_node", folders)
    text = ask([*helper, "list", address], "ray status")
    prefixes, left_out = {}, {}
    try:
        for node, name, is_alive in json.loads(text):
            node, name = _names([fields.checked(str, each, "a node") for each in (node, name)])
            told = f"{name}:{node[:8]}"  # several may have the same name
            if is_alive:
                prefixes[told] = (*helper, "run", address, node)
            else:
                left_out[told] = "Ray says that it is dead"
    except (ValueError, TypeError, RecursionError) as error:
        raise DualdbgError(f"Ray has not listed its nodes: {error}", "ray status") from error
    return Nodes(prefixes, left_out)


def having(words: Sequence[str]) -> tuple[str, ...]:
    """The words for ``dualdbg stacks`` that name processes by their environment."""
    return tuple(part for word in words for part in ("--having", word))


def _kubernetes(address: str) -> Nodes:
    selector, *options = words_in(address, "--via k8s:", "--via 'k8s:app=train -n ml'")
    of_get = _without(options, _ONLY_EXEC | _ONLY_DEBUG)
    run = _in_pods(options)
    text = ask(
        ["kubectl", "get", "pods", "-o", "json", *of_get, "-l", selector], f"kubectl get pods -l {selector}"
    )
    prefixes, left_out = {}, {}
    for name, space, phase in pods(text):
        if phase == "Running":
            prefixes[name] = (*run, "-n", space, name, "--")
        else:
            left_out[name] = f"its phase is {phase}"
    if not prefixes and not left_out:
        raise DualdbgError(
            f"no pod has {selector}", f"kubectl get pods --show-labels {shlex.join(of_get)}".strip()
        )
    return Nodes(prefixes, left_out)


def _in_pods(options: Sequence[str]) -> list[str]:
    """The words that run a command in a pod: where an image is named in a container of its own, which is put into it,
    with the processes of the one that is targeted. Raises UsageError."""
    names = {word.partition("=")[0] for word in options}
    if _WITH_IMAGE not in names:
        typed = sorted(names & _ONLY_DEBUG.keys())
        if typed:
            raise UsageError(
                f"--via k8s: {typed[0]} is for kubectl debug, which needs an image with dualdbg in it",
                "--via 'k8s:app=train --image=IMAGE --target=CONTAINER'",
            )
        return ["kubectl", "exec", *_without(options, _ONLY_GET)]
    if "--target" not in names:
        raise UsageError(
            "--via k8s: --image puts a container into each pod, which sees the processes of another one: --target is "
            "missing",
            "--via 'k8s:app=train --image=IMAGE --target=CONTAINER'",
        )
    profile = () if names & {"--profile", "--custom"} else (_PROFILE,)
    of_debug = _without(options, _ONLY_GET | _ONLY_EXEC)
    return ["kubectl", "debug", "--quiet", "--attach", *profile, *of_debug]


def _without(options: Sequence[str], others: Mapping[str, bool]) -> list[str]:
    """The options without those that another command alone knows: by their names, each with whether a value follows."""
    kept = []
    words = iter(options)
    for word in words:
        name, is_joined, _ = word.partition("=")
        if name not in others:
            kept.append(word)
        elif others[name] and not is_joined:
            next(words, None)
    return kept


def pods(text: str) -> list[tuple[str, str, str]]:
    """Name, namespace and phase of each pod in what ``kubectl get pods -o json`` wrote. Raises DualdbgError."""
    try:
        rows = fields.objects(fields.checked(dict, json.loads(text), "the answer"), "items", _MOST_NODES)
        found = []
        for row in rows:
            about, status = (fields.checked(dict, row.get(each), each) for each in ("metadata", "status"))
            name, space = _names([fields.short(about, each) for each in ("name", "namespace")])
            found.append((name, space, fields.short(status, "phase", 40)))
        return found
    except (ValueError, RecursionError) as error:
        raise DualdbgError(f"kubectl has not listed pods as JSON: {error}", "kubectl version") from error


def node_set(text: str) -> list[str]:
    """The nodes of ``a,b`` or, with ClusterShell, of ``node[1-8]`` and ``@group``. Raises UsageError."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
    except ImportError:
        if set(text) & set("[]@!&^*?"):
            raise UsageError(
                f"ClusterShell, which knows what {text!r} stands for, is not installed here",
                f"{sys.executable} -m pip install 'dualdbg[cluster]', or name the nodes: node1,node2",
            ) from None
        return _names([each for each in text.split(",") if each])
    try:
        return _names(list(NodeSet(text)))
    except NodeSetException as error:
        raise UsageError(
            f"{text!r} is no set of nodes: {error}", "for example node[1-8], or node1,node2"
        ) from error


def _host_file(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.partition("#")[0].split() for line in file.read(_MOST_ANSWER).splitlines()]
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {os.strerror(error.errno or 0)}", "--via mpi:node1,node2"
        ) from error
    return _names(list(dict.fromkeys(words[0].partition(":")[0] for words in lines if words)))


def _names(found: Sequence[str]) -> list[str]:
    """They become words of a command: none may look like an option, or like anything to a shell."""
    bad = next((name for name in found if not _NODE.fullmatch(name)), None)
    if bad is not None:
        raise UsageError(f"{bad!r} is no name of a node", "letters, digits, '.', ':', '_', '-' and '@'")
    if len(found) > _MOST_NODES:
        raise UsageError(f"more than {_MOST_NODES} nodes", "name fewer")
    return list(found)


def words_in(text: str, option: str, example: str) -> list[str]:
    """The words of what was typed, as a shell would split it: at least one. Raises UsageError."""
    try:
        found = shlex.split(text)
    except ValueError as error:  # a quotation mark without the other one
        raise UsageError(f"{option} {text}: {str(error).lower()}", f"for example {example}") from error
    if not found:
        raise UsageError(f"{option}: there is no word in {text!r}", f"for example {example}")
    return found


def ask(command: Sequence[str], hint: str) -> str:
    """What a scheduler's own command writes. Raises DualdbgError where it is missing, fails or takes too long."""
    shown = shlex.join(command)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise DualdbgError(
            f"{command[0]} is not installed here, or not in PATH", f"run this where {command[0]} works"
        ) from error
    except OSError as error:
        raise DualdbgError(f"{shown} cannot be started: {os.strerror(error.errno or 0)}", hint) from error
    except subprocess.TimeoutExpired as error:
        raise DualdbgError(f"{shown} did not answer within {_SECONDS:g} s", hint) from error
    if done.returncode:
        told = done.stderr[-2000:].decode("utf-8", "replace").strip()
        raise DualdbgError(
            f"{shown} failed (exit status {done.returncode})" + (f": {told}" if told else ""), hint
        )
    return done.stdout[:_MOST_ANSWER].decode("utf-8", "replace")


LOCAL = Launcher("local", "", _local, needs_address=False)
LAUNCHERS = {
    row.name: row
    for row in (
        LOCAL,
        Launcher("ssh", "HOSTS", _ssh, statuses={255: "ssh could not connect"}, quotes=True),
        Launcher(
            "slurm",
            "JOBID",
            _slurm,
            targets=_of_slurm,
        ),
        Launcher("k8s", "SELECTOR", _kubernetes),
        Launcher("mpi", "HOSTS", _mpi),
        # Ray's workers change their command lines, and with them what /proc has of their environment.
        Launcher(
            "ray",
            "ADDRESS",
            _ray,
            targets=lambda address: ("ray::",),
            statuses={RAY_FAILED: _RAY},
            by_hand="on that node:",
        ),
    )
}
