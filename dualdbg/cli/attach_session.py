"""The session of ``dualdbg attach``: the stacks first, then both engines on a process that lives on afterwards."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from ..config import configuration
from ..console.completion import Names
from ..console.style import Style
from ..session.attaching import attach
from ..session.configured import session_options
from ..session.options import Options
from ..session.session import Session
from ..symbols.torch.loaded_operators import operators_of
from ..symbols.torch.operators import OperatorTable
from ..system.in_thread import in_thread
from ..system.terminal_text import cleaned
from . import main as entry
from .arguments import asked
from .dashboard import check_terminal, choose_process, converse_in_dashboard
from .front_end import Interaction, converse
from .sinks import sink

if TYPE_CHECKING:
    from ..snapshot.facts import ProcessReport
    from ..snapshot.report.finding import Finding
    from ..target.scope import Lowering


async def debug(options: Namespace) -> int:
    """Attach to the process of ``options`` and let the user steer; returns the exit status of dualdbg.

    Raises DualdbgError when the attach is refused; then the process runs on.
    """
    chosen = _session_options(options)
    lowering = _lowering(options, options.pid)
    try:
        return await _debug(options, chosen, lowering)
    finally:
        if lowering is not None:
            lowering.close()


async def _debug(options: Namespace, chosen: Options, lowering: Lowering | None) -> int:
    if not options.no_stacks:
        await in_thread(_show_stacks, options.pid, options.json, lowering)
    operators = operators_of(options.pid)

    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await attach(options.pid, chosen, operators, entry.STARTED, subscribe, lowering=lowering)

    # A batch without commands shows every stop up to the end; a process that was attached to may have neither.
    commands = options.commands or (["bt"] if options.batch and not options.breakpoints else [])
    interaction = Interaction(commands, options.batch, options.json)
    return await converse(start, interaction, sink(options.json), spec_names=_names_of(operators))


async def debug_in_dashboard(options: Namespace) -> int:
    """The same in the dashboard; where ``options`` name no process, the user chooses one there."""
    check_terminal()
    from ..tui.app import Wishes

    pid = options.pid if options.pid is not None else await choose_process()
    if pid is None:
        return 0
    chosen = _session_options(options)
    lowering = _lowering(options, pid)
    operators: OperatorTable | None = None

    async def start(subscribe: Callable[[Session], None]) -> Session:
        nonlocal operators
        operators = await in_thread(operators_of, pid)
        return await attach(pid, chosen, operators, entry.STARTED, subscribe, lowering=lowering)

    wishes = Wishes(
        options.commands,
        lambda text: _names_of(operators)(text),
        opening=(lambda: "") if options.no_stacks else partial(findings_in, pid, lowering),
    )
    try:
        return await converse_in_dashboard(start, None, wishes)
    finally:
        if lowering is not None:
            lowering.close()


def findings_in(pid: int, lowering: Lowering | None = None) -> str:
    """What is wrong, in words. Raises DualdbgError when the process cannot be read."""
    from ..stack_listing import StackListing

    return StackListing(Style(None, True)).findings(_look(pid, False, lowering)[1])


def _lowering(options: Namespace, pid: int) -> Lowering | None:
    """With ``--fix-ptrace``, what lets us trace the process; sudo asks here, before a screen is drawn."""
    if not options.fix_ptrace:
        return None
    from ..target.scope import lowering_for

    return lowering_for([pid], f"gdb has attached to process {pid}", entry.tell)


def _show_stacks(pid: int, as_json: bool, lowering: Lowering | None) -> None:
    """Show where every thread is, and what is wrong, first of all. Raises DualdbgError for an unreadable process."""
    from ..stack_listing import StackListing
    from .snapshot_json import finding_to_json, process_to_json

    reports, findings = _look(pid, as_json, lowering)
    if as_json:
        objects = [*map(process_to_json, reports), *map(finding_to_json, findings)]
        sys.stdout.write("".join(json.dumps(each) + "\n" for each in objects))
    else:
        listing = StackListing(Style.of(sys.stdout))
        sys.stdout.write(listing.findings(findings, reports) + listing.processes(reports) + "\n")
    sys.stdout.flush()


def _look(pid: int, as_json: bool, lowering: Lowering | None) -> tuple[list[ProcessReport], list[Finding]]:
    from ..snapshot.capture import Wanted, capture
    from ..snapshot.other_processes import with_other_processes
    from ..snapshot.report.assemble import Assembler
    from ..snapshot.report.diagnose import diagnose
    from ..snapshot.take import parents_of_forks

    with nullcontext() if lowering is None else lowering.lowered():
        reports = with_other_processes([Assembler(capture(pid, wanted=Wanted.to_diagnose())).report()])
        parents = parents_of_forks(reports, stop=True)
    reports = reports if as_json else cleaned(reports)
    return reports, diagnose(reports, parents)


def _session_options(options: Namespace) -> Options:
    return session_options(configuration(options.config), asked(options))


def _names_of(operators: OperatorTable | None) -> Names:
    def names(text: str) -> Iterable[str]:
        return (name for name in (operators.names if operators else ()) if name.startswith(text))

    return names
