"""The command palette finds everything that can be done, by each of its names, and does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.content import Content
from textual.widgets import Input

from dualdbg.console.commands.information import INFO_WORDS
from dualdbg.console.commands.registry import all_commands
from dualdbg.tui.command_palette import Palette

from .driver import Screen, on_screen


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    script = tmp_path / "counter.py"
    script.write_text("n = 1\nn = 2\nn = 3\nn = 4\nprint(n)\n")
    return script


def test_the_palette_offers_keys_layouts_and_every_command(tmp_path: Path, counter: Path) -> None:
    async def work(screen: Screen) -> list[tuple[str, str]]:
        await screen.stopped()
        assert screen.app.views.prompt.line.placeholder == "F1: all that can be done; help: commands"
        rows = [
            (command.title, Content.from_markup(command.help).plain)
            for command in screen.app.get_system_commands(screen.app.screen)
        ]
        await screen.press("f1")
        await screen.until(lambda: len(screen.app.screen_stack) == 2, "the palette")
        await screen.press("escape")
        return rows

    rows = on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])
    assert (tmp_path / "state.json").exists()  # the hint is for the first time
    for command in all_commands():
        usage = f"{command.usage}: " if command.usage else ""
        assert (f"Prompt: {', '.join(command.names)}", f"{usage}{command.summary}") in rows
    assert len({title for title, _ in rows}) == len(rows)


def test_every_name_of_every_command_finds_it_first(tmp_path: Path, counter: Path) -> None:
    """What is found is asked of the palette's own search: short names and gdb's names as well."""

    async def work(screen: Screen) -> None:
        await screen.stopped()
        for command in all_commands():
            for name in command.names:
                assert await first(screen, name) == f"Prompt: {', '.join(command.names)}", name
        forms = {f"info {word}" for word in INFO_WORDS} | {
            "frame function",
            "set var",
            "save breakpoints",
            "process together",
        }
        for form in forms:
            assert await first(screen, form) == f"Prompt: {form}", form
        for action in screen.app.get_system_commands(screen.app.screen):
            assert await first(screen, action.title) == action.title

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])


async def first(screen: Screen, text: str) -> str:
    hits = [hit async for hit in Palette(screen.app.screen).search(text)]
    assert hits, text
    best = max(hits)
    assert sum(hit.score == best.score for hit in hits) == 1, f"{text}: what is first is chance"
    return str(best.text)


MEANT = {
    "backt": "Prompt: bt, where, w, backtrace",  # the beginning of a name comes before words inside a title
    "step over": "Go to the next line, over calls",
    "Step  Into": "Go to the next line, into calls",
    "step out": "Run until the function returns",
    "resume": "Run on until the next stop",
    "clear breakpoint": "Set or clear a breakpoint on the line of the cursor",
    "registers": "Pane: Registers",
    "mchcd": "Machine code of the frame, or its source again",
}


def test_beginnings_words_and_letters(tmp_path: Path, counter: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        for text, title in MEANT.items():
            assert await first(screen, text) == title, text

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])


@pytest.mark.parametrize("size", [(80, 24), pytest.param((200, 60), marks=pytest.mark.exhaustive)], ids=str)
def test_what_is_typed_and_chosen_is_done(tmp_path: Path, counter: Path, size: tuple[int, int]) -> None:
    """A command that has arguments waits for them at the prompt; others are done at once."""

    async def choose(screen: Screen, text: str) -> None:
        await screen.press("f1")
        await screen.until(lambda: len(screen.app.screen_stack) == 2, "the palette")
        palette = screen.app.screen
        await screen.press(*text)
        assert palette.query_one(Input).value == text
        await screen.until(lambda: text in screen.text().partition(text)[2].lower(), f"{text} in the list")
        await screen.press("enter")
        await screen.until(lambda: len(screen.app.screen_stack) == 1, "the screen again")

    async def work(screen: Screen) -> None:
        await screen.stopped()
        await choose(screen, "backtrace")
        await screen.until(lambda: ">#0 py" in screen.said, "the stack")
        await choose(screen, "condition")
        line = screen.app.views.prompt.line
        await screen.until(lambda: line.has_focus and line.value == "condition ", "the command at the prompt")
        await screen.press("escape")
        await choose(screen, "info breakpoints")
        await screen.until(lambda: "counter.py:4" in screen.said, "the breakpoints")
        await choose(screen, "info symbol")
        await screen.until(lambda: line.has_focus and line.value == "info symbol ", "the form at the prompt")
        await screen.press("escape")
        await choose(screen, "pane: registers")
        await screen.until(lambda: bool(screen.app.views.registers.region.area), "the pane")

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"], size=size)
