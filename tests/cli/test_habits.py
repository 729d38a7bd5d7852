"""Words that users of gdb and pdb type: jump, set var, call, frame function, info symbol and source, list ."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.console.commands.values import _is_assignment
from tests.cli.driver import Done, at_one_stop, dualdbg
from tests.cli.test_life_of_breakpoints import folder as folder
from tests.support import require

LINES = """\
def work(value):
    first = value
    second = first + 1
    third = second + 1
    return third
print(work(1))
"""


def batch(folder: Path, where: str, *commands: str, program: str = "program.py") -> Done:
    words = [word for command in commands for word in ("-x", command)]
    done = dualdbg("run", "--batch", "--json", "-b", where, *words, program, cwd=folder)
    assert "Traceback" not in done.stdout + done.stderr, done
    return done


SCENES = {
    "formats": ("display/x n", "display/i $pc", "frame function work", "display", "display/i i", "undisplay"),
    "types": ("whatis n", "frame function work", "whatis i", "ptype counting", "whatis nosuch"),
    "frames": (
        *("frame function work", "info source", "frame function bump", "info source", "info symbol $pc"),
        *("frame function nosuch", "info symbol 1"),
    ),
    "lines": (
        *("info line counting.c:15", "info line bump", "info line getsid", "info line program.py:3"),
        *("info line nosuch", "info line 15", "frame function work", "info line 2"),
    ),
    # The last: n is another then.
    "calls": ("set var n = 5", "p n", "call helper(4)", "set var n 5", "p counter"),
}


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Done]:
    """What is answered where helper(3) begins, which C calls for Python."""
    return at_one_stop(SCENES, "-b", "helper if n == 3", "program.py", cwd=folder)


def console_texts(done: Done) -> list[str]:
    return [one["text"] for one in done.of("output") if one["stream"] == "console"]


def last_value(done: Done) -> str:
    return str(done.of("value")[-1]["value"])


def test_jump_in_python(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(LINES)
    done = batch(tmp_path, "lines.py:3", "jump 5", "jump 99", program="lines.py")
    moved = done.of("stopped")[1]
    assert (moved["reason"], moved["frame"]["line"]) == ("goto", 5)
    assert ["line 99" in event["message"] for event in done.of("error")] == [True]
    [warning] = [one for one in done.of("notice") if one["level"] == "warning"]
    assert warning["message"] == "nothing was run between line 3 and here" and "finally" in warning["hint"]
    done = dualdbg(
        "run", "--batch", "-b", "lines.py:3", "-x", "set var first = 40", "-x", "jump 2", "-x", "jump 4",
        "-x", "set var second = 7", "-x", "c", "lines.py", cwd=tmp_path,
    )  # fmt: skip
    assert "\n8\n" in done.stdout, done


def test_longlist_shows_the_whole_function(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(LINES)
    done = batch(tmp_path, "lines.py:3", "ll", "up", "longlist", "ll 3", program="lines.py")
    spans = [(one["first"], len(one["lines"]), one["current"]) for one in done.of("source")]
    assert spans == [(1, 5, 3), (1, 6, 6)] and len(done.of("error")) == 1


def test_sticky_shows_the_source_at_every_stop(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(LINES)
    done = batch(tmp_path, "lines.py:2", "sticky", "next", "sticky", "next", "sticky no", program="lines.py")
    [source] = done.of("source")
    assert (source["first"], source["current"], len(source["lines"])) == (1, 3, 6)
    on = "sticky is on: the source around the line is shown at every stop\n"
    assert console_texts(done) == [on, "sticky is off\n"]
    assert len(done.of("error")) == 1


def test_values_are_displayed_in_formats(told: dict[str, Done]) -> None:
    rows = [event["variables"] for event in told["formats"].of("variables")]
    assert (rows[0][0]["name"], rows[0][0]["value"]) == ("1: /x n", "0x3")
    assert re.match(r"0x\w+ <helper\+\d+>:\t\w+", rows[1][0]["value"])
    assert "no variable n in work" in rows[2][0]["value"] or "n" in rows[2][0]["value"]
    assert "no format /i for Python values" in rows[3][0]["value"]


def test_the_type_of_a_value_in_the_language_of_the_frame(told: dict[str, Done]) -> None:
    assert console_texts(told["types"]) == ["type = int\n", "type = int\n", "type = module\n"]
    assert ["nosuch" in one["message"] for one in told["types"].of("error")] == [True]


ACCOUNT = """\
#include <vector>
struct Account {
    long balance = 0;
    long number = 7;
    std::vector<long> history;
    void deposit(long amount) {
        balance += amount;
        history.push_back(amount);
    }
};
__attribute__((noinline)) long settle(Account &account, long begin) {
    for (long value = begin; value < begin + 3; value++)
        account.deposit(value);
    return account.balance;
}
int main(int count, char **) {
    Account account;
    return settle(account, count) > 5 ? 0 : 1;
}
"""


def test_gdbs_commands_look_at_the_selected_frame_where_others_were_inlined_at_the_stop(
    tmp_path: Path,
) -> None:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (tmp_path / "account.cpp").write_text(ACCOUNT)
    subprocess.run([compiler, "-g", "-O2", "account.cpp", "-o", "account"], cwd=tmp_path, check=True)
    done = dualdbg(
        "run", "--batch", "--json", "--native", "-b", "Account::deposit", "-x", "args", "-x", "up",
        "-x", "whatis account", "-x", "p/x account.number", "-x", "args", "./account", cwd=tmp_path,
    )  # fmt: skip
    inner, outer = ({value["name"] for value in event["variables"]} for event in done.of("variables"))
    assert inner == {"this", "amount"} and outer == {"account", "begin"}
    assert console_texts(done) == ["type = Account &\n"]
    assert last_value(done) == "0x7"


def test_a_file_that_does_not_exist_is_not_taken_for_a_function(folder: Path) -> None:
    done = batch(folder, "helper if n == 3", "b cosinus.cpp:3", "c", "c")
    [told, ended] = [one for one in done.of("notice") if "cosinus.cpp" in one["message"]]
    assert told["message"] == "breakpoint 2: no source file of that name is known: cosinus.cpp"
    assert "never bound" in ended["message"] and "no source file of that name is known" in ended["hint"]
    for one in (told, ended):
        assert "debug info" in one["hint"] and "nearest" not in one["hint"]


def test_jump_in_c(folder: Path) -> None:
    done = batch(
        folder, "counting.c:6 if n == 5", "jump 10", "set var total = 77", "jump 1", "finish", "delete", "c"
    )
    moved = done.of("stopped")[1]
    assert (moved["reason"], moved["frame"]["line"], moved["frame"]["function"]) == ("goto", 10, "helper")
    assert [event["message"] for event in done.of("error")] == ["the function has no code on line 1"]


def test_values_are_set_and_functions_called_in_the_language_of_the_frame(
    folder: Path, told: dict[str, Done]
) -> None:
    assert [event["value"] for event in told["calls"].of("value")] == ["5", "6", "7"]
    assert len(told["calls"].of("error")) == 1  # no = in it
    python = batch(folder, "program.py:3", "set var i = 9", "p i", "call len('abc')")
    assert [event["value"] for event in python.of("value") if event["value"]] == ["9", "3"]


def test_frames_by_function_and_what_lies_where(folder: Path, told: dict[str, Done]) -> None:
    done = told["frames"]
    frames = [(event["number"], event["frame"]["function"]) for event in done.of("frame")]
    assert frames == [(2, "work"), (1, "bump")]
    python, native, symbol = (event["text"] for event in done.of("output") if event["stream"] == "console")
    assert "program.py:3" in python and "Python" in python
    assert "counting.c:15" in native and "counting.so" in native
    assert " is bump + " in symbol and symbol.endswith("counting.so\n")
    assert len(done.of("error")) == 2
    entry = batch(folder, "PyInit_counting", "info symbol (long)PyInit_counting")
    (symbol,) = (event["text"] for event in entry.of("output") if event["stream"] == "console")
    assert " is PyInit_counting in " in symbol


def test_where_the_code_of_lines_and_functions_is(told: dict[str, Done]) -> None:
    """A number alone is a line of the selected frame's file, in either language."""
    line, function, library, same = console_texts(told["lines"])
    assert line.startswith('Line 15 of "') and "<bump+" in line and same == line
    assert 'counting.c"' in function and "<bump" in function
    assert "getsid>" in library or re.search(r"By the symbol table:\n0x[0-9a-f]+ getsid in ", library)
    python, _, number = (event["message"] for event in told["lines"].of("error"))
    assert python.startswith("program.py:3 ")
    assert number.endswith("program.py:2 is a line of Python, which is at no address")


