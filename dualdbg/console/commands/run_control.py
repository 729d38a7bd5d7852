"""Commands that let the target run on, stop it, or let go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import CommandError
from ...model import STEP_LAYERS, Frame, Layer, NativeFrame, Notice, Reason, State
from ...session.native_expressions import CALLS
from ...session.stepping.step_in_targets import place_of_line
from ..reports import TextReport
from .breakpoints import with_file
from .registry import command, no_argument, positive_number
from .values import assign

if TYPE_CHECKING:
    from ..console import Console


@command("continue c cont", "", "run on until the next stop", repeats=True)
async def continue_(console: Console, argument: str) -> None:
    no_argument("continue", argument)
    await console.session.resume()


@command(
    "next n",
    "[COUNT]",
    "go to the next line, over calls",
    repeats=True,
    details="In the language of the selected thread. A breakpoint inside a call still stops.",
)
async def next_(console: Console, argument: str) -> None:
    await _step(console, "next", argument)


@command("step s", "[COUNT]", "go to the next line, into calls", repeats=True)
async def step(console: Console, argument: str) -> None:
    await _step(console, "step", argument)


@command("stepi si", "[COUNT]", "run one instruction of native code", repeats=True)
async def stepi(console: Console, argument: str) -> None:
    await _instruction(console, "stepi", argument)


@command("nexti ni", "[COUNT]", "run one instruction of native code, over calls", repeats=True)
async def nexti(console: Console, argument: str) -> None:
    await _instruction(console, "nexti", argument)


@command("finish fin r return", "", "run until the current function returns", repeats=True)
async def finish(console: Console, argument: str) -> None:
    no_argument("finish", argument)
    await console.session.step("finish", tid=console.selected().tid)


@command(
    "until unt advance",
    "[PLACE]",
    "go to the next line and never back, or run to a place",
    details="A PLACE that is not come to lets the program run on: it does not stop where the function returns first.",
    completes="spec",
    repeats=True,
)
async def until(console: Console, argument: str) -> None:
    location = await with_file(console, argument) if argument else None
    await console.session.step("until", location, tid=console.selected().tid)


_NOT_RUN = "no destructor, no finally, no end of a with; continue and the steps go on from here"


@command(
    "jump j",
    "LINE",
    "move the thread to another line of its function, without running what lies between",
    details="No destructor runs, no finally, no end of a with. The program does not run on: continue, or step. In "
    "optimised native code variables may be elsewhere than the line expects.",
)
async def jump(console: Console, argument: str) -> None:
    """Raises CommandError where the function has no such line, or the frame is not the innermost."""
    frame, selected = await console.frame(), console.selected()
    if not argument.isdecimal():
        raise CommandError(f"jump wants a line, but was given {argument!r}", "help jump")
    if selected.number or frame.file is None:
        raise CommandError("only the innermost frame can be moved, where it has source", "frame 0 selects it")
    target = await _jump_target(console, frame, frame.file, int(argument))
    if target is None:
        raise CommandError(f"the function has no code on line {argument}", "list shows it")
    await console.session.step("goto", target=target, tid=selected.tid)
    await console.settle()
    stop = console.session.stop
    there = stop.frame if stop is not None and stop.reason is Reason.GOTO else None
    if there is not None and there.line not in (None, int(argument)):
        console.show(Notice("info", f"line {argument} has no code: this is the next one that has"))
    if there is not None:
        console.show(Notice("warning", f"nothing was run between line {frame.line} and here", _NOT_RUN))


async def _jump_target(console: Console, frame: Frame, file: str, line: int) -> int | None:
    session = console.session
    if isinstance(frame, NativeFrame):
        found = await place_of_line(session, frame, file, line)
        return found.address if found is not None else None
    answer = await session.inspector.relay("gotoTargets", {"source": {"path": file}, "line": line})
    targets: list[dict[str, Any]] = answer.get("targets", [])
    return int(targets[0]["id"]) if targets else None


@command(
    "set",
    "[step-into binding|dispatch|kernel] | fast off|ask|on | calls on|off | pagination on|off | var NAME = EXPRESSION",
    "choose how dualdbg steps and evaluates, or give a variable a value; without an argument: show the settings",
    details="binding: the C++ function that Python calls, torch::autograd::THPVariable_randn. dispatch: the entry of "
    "the dispatcher, at::_ops::randn::call. kernel: what does the work, at::native::randn. In the configuration file: "
    'step-into = "kernel". fast on: a native condition that is often false is compiled into the process; ask says so '
    "first. calls on: native conditions and log texts may call functions of the program. "
    "pagination off: long answers at the prompt come at once. gdb has settings of its own: gdb set print elements 50.",
    completes="setting",
    knows=lambda argument: (
        argument.partition(" ")[0] in (*("", "step-into", "fast", "calls", "pagination", "var", "variable"),)
    ),
)
async def set_(console: Console, argument: str) -> None:
    words = argument.split()
    if words[:1] in (["var"], ["variable"]):
        await assign(console, argument.partition(" ")[2].strip())
        return
    paged = console.pagination is not None
    if paged and words[:1] == ["pagination"] and words[1:] in (["on"], ["off"]):
        console.pagination = words[1] == "on"
    elif words[:1] == ["fast"] and words[1:] in (["off"], ["ask"], ["on"]):
        for view in console.views:
            await view.session.breakpoints.often_false.choose(words[1])
    elif words[:1] == ["calls"] and words[1:] in (["on"], ["off"]):
        for view in console.views:
            view.session.breakpoints.points.calls_allowed = words[1] == "on"
        if words[1] == "on":
            console.show(Notice("warning", f"conditions and log texts: {CALLS}"))
    elif words:
        layers = {layer.value: layer for layer in STEP_LAYERS}
        if len(words) != 2 or words[0] != "step-into" or words[1] not in layers:
            known = f"set step-into {' | '.join(layers)}; set fast off | ask | on; set calls on | off"
            known += "; set pagination on | off" if paged else ""
            raise CommandError(f"set does not know {argument!r}", known)
        for view in console.views:
            view.session.step_into = layers[words[1]]
    chosen: Layer = console.session.step_into
    pages = f"pagination {'on' if console.pagination else 'off'}\n" if paged else ""
    table = console.session.breakpoints
    calls = "on" if table.points.calls_allowed else "off"
    said = f"step-into {chosen.value}\nfast {table.often_false.mode}\ncalls {calls}\n"
    console.show(TextReport(f"{said}{pages}"))


@command("pause interrupt", "", "stop the target wherever it is")
async def pause(console: Console, argument: str) -> None:
    no_argument("pause", argument)
    await console.session.pause()


@command("detach", "", "let go of the target: it runs on without us")
async def detach(console: Console, argument: str) -> None:
    no_argument("detach", argument)
    await console.session.detach()


@command("kill k", "", "end the target")
async def kill(console: Console, argument: str) -> None:
    no_argument("kill", argument)
    await console.session.kill()
    await console.settle()


async def _instruction(console: Console, kind: str, argument: str) -> None:
    if console.session.state is State.PYTHON_STOPPED:
        raise CommandError(
            f"{kind} needs a native stop: at this one debugpy holds the thread", "step enters native code"
        )
    await _step(console, kind, argument)


async def _step(console: Console, kind: str, argument: str) -> None:
    for left in reversed(range(positive_number(kind, argument, 1))):
        if console.at_stops is not None:
            console.at_stops.by_instruction = kind in ("stepi", "nexti") and left == 0
        await console.session.step(kind, tid=console.selected().tid)
        await console.settle()
        stop = console.session.stop
        if stop is None or stop.reason is not Reason.STEP:
            return
