"""The first screen of a job."""

from __future__ import annotations

from dualdbg.plugins.job.screen import screen
from dualdbg.plugins.job.tree import Place

from .test_tree import job, tree


def test_the_screen_begins_with_the_odd_rank() -> None:
    assert screen(tree(job())).splitlines() == [
        "8 ranks: 0-7",
        "  main train.py:9",
        "  1 rank: 6",
        "    evaluate train.py:7",
        "  7 ranks: 0-5,7",
        "    step train.py:5",
        "    gloo::wait libtorch_cpu.so",
    ]


def test_what_is_left_out_is_counted() -> None:
    assert screen(tree(job()), height=5).splitlines()[-1] == "... 3 more lines: --all shows them"


def test_no_line_is_wider_than_the_screen_and_none_controls_the_terminal() -> None:
    text = screen(tree([(0, (Place("python", "\x1b[2J" + "x" * 200, "a.py", 1),))]))
    assert max(map(len, text.splitlines())) == 80
    assert "\x1b" not in text
