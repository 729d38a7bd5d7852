"""Asks the nodes of a job for the stacks of their ranks, once or twice, and puts the answers together."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from ...errors import UsageError
from ...snapshot.packed import HEADING
from . import launchers
from .answers import Answer, Trouble
from .fan_out import Asking, Heard, fan_out
from .gathering import Job, gather
from .launchers import LOCAL, Launcher, Nodes
from .recorded import Source
from .verdict import Judgement, judge

_BEGINNING = 1 << 16  # bytes in which the heading of an answer is: a greeting may come before it


@dataclass(frozen=True)
class Question:
    """What the nodes of a launcher are asked: ``dualdbg`` are the words that run it there, ``targets`` the words that
    name the processes."""

    launcher: Launcher
    nodes: Nodes
    dualdbg: tuple[str, ...]
    targets: tuple[str, ...]

    def commands(self, limit: float) -> dict[str, list[str]]:
        """The command for each node: it ends by itself after ``limit`` seconds, also where nobody waits for it."""
        words = [*self.dualdbg, "stacks", *self.targets, "--watch", "1", "--diagnose", "--packed"]
        words += ["--limit", f"{limit:g}"]
        return {name: self.launcher.command(prefix, words) for name, prefix in self.nodes.prefixes.items()}

    def by_hand(self) -> dict[str, str]:
        """The words that run a command on each node, for the user to type."""
        return {
            name: self.launcher.by_hand or " ".join(prefix) for name, prefix in self.nodes.prefixes.items()
        }

    def left_out(self) -> list[Answer]:
        """The nodes that are known not to run."""
        return [
            Answer(name, trouble=Trouble.LEFT_OUT, detail=why) for name, why in self.nodes.left_out.items()
        ]


@dataclass(frozen=True)
class Asked:
    """What came of a question. ``answers``: of each node the last one, or why there is none. ``whole``: all were heard;
    not after Ctrl-C."""

    answers: tuple[Answer, ...]
    job: Job
    judgement: Judgement
    whole: bool


Follow = Callable[
    [int, int], AbstractContextManager[Heard]
]  # number of the look and of nodes -> who hears of answers


def ask(question: Question, how: Asking, interval: float, all_threads: bool, follow: Follow) -> Asked:
    """Look at all ranks. Where something is seen a second look follows, ``interval`` seconds later: what was so for a
    moment is not told.

    The second look begins when all first ones are over, so there is a moment that lies between both looks at every
    rank: who stood at the same operation at both looks stood there at this moment.
    """
    first, whole = _look(question, how, 1, None, follow)
    before = _job_of(first.values(), all_threads)
    judgement = judge(before, unheard=_unheard(first.values()))
    if not whole or not (judgement.verdicts or before.findings):
        return Asked(tuple(first.values()), before, judgement, whole)
    try:
        time.sleep(interval)
    except KeyboardInterrupt:
        return Asked(tuple(first.values()), before, judgement, False)
    there = [node for node, answer in first.items() if answer.trouble is None]
    second, whole = _look(question, how, 2, there, follow)
    last = [answer if (answer := second.get(node)) is not None else old for node, old in first.items()]
    if not whole:
        return Asked(tuple(last), before, judgement, False)
    # What a node has sent at the first look is shown where the second one failed.
    shown = [first[answer.node] if answer.trouble else answer for answer in last]
    job = _job_of(shown, all_threads)
    job.findings = [
        now for now in job.findings if any(was.is_still_so(now, interval) for was in before.findings)
    ]
    failed = {answer.node for answer in last if answer.trouble}
    judgement = judge(job, before, interval, failed, _unheard(last))
    return Asked(tuple(last), job, judgement, True)


def _look(
    question: Question, how: Asking, number: int, only: Sequence[str] | None, follow: Follow
) -> tuple[dict[str, Answer], bool]:
    commands = question.commands(how.limit)
    if only is not None:
        commands = {node: commands[node] for node in only}
    folder = how.folder / str(number)
    folder.mkdir()
    answers: dict[str, Answer] = {}
    with follow(number, len(commands)) as heard:

        def take(answer: Answer) -> None:
            answers[answer.node] = answer = _judged(answer)
            heard(answer)

        whole = fan_out(commands, replace(how, folder=folder), take)
    return {node: answers[node] for node in commands}, whole


def _judged(answer: Answer) -> Answer:
    """What was packed there is an answer, whatever the status; without it there is none."""
    if answer.sent is None:
        return answer
    with answer.sent.open("rb") as file:
        beginning = b"\n" + file.read(_BEGINNING)
    if b"\n" + HEADING in beginning:
        return replace(answer, trouble=None)
    return answer if answer.trouble else replace(answer, trouble=Trouble.NOTHING)


def _job_of(answers: Iterable[Answer], all_threads: bool) -> Job:
    sent = [(answer.node, answer.sent) for answer in answers if answer.trouble is None]
    return gather([Source(node, path, True) for node, path in sent if path is not None], all_threads)


def _unheard(answers: Iterable[Answer]) -> int:
    return sum(answer.trouble is not None for answer in answers)


def targets(launcher: Launcher, address: str, words: Sequence[str], having: Sequence[str]) -> tuple[str, ...]:
    """The words for ``dualdbg stacks`` that name the processes of the job on a node. Raises UsageError."""
    if words and having:
        typed = shlex.join(part for each in having for part in ("--having", each))
        raise UsageError(
            f"TARGET and --having both name the ranks: {shlex.join([*words])}, and {typed}",
            "leave one of them out",
        )
    if words and launcher is LOCAL:
        return tuple(part for word in words for part in (("--tree", word) if word.isdigit() else (word,)))
    if words:
        return tuple(words)
    return launchers.having(having) if having else launcher.targets(address)
