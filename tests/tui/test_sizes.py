"""The dashboard in each size, light and dark, with long and wide names, many threads and many values; the mouse."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from textual import events
from textual.geometry import Size

from dualdbg.model import NativeFrame, Role, Thread
from dualdbg.tui.model.layout_presets import PANES
from dualdbg.tui.terminal.pty import ENVIRONMENT
from dualdbg.tui.widgets.line_view import LineView
from tests.support import SAMPLES

from .driver import Screen, on_screen
from .scripted import TID, ScriptedSession, frame, value
from .test_odd_states import scripted

SIZES = ((80, 24), (120, 40), (200, 60))
LEAST_AND_MOST = [SIZES[0], SIZES[-1], pytest.param(SIZES[1], marks=pytest.mark.exhaustive)]
THEMES = ("textual-dark", "textual-light")
READABLE = 3.0  # what WCAG 2 asks of large and bold text; where less is meant, the look is "disabled"

LONG = (
    "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer"
    "<at::Tensor (c10::DispatchKeySet, c10::ArrayRef<c10::SymInt>, std::optional<c10::ScalarType>), "
    "&torch::TraceType::(anonymous namespace)::randn>, at::Tensor, c10::guts::typelist::typelist<c10::DispatchKeySet, "
    "c10::ArrayRef<c10::SymInt>, std::optional<c10::ScalarType> > >, at::Tensor (c10::DispatchKeySet)>::call"
)
WIDE = "日本語の長い名前" * 12

PROGRAM = """\
import threading

everybody, leave = threading.Barrier(101), threading.Event()


def wait_for_the_end():
    everybody.wait()
    leave.wait()


def with_many_locals():
{locals}
    total = 値0 + 値999
    leave.set()
    return total


for number in range(100):
    threading.Thread(target=wait_for_the_end, name=f"働く{{number}}").start()
