"""The dashboard in states that are rare: answers that come late or never, empty and huge things, odd text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dualdbg.errors import EngineError
from dualdbg.model import Exit, Exited, Notice, Progress, Quality, Stack, State, Thread

from .driver import Screen, on_screen
from .scripted import TID, ScriptedSession, frame, value


def scripted(
    work: Callable[[Screen, ScriptedSession], Awaitable[None]],
    folder: Path,
    size: tuple[int, int] = (120, 40),
) -> None:
    """Run ``work`` on the dashboard of a scripted session that runs."""
    sessions: list[ScriptedSession] = []

    async def start(subscribe: Callable[[ScriptedSession], None]) -> ScriptedSession:
        sessions.append(ScriptedSession())
        subscribe(sessions[0])
        return sessions[0]

    async def begin(screen: Screen) -> None:
        await screen.until(lambda: bool(sessions), "the session")
        await work(screen, sessions[0])
        assert screen.app.failure is None

    on_screen(begin, folder=folder, start=start, size=size)  # type: ignore[arg-type]


def test_a_stop_without_frames_variables_and_threads(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        session.stops(stack=Stack(TID, (), Quality.PARTIAL, "no memory could be read"))
        await screen.stopped()
        text = screen.text()
        assert "This stack is partial: no memory could be read" in text
        assert "stopped in Python at an unknown place" in text
        await screen.press("u", "d", "f9", "enter", "y", "m", "full_stop", "t")
        session.stops(frame("g"), variables=())
        await screen.stopped()
        assert "No variables." in screen.text()

    scripted(work, tmp_path)


def test_ten_thousand_frames_and_values_of_a_megabyte(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        deep = tuple(frame(f"level_{number}", number + 1) for number in range(10_000))
        huge = value("huge", "x" * 1_000_000 + "\nend")
        session.stops(*deep, variables=[huge, *(value(f"v{n}", "1", "int") for n in range(5000))])
        await screen.stopped()
        assert "1/10000" in screen.text()
        await screen.press("2", "end")
        await screen.until(lambda: "10000/10000" in screen.text(), "the outermost frame")
        assert "level_9999" in screen.text()
        await screen.press("4", "home", "enter")
        await screen.until(lambda: len(screen.app.screen_stack) == 2, "the whole value")
        await screen.press("escape")

    scripted(work, tmp_path)


def test_names_and_values_are_shown_as_they_are(tmp_path: Path) -> None:
    odd = [
        "[red]x[/red]",
        "[/]",
        "\\[bold",
        "tab\there",
        "nul\0bel\a",
        "esc\x1b[2J",
        "日本語 e\u0301",
        "\udcff",
    ]

    async def work(screen: Screen, session: ScriptedSession) -> None:
        threads = [Thread(TID, "[b]name[/b]", state="[i]waits")]
        session.stops(frame("[red]f[/red]"), variables=[value(text, text) for text in odd], threads=threads)
        await screen.stopped()
        for text in ("[red]f[/red]", "[red]x[/red] = [red]x[/red]", "[/] = [/]", "\\[bold", "日本語"):
            assert text in screen.text()
        assert not {"\x1b", "\0", "\a", "\udcff"} & set(screen.text())
        assert "esc␛[2J" in screen.text()
        await screen.press("3")
        await screen.until(lambda: "[b]name[/b]" in screen.text(), "the thread")
        session.emit(Notice("error", "no [such] thing [/]", "[try] again"))
        await screen.until(lambda: "no [such] thing [/]" in screen.said, "the message")
        await screen.press("4", "home", *["down"] * 7, "enter")
        await screen.until(lambda: len(screen.app.screen_stack) == 2, "the whole value")
        await screen.press("escape")

    scripted(work, tmp_path)


def test_a_watched_expression_is_shown_at_every_stop(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        session.stops(frame(), variables=[value("x", "1", "int")], evaluate=value("", "42", "int"))
        await screen.stopped()
        await screen.press("4", "w")
        await screen.type("x*42")
        await screen.until(lambda: "(watch) x*42 = 42 int" in screen.text(), "the watch")

        async def lost() -> None:
            raise EngineError("there is no x", "")

        session.stops(frame("g"), evaluate=lost)
        await screen.stopped(1)
        assert "(watch) x*42 = there is no x" in screen.text()
        await screen.press("home", "x")
        await screen.until(lambda: "(watch)" not in screen.text(), "no watch")

    scripted(work, tmp_path)


def test_a_stop_overtakes_the_one_that_is_being_read(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        late: asyncio.Future[Stack] = asyncio.get_running_loop().create_future()
        session.stops(frame("old"), stack=late)
        await screen.until(lambda: "stopped in Python" in screen.text(), "the first stop")
        session.stops(frame("new"), variables=[value("fresh", "1")])
        late.set_result(Stack(TID, (frame("old"),), Quality.FULL))
        await screen.stopped(1)
        assert [line.split()[2] for line in screen.lines(screen.app.views.stack)] == ["new"]
        assert "fresh = 1" in screen.text()

    scripted(work, tmp_path)


def test_the_target_goes_while_a_pane_waits(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        late: asyncio.Future[list[object]] = asyncio.get_running_loop().create_future()
        session.stops(frame(), variables=lambda: late)
        await screen.until(lambda: bool(screen.app.views.stack.rows), "the stack")
        session.ends(Exited(Exit(signal=9)), State.EXITED)
        await screen.until(lambda: "ended by SIGKILL" in screen.text(), "the end")
        late.set_result([value("ghost", "1")])
        await screen.pilot.pause()
        assert "ghost" not in screen.text()
        assert "The target has ended." in screen.text()

    scripted(work, tmp_path)


@pytest.mark.parametrize("what", ["stack", "variables", "threads"])
def test_an_engine_that_fails_is_a_message(tmp_path: Path, what: str) -> None:
    async def lost() -> None:
        raise EngineError("gdb is gone [in]deed", "run again")

    async def work(screen: Screen, session: ScriptedSession) -> None:
        session.stops(frame("here"), **{what: lost})
        await screen.until(lambda: "gdb is gone [in]deed" in screen.text(), "the message")
        session.stops(frame("there"), variables=(), threads=())
        await screen.stopped(1)
        assert "there" in screen.text()
        session.ends(Notice("error", "gdb ended"), State.LOST)
        await screen.until(lambda: "gdb is gone; the target is lost" in screen.text(), "what is lost")

    scripted(work, tmp_path)


def test_a_pane_that_cannot_be_read_says_why_and_opens_nothing(tmp_path: Path) -> None:
    async def lost() -> None:
        raise EngineError("the answer never came", "")

    async def work(screen: Screen, session: ScriptedSession) -> None:
        session.stops(frame(), variables=[value("v", "[...]", "list", reference=1)], children=lost)
        await screen.stopped()
        await screen.press("4", "space")
        await screen.until(lambda: "the answer never came" in screen.text(), "the reason")

    scripted(work, tmp_path)


def test_what_takes_long_is_shown_and_can_be_given_up(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        never: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        session.stops(frame(), evaluate=lambda: asyncio.shield(never), stack=lambda: asyncio.shield(never))
        session.emit(Progress("reading symbols", fraction=0.25))
        await screen.until(lambda: "reading symbols 25%" in screen.text(), "the progress")
        await screen.press("ctrl+c")
        await screen.until(lambda: "given up" in screen.said, "what became of it")
        session.emit(Progress("reading symbols", done=True))
        await screen.until(lambda: "reading symbols" not in screen.text(), "the end of it")
        session.stops(frame("again"))
        await screen.stopped(1)
        await screen.command("print x")
        await screen.press("ctrl+c")
        await screen.until(lambda: "interrupted" in screen.said, "the end of the command")
        await screen.command("help quit")
        await screen.until(
            lambda: "quit" in screen.said.rpartition("interrupted")[2].partition("help quit")[2],
            "the next command",
        )
        never.cancel()

    scripted(work, tmp_path)


def test_a_small_screen_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the names of files are shown from there
    source = tmp_path / "sums.py"
    source.write_text("def add(a, b):\n    total = a + b\n    return total\n\n\nadd(1, 2)\n")

    async def work(screen: Screen, session: ScriptedSession) -> None:
        stack = (frame("add", 2, str(source)), frame("<module>", 6, str(source)))
        session.stops(*stack, variables=[value("a", "1", "int"), value("b", "2", "int")])
        await screen.stopped()
        await screen.until(lambda: "Breakpoint 1" in screen.said, "the message")
        assert screen.text() == EXPECTED.rstrip("\n")

    scripted(work, tmp_path, (80, 24))


EXPECTED = """\
 Source  Registers  Memory  sums.py         │ Stack  Threads  Breakpoints  1/2
  1 def add(a, b):                          │▸#0 py   add sums.py:2
 ▶2     total = a + b                       │ #1 py   <module> sums.py:6
  3     return total                        │
  4                                         │
  5                                         │
  6 add(1, 2)                               │
                                            │
                                            │
                                            │
                                            │
                                            │
                                            │
 Prompt  Program                            │ Variables
                                            │  a = 1 int
* Breakpoint 1: Python, thread 4711         │  b = 2 int
MainThread                                  │
  add  sums.py:2                            │
  2  total = a + b                          │
                                            │
                                            │
 F1: all that can be done; help: commands   │
 stopped in Python at sums.py:2, breakpoint 1, thread 4711 holds the GIL
 F5 Continue  F10 Next  F11 Step  ⇧F11 Finish  F9 Break  : Prompt  F1 Palette
"""
