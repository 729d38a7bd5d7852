"""Every row of bad input: a clear error with a hint and the right status, nothing lost, nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from dualdbg.system import gdb_versions
from tests import rows
from tests.cli.driver import Done, dualdbg
from tests.support import is_running, require


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(folder: Path, text: str, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def executable(folder: Path, name: str, text: str) -> Path:
    path = script(folder, text, name)
    path.chmod(0o755)
    return path


def run(*words: str | Path) -> Done:
    return dualdbg("run", "--batch", *words)


# -- what is to be run ------------------------------------------------------------------------------


def test_a_script_that_does_not_exist(folder: Path) -> None:
    done = run("absent.py")
    assert done.status == 2
    done.complains("absent.py", "dualdbg run SCRIPT")


@pytest.mark.parametrize(
    ("python", "reason"),
    rows.some(
        [
            ("/no/such/python", "there is no such file"),
            ("/bin", "is a folder"),
            ("./python37", "is Python 3.7.9"),
            ("./pypy", "is pypy, not CPython"),
            ("./broken", "cannot be started"),
            ("nosuchpython", "there is no such command on PATH"),
            ("/bin/true", "not a Python interpreter"),
            ("plain.txt", "may not be executed"),
            ("./python2", "is Python 2.7.18"),
            ("./python320", "not a Python interpreter"),
            ("./chatty", "not a Python interpreter"),
        ],
        5,
    ),
)
def test_an_interpreter_that_is_none(folder: Path, python: str, reason: str) -> None:
    script(folder, "", "plain.txt")
    for name, implementation, version in [
        ("python2", "cpython", "2, 7, 18"),
        ("python37", "cpython", "3, 7, 9"),
        ("python320", "cpython", "3, 20, 0"),
        ("pypy", "pypy", "3, 11, 0"),
    ]:
        answer = (
            f'dualdbg:{{"implementation": "{implementation}", "version": [{version}], "search_path": []}}'
        )
        executable(folder, name, f"#!/bin/sh\necho '{answer}'\n")
    executable(folder, "broken", "#!/no/such/interpreter\n")
    executable(folder, "chatty", "#!/bin/sh\nexec yes\n")
    script(folder, "")
    done = run("--python", python, "program.py")
    assert done.status == 2
    done.complains(reason)
    assert done.stderr.count("\n") == 2  # what is wrong, and what to type


@pytest.mark.parametrize(
    ("text", "status", "words"),
    rows.some(
        [
            ("x = (\n", 1, "SyntaxError"),
            ("raise ValueError('boo')\n", 1, "ValueError: boo"),
            ("raise SystemExit(7)\n", 7, ""),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n", 137, ""),
            ("import os; os._exit(9)\n", 9, ""),
            ("", 0, ""),
            ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)\n", 143, ""),
            ("import os, signal; os.kill(os.getpid(), signal.SIGUSR1)\n", 138, ""),
        ],
        4,
    ),
)
def test_the_status_of_the_program_comes_back(folder: Path, text: str, status: int, words: str) -> None:
    plain = folder / "plain"
    plain.mkdir()
    done = run(script(folder, text))
    assert done.status == status
    assert words in done.stderr
    assert "dualdbg: " not in done.stderr


def test_a_crash_is_shown_and_its_status_comes_back(folder: Path) -> None:
    text = "import ctypes\nctypes.string_at(64)\n"
    done = dualdbg("run", "--batch", "--json", script(folder, text))
    (stop,) = done.of("stopped")
    assert (stop["reason"], stop["origin"]) == ("signal", "native")
    assert stop["description"] == "SIGSEGV, Segmentation fault at address 0x40"
    assert any(frame["kind"] == "python" and frame["line"] == 2 for frame in done.of("stack")[0]["frames"])
    assert done.of("exited") == [{"event": "exited", "code": None, "signal": 11}]
    assert done.status == 139


def test_at_a_crash_nothing_is_said_of_a_later_stop(folder: Path) -> None:
    program = script(folder, "import ctypes\nvalues = [1]\nctypes.string_at(64)\n")
    (stack,) = dualdbg("run", "--batch", "--json", program).of("stack")
    number = next(frame["number"] for frame in stack["frames"] if frame["kind"] == "python")
    commands = ("py len(values)", f"frame {number}", "print len(values)")
    words = [word for command in commands for word in ("-x", command)]
    first, second = dualdbg("run", "--batch", "--json", *words, program).of("error")
    assert "read from memory" in first["hint"] and "read from memory" in second["hint"], (first, second)
    assert "continue" not in first["hint"] + second["hint"]  # there is nothing to continue to


# -- gdb and the kernel -----------------------------------------------------------------------------

OLD = '#!/bin/sh\nexec gdb -iex \'python gdb.VERSION = "9.2"\' "$@"\n'
WITHOUT_PYTHON = """#!/bin/sh
case "$*" in *python*|*source*) echo 'Scripting in the "Python" language is not supported' >&2; exit 1;; esac
exec gdb "$@"
"""


@pytest.mark.parametrize(
    ("gdb", "reason"),
    [
        ("/no/such/gdb", "there is no gdb"),
        ("/bin/true", "is not gdb"),
        ("./old", "is gdb 9.2, and dualdbg needs gdb 12"),
        ("./without-python", "built without Python"),
    ],
)
def test_a_gdb_that_cannot_be_used(folder: Path, gdb: str, reason: str) -> None:
    executable(folder, "old", OLD)
    executable(folder, "without-python", WITHOUT_PYTHON)
    script(folder, "print('never')")
    done = run("--gdb", gdb, "program.py")
    assert done.status == 3
    done.complains(reason, "--gdb PATH")
    assert "never" not in done.stdout


def test_a_machine_without_gdb(folder: Path) -> None:
    script(folder, "")
    done = dualdbg("run", "--batch", "program.py", env={"PATH": str(folder)})
    assert done.status == 3
    done.complains("there is no gdb", "apt-get install gdb")


def test_a_process_that_is_traced_already(folder: Path) -> None:
    strace = require(shutil.which("strace"), "strace")
    done = dualdbg(
        "run",
        "--batch",
        script(folder, ""),
        prefix=[strace, "-f", "-qq", "-o", os.devnull, "-e", "trace=none"],
    )
    assert done.status == 3
    done.complains("is traced by process", "(strace)")


def test_with_json_an_error_is_an_event(folder: Path) -> None:
    done = dualdbg("run", "--json", "--gdb", "/no/such/gdb", script(folder, ""))
    assert (done.status, done.stderr) == (3, "")
    (event,) = done.events
    assert event["event"] == "error" and "there is no gdb" in event["message"] and event["hint"]


# -- breakpoints ------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", rows.some(["", "f(", "a.cpp:0", "x@nowhere", "f hits many"], 3))
def test_a_spec_that_cannot_be_read(folder: Path, spec: str) -> None:
    done = run("-b", spec, script(folder, "print('never')"))
    assert done.status == 2
    done.complains()
    assert "never" not in done.stdout


def test_two_specs_that_mean_the_same(folder: Path) -> None:
    path = script(folder, "x = 1\ny = 2\n")
    specs = ["-b", "program.py:2", "-b", f"{path}:2"]
    later = ["-x", "info b", "-x", "delete 1", "-x", f"break {folder}/./program.py:2"]
    done = dualdbg("run", "--batch", "--json", *specs, *later, path)
    assert done.status == 0
    assert len(done.of("stopped")) == 1
    assert [event["message"] for event in done.of("notice")] == [
        "breakpoint 2 means the same place as breakpoint 1",
        "breakpoint 3 means the same place as breakpoint 2",
    ]


# -- what programs do -------------------------------------------------------------------------------


def test_a_program_that_forks(folder: Path) -> None:
    text = (
        "import os\npid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    os._exit(4)\n"
        "print('child ended with', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = dualdbg(
        "run", "--batch", "--json", "-b", "program.py:4", "-b", "program.py:6", script(folder, text)
    )
    assert [stop["frame"]["line"] for stop in done.of("stopped")] == [6]
    assert "".join(event["text"] for event in done.of("output")) == "child\nchild ended with 4\n"
    assert done.status == 0


def test_a_program_that_execs(folder: Path) -> None:
    text = "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'raise SystemExit(5)'])\n"
    done = dualdbg("run", "--batch", "--json", script(folder, text))
    assert done.status == 5
    assert any("exec" in event["message"] for event in done.of("notice"))


def test_a_program_that_becomes_a_daemon(folder: Path) -> None:
    """The daemon works until the program ends, and ends with the session."""
    text = (
        "import os, pathlib, time\nr, w = os.pipe()\n"
        "if os.fork():\n    os.close(w)\n    os.read(r, 1)\n    os._exit(0)\nos.setsid()\n"
        "if os.fork():\n    os._exit(0)\npathlib.Path('daemon').write_text(str(os.getpid()))\n"
        "os.write(w, b'x')\ntime.sleep(600)\n"
    )
    done = run(script(folder, text))
    assert done.status == 0
    assert not is_running(int((folder / "daemon").read_text()))


def test_a_program_that_closes_its_descriptors(folder: Path) -> None:
    text = "import os\nos.closerange(3, 1 << 16)\nprint('still here')\n"
    done = run(script(folder, text))
    assert "still here" in done.stdout
    assert done.status == 0


@pytest.mark.parametrize("json", [True, False])
def test_100_megabytes_without_a_newline(folder: Path, json: bool) -> None:
    text = "import sys\nfor _ in range(100):\n    sys.stdout.write('x' * (1 << 20))\n"
    measure = ["/usr/bin/time", "-f", "%M"] if Path("/usr/bin/time").exists() else []
    done = dualdbg("run", "--batch", *(["--json"] if json else []), script(folder, text), prefix=measure)
    assert done.status == 0
    if json:
        assert sum(len(event["text"]) for event in done.of("output")) == 100 << 20
        assert max(len(event["text"]) for event in done.of("output")) <= 1 << 16
    else:
        assert done.stdout.count("x") >= 100 << 20
    if measure:
        assert int(done.stderr.split()[-1]) < 400_000, "kilobytes of memory"


def test_a_program_that_takes_ports(folder: Path) -> None:
    text = (
        "import socket\nports = []\nfor port in range(5600, 5700):\n    one = socket.socket()\n    try:\n"
        "        one.bind(('127.0.0.1', port))\n        ports.append(one)\n    except OSError:\n        pass\n"
        "print(len(ports) > 50)\n"
    )
    done = dualdbg("run", "--batch", "-b", "program.py:10", "-x", "bt", "-x", "c", script(folder, text))
    assert ">#0 py" in done.stdout and "True" in done.stdout


# -- surroundings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    rows.some(
        [
            "with space.py",
            "日本.py",
            "größe.py",
            "quo'te\".py",
        ],
        2,
    ),
)
@pytest.mark.parametrize("json", [True, False])
def test_paths_with_spaces_and_other_letters(folder: Path, name: str, json: bool) -> None:
    inner = folder / "ein Ordner mit ß"
    inner.mkdir()
    path = script(inner, "x = 1\ny = 2\n", name)
    done = dualdbg("run", "--batch", *(["--json"] if json else []), "-b", f"{path}:2", path)
    assert done.status == 0
    if json:
        (stop,) = done.of("stopped")
        assert (stop["frame"]["file"], stop["frame"]["line"]) == (str(path), 2)
        assert [frame["file"] for frame in done.of("stack")[0]["frames"]] == [str(path)]
    else:
        assert f"{name}:2" in done.stdout


@pytest.mark.parametrize("locale", rows.some(["C", "POSIX"], 1))  # two names of the same
def test_a_locale_without_utf_8(folder: Path, locale: str) -> None:
    env = {"LC_ALL": locale, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    path = script(folder, "x = 1\ny = 2\n", "größe.py")
    done = dualdbg("run", "--batch", "-b", "größe.py:2", path, env=env)
    assert done.status == 0
    assert "* Breakpoint 1: Python" in done.stdout
    done = dualdbg("run", "--batch", "--json", "-b", "größe.py:2", path, env=env)
    assert done.of("stopped")[0]["frame"]["file"] == str(path)


def test_a_read_only_home(folder: Path) -> None:
    home = folder / "home"
    home.mkdir(mode=0o500)
    environment = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_STATE_HOME": ""}
    if os.geteuid() == 0:  # root may write everywhere: a file in the folder's place cannot be written into
        home.rmdir()
        home.touch()
    done = dualdbg("run", "--batch", "-b", "program.py:2", script(folder, "x = 1\ny = 2\n"), env=environment)
    assert done.status == 0, done
    assert ">#0 py" in done.stdout


def test_a_full_log_folder_name_that_is_a_file(folder: Path) -> None:
    done = run("--log-dir", sys.executable, script(folder, "print('never')"))
    assert done.status in (2, 3)
    done.complains("--log-dir")


def test_an_output_that_is_closed(folder: Path) -> None:
    words = [
        *("run", "--batch", "--json"),
        str(script(folder, "for _ in range(100000):\n    print('x' * 100)\n")),
    ]
    pipe = '"$@" | head -n 1; exit "${PIPESTATUS[0]}"'
    done = dualdbg(*words, prefix=["bash", "-c", pipe, "bash"])
    assert done.status == 141
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("attach", "foo"), "'foo' is not the number of a process"),
        (("core", "/etc/passwd"), "/etc/passwd is not a core file"),
        (("dap", "--listen", "foo"), "or --listen 127.0.0.1:5678"),
        (("dap", "--listen", "0", "nosuch.py"), "there is no script nosuch.py"),
        (("run", "--gdb", "/bin/true", "-c", "1"), f"install gdb {gdb_versions.OLDEST} or later"),
        (("dap", "--listen", "0", "--secret-file", "/etc/passwd"), "name a file that does not exist"),
    ],
)
def test_what_is_typed_wrong_is_named(words: tuple[str, ...], said: str) -> None:
    done = dualdbg(*words)
    assert done.status in (2, 3) and said in done.stderr and "chmod" not in done.stderr, done.stderr


def test_what_outlived_the_program_is_told(folder: Path) -> None:
    text = "import subprocess\nsubprocess.Popen(['sleep', '600'])\n"
    done = dualdbg("run", "--batch", script(folder, text))
    assert re.search(r"killed 1 child process still running: \d+ sleep\n", done.stdout + done.stderr), done


def test_a_syntax_error_is_told_in_words(folder: Path) -> None:
    done = dualdbg("run", "--stop-on-entry", "--batch", "-x", "py 1 +", script(folder, "x = 1\n"))
    assert "invalid syntax (<string>, line 1)" in done.stdout + done.stderr


@pytest.mark.parametrize("behind", ["", "@kernel", " if x", "@foo", "x", " foo"])
def test_what_begins_as_a_line_of_a_file_is_never_imported(folder: Path, behind: str) -> None:
    script(folder, "open('ran', 'w')\nprint('I ran')\n", "sidefx.py")
    done = dualdbg("resolve", f"sidefx.py:1{behind}", "--cache", folder)
    assert done.status in (2, 3)
    assert not (folder / "ran").exists() and "I ran" not in done.stdout
    assert "AttributeError" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --report r --timeout -1 x.py", "-1 is no number of seconds above 0"),
        ("run --report r --timeout nan x.py", "nan is no number of seconds above 0"),
        ("mcp --idle x", "x is no number of seconds above 0"),
        ("trace --for 0 -b malloc x.py", "0 is no number of seconds above 0"),
        ("job --interval 99999 x", "99999 is no number of seconds above 0, 3600 at most"),
        ("job --window 0 x", "0 is no whole number from 1 to 1000"),
        ("stacks 1 --watch 2 --interval -1", "-1 is no number of seconds from 0, 86400 at most"),
        ("stacks 1 --watch x", "x is no whole number from 1"),
    ],
)
def test_a_number_that_does_not_fit_is_told_the_rule(words: str, said: str) -> None:
    done = dualdbg(*words.split())
    assert done.status == 2
    assert said in done.stderr and "_seconds" not in done.stderr
