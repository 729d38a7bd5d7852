"""At a Python stop nothing of the program's code is run to show it; what needs it runs on request, within a limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows

from ..cli.driver import dualdbg
from ..support import other_interpreter
from .client import Client, Message, Refused

PROGRAM = Path(__file__).parent / "programs" / "own_code.py"
LINES = {
    text: PROGRAM.read_text().splitlines().index(f'    print("{text}")') + 1
    for text in ("stopped", "stepped")
}
PLACE = f"{PROGRAM.name}:{LINES['stopped']}"


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """The file in which the program notes what of its code was run."""
    return tmp_path / "marks"


def noted(marks: Path) -> list[str]:
    return marks.read_text().splitlines() if marks.exists() else []


def start(client: Client, marks: Path, version: str | None = None, **more: Any) -> tuple[int, Message]:
    """Thread and frame of the stop at ``stopped``."""
    exceptions = more.pop("exceptions", None)
    arguments = {"program": str(PROGRAM), "args": [str(marks)], **more}
    if version is not None:
        arguments["python"] = str(other_interpreter(version))
    client.start(arguments, lines={PROGRAM: list(LINES.values())}, exceptions=exceptions)
    thread = client.stopped(reason="breakpoint")["threadId"]
    return thread, client.stack(thread)[0]


def all_of(client: Client, row: Message, depth: int = 4) -> Iterator[Message]:
    """What a row leads to, without the rows that say that they run code."""
    for child in client.request("variables", {"variablesReference": row["variablesReference"]})["variables"]:
        yield child
        is_lazy = child.get("presentationHint", {}).get("lazy")
        if child["variablesReference"] and not is_lazy and depth:
            yield from all_of(client, child, depth - 1)


# -- nothing is run ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", rows.versions())
def test_what_an_editor_shows_runs_nothing(client: Client, marks: Path, version: str) -> None:
    thread, frame = start(client, marks, version, exceptions=["raised"])
    rows = []
    for scope in client.request("scopes", {"frameId": frame["id"]})["scopes"]:
        rows += all_of(client, scope, 3 if scope["name"] == "Locals" else 1)
    assert noted(marks) == []
    assert {"plain", "derived", "nested", "repr()"} <= {row["name"] for row in rows}
    for name in client.scope(frame):
        for context in ("watch", "hover", "repl", "variables", "clipboard"):
            if name.isidentifier():
                client.evaluate(name, frame, context)
    for text in ("pl", "plain.", "kind.", "derived[0].", "odd_names."):
        client.request("completions", {"text": text, "column": len(text) + 1, "frameId": frame["id"]})
    with pytest.raises(Refused, match="hover reads values and runs nothing"):
        client.evaluate("polite.computed", frame, "hover")
    assert client.evaluate("nested['list'][1][0]", frame, "hover")["type"] == "Slots"
    client.request("setExpression", {"expression": "color", "value": "hidden", "frameId": frame["id"]})
    for context in ("watch", "repl"):
        with pytest.raises(Refused, match=r"Failure: .*the text"):
            client.evaluate("(_ for _ in ()).throw(failure)", frame, context)
    client.go("continue", thread)
    client.stopped(reason="breakpoint")
    for _ in range(2):
        client.go("next", thread)
        client.stopped()
    assert any(name.startswith("(return)") for name in client.scope(client.stack(thread)[0]))
    client.go("continue", thread)
    said = client.stopped(reason="exception")
    assert "Failure" in said["text"]
    told = client.request("exceptionInfo", {"threadId": thread})
    assert "the text" in told["description"]
    list(all_of(client, client.request("scopes", {"frameId": client.stack(thread)[0]["id"]})["scopes"][0], 1))
    client.go("continue", thread)
    client.stopped(reason="exception")  # again in the function that called, as with debugpy
    client.go("continue", thread)
    client.wait_output("done\n")
    assert client.event("exited")["exitCode"] == 0
    assert noted(marks) == []


@pytest.mark.parametrize("version", rows.versions())
def test_the_prompt_runs_nothing_until_it_is_asked_to(marks: Path, version: str) -> None:
    asked = [
        "locals",
        "print derived --limit 40",
        "print plain --limit 99",
        "print polite",
        "print point",
        "args",
    ]
    asked += [
        "print kind --limit 99",
        "print failure",
        "py hidden",
        "print odd_names --limit 3",
        "print strange",
    ]
    commands = [word for command in asked for word in ("-x", command)]
    options = ("--python", str(other_interpreter(version)), "--batch", "-b", PLACE)
    done = dualdbg("run", *options, *commands, "-x", "continue", PROGRAM, marks)
    assert done.status == 0, done
    assert "done\n" in done.stdout, done
    assert "(__repr__ not run: print --repr polite)" in done.stdout, done
    assert noted(marks) == []
    commands = ["-x", "print --repr polite", "-x", "print --repr [polite][0].inner", "-x", "continue"]
    done = dualdbg("run", *options, *commands, PROGRAM, marks)
    assert "\n(dualdbg) print --repr polite\npolite says hello\n" in done.stdout, done
    assert "\n(dualdbg) print --repr [polite][0].inner\n5\n" in done.stdout, done
    assert noted(marks) == ["Polite's __repr__"]


def test_a_condition_that_raises_does_not_run_the_text_of_its_exception(client: Client, marks: Path) -> None:
    client.start(
        {"program": str(PROGRAM), "args": [str(marks)]},
        lines={PROGRAM: [{"line": LINES["stopped"], "condition": "fail()"}]},
    )
    assert client.event("exited")["exitCode"] == 0
    assert "the condition of a breakpoint cannot be evaluated: " in client.output
    assert noted(marks) == []


# -- on request -------------------------------------------------------------------------------------


def test_a_lazy_row_runs_the_repr_once(client: Client, marks: Path) -> None:
    _, frame = start(client, marks)
    inside = client.children(client.scope(frame)["polite"])
    assert "not run" in inside["repr()"]["value"] and inside["repr()"]["presentationHint"]["lazy"]
    assert noted(marks) == []
    (row,) = client.children(inside["repr()"]).values()
    assert row["value"] == "polite says hello"
    assert noted(marks) == ["Polite's __repr__"]
    (row,) = client.children(inside["computed"]).values()
    assert row["value"] == "[77]" and client.children(row)["0"]["value"] == "77"
    assert noted(marks) == ["Polite's __repr__", "computed"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "the __repr__ of Raises raised Failure: "),
        ("spins", f"the __repr__ of Spins was ended after {patient(5):.0f} s"),
        (
            "sleeps",
            f"the program's code has not returned within {patient(8):.0f} s: "
            "it is in native code, which cannot be ended",
        ),
        ("ends", "the program's code has ended the program, or its debugger"),
    ],
)
def test_a_repr_that_does_not_return_is_told(marks: Path, name: str, said: str) -> None:
    commands = ["-x", f"print --repr {name}"]
    if name in ("raises", "spins"):  # the thread answers again
        commands += ["-x", "print 1 + 1"]
    done = dualdbg("run", "--batch", "-b", PLACE, *commands, PROGRAM, marks)
    assert said in done.stdout, done
    assert "Traceback" not in done.stdout + done.stderr, done
    assert ("\n2\n" in done.stdout) == (name in ("raises", "spins")), done
    assert noted(marks) == []


def test_a_lazy_row_says_how_the_repr_failed(client: Client, marks: Path) -> None:
    _, frame = start(client, marks)
    inside = client.children(client.scope(frame)["raises"])
    (row,) = client.children(inside["repr()"]).values()
    assert row["value"].startswith("the __repr__ of Raises raised Failure")


def test_an_editor_may_want_debugpys_own_way(client: Client, marks: Path) -> None:
    _, frame = start(client, marks, reprs="run")
    assert client.evaluate("polite", frame, "watch")["result"] == "polite says hello"
    assert client.evaluate("polite.computed", frame, "hover")["result"] == "[77]"
    assert set(noted(marks)) == {"Polite's __repr__", "computed"}


def test_only_two_ways_are_known(client: Client, marks: Path) -> None:
    with pytest.raises(Refused, match="reprs is 'always'"):
        start(client, marks, reprs="always")


def test_json_says_which_were_not_run(marks: Path) -> None:
    commands = ("-x", "print polite", "-x", "print 5")
    done = dualdbg("run", "--json", "--batch", "-b", PLACE, *commands, PROGRAM, marks)
    values = [json.loads(line) for line in done.stdout.splitlines() if '"event": "value"' in line]
    assert [value["own_repr"] for value in values] == [True, False]
