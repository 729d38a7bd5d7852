"""Commands for many nodes: each may fail in a way of its own, and the rest is heard."""

from __future__ import annotations

import json
import os
import signal
import threading
from itertools import count
from pathlib import Path

import pytest

from dualdbg.plugins.job.answers import Answer, Trouble, missing
from dualdbg.plugins.job.asking import Asked, Asking, Question, ask
from dualdbg.plugins.job.fan_out import fan_out
from dualdbg.plugins.job.gathering import Seen
from dualdbg.plugins.job.launchers import Launcher, Nodes
from dualdbg.plugins.job.verdict import Looks
from dualdbg.snapshot.packed import pack

from ..support import wait_until
from .test_gathering import functions, process
from .test_verdict import row as rank_row

PATIENT = 60.0
_NUMBERS = count()


def sender(folder: Path, *rows: dict[str, object], first: str = "true") -> list[str]:
    """A command that sends these rows, packed, as dualdbg does; ``first`` is done before."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}.packed"
    path.write_text(pack("".join(json.dumps(row) + "\n" for row in rows), "1"))
    return ["sh", "-c", f"{first}; cat {path}"]


def asked(commands: dict[str, list[str]], folder: Path, limit: float = PATIENT) -> Asked:
    """What comes of nodes that are asked by these commands. The words for dualdbg are arguments that they ignore."""
    nodes = Nodes({node: tuple(words) for node, words in commands.items()})
    launcher = Launcher("test", "", lambda address: nodes)
    question = Question(launcher, nodes, ("dualdbg",), ())
    return ask(question, Asking(limit, 8, folder), 0.0, False, lambda look, count: Heard())


class Heard:
    def __enter__(self) -> Heard:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, answer: Answer) -> None:
        pass


def test_each_node_fails_in_its_own_way_and_the_rest_is_shown(tmp_path: Path) -> None:
    commands = {
        "good": sender(tmp_path / "sent", process(1, 0, "main")),
        "greets": sender(tmp_path / "sent", process(1, 1, "main"), first="echo Welcome; echo to stderr >&2"),
        "failed": sender(tmp_path / "sent", process(1, 2, "main"), first="trap 'exit 3' EXIT"),
        "none": ["sh", "-c", "no-dualdbg-here"],
        "old": ["sh", "-c", "echo unknown option >&2; exit 2"],
        "unreachable": ["sh", "-c", "exit 255"],
        "signalled": ["sh", "-c", "kill -KILL $$"],
        "silent": ["true"],
        "flood": ["sh", "-c", "cat /dev/zero"],
        "not started": [str(tmp_path / "nothing")],
    }
    result = asked(commands, tmp_path)
    assert functions(result.job) == {"main": {0, 1, 2}} and result.whole
    troubles = {answer.node: (answer.trouble, answer.status) for answer in result.answers if answer.trouble}
    assert troubles == {
        "none": (Trouble.STATUS, 127),
        "old": (Trouble.STATUS, 2),
        "unreachable": (Trouble.STATUS, 255),
        "signalled": (Trouble.STATUS, 128 + signal.SIGKILL),
        "silent": (Trouble.NOTHING, 0),
        "flood": (Trouble.TOO_LONG, None),
        "not started": (Trouble.NOT_STARTED, None),
    }
    rows = {
        row.nodes: row
        for row in missing(
            result.answers, 5, {255: "ssh could not connect"}, {"old": "ssh old"}, "/x/dualdbg"
        )
    }
    assert "another version" in rows["old",].reason and rows["old",].hint == "ssh old /x/dualdbg --version"
    assert rows["old",].details == ("unknown option",)
    assert "--dualdbg PATH" in rows["none",].hint
    assert rows["unreachable",].reason == "ssh could not connect (exit status 255)"


def test_a_node_that_hangs_does_not_hold_up_the_rest(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    commands = {
        "good": sender(tmp_path / "sent", process(1, 0, "main")),
        "hangs": ["sh", "-c", f"sleep 1000 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"],
    }
    # The limit has to be long enough for the good one on a slow machine, so the test takes as long.
    result = asked(commands, tmp_path, limit=3)
    assert {answer.node: answer.trouble for answer in result.answers} == {
        "good": None,
        "hangs": Trouble.TIMEOUT,
    }
    wait_until(
        lambda: not Path(f"/proc/{int(pid_file.read_text())}").exists(), what="what it had started is gone"
    )


@pytest.mark.parametrize(
    ("last", "grace"), [("exit", PATIENT), ("trap '' TERM; while :; do sleep 1; done", 0.1)]
)
def test_what_is_ended_may_tidy_up_but_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, grace: float
) -> None:
    """As mpirun, which leaves its folder behind when it is killed."""
    monkeypatch.setattr("dualdbg.plugins.job.fan_out._GRACE", grace)
    left, pid_file = tmp_path / "left", tmp_path / "pid"
    tidy = f"trap 'rm -f {left}; {last}' TERM; echo $$ > {pid_file}; touch {left}; sleep 1000 & wait"
    there: list[Answer] = []

    def interrupt() -> None:
        wait_until(left.exists, what="it runs")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    interrupted = not fan_out({"node": ["sh", "-c", tidy]}, Asking(PATIENT, 2, tmp_path), there.append)
    thread.join()
    late = fan_out({"node": ["sh", "-c", tidy]}, Asking(0.5, 2, tmp_path), there.append)
    assert interrupted and late
    assert [answer.trouble for answer in there] == [Trouble.INTERRUPTED, Trouble.TIMEOUT]
    assert not Path(f"/proc/{int(pid_file.read_text())}").exists()
    assert last != "exit" or not left.exists()


def test_ctrl_c_shows_what_came_so_far(tmp_path: Path) -> None:
    there: list[Answer] = []
    commands = {
        "good": sender(tmp_path / "sent", process(1, 0, "main")),
        "hangs": ["sh", "-c", "sleep 1000"],
        "waits": ["true"],  # for its turn
    }

    def interrupt() -> None:
        wait_until(lambda: there, what="the first answer")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    commands = {
        "good": commands["good"],
        "hangs": commands["hangs"],
        "hangs too": commands["hangs"],
        "waits": ["true"],
    }
    assert not fan_out(commands, Asking(PATIENT, 2, tmp_path), there.append)
    thread.join()
    assert {answer.node: answer.trouble for answer in there} == {
        "good": None,
        "hangs": Trouble.INTERRUPTED,
        "hangs too": Trouble.INTERRUPTED,
        "waits": Trouble.INTERRUPTED,
    }


@pytest.mark.parametrize(
    "row",
    [
        {"event": "rank"},
        {
            "event": "rank",
            "pid": 1,
            "place": "",
            "activity": "",
            "blocked": 1,
            "stack": "",
            "groups": [],
            "collectives": [],
        },
        {"event": "rank", "pid": 1, "rank": 1 << 70},
        {**rank_row(1, 5, True), "world_size": 1 << 40},
        {"event": "rank", "pid": 1, "cpu": "1e999", "time": -1},
        {**rank_row(1, 5, True), "time": 10**400},  # more than a float can be
        {**rank_row(1, 5, True), "cpu": 10**400},
        {"event": "process", "pid": 1, "parent": 2, "threads": [{"frames": [{"number": 0, "kind": []}]}]},
    ],
)
def test_a_node_that_sends_something_else_is_a_failure(tmp_path: Path, row: dict[str, object]) -> None:
    commands = {
        "good": sender(tmp_path / "sent", process(1, 0, "main")),
        "odd": sender(tmp_path / "sent", process(1, 1, "main"), row),
    }
    result = asked(commands, tmp_path)
    assert len(result.job.failures) == 1 and result.job.failures[0].text.startswith("odd, line 2: "), (
        result.job.failures
    )
    assert 0 in result.job.ranks


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualdbg.plugins.job.recorded.MOST_SENT", 100_000)
    bomb = sender(tmp_path / "sent", *[process(number, number, "main") for number in range(10_000)])
    result = asked({"bomb": bomb}, tmp_path)
    assert len(result.job.failures) == 1 and len(result.job.ranks) < 1000


def twice(folder: Path, first: list[str], second: list[str]) -> list[str]:
    """A command that does one thing at the first look and another one at the second."""
    once = folder / f"once{next(_NUMBERS)}"
    return ["sh", "-c", f"if mkdir {once} 2> /dev/null; then {first[2]}; else {second[2]}; fi"]


def rank(folder: Path, number: int, sequence: int, waits: bool, at: str, time: float) -> list[str]:
    return sender(folder / "sent", process(7, number, at), rank_row(number, sequence, waits, at, time))


def waiting(folder: Path, number: int, second: int = 5) -> list[str]:
    """A node with one rank, which waits at both looks; by then in operation number ``second``."""
    return twice(
        folder, rank(folder, number, 5, True, "step", 100), rank(folder, number, second, True, "step", 101)
    )


def test_where_ranks_wait_all_are_asked_twice(tmp_path: Path) -> None:
    odd = twice(tmp_path, rank(tmp_path, 2, 4, False, "load", 50), rank(tmp_path, 2, 4, False, "save", 52))
    commands = {f"node{each}": waiting(tmp_path, each) for each in (0, 1, 3)} | {"node2": odd}
    result = asked(commands, tmp_path)
    (verdict,) = result.judgement.verdicts
    assert (verdict.kind, verdict.ranks) == ("straggler", (2,))
    assert "2 s before it was in load" in verdict.text
    assert functions(result.job) == {"step": {0, 1, 3}, "save": {2}}


def test_a_job_that_goes_on_is_told_nothing(tmp_path: Path) -> None:
    odd = twice(tmp_path, rank(tmp_path, 2, 4, False, "load", 50), rank(tmp_path, 2, 5, False, "load", 52))
    commands = {f"node{each}": waiting(tmp_path, each, 6) for each in (0, 1, 3)} | {"node2": odd}
    result = asked(commands, tmp_path)
    assert result.judgement.verdicts == () and result.judgement.looks is Looks.TWO_TOGETHER


def test_a_node_that_fails_at_the_second_look_is_shown_as_it_was(tmp_path: Path) -> None:
    gone = twice(tmp_path, rank(tmp_path, 2, 4, False, "load", 50), ["sh", "-c", "exit 255"])
    commands = {f"node{each}": waiting(tmp_path, each) for each in (0, 1, 3)} | {"node2": gone}
    result = asked(commands, tmp_path)
    assert functions(result.job) == {"step": {0, 1, 3}, "load": {2}}
    assert result.judgement.verdicts == () and result.judgement.others == {2}  # it was there: it is not gone
    assert [answer.node for answer in result.answers if answer.trouble] == ["node2"]


def test_what_was_seen_for_a_moment_is_not_told(tmp_path: Path) -> None:
    def seen(*texts: str) -> list[str]:
        rows = [{"event": "finding", "kind": "io", "text": text} for text in texts]
        return sender(tmp_path / "sent", process(7, 0, "main"), *rows)

    node = twice(tmp_path, seen("it writes", "it waits\nthere"), seen("it waits\nelsewhere", "it reads"))
    assert asked({"node": node}, tmp_path).job.findings == [Seen("node", "it waits\nelsewhere")]


def test_what_has_moved_between_the_looks_is_not_told(tmp_path: Path) -> None:
    def seen(sleeps: int, time: float) -> list[str]:
        row = {"pid": 7, "tid": 8, "stack": "ab", "call": "sendto(0x5)", "expiries": 0.0, "cpu": 1.0}
        row |= {"sleeps": sleeps, "of_ours": 2}
        finding = {"event": "finding", "kind": "io", "text": "it waits", "waiting": [row], "time": time}
        return sender(tmp_path / "sent", process(7, 0, "main"), finding)

    still = twice(tmp_path, seen(40, 50.0), seen(42, 52.0))
    assert [each.text for each in asked({"node": still}, tmp_path).job.findings] == ["it waits"]
    again = tmp_path / "again"
    again.mkdir()
    moved = twice(again, seen(40, 50.0), seen(43, 52.0))
    assert asked({"node": moved}, again).job.findings == []
