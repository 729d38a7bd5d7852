"""``run --report``: a program that runs alone, and files about its crash or its hang."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dualdbg.cli.commands.run import read_options
from dualdbg.errors import UsageError
from dualdbg.system.patience import patient
from dualdbg.target.permission import NO_LEAK_CHECK
from tests import sanitizers, warm

PROGRAM = """
import ctypes, os, sys, time
def broken(name):
    ctypes.string_at(0)
print("said <b>\\x1b[31m", flush=True)
print("complained", file=sys.stderr)
what = sys.argv[1]
if what == "crash":
    broken("<script>alert(1)</script>")
if what == "hang":
    time.sleep(1000)
if what == "deaf":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
if what == "child":
    pid = os.fork()
    if pid == 0:
        os.abort()
    os.waitpid(pid, 0)
sys.exit(7)
"""


def _run(folder: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "dualdbg", "run", "--report", "reports", *words]
    return warm.run(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=patient(120),
    )


class _Page(HTMLParser):
    """The elements of a page, and where they point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.smoke
def test_a_crash_is_written_and_is_the_status(tmp_path: Path) -> None:
    done = _run(tmp_path, "--on-crash", "core", "program.py", "crash")
    assert done.returncode == 128 + 11
    assert done.stdout == "said <b>\x1b[31m\n"
    assert "was ended by SIGSEGV" in done.stderr and "the report is " in done.stderr
    names = sorted(path.name.partition(".")[2] for path in (tmp_path / "reports").iterdir())
    assert [name for name in names if not name.isdigit()] == ["html", "json", "txt"] and len(names) == 4
    found = {path.suffix: path for path in (tmp_path / "reports").glob("crash-*")}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "reports").iterdir())

    text = found[".txt"].read_text()
    assert "\x1b" not in text
    assert " py   broken  program.py:4" in text and "name = '<script>alert(1)</script>'" in text
    assert "  said <b>" in text and "  complained" in text
    assert "libc.so" in text.partition("Libraries, by build-id")[2]

    facts = json.loads(found[".json"].read_text())
    assert (facts["kind"], facts["signal"]) == ("crash", 11)
    assert facts["output"]["stderr"] == "complained\n"
    (process,) = facts["processes"]
    assert any(frame["function"] == "broken" for frame in process["threads"][0]["frames"])
    assert any(len(row["build_id"] or "") == 40 for row in facts["libraries"])
    assert Path(facts["core"]).is_file()

    page = _Page(found[".html"].read_text())
    assert page.elements.isdisjoint({"script", "link", "img", "b", "iframe"}) and not page.links
    assert "<script>alert(1)</script>" in page.text and "\x1b" not in page.text


def test_a_program_that_ends_by_itself_leaves_no_report(tmp_path: Path) -> None:
    done = _run(tmp_path, "program.py", "well")
    assert done.returncode == 7
    assert (done.stdout, done.stderr) == ("said <b>\x1b[31m\n", "complained\n")
    assert list((tmp_path / "reports").iterdir()) == []


def test_no_end_in_time_is_written_and_the_program_is_asked_to_end(tmp_path: Path) -> None:
    done = _run(tmp_path, "--timeout", "1", "program.py", "hang")
    assert done.returncode == 128 + 15
    (text,) = (path.read_text() for path in (tmp_path / "reports").glob("hang-*.txt"))
    assert "has not ended after 1 s" in text and " py   <module>  program.py:" in text


def test_who_does_not_listen_is_ended(tmp_path: Path) -> None:
    done = _run(tmp_path, "--timeout", "1", "program.py", "deaf")
    assert done.returncode == 128 + 9


def test_a_child_that_crashes_is_written_and_the_status_is_the_programs(tmp_path: Path) -> None:
    done = _run(tmp_path, "program.py", "child")
    assert done.returncode == 7
    assert "was ended by SIGABRT" in done.stderr
    assert len(list((tmp_path / "reports").glob("crash-*.html"))) == 1


