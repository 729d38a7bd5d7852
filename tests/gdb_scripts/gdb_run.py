"""Runs a program under plain gdb with the helpers loaded, and commands at the place where it stops."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualdbg.system.patience import patient
from dualdbg.system.resources import resource_directory
from tests.support import require

HERE = Path(__file__).resolve().parent
ENTRY = resource_directory("gdb_scripts") / "dualdbg_gdb.py"

# gdb reads no symbols: what works so works on a stock wheel in a session that loads libraries by need.
WITHOUT_SYMBOLS = ("set auto-solib-add off",)


@dataclass
class Outcome:
    """What the commands printed, by command as given, and what the target published."""

    results: list[dict[str, Any]]
    published: dict[str, Any]
    log: str

    def output(self, index: int) -> str:
        """The output of the ``index``-th command; fails when the command did."""
        record = self.results[index]
        assert record["error"] is None, record
        return str(record["output"])

    def error(self, index: int) -> str:
        """The error message of the ``index``-th command; fails when it had none."""
        assert self.results[index]["error"] is not None, self.results[index]
        return str(self.results[index]["error"])

    def data(self, index: int) -> Any:
        """The answer of a ``dualdbg-json`` command."""
        return json.loads(self.output(index))


def run_gdb(
    program: Sequence[str | Path],
    commands: Sequence[str],
    tmp_path: Path,
    *,
    setup: Sequence[str] = ("run",),
    before: Sequence[str] = WITHOUT_SYMBOLS,
    core: Path | None = None,
    pid: int | None = None,
    entry: Path = ENTRY,
    env: dict[str, str] | None = None,
    timeout: float = patient(120),
) -> Outcome:
    """Runs ``program`` (its argv) until ``setup`` has brought it to a stop, then ``commands``.

    ``{name}`` in a command is replaced by the address that the target published under that name. With ``core``
    nothing runs: gdb reads that file; with ``pid`` it attaches to that process. ``entry`` is the script that loads the
    helpers. A traceback anywhere in gdb's own output fails the test.
    """
    gdb = require(shutil.which("gdb"), "gdb")
    published, results = tmp_path / "published.json", tmp_path / "results.json"
    results.unlink(missing_ok=True)
    plan = {
        "setup": list(setup) if core is None and pid is None else [],
        "commands": list(commands),
        "published": str(published),
        "results": str(results),
        "folder": str(HERE),
    }
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(json.dumps(plan))
    base = [
        "set pagination off",
        "set debuginfod enabled off",
        "set auto-load off",
        "set startup-with-shell off",
    ]
    argv: list[str | Path] = [gdb, "-nx", "-q", "-batch"]
    for command in (*base, *before):
        argv += ["-iex", command]
    argv += ["-x", entry, "-x", HERE / "inside_gdb.py"]
    if core is not None:
        argv += [program[0], core]
    elif pid is not None:
        argv += ["-p", str(pid)]
    else:
        argv += ["--args", *program]
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        env={
            **os.environ,
            "DUALDBG_TEST_PLAN": str(plan_file),
            "DUALDBG_TEST_PUBLISHED": str(published),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            **(env or {}),
        },
    )
    log = done.stdout + done.stderr
    assert results.exists(), log
    found = json.loads(results.read_text())
    texts = [log, *(f"{record['output']}{record['error']}" for record in found["results"])]
    for text in texts:
        assert "Traceback (most recent call last)" not in text, text
        assert "Defect in" not in text, text
    for record in found["results"][: len(plan["setup"])]:
        assert record["error"] is None, (record, log)
    return Outcome(found["results"][len(plan["setup"]) :], found["published"], log)


@dataclass
class Held:
    """A target that waits at its ``stop()``: any number of gdbs can look at it, one after the other."""

    pid: int
    published: dict[str, Any]
    folder: Path

    @property
    def names(self) -> list[str]:
        return list(self.published["addresses"])

    def look(self, commands: Sequence[str], **options: Any) -> Outcome:
        return run_gdb([], commands, self.folder, pid=self.pid, **options)


@contextmanager
def held(program: Sequence[str | Path], folder: Path) -> Iterator[Held]:
    """Starts a target, which costs more than a gdb that looks at it."""
    published = folder / "published.json"
    env = {**os.environ, "DUALDBG_TEST_PUBLISHED": str(published), "DUALDBG_TEST_HELD": "1"}
    with subprocess.Popen(
        program, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = iter(process.stdout.readline, "")
            assert "held\n" in said, f"the target ended with {process.wait()}"
            yield Held(process.pid, json.loads(published.read_text()), folder)
        finally:
            process.kill()


def answer_of(script: Path, program: Path) -> Any:
    """What a script that runs in a gdb of its own, on a program, has printed behind ``answer:``."""
    gdb = require(shutil.which("gdb"), "gdb")
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-x", script, program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent)},
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(answers[0].removeprefix("answer: "))