def test_list_goes_back_to_the_current_line(folder: Path) -> None:
    done = batch(folder, "counting.c:7 if n == 2", "list", "list", "list .")
    first, second, third = done.of("source")
    assert first["first"] == third["first"] and second["first"] == first["first"] + len(first["lines"])


@pytest.mark.parametrize(
    ("words", "noted"),
    [
        (["-b", "helper", "program.py", "-x", "bt"], "-x"),
        (["-b", "helper", "program.py", "--break=randn"], "--break"),
        (["-b", "helper", "--", "program.py", "-x", "bt"], None),
        (["-b", "helper", "program.py", "--epochs", "3"], None),
        (["program.py", "-b", "helper"], None),
    ],
)
def test_an_option_behind_the_program_is_told(folder: Path, words: list[str], noted: str | None) -> None:
    done = dualdbg("run", *words, cwd=folder, stdin="")
    said = done.stderr.splitlines()[:1]
    assert said == (
        [f"dualdbg: {noted} goes to the program: options of dualdbg stand before the script"] if noted else []
    ), done


def test_a_command_of_a_batch_stands_before_its_answer(folder: Path) -> None:
    done = dualdbg("run", "--batch", "-b", "helper", "-x", "p n", "-x", "info b", "program.py", cwd=folder)
    assert "\n(dualdbg) p n\n0\n(dualdbg) info b\n1   helper: verified" in done.stdout


def test_what_is_an_assignment() -> None:
    for text in ("p->next = 0", "a[i < 3] = 1", "x <<= 2", "d['a=b'] = 3", "x += 1", "n = a < b ? 1 : 2"):
        assert _is_assignment(text), text
    for text in ("a == b", "a <= b", "f(a=3)", "x", "= 3", "x =", "'a = b'", "a->b"):
        assert not _is_assignment(text), text


def test_finish_tells_the_value_returned(folder: Path) -> None:
    done = batch(folder, "helper if n == 3", "finish", "locals", "args", "next")
    results = [event["result"] for event in done.of("stopped")]
    assert [result and (result["name"], result["type"], result["value"]) for result in results] == [
        None, ("(return) helper", "int", "3"), None,
    ]  # fmt: skip
    shown, arguments = ([row["name"] for row in event["variables"]] for event in done.of("variables"))
    assert shown[0] == "(return) helper" and "(return) helper" not in arguments
    words = ["-x", "finish", "program.py"]
    text = dualdbg("run", "--batch", "-b", "helper if n == 3", *words, cwd=folder).stdout
    assert "\n* Step: native" in text and "\n  Value returned: int 3\n" in text