def test_any_program_will_do(tmp_path: Path) -> None:
    code = "kill -SEGV $$"
    done = _run(tmp_path, "--native", "sh", "-c", code)
    assert done.returncode == 128 + 11
    code = f"'{sys.executable}' -c 'import os; os.abort()'; true"
    done = _run(tmp_path, "--follow", "python", "--native", "sh", "-c", code)
    assert done.returncode == 0
    assert "was ended by SIGABRT" in done.stderr and "the report is" in done.stderr
    done = _run(tmp_path, "--native", "sh", "-c", code)
    assert re.search(r"process \d+, a child of the program, was ended by SIGABRT", done.stderr), done.stderr
    assert "--follow python" in done.stderr


def test_a_report_of_a_sanitizer_is_a_crash(tmp_path: Path) -> None:
    library, environment = sanitizers.library(tmp_path, "asan")
    code = f"import ctypes\nctypes.CDLL({str(library)!r}).beyond(4)"
    # --env: for the program alone, as this interpreter of dualdbg has leaks too
    options = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    done = _run(tmp_path, *options, "-c", code)
    assert done.returncode == 1
    assert "was ended by a sanitizer, with status 1" in done.stderr and NO_LEAK_CHECK in done.stderr
    (found,) = (tmp_path / "reports").glob("crash-*.html")
    page = found.read_text()
    assert 'title="' + str(library) not in page  # the file of the source is known
    assert re.search(r'title="[^"]*/lib/[^"]*libasan[^"]*">libasan[^/]*<', page), page


def test_a_program_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    done = _run(tmp_path, "--native", "./text")
    assert done.returncode == 3
    assert "cannot be run: Exec format error" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--report", "x", "--break", "f"],
        ["--report", "x", "--json"],
        ["--report", "x", "--follow", "worker*"],
        ["--timeout", "3"],
        ["--report", "x", "--timeout", "0"],
    ],
    ids=" ".join,
)
def test_what_does_not_go_together_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        read_options([*words, "-c", "pass"])


def test_the_place_is_that_of_the_fault(tmp_path: Path) -> None:
    program = "import ctypes\ndef helper(): ctypes.string_at(0)\nhelper()\n"
    (tmp_path / "faults.py").write_text(program)
    _run(tmp_path, "faults.py")
    (found,) = (tmp_path / "reports").glob("*.json")
    incident = json.loads(found.read_text())
    name = r"(?:\w*strlen\w*|\?\?)"  # which strlen is for this processor is no name of a stripped C library
    assert re.fullmatch(rf"{name} \(libc[^)]*\), called in helper \(faults\.py:2\)", incident["place"])
    frames = incident["processes"][0]["threads"][0]["frames"]
    assert re.fullmatch(name, frames[0]["function"] or "??") and frames[0]["number"] == 0
    text = found.with_suffix(".txt").read_text()
    assert re.search(rf" #0 c\+\+  {name}", text)
    assert re.search(rf">#0<.*{name}", found.with_suffix(".html").read_text(), re.DOTALL)


# CPython 3.12 and later count their own calls, and raise RecursionError: what fills the stack is not theirs.
DEEP = """\
__attribute__((noinline)) int two(volatile int *at);
__attribute__((noinline)) int one(volatile int *at) { volatile int here = *at; return two(&here) + here; }
int two(volatile int *at) { volatile int here = *at; return one(&here) + here; }
"""


def test_html_folds_cycles(tmp_path: Path) -> None:
    (tmp_path / "deep.c").write_text(DEEP)
    subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-o", "deep.so", "deep.c"], cwd=tmp_path, check=True)
    program = "import ctypes\nctypes.CDLL('./deep.so').one(ctypes.byref(ctypes.c_int()))\n"
    (tmp_path / "deep.py").write_text(program)
    _run(tmp_path, "deep.py")
    (found,) = (tmp_path / "reports").glob("*.json")
    (finding,) = json.loads(found.read_text())["findings"]
    assert finding["kind"] == "crash" and "the stack of the thread is full" in finding["text"]
    shown = found.with_suffix(".html").read_text()
    assert re.search(r"the same 2 frames \d+ more times", shown)
    assert shown.count("<tr>") < 200
