"""Every time limit can be raised by one variable."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dualdbg.errors import UsageError
from dualdbg.system.patience import patient
from tests import support

# Names that time limits have, what the comment of one says, and functions with the position of their time limit.
_WORDS = {"deadline", "timeout", "grace", "seconds", "patience"}
_SAYS_SECONDS = re.compile(r"#.*\bseconds?\b")
_WAITS = {"wait_for": 1, "call_later": 0, "within": 0, "_within": 0, "until": 2}

# Numbers that look like one and are none, or are multiplied in another way.
ELSEWHERE = {
    "dualdbg/session/progress.py: PATIENCE": "how long the user is told nothing",
    "dualdbg/tui/actions/following.py: _PATIENCE": "how long the screen stays as it is",
    "dualdbg/tui/stop_loader.py: _PATIENCE": "how long the screen stays as it is",
    "dualdbg/tui/stop_loader.py: _TOGETHER": "how long what is drawn is collected",
    "dualdbg/tui/base.py: _BATCH": "how long what is said is collected",
    "dualdbg/tui/terminal/pty.py: _TICK": "between two looks",
    "dualdbg/tui/terminal/pty.py: _FLOOD_TICK": "between two looks",
    "dualdbg/system/process_end.py: _LOOK": "between two looks",
    "dualdbg/plugins/mcp/tools/snapshots.py: _BETWEEN_LOOKS": "between two looks",
    "dualdbg/watch/hang.py: BETWEEN_LOOKS": "between two looks",
    "dualdbg/snapshot/linux/file_locks.py: _BETWEEN_LOOKS": "between two looks",
    "dualdbg/snapshot/report/database_waits.py: _LAST": "between two looks of SQLite's",
    "dualdbg/snapshot/report/sleeps.py: _LONG": "of the time that a thread sleeps",
    "dualdbg/snapshot/report/collectives.py: _LONG": "of the time that an operation has taken",
    "dualdbg/session/death_watch.py: _INTERVAL": "between two looks",
    "dualdbg/session/stepping/freezing.py: _PAUSE": "between two tries",
    "dualdbg/target/bootstrap/dualdbg_log.py: LONGEST_WAIT": "how long the program waits for a session",
    "dualdbg/session/stepping/foresight.py: _LOOK": "how long a user looks at a line before gdb reads ahead",
    "dualdbg/session/stepping/momentary_breakpoints.py: _SOON_READ": "bytes",
    "dualdbg/session/state.py: PYTHON_PAUSE_LOOK": "when gdb looks how far debugpy is, and it looks again",
    "dualdbg/session/inspect/stack_reader.py: _INDEXED": "bytes",
    "dualdbg/target/bootstrap/dualdbg_attach.py: SWITCH_INTERVAL": "of the interpreter's threads",
    "dualdbg/backends/gdb.py: _END_LOOK": "between two looks",
    "dualdbg/backends/gdb_process.py: _CONGESTION_LOOK": "between two looks",
    "dualdbg/target/scope.py: _LOOK_AGAIN": "between two tries",
    "dualdbg/target/bootstrap/pydevd_patches/dualdbg_settrace.py: _PAUSE": "between two tries",
    "dualdbg/target/bootstrap/pydevd_patches/dualdbg_settrace.py: _LONGEST": "a hook is not waited for longer",
    "dualdbg/target/bootstrap/sitecustomize.py: CALL_DEADLINE": "multiplied where it is used",
    "dualdbg/session/start.py: END_LOOK": "between two looks",
    "dualdbg/session/session.py: END_LOOK": "between two looks",
    "dualdbg/session/beginning.py: ATTACH_DELAY": "gdb attaches then, whatever the interpreter does",
    "dualdbg/target/keeper.py: _PAUSE": "between two looks",
    "dualdbg/target/keeper.py: _DEADLINE": "the kernel is waited for, and nothing depends on its answer",
    "dualdbg/model/stops.py: seconds": "a time that has passed",
    "dualdbg/session/native_runs.py: grace": "a gdb that holds nothing alive is not waited for",
    "dualdbg/session/death_watch.py: grace": "the same",
    "dualdbg/cli/sampling.py: seconds": "a time that has passed",
    "dualdbg/cli/commands/stacks.py: _LONGEST": "what a user may ask for",
    "dualdbg/plugins/job/command.py: _LONGEST": "what a user may ask for",
    "dualdbg/plugins/job/verdict.py: seconds": "a time that has passed",
    "dualdbg/plugins/job/recorded_ranks.py: seconds": "a time that has passed",
    "dualdbg/trace/collector.py: _PAUSE": "between two looks",
    "dualdbg/cli/trace_session.py: _LIVE": "between two tables on the terminal",
    "dualdbg/trace/summary.py: seconds": "a time that has passed",
    "dualdbg/console/trace_report.py: _SHORT": "less is told with more digits",
    "dualdbg/plugins/pytest_plugin/records.py: seconds": "a time that has passed",
    "dualdbg/plugins/pytest_plugin/supervisor.py: seconds": "a time that has passed",
    "dualdbg/plugins/pytest_plugin/debugger.py: _LOOK_AGAIN": "between two looks",
    "dualdbg/plugins/mcp/tools/beginning.py: seconds": "the client says how long it waits",
    "dualdbg/plugins/mcp/tools/running.py: seconds": "the client says how long it waits",
    "dualdbg/plugins/mcp/tools/tracing.py: seconds": "the client says how long it waits",
    "gdb_scripts/dualdbg_engine/function_locations.py: _MOST_CODE": "bytes",
    "gdb_scripts/dualdbg_helpers/in_time.py: _AGAIN": "between two signals",
    "gdb_scripts/dualdbg_helpers/limits.py: seconds": "the setting time-limit, which is given, is multiplied",
}
# The same in tests and in what they play of bench/: what is no limit of theirs, and what is multiplied in another way.
ELSEWHERE_IN_TESTS = {
    "bench/_hunter.py: _PATIENCE": "answers",
    "bench/_hunter.py: seconds": "the client says how long it waits",
    "bench/comparison.py: SECONDS": "the measurement",
    "bench/fuzz.py: HANG": "the measurement",
    "bench/fuzz.py: grace": "a gdb that holds nothing alive is not waited for",
    "bench/fuzz.py: wait_for": "it has to pass",
    "bench/torture.py: placing": "a time that has passed",
    "bench/torture.py: processor": "a time that has passed",
    "bench/traces.py: RATE": "calls a second",
    "tests/attach/driver.py: seconds": "multiplied where it is used",
    "tests/attach/test_attach.py: seconds": "multiplied where it is used",
    "tests/backends/test_gdb_given_up.py: grace": "a gdb that holds nothing alive is not waited for",
    "tests/backends/test_gdb_process.py: deadline": "it has to pass",
    "tests/backends/test_gdb_process.py: grace": "a gdb that holds nothing alive is not waited for",
    "tests/conftest.py: _GRACE_SECONDS": "multiplied where it is used",
    "tests/dap/client.py: timeout": "between two looks",
    "tests/dap/test_drop_in_places.py: SECONDS_OF_DEBUGPY": "debugpy's own",
    "tests/gdb_scripts/test_garbage.py: SECONDS": "multiplied where it is used",
    "tests/mcp/test_crash.py: seconds": "the client says how long it waits",
    "tests/mcp/test_diagnose.py: seconds": "the client says how long it waits",
    "tests/mcp/test_ends.py: seconds": "the client says how long it waits",
    "tests/mcp/test_safety.py: seconds": "the client says how long it waits",
    "tests/mcp/test_tools.py: seconds": "the client says how long it waits",
    "tests/mcp/test_trace.py: seconds": "the client says how long it waits",
    "tests/mcp/test_wording.py: seconds": "the client says how long it waits",
    "tests/operators/one_line_calls.py: SECONDS_PER_OPERATOR": "of an alarm in a program without dualdbg",
    "tests/operators/test_native_entries.py: seconds": "it has to pass",
    "tests/probes/test_kills.py: _LONGEST": "of the moments at which it is killed",
    "tests/protocol/test_mi.py: deadline": "of hypothesis",
    "tests/session/fakes/debugpy.py: deadline": "of a clock that the test moves",
    "tests/session/fakes/gdb.py: grace": "of a clock that the test moves",
    "tests/session/fakes/world.py: WATCH_GRACE": "of a clock that the test moves",
    "tests/session/test_late_answers.py: deadline": "not looked at",
    "tests/snapshot/test_hold.py: deadline": "it has passed",
    "tests/snapshot/test_lines.py: deadline": "it has passed",
    "tests/snapshot/test_pure.py: timeout": "an argument of a system call",
    "tests/support.py: seconds": "multiplied where it is used",
    "tests/target/test_scope.py: wait_for": "a value of a setting, not a time",
    "tests/target/yama.py: _SECONDS": "of an emulated machine",
    "tests/target/yama_deaths.py: _SECONDS": "of an emulated machine",
    "tests/target/yama_deaths.py: _QUIET": "it has to pass",
    "tests/trace/test_summary.py: seconds": "a time that has passed",
}
# What waits in tests for processes, and for those who answer, as long as ``timeout=``; or by the position of that.
_STARTED = {
    *("run", "run_gdb", "check_output", "check_call", "communicate", "wait_procs", "spawn"),
    *("create_connection", "HTTPConnection"),
}
_WAITED = {"wait": 0, "wait_for": 1}
_SHOWN_FOR = "notify"  # how long the dashboard shows a message
_OF_PYDEVD = "dispose_and_kill_all_pydevd_threads"  # has this argument with this default


@pytest.mark.parametrize("tree", ["dualdbg", "gdb_scripts"])
def test_no_time_limit_is_a_bare_number(tree: str) -> None:
    found = {
        f"{path.relative_to(support.ROOT)}: {name}"
        for path in sorted((support.ROOT / tree).rglob("*.py"))
        for name in _bare_limits(path.read_text())
    }
    assert found == {place for place in ELSEWHERE if place.startswith(f"{tree}/")}


def test_no_time_limit_of_a_test_is_a_bare_number() -> None:
    found = {
        f"{path.relative_to(support.ROOT)}: {name}"
        for tree in ("tests", "bench")
        for path in sorted((support.ROOT / tree).rglob("*.py"))
        if "programs" not in path.parts
        for name in _bare_limits(path.read_text())
    }
    assert found == set(ELSEWHERE_IN_TESTS)


def test_what_a_test_starts_has_more_time_on_a_slow_machine_too() -> None:
    found = [
        f"{path.relative_to(support.ROOT)}:{node.lineno}"
        for path in sorted((support.ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if "programs" not in path.parts and isinstance(node, ast.Call) and any(map(_is_number, _limits(node)))
    ]
    assert not found


def _limits(call: ast.Call) -> Iterator[ast.expr]:
    """How long a call in a test waits for a process, or for one who answers."""
    if _called(call) in _STARTED:
        yield from (word.value for word in call.keywords if word.arg == "timeout")
    if isinstance(call.func, ast.Attribute) and call.func.attr in _WAITED:
        at = _WAITED[call.func.attr]
        yield from call.args[at : at + 1]


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)


def _bare_limits(source: str) -> Iterator[str]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_number(node.value):
            says = bool(_SAYS_SECONDS.search(lines[node.lineno - 1]))
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            yield from (name for name in names if says or _is_limit(name))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != _OF_PYDEVD:
            yield from (name for name, value in _defaults(node.args) if _is_limit(name) and _is_number(value))
        elif isinstance(node, ast.Call):
            called = _called(node)
            if called in (_SHOWN_FOR, _OF_PYDEVD):
                continue
            words = [(word.arg or "", word.value) for word in node.keywords]
            yield from (name for name, value in words if _is_limit(name) and _is_number(value))
            at = _WAITS.get(called, len(node.args))
            if any(map(_is_number, node.args[at : at + 1])):
                yield called


def _defaults(of: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    arguments = [*of.posonlyargs, *of.args]
    for argument, value in zip(arguments[len(arguments) - len(of.defaults) :], of.defaults, strict=True):
        yield argument.arg, value
    for argument, default in zip(of.kwonlyargs, of.kw_defaults, strict=True):
        yield argument.arg, default


def _is_limit(name: str) -> bool:
    return not _WORDS.isdisjoint(name.lower().split("_"))


def _is_number(node: ast.expr | None) -> bool:
    """A number, an expression of numbers alone, or one that may be a number."""
    if isinstance(node, ast.IfExp):
        return _is_number(node.body) or _is_number(node.orelse)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


@pytest.mark.parametrize(("text", "seconds"), [("", 10), ("1", 10), ("2.5", 25), ("1000", 10_000)])
def test_the_variable_multiplies(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    monkeypatch.setenv("DUALDBG_PATIENCE", text)
    assert patient(10) == seconds


@pytest.mark.parametrize("text", ["junk", "0", "0.5", "-3", "nan", "inf", "1001", "2 3"])
def test_what_is_no_factor_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("DUALDBG_PATIENCE", text)
    with pytest.raises(UsageError, match="DUALDBG_PATIENCE") as raised:
        patient(10)
    assert repr(text) in raised.value.message and "DUALDBG_PATIENCE=5" in raised.value.hint


@pytest.mark.parametrize(
    "words", [["run", "-c", "pass"], ["attach", "1"], ["stacks", "1"], ["dap"], ["doctor"]]
)
def test_a_command_refuses_what_is_no_factor(words: list[str]) -> None:
    done = _dualdbg(words, "junk")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dualdbg: DUALDBG_PATIENCE is 'junk'") and "Traceback" not in done.stderr


def test_the_program_gets_the_variable_and_runs_as_it_would() -> None:
    done = _dualdbg(["run", "--batch", "-c", "import os; print(os.environ['DUALDBG_PATIENCE'])"], "3")
    assert done.returncode == 0 and "3" in done.stdout.splitlines(), done


def test_the_limits_of_a_session_are_raised_and_their_errors_name_the_variable() -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from dualdbg.backends.gdb_process import DEADLINE\n"
        "from dualdbg.errors import EngineTimeout\n"
        "print(DEADLINE, EngineTimeout('late').hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=support.ROOT, env={**os.environ, "DUALDBG_PATIENCE": "4"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith("120.0 ") and "DUALDBG_PATIENCE" in done.stdout


def _dualdbg(words: list[str], patience: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dualdbg", *words], cwd=support.ROOT, env={**os.environ, "DUALDBG_PATIENCE": patience},
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
