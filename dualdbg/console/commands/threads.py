"""Commands that list the threads and choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..reports import ThreadsReport
from .registry import command, no_argument
from .stacks import backtrace, select

if TYPE_CHECKING:
    from ..console import Console


@command("threads", "", "list the threads and what each is doing")
async def threads(console: Console, argument: str) -> None:
    no_argument("threads", argument)
    rows = await console.session.inspector.threads()
    current = console.selection.tid if console.selection is not None and console.stopped else None
    console.show(ThreadsReport(tuple(rows), current))


@command("thread t", "[NUMBER | NAME]", "select a thread by its OS thread id or name")
async def thread(console: Console, argument: str) -> None:
    from ..console import Selection

    if argument.split()[:2] == ["apply", "all"]:  # gdb's way to say it
        rest = argument.split()[2:]
        if rest[:1] not in (["bt"], ["backtrace"], ["where"]):
            raise CommandError("thread apply all takes bt only", "bt --all-threads")
        await backtrace(console, " ".join(["--all-threads", *rest[1:]]))
        return
    if not argument:
        await select(console, console.selected().number)
        return
    console.session.require_stopped()
    rows = await console.session.inspector.threads()
    matching = [row for row in rows if argument in (str(row.tid), row.name, row.python_name)]
    if len(matching) != 1:
        problem = "several threads are" if matching else "no thread is"
        raise CommandError(f"{problem} called {argument!r}", "threads lists them: use the number")
    console.selection = Selection(matching[0].tid)
    await select(console, 0)
