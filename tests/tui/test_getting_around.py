"""Finding one's way in the dashboard: search, layouts, panes, threads and tasks."""

from __future__ import annotations

from pathlib import Path

from textual.events import Key

from dualdbg.tui.model.layout_presets import PANES
from tests.support import SAMPLES

from .driver import Screen, on_screen

THREADS = SAMPLES / "threads.py"


def test_keys_lead_to_lines_functions_and_panes(tmp_path: Path, counter: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        await searches_and_goes(screen)
        await reaches_every_pane_by_keys_alone(screen)
        await goes_where_the_keys_before_lead(screen)

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])


async def searches_and_goes(screen: Screen) -> None:
    source = screen.app.views.source
    await screen.press("slash")
    await screen.type("answer")
    assert source.cursor == 9
    await screen.press("f3")
    assert source.cursor == 10
    await screen.press("shift+f3")
    assert source.cursor == 9
    await screen.press("g")
    await screen.type("2")
    await screen.until(lambda: source.cursor == 1, "the line")
    await screen.press("g")
    await screen.type("count")
    await screen.until(lambda: source.cursor == 0, "the function")
    await screen.press("g")
    await screen.type("nothing.cpp:3")
    await screen.until(lambda: "there is no file nothing.cpp" in screen.said, "the complaint")


async def reaches_every_pane_by_keys_alone(screen: Screen) -> None:
    reached = set()
    for number in range(1, 9):
        screen.app.views.source.focus()
        await screen.press(str(number))
        await screen.until(lambda: screen.app.focused_pane() is not None)
        reached.add(screen.app.focused_pane())
    await screen.press("1", "colon")
    reached.add(screen.app.focused_pane())
    assert reached == set(PANES)
    await screen.press("escape")
    seen = set()
    for _ in range(8):
        await screen.press("f7")
        seen.add(screen.app.focused_pane())
    assert seen == set(screen.app.workspace.shown())


async def goes_where_the_keys_before_lead(screen: Screen) -> None:
    """A terminal may send in one piece what was typed: the prompt's key, a command, and keys for the panes."""
    app = screen.app

    def typed(*keys: str) -> None:
        for key in keys:
            app.post_message(Key(key, key if len(key) == 1 else None))

    typed("colon", *"print 6*7", "enter", "escape", "g", *"10", "enter")
    await screen.until(lambda: "42" in screen.said, "the answer")
    await screen.until(lambda: app.views.source.cursor == 9, "the line")
    typed("colon", "x", "escape", "1", "home", "down", "down")
    await screen.until(lambda: app.views.source.cursor == 2, "the line below the second")
    assert app.focused is app.views.source and app.views.prompt.line.value == "x"
    typed("g", "5", "escape", "home")  # the dialog is gone with what it was told
    await screen.until(lambda: app.views.source.cursor == 0, "the first line")


def test_layouts_follow_the_size_and_the_user(tmp_path: Path, counter: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        app = screen.app
        for size, panes in (((40, 12), 2), ((80, 24), 4), ((120, 40), 5), ((200, 60), 8)):
            await screen.pilot.resize_terminal(*size)
            await screen.until(
                lambda panes=panes: len(app.workspace.shown()) == panes, f"the layout of {size}"
            )
        await screen.press("z")
        assert len(app.workspace.shown()) == 1
        await screen.press("z")
        await screen.press("f2")
        assert app.settings.layout == "tiny"
        await screen.pilot.resize_terminal(120, 40)
        await screen.until(lambda: app.size.width == 120, "the smaller terminal")
        assert len(app.workspace.shown()) == 2  # a layout that was chosen stays
        await screen.press("shift+f2")
        assert app.settings.layout == "automatic" and len(app.workspace.shown()) == 5
        await screen.pilot.resize_terminal(200, 60)
        await screen.until(lambda: len(app.workspace.shown()) == 8, "the layout of the size")
        app.choose_layout("medium")
        await screen.until(lambda: app.workspace.panes["source"].size.width < 130, "the chosen layout")
        before = app.workspace.panes["source"].size.width
        await screen.press("1", "ctrl+right")
        await screen.until(lambda: app.workspace.panes["source"].size.width == before + 3, "the wider pane")

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])
    assert '"medium"' in (tmp_path / "state.json").read_text()


def test_who_has_gone_elsewhere_stays_there_until_the_frame_is_another(tmp_path: Path, counter: Path) -> None:
    """A command may have changed what the panes show: they are read again, but the source is not led away."""

    async def work(screen: Screen) -> None:
        await screen.stopped()
        app, source = screen.app, screen.app.views.source
        assert app.loader is not None
        await screen.press("1", "end")
        await screen.command("call total = 40")
        await screen.until(lambda: any("total = 40" in line for line in screen.lines(app.views.variables)))
        await screen.until(app.loader.complete.is_set, "the panes")
        assert source.cursor == 10
        await screen.press("escape", "full_stop")  # back to the frame
        await screen.until(lambda: source.cursor == 3, "the line of the frame")
        await screen.press("1", "end")
        assert source.cursor == 10
        await screen.go_on("f10")
        assert source.cursor == 4

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])


def test_threads_are_listed_and_selected(tmp_path: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        view = screen.app.views.threads
        await screen.press("3")
        await screen.until(lambda: len(view.rows) > 1, "the threads")
        other = next(row for row in view.rows if row.thing != screen.session.stop.thread.tid)  # type: ignore[union-attr]
        view.cursor = list(view.rows).index(other)
        await screen.press("enter")
        await screen.stopped()
        assert screen.app.views.stack.stack is not None
        assert screen.app.views.stack.stack.thread == other.thing

    on_screen(work, folder=tmp_path, script=THREADS, breakpoints=["threads.py:15"])


def test_tasks_are_listed_below_the_threads(tmp_path: Path) -> None:
    """Equal ones in one line; Enter shows the frames of one, and the source behind."""
    script = tmp_path / "tasks.py"
    script.write_text(
        "import asyncio\n"
        "async def waits():\n"
        "    await asyncio.sleep(3600)\n"
        "async def main():\n"
        "    others = [asyncio.create_task(waits()) for _ in range(3)]\n"
        "    await asyncio.sleep(0)\n"
        "    print(len(others))\n"
        "asyncio.run(main())\n"
    )

    async def work(screen: Screen) -> None:
        await screen.stopped()
        view = screen.app.views.threads
        await screen.press("3")
        await screen.until(lambda: len(view.rows) == 3, "a thread and two kinds of tasks")
        tasks = [line.split() for line in screen.lines(view)[1:]]
        assert tasks[0][:5] == ["task", "Task-1", "main", "runs", "in"]
        assert tasks[1] == ["task", "Task-2", "and", "2", "more", "waits", "waits", "for", "a", "future"]
        view.cursor = 2
        await screen.press("enter")
        shown = screen.text()
        assert "sleep  " in shown and f"waits  {script}:3" in shown
        await screen.press("escape")
        assert screen.app.views.source.cursor == 2

    on_screen(work, folder=tmp_path, script=script, breakpoints=["tasks.py:7"])


def test_keys_can_be_changed(tmp_path: Path, counter: Path) -> None:
    (tmp_path / "keys.toml").write_text('[keys]\ncontinue = "f12"\n')
    (tmp_path / "state.json").write_text("{}")

    async def work(screen: Screen) -> None:
        await screen.stopped()
        assert screen.app.views.prompt.line.placeholder == "a command; help lists them"
        epoch = screen.session.epoch
        await screen.press("f5")
        assert screen.session.epoch == epoch
        await screen.go_on("f12")
        assert "F12 Continue" in screen.text()

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"])
