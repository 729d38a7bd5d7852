"""The command palette finds everything that can be done, by each of its names, and does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.content import Content
from textual.system_commands import SystemCommandsProvider
from textual.widgets import Input

from dualdbg.console.commands.information import INFO_WORDS
from dualdbg.console.commands.registry import all_commands

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


def test_every_name_of_every_command_finds_it(tmp_path: Path, counter: Path) -> None:
    """What is found is asked of the palette's own search: short names and gdb's names as well."""

    async def work(screen: Screen) -> None:
        await screen.stopped()
        found = SystemCommandsProvider(screen.app.screen)
        for command in all_commands():
            for name in command.names:
                titles = {str(hit.text) async for hit in found.search(name)}
                assert f"Prompt: {', '.join(command.names)}" in titles, name
        forms = {f"info {word}" for word in INFO_WORDS} | {
            "frame function",
            "set var",
            "save breakpoints",
            "process together",
        }
        for form in forms:
            assert f"Prompt: {form}" in {str(hit.text) async for hit in found.search(form)}, form
        for action in screen.app.get_system_commands(screen.app.screen):
            assert action.title in {str(hit.text) async for hit in found.search(action.title)}

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
def test_what_is_typed_and_chosen_is_done(tmp_path: Path, counter: Path, size: tuple[int, int]) -> None:
    """A command that has arguments waits for them at the prompt; others are done at once."""

    async def choose(screen: Screen, text: str) -> None:
        await screen.press("f1")
        await screen.until(lambda: len(screen.app.screen_stack) == 2, "the palette")
        palette = screen.app.screen
        await screen.press(*text)
        assert palette.query_one(Input).value == text
        await screen.until(lambda: text in screen.text().partition(text)[2].lower(), f"{text} in the list")
        await screen.press("down", "enter")
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
