"""Watchpoints in the dashboard: set, listed, told with both values, switched off and removed, in both languages."""

from __future__ import annotations

from pathlib import Path

from tests.support import SAMPLES

from .driver import Screen, on_screen

COUNTER = """\
class Counter:
    def __init__(self):
        self.count = 0
    def bump(self):
        self.count += 1
def main():
    counter = Counter()
    begin = True
    counter.bump()
    counter.bump()
    end = True
main()
"""


def test_a_watchpoint_of_python(tmp_path: Path) -> None:
    program = tmp_path / "counter.py"
    program.write_text(COUNTER)

    async def work(screen: Screen) -> None:
        await screen.stopped()
        table, breakpoints = screen.session.breakpoints, screen.app.views.breakpoints
        await screen.command("watch counter.count")
        await screen.until(lambda: len(table.all()) == 2, "the watchpoint")
        await screen.until(lambda: "● 2  watch:py:counter.count" in screen.text(), "its row")
        await screen.go_on("escape", "f5")
        await screen.until(lambda: "counter.count: 0 -> 1, at counter.py:5" in screen.text(), "both values")
        assert screen.app.views.source.current == 9 or "bump" in screen.text()
        await screen.until(lambda: any("1 hit" in line for line in screen.lines(breakpoints)), "the hit")
        await screen.press("5", "end", "x")
        await screen.until(lambda: [one.id for one in table.all()] == [1], "it is gone")
        await screen.go_on("f10")
        assert "counter.count: 1 -> 2" not in screen.text()

    on_screen(work, folder=tmp_path, script=program, breakpoints=["counter.py:8"])


def test_a_watchpoint_is_added_in_the_pane_by_its_expression(tmp_path: Path) -> None:
    program = tmp_path / "counter.py"
    program.write_text(COUNTER)

    async def work(screen: Screen) -> None:
        await screen.stopped()
        table = screen.session.breakpoints
        await screen.press("5", "a")
        await screen.type("watch counter.count")
        await screen.until(lambda: len(table.all()) == 2, "the watchpoint")
        assert table.text(2) == "watch:py:counter.count"
        await screen.press("end", "space")
        await screen.until(lambda: not table.get(2).enabled, "it is off")
        await screen.press("space")
        await screen.until(lambda: table.get(2).enabled, "it is on")
        await screen.press("e")  # with a condition it is still the same one, in its frame
        await screen.type(" if counter.count > 1")
        await screen.until(lambda: table.get(2).spec.condition == "counter.count > 1", "the condition")
        assert [one.id for one in table.all()] == [1, 2]
        await screen.go_on("f5")
        await screen.until(lambda: "counter.count: 1 -> 2" in screen.text(), "both values")

    on_screen(work, folder=tmp_path, script=program, breakpoints=["counter.py:8"])


def test_a_watchpoint_of_a_native_value(tmp_path: Path, native_samples: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        table = screen.session.breakpoints
        await screen.command("watch total")
        await screen.until(lambda: "● 2  watch:total" in screen.text(), "its row")
        await screen.press("escape", "5", "home", "x")
        await screen.until(lambda: [one.id for one in table.all()] == [2], "the first is gone")
        await screen.go_on("f5")
        await screen.until(lambda: "total: 2 -> 3" in screen.text(), "both values")
        await screen.go_on("f5")
        await screen.until(lambda: "total: 3 -> 3.5" in screen.text(), "both values again")
        await screen.press("5", "end", "x")
        await screen.until(lambda: table.all() == [], "it is gone")

    on_screen(work, folder=tmp_path, script=SAMPLES / "native_demo.py", breakpoints=["helper.cpp:13"])
