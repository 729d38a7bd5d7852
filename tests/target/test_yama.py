"""Each command under each of Yama's scopes, as root and as nobody: what passes, and what a refusal says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import rows, support

from . import yama
from .yama import NOBODY, ROOT, Job
from .yama_scripts import ALLOW, JOIN, LAUNCH, LOWER, REFUSED, WITHOUT_SUDO

pytestmark = [pytest.mark.vm, pytest.mark.slow]

TICKS = Path(__file__).with_name("ticks.py")
Lines = Callable[[Job], list[str]]


@dataclass(frozen=True)
class Outcome:
    """The exit status, and what standard error has; with ``quiet`` that is all it has."""

    status: int
    errors: tuple[str, ...] = ()
    quiet: bool = False


PASSES = Outcome(0, quiet=True)
ASK = "--fix-ptrace"
ONLY_PARENTS = Outcome(
    3, ("ptrace_scope is 1: only a parent may trace", ASK, "sysctl kernel.yama.ptrace_scope=0")
)
ONLY_CAPABLE = Outcome(3, ("ptrace_scope is 2: only a process with CAP_SYS_PTRACE", ASK, "sudo dualdbg"))
RUN_WITH_ONE = Outcome(3, ("ptrace_scope is 2", "ptrace_scope=1 is enough", "sudo dualdbg"))
NOBODY_MAY = Outcome(3, ("ptrace_scope is 3", "until a reboot", "/etc/sysctl.d"))


def lowered(scope: int) -> Outcome:
    return Outcome(0, (f"kernel.yama.ptrace_scope is {scope}. It is set to 0", f"then to {scope} again"))


NAMES = ("run", "stacks", "stacks --fix-ptrace", "attach", "attach --fix-ptrace", "core")
TABLE = {
    (0, ROOT): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (0, NOBODY): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (1, ROOT): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (1, NOBODY): (PASSES, ONLY_PARENTS, lowered(1), ONLY_PARENTS, lowered(1), PASSES),
    (2, ROOT): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (2, NOBODY): (RUN_WITH_ONE, ONLY_CAPABLE, lowered(2), ONLY_CAPABLE, lowered(2), PASSES),
    (3, ROOT): (NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, PASSES),
    (3, NOBODY): (NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, PASSES),
}


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    gcore = support.require(shutil.which("gcore"), "gcore (it comes with gdb)")
    folder = tmp_path_factory.mktemp("core")
    with ticks() as program:
        subprocess.run([gcore, "-o", str(folder / "core"), str(program.pid)], check=True, capture_output=True)
        program.kill()
    (file,) = folder.glob("core.*")
    file.chmod(0o644)
    return file


def ticks() -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-u", str(TICKS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdin is not None and program.stdout is not None
    print(file=program.stdin, flush=True)
    assert program.stdout.readline() == "1\n"
    return program


@pytest.fixture(scope="module")
def lines(request: pytest.FixtureRequest, core: Path) -> Lines:
    """What a job printed. The jobs of all tests that are to run here share a virtual machine."""
    own = [item for item in request.session.items if item.path == request.path]
    jobs = [item.callspec.params["job"] for item in own if isinstance(item, pytest.Function)]
    outputs = yama.run(jobs, core)

    def of(job: Job) -> list[str]:
        output = outputs[job]
        assert output.status == 0, "\n".join(output.lines)
        return output.lines

    return of


def commands(scope: int, user: int, *names: str) -> Job:
    script = "from tests.target.yama_commands import main; main()"
    return Job(scope, ROOT, script, (str(user), *names), sudo=True)


ALL = {f"{scope}-{user}": commands(scope, user, *NAMES) for scope, user in TABLE}


@pytest.mark.exhaustive  # the machine is emulated: one row takes as long as a tenth of all other tests
@pytest.mark.parametrize("job", ALL.values(), ids=ALL.keys())
def test_every_command_under_every_scope(lines: Lines, job: Job) -> None:
    user, *names = job.arguments
    rows = [json.loads(line) for line in lines(job)]
    expectations = dict(zip(NAMES, TABLE[job.scope, int(user)], strict=True))
    assert [row["command"] for row in rows] == names
    for row in rows:
        expected = expectations[row["command"]]
        told = f"{row['command']}: {row}"
        assert row["status"] == expected.status, told
        assert all(part in row["err"] for part in expected.errors), told
        assert not (expected.quiet and row["err"]), told
        assert (row["scope"], row["unharmed"]) == (job.scope, True), told
        if expected.status == 0:
            # Python's frames are read.
            assert "wait_for_lines" in row["out"] and "ticks.py" in row["out"], told
            assert "attach" not in row["command"] or f"scope while attached: {job.scope}" in row["out"], told


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "job",
    [Job(1, ROOT, "from tests.target.yama_deaths import main; main()", (str(NOBODY),), sudo=True)],
    ids=["1"],
)
def test_whoever_dies_the_scope_is_put_back_and_the_program_unharmed(lines: Lines, job: Job) -> None:
    """Also what an editor is told, and that it attaches with ``fixPtrace``."""
    found = json.loads(lines(job)[-1])
    alive = {"scope": 1, "unharmed": True, "traps": 0}
    assert found["dualdbg killed while it is lowered"] == alive
    assert found["gdb killed"] == {**alive, "status": 3}
    assert found["both killed"] == alive
    refused, attached = found["an editor"]
    assert "ptrace_scope is 1" in refused and "fixPtrace" in refused
    assert "sysctl kernel.yama.ptrace_scope=0" in refused and "sysctl kernel.yama.ptrace_scope=1" in refused
    assert attached == {**alive, "attached": True}


@pytest.mark.parametrize("job", [Job(1, NOBODY, LAUNCH + ALLOW)], ids=["1"])
def test_scope_1_allows_what_we_launch_and_what_names_us_and_nothing_else(lines: Lines, job: Job) -> None:
    launched, gdb, child, allows = lines(job)
    assert (launched, gdb) == ("launched: allowed", "gdb: attached")
    assert child.startswith("child: ScopeRefused: Yama's ptrace_scope is 1")
    assert allows == "allows: allowed"


@pytest.mark.exhaustive  # a whole session, which the emulated machine needs as long for as for all others here
@pytest.mark.parametrize("job", [Job(1, NOBODY, JOIN)], ids=["1"])
def test_scope_1_allows_children_that_join_a_run(lines: Lines, job: Job) -> None:
    assert lines(job) == ["joined: [2]"]


@pytest.mark.parametrize(
    ("job", "error", "words"),
    [
        (Job(2, NOBODY, REFUSED), "ScopeRefused", "CAP_SYS_PTRACE"),
        (Job(3, NOBODY, REFUSED), "PermissionRefused", "until a reboot"),
    ],
    ids=["2", "3"],
)
def test_scopes_2_and_3_are_explained(lines: Lines, job: Job, error: str, words: str) -> None:
    launched, child = lines(job)
    for line in (launched, child):
        assert f"{error}: Yama's ptrace_scope is {job.scope}" in line and words in line
        assert line.partition(" | ")[2]


# The shell that does it is the same for both; only one of them needs sudo to start it.
@pytest.mark.parametrize(
    "job",
    rows.some([Job(2, NOBODY, LOWER, ("2",), sudo=True), Job(1, ROOT, LOWER, ("1",))], 1),
    ids=["by one who may use sudo", "by root"],
)
def test_the_scope_is_lowered_and_put_back(lines: Lines, job: Job) -> None:
    assert lines(job) == [
        "none for what is allowed: None []",
        "inside 0",
        f"after {job.scope}",
        f"after an error {job.scope}",
        f"closed while lowered {job.scope}",
        "while one holds it 0",
        "the next in turn 0",
        f"after a signal {job.scope}",
        f"after kill -9 {job.scope}",
        f"after its time {job.scope}",
        f"and then {job.scope}",
    ]


@pytest.mark.parametrize("job", [Job(1, NOBODY, WITHOUT_SUDO)], ids=["1"])
def test_without_sudo_the_commands_are_named(lines: Lines, job: Job) -> None:
    told = [line for line in lines(job) if " | " in line]
    assert len(told) == 2
    for line in told:
        assert "ptrace_scope is 1" in line
        assert "sysctl kernel.yama.ptrace_scope=0" in line and "sysctl kernel.yama.ptrace_scope=1" in line
