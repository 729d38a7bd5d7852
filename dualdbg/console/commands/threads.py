"""Commands that list the threads and choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..reports import TasksReport, TextReport, ThreadsReport
from ..selection import Selection
from .registry import command, no_argument
from .stacks import backtrace, select

if TYPE_CHECKING:
    from ..console import Console


@command("threads", "", "list the threads and what each is doing")
async def threads(console: Console, argument: str) -> None:
    """Show the list of threads. Raises CommandError when an argument is given."""
    no_argument("threads", argument)
    rows = await console.session.inspector.threads()
    current = console.selection.tid if console.selection is not None and console.stopped else None
    console.show(ThreadsReport(tuple(rows), current))


@command(
    "tasks",
    "[NAME]",
    "list the tasks of asyncio, what each awaits, and who awaits it",
    details="Equal ones are told once. With a NAME: each task by itself in whose name or coroutine that is.",
)
async def tasks(console: Console, argument: str) -> None:
    """Show the tasks of asyncio. Raises CommandError when none has the name."""
    found = await console.session.inspector.tasks()
    shown = tuple(task for task in found.tasks if argument in task.name or argument in task.coroutine)
    if argument and found.tasks and not shown:
        raise CommandError(f"no task has {argument!r} in its name or coroutine", "tasks lists all of them")
    console.show(TasksReport(found, shown, folded=not argument))


@command("thread t", "[NUMBER | NAME]", "select a thread by its OS thread id or name")
async def thread(console: Console, argument: str) -> None:
    if argument.split()[:2] == ["apply", "all"]:  # gdb's way to say it
        rest = argument.split()[2:]
        if rest[:1] not in (["bt"], ["backtrace"], ["where"]):
            raise CommandError("thread apply all takes bt only", "bt --all-threads")
        await backtrace(console, " ".join(["--all-threads", *rest[1:]]))
        return
    if not argument:
        await select(console, console.selected().number)
        return
    console.selection = Selection(await _number_of(console, argument))
    await select(console, 0)


@command(
    "freeze",
    "[NUMBER | NAME | others]",
    "keep a thread from running until it is thawed",
    details="others: every thread of the program but the selected one. A frozen thread keeps the locks that it holds.",
)
async def freeze(console: Console, argument: str) -> None:
    freezer = console.session.freezer
    if not argument:
        console.show(TextReport(_frozen(freezer.frozen)))
        return
    if argument == "others":
        current = console.selected().tid
        rows = await console.session.inspector.threads()
        tids = [row.tid for row in rows if row.tid != current]
    else:
        tids = [await _number_of(console, argument)]
    await freezer.freeze(tids)
    console.show(TextReport(_frozen(freezer.frozen)))


@command("thaw", "[NUMBER | NAME]", "let a frozen thread run again; without a name, all of them")
async def thaw(console: Console, argument: str) -> None:
    freezer = console.session.freezer
    tids = [await _number_of(console, argument)] if argument else sorted(freezer.frozen)
    await freezer.thaw(tids)
    console.show(TextReport(_frozen(freezer.frozen)))


def _frozen(tids: set[int]) -> str:
    return f"Frozen threads: {', '.join(map(str, sorted(tids)))}\n" if tids else "No thread is frozen.\n"


async def _number_of(console: Console, name: str) -> int:
    """The OS thread id of the one thread of this number or name."""
    console.session.require_stopped()
    rows = await console.session.inspector.threads()
    matching = [row for row in rows if name in (str(row.tid), row.name, row.python_name)]
    if len(matching) != 1:
        problem = "several threads are named" if matching else "there is no thread"
        raise CommandError(
            f"{problem} {name}", "threads lists them by the number that the system has for each"
        )
    return matching[0].tid