everybody.wait()
print(with_many_locals())
"""


def luminance(colour: Color) -> float:
    """As WCAG 2 defines it."""
    parts = [part / 255 for part in colour.get_truecolor()]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(segment: Segment) -> float:
    """Of a piece of text to what is behind it, from 1 to 21."""
    style = segment.style
    assert style is not None and style.color is not None and style.bgcolor is not None, segment
    light, dark = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def segments(screen: Screen) -> list[list[Segment]]:
    size = screen.app.size
    return [list(strip) for strip in screen.app.screen._compositor.render_strips(size)[: size.height]]


def fits(screen: Screen) -> None:
    """Every line of the screen has exactly its columns, so no letter of two columns pushes what is right of it."""
    for line in segments(screen):
        text = "".join(segment.text for segment in line)
        assert cell_len(text) == screen.app.size.width, text


def is_readable(screen: Screen) -> None:
    """All text that is not meant to stand back has colours that can be told apart."""
    letters = re.compile(r"\w")
    poor = {
        (segment.text.strip(), round(contrast(segment), 2))
        for line in segments(screen)
        for segment in line
        if letters.search(segment.text)
        and not (segment.style and segment.style.dim)
        and contrast(segment) < READABLE
    }
    assert not poor


def views(screen: Screen) -> list[LineView]:
    return [view for view in screen.app.query(LineView) if view.display and view.region.area]


def has_size(screen: Screen, size: tuple[int, int]) -> bool:
    return screen.app.size == Size(*size)


def rows_fit(screen: Screen) -> None:
    """A line of a list is as wide as the list has room: what is too long is cut and marked, not hidden."""
    for view in views(screen):
        if view.content_width():
            continue  # it is scrolled sideways
        for line in range(view.line_count()):
            text = "".join(text for text, _ in view.parts(line, view.room))
            assert cell_len(text) <= view.room, (view.id, text)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", LEAST_AND_MOST, ids=lambda size: f"{size[0]}x{size[1]}")
def test_long_and_wide_names_and_very_many_of_them(tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    source = tmp_path / f"{WIDE[:20]}.py"
    source.write_text("def f():\n    s = '" + WIDE + "'\n" * 1 + "    return s\n")

    async def work(screen: Screen, session: ScriptedSession) -> None:
        screen.app.theme = theme
        native = [
            NativeFrame(0, 0x1000, LONG, "/lib/libtorch_cpu.so"),
            NativeFrame(1, 0x2000, LONG.replace("randn", "mm"), "/lib/libtorch_cpu.so", role=Role.GLUE),
            NativeFrame(2, 0x3000, LONG, f"/{WIDE}/libtorch_cpu.so", file=f"/{WIDE}/kernel.cpp", line=123456),
        ]
        python = [frame(WIDE, 3, str(source)), frame("f" * 300, 2, str(source))]
        threads = [Thread(TID, WIDE, holds_gil=True, state=f"in {LONG}")]
        threads += [
            Thread(TID + n, f"worker-{n} {WIDE[:n]}", state="waits", waits_for_gil=True)
            for n in range(1, 100)
        ]
        values = [value(WIDE, WIDE), value("deep", LONG, LONG), value("n" * 200, "1", "int")]
        values += [value(f"v{n}", f"{n} {WIDE}") for n in range(1000 - len(values))]
        session.stops(*python, *native, variables=values, threads=threads)
        await screen.stopped()
        for name in PANES:
            screen.app.show_pane(name)
            await screen.pilot.pause()
            fits(screen)
            is_readable(screen)
            rows_fit(screen)
        await screen.press("escape", "3", "end")
        await screen.until(lambda: "worker-99" in screen.text(), "the last thread")
        await screen.press("4", "end")
        await screen.until(lambda: "v996 = 996" in screen.text(), "the last value")
        await screen.press("2", "home", "down")  # a native one wants a real process
        fits(screen)
        await screen.press("f1")
        await screen.until(lambda: len(screen.app.screen_stack) == 2, "the palette")
        await screen.pilot.pause()
        fits(screen)
        await screen.press("escape", "z")
        await screen.pilot.pause()
        fits(screen)

    scripted(work, tmp_path, size)


def test_a_hundred_threads_and_a_thousand_locals_of_a_real_program(tmp_path: Path) -> None:
    script = tmp_path / "many.py"
    script.write_text(PROGRAM.format(locals="\n".join(f"    値{n} = {n}" for n in range(1000))))

    async def work(screen: Screen) -> None:
        await screen.stopped()
        for size in (SIZES[0], SIZES[-1]):
            await screen.pilot.resize_terminal(*size)
            await screen.until(partial(has_size, screen, size), f"{size}")
            for name in ("threads", "variables"):
                screen.app.show_pane(name)
                await screen.pilot.pause()
                screen.app.switch_brightness()
                await screen.pilot.pause()
                fits(screen)
                is_readable(screen)
        threads, variables = screen.app.views.threads, screen.app.views.variables
        await screen.until(lambda: len(threads.rows) == 101, "the threads")
        await screen.until(
            lambda: any("値999 = 999" in line for line in screen.lines(variables)), "the values"
        )
        await screen.press("escape", "3", "end")
        await screen.until(lambda: "働く99" in screen.text(), "the last thread")
        await screen.press("enter")
        await screen.until(lambda: "wait_for_the_end" in screen.text(), "its stack")

    line = next(n for n, text in enumerate(script.read_text().splitlines(), 1) if "total =" in text)
    on_screen(work, folder=tmp_path, script=script, breakpoints=[f"many.py:{line}"])


def test_panes_that_come_into_sight_show_this_stop(tmp_path: Path, native_samples: Path) -> None:
    """By another size, another layout, or when a zoomed pane gives its room back: none says what was before."""

    async def work(screen: Screen) -> None:
        await screen.stopped()
        registers = screen.app.views.registers

        def shows_this_stop() -> bool:
            stop = screen.session.stop
            assert stop is not None and isinstance(stop.frame, NativeFrame)
            counter = [
                line for line in screen.lines(registers) if line.lstrip("* ").split()[:1] in (["rip"], ["pc"])
            ]
            return bool(registers.region.area) and [f"{stop.frame.pc:#x}" in line for line in counter] == [
                True
            ]

        assert not registers.region.area and not registers.rows
        await screen.pilot.resize_terminal(200, 60)
        await screen.until(shows_this_stop, "the registers in a larger terminal")
        await screen.press("1", "z")
        await screen.go_on("n")
        assert not shows_this_stop()
        await screen.press("z")
        await screen.until(shows_this_stop, "the registers of the next stop")

    on_screen(
        work,
        folder=tmp_path,
        script=SAMPLES / "native_demo.py",
        breakpoints=["sample::inner_loop"],
        launch_options={"env": {**ENVIRONMENT, "PYTHONPATH": str(native_samples)}},
    )


# -- the mouse --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", LEAST_AND_MOST, ids=lambda size: f"{size[0]}x{size[1]}")
def test_what_is_clicked_is_what_happens(tmp_path: Path, size: tuple[int, int]) -> None:
    """A frame, the gutter twice, the title of a hidden pane, a key at the bottom."""
    script = tmp_path / "calls.py"
    script.write_text(
        "def inner(n):\n    m = n + 1\n    return m\n\n\ndef outer(n):\n    return inner(n)\n\n\nprint(outer(1))\n"
    )

    async def work(screen: Screen) -> None:
        await screen.stopped()
        app, table = screen.app, screen.session.breakpoints
        stack, source, threads = app.views.stack, app.views.source, app.views.threads
        await screen.pilot.click(stack, offset=(10, 1))
        await screen.until(lambda: stack.selected == 1 and source.current == 7, "the caller")
        await screen.pilot.click(stack, offset=(10, 0))
        await screen.until(lambda: stack.selected == 0 and source.current == 2, "the frame again")
        await screen.pilot.click(source, offset=(0, 2))
        await screen.until(lambda: [one.spec.line for one in table.all()] == [2, 3], "a breakpoint")
        await screen.pilot.click(source, offset=(0, 2))
        await screen.until(lambda: [one.spec.line for one in table.all()] == [2], "no breakpoint")
        if not threads.region.area:
            row, at = next(
                (row, cell_len(line[: line.index("Threads")]))
                for row, line in enumerate(screen.text().splitlines())
                if "Threads" in line
            )
            await screen.pilot.click(offset=(at + 1, row))
        await screen.until(lambda: bool(threads.region.area), "the threads")
        keys = screen.text().splitlines()[-1]
        epoch = screen.session.epoch
        await screen.pilot.click(offset=(keys.index("Next"), app.size.height - 1))
        await screen.stopped(epoch)
        assert source.current == 3

    on_screen(work, folder=tmp_path, script=script, breakpoints=["calls.py:2"], size=size)


def test_the_wheel_scrolls_and_leaves_the_cursor(tmp_path: Path) -> None:
    async def work(screen: Screen, session: ScriptedSession) -> None:
        session.stops(*(frame(f"level_{n}", n + 1) for n in range(200)))
        await screen.stopped()
        stack = screen.app.views.stack
        await screen.pilot._post_mouse_events([events.MouseScrollDown], stack, offset=(5, 2))
        await screen.until(lambda: stack.scroll_offset.y == 3, "three lines further")
        assert "level_2 " not in screen.text() and "level_3 " in screen.text() and stack.cursor == 0
        await screen.pilot._post_mouse_events([events.MouseScrollUp], stack, offset=(5, 2))
        await screen.until(lambda: stack.scroll_offset.y == 0, "back again")

    scripted(work, tmp_path)


def test_a_program_that_asks_for_the_mouse_gets_it(tmp_path: Path) -> None:
    """One report for one turn of the wheel, and its pane does not scroll."""
    script = tmp_path / "mouse.py"
    script.write_text(
        "import os, sys, tty\n"
        "tty.setraw(0)\n"
        "print('line\\r\\n' * 200 + '\\x1b[?1000h\\x1b[?1006h' + 'ready', end='', flush=True)\n"
        "while (read := os.read(0, 100)) != b'q':\n"
        "    print(f'got {read!r}', end='\\r\\n', flush=True)\n"
    )

    async def work(screen: Screen) -> None:
        program = screen.app.views.program
        screen.app.show_pane("program")
        await screen.until(lambda: "ready" in screen.text(), "the program")
        before = program.scroll_offset.y
        await screen.pilot._post_mouse_events([events.MouseScrollUp], program, offset=(4, 2))
        await screen.until(lambda: "got b'\\x1b[<64;5;" in screen.text(), "the report")
        assert screen.text().count("got b") == 1 and program.scroll_offset.y >= before
        await screen.press("q")
        await screen.ended()

    on_screen(work, folder=tmp_path, script=script)
