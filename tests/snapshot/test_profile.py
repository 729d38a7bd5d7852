"""Profiles: what is counted, the files that are drawn of it, and a real program."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterator
from ctypes import addressof, c_char
from dataclasses import replace
from mmap import mmap
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dualdbg.cli.sampling import Sampled, sample, summary, write_files
from dualdbg.console.style import Style
from dualdbg.errors import UsageError
from dualdbg.model import Frame, NativeFrame, PythonFrame, Role
from dualdbg.shared.proc_files import mappings, read_maps
from dualdbg.snapshot.facts import Failure, ProcessReport, ThreadReport
from dualdbg.snapshot.linux.procfs import ends_in, ends_of_mappings
from dualdbg.snapshot.report.flame_graph import flame_graph
from dualdbg.snapshot.report.profile import Profile, folded, speedscope, tree
from dualdbg.symbols.address_space import AddressSpace
from tests.snapshot.programs_running import running
from tests.snapshot.test_command import dualdbg
from tests.snapshot.test_pure import process, python, thread

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</title><script>alert(1)</script>;"\x1b[2J\u202e'


def busy(tid: int, *frames: Frame, **more: bool) -> ThreadReport:
    return replace(thread(tid, *frames, **more), state="R")  # type: ignore[arg-type]


def native(name: str, role: Role = Role.USER) -> NativeFrame:
    return NativeFrame(0, 0x1000, name, "/lib/libx.so", role=role)


def drawn(count: int = 200) -> Profile:
    """Random stacks over two processes with two threads each."""
    draw = random.Random(3)
    profile = Profile()
    for _ in range(count):
        reports = []
        for pid in (1, 2):
            rows = []
            for tid in (pid * 10, pid * 10 + 1):
                inner = [python(draw.choice("abcde"), draw.randint(1, 3)) for _ in range(draw.randint(0, 4))]
                code = [native(draw.choice("xyz"))] * draw.randint(0, 1)
                rows.append(busy(tid, *code, *inner, python("<module>", 9)))
            reports.append(process(pid, *rows))
        profile.add(reports)
    return profile


def test_every_sample_is_counted_once_in_each_output() -> None:
    profile = drawn()
    assert profile.total == 200 * 4
    assert sum(int(line.rpartition(" ")[2]) for line in folded(profile)) == profile.total
    assert sum(own for _, own, _ in profile.top()) == profile.total
    told = json.loads(json.dumps(speedscope(profile, "name", 0.5)))
    assert sum(sum(one["weights"]) for one in told["profiles"]) == profile.total * 0.5
    assert len(told["profiles"]) == 4
    frames = told["shared"]["frames"]
    numbers = {number for one in told["profiles"] for stack in one["samples"] for number in stack}
    assert numbers == set(range(len(frames)))
    root = tree(profile)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        assert node.count >= sum(each.count for each in node.inner.values())
        waiting += node.inner.values()


def test_a_function_that_calls_itself_counts_once_a_sample() -> None:
    profile = Profile()
    profile.add([process(1, busy(1, python("f", 3), python("f", 4), python("f", 4), python("main", 9)))])
    rows = {spot.name: (own, within) for spot, own, within in profile.top()}
    assert rows == {"f (train.py)": (1, 1), "main (train.py)": (0, 1)}


def test_threads_that_sleep_are_left_out_unless_they_are_asked_for() -> None:
    waits = replace(busy(3, python("take")), thread=replace(busy(3).thread, waits_for_gil=True))
    report = process(1, busy(1, python("work"), holds=True), thread(2, python("sleep")), waits)
    profile, everything = Profile(), Profile(with_idle=True)
    for one in (profile, everything):
        one.add([report])
        one.add([report])
    assert [spot.name for spot, _, _ in profile.top()] == ["work (train.py)"] and profile.idle == 4
    assert everything.total == 6 and everything.idle == 0
    held = {use.name: (use.held, use.waited, use.samples) for use in profile.gil.values()}
    assert held == {"thread 1 python": (2, 0, 2), "thread 2 python": (0, 0, 2), "thread 3 python": (0, 2, 2)}


def test_glue_is_told_and_plumbing_is_not() -> None:
    profile = Profile()
    profile.add([process(1, busy(1, native("eval", Role.PLUMBING), native("cast", Role.GLUE), python("f")))])
    (stack,) = profile.stacks
    assert [(spot.kind, spot.name) for spot in stack[2:]] == [
        ("python", "f (train.py:1)"),
        ("glue", "cast (libx.so)"),
    ]


def test_a_flame_graph_is_as_wide_as_its_samples_and_whole() -> None:
    profile = drawn()
    root = ElementTree.fromstring(flame_graph(profile, "title"))
    boxes = [(group.find(f"{SVG}title"), group.find(f"{SVG}rect")) for group in root.iter(f"{SVG}g")]
    rows: dict[str, float] = {}
    for title, box in boxes:
        assert title is not None and box is not None and title.text
        rows[box.attrib["y"]] = rows.get(box.attrib["y"], 0.0) + float(box.attrib["width"])
        assert float(box.attrib["y"]) > 20
    widths = [rows[y] for y in sorted(rows, key=float, reverse=True)]
    assert widths[0] == pytest.approx(1199.6)
    assert all(width <= 1200 for width in widths)


def test_names_from_the_program_stay_text(tmp_path: Path) -> None:
    profile = Profile()
    profile.add([process(1, busy(1, PythonFrame(HOSTILE, f"/x/{HOSTILE}.py", 3)))])
    text = flame_graph(profile, HOSTILE)
    assert {element.tag for element in ElementTree.fromstring(text).iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "rect", "text", "g", "title")
    }
    assert "\x1b" not in text and "\u202e" not in text
    (line,) = folded(profile)
    assert line.count(";") == 2 and line.isprintable()  # process, thread, function
    assert "\x1b" not in summary(Sampled(profile, 1.0), True, Style(80, False))


def test_what_came_so_far_is_shown_when_the_program_ends_or_the_user_has_enough() -> None:
    def reports(end: BaseException | None) -> Iterator[tuple[list[ProcessReport], list[Failure]]]:
        yield [process(1, busy(1, python("f")))], []
        yield [process(1, busy(1, python("f")))], []
        if end is not None:
            raise end
        yield [], [Failure(1, "it is gone", "")]

    for end in (None, KeyboardInterrupt()):
        rows = reports(end)
        sampled = sample(lambda rows=rows: next(rows), 100, 0.0, False)  # type: ignore[misc]
        assert sampled.profile.samples == 2
        assert len(sampled.failures) == (end is None)


def test_samples_whose_files_are_not_known_to_be_the_same_are_left_out() -> None:
    reports = [process(1, busy(1, python("f"))), process(2, busy(2, python("g")))]
    kept = sample(lambda: (reports, []), 40, 0.0, False, lambda: [1], lambda: [1])
    assert kept.profile.total == 80 and kept.left_out == 0
    dropped = sample(lambda: (reports, []), 40, 0.0, False, lambda: [1], lambda: [2])
    assert dropped.profile.total == 40 and dropped.left_out == 40
    assert "40 are left out" in summary(dropped, False, Style(80, False))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        write_files(Sampled(drawn(1), 1.0), {"folded": tmp_path / "no such folder" / "f"}, "x")


def test_a_real_program(tmp_path: Path) -> None:
    files = {kind: tmp_path / kind for kind in ("folded", "speedscope", "flamegraph")}
    words = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    with running("busy.py") as pid:
        done = dualdbg("stacks", str(pid), "--watch", "8", "--interval", "0.02", "--gil", *words)
    assert done.returncode == 0, done.stderr
    assert "8 samples in " in done.stdout and "work (busy.py)" in done.stdout
    assert " held," in done.stdout.partition("The GIL")[2]
    assert "work (busy.py:" in files["folded"].read_text()
    assert any(
        "work" in row["name"] for row in json.loads(files["speedscope"].read_text())["shared"]["frames"]
    )
    ElementTree.parse(files["flamegraph"])


def test_where_mappings_end() -> None:
    text = read_maps(os.getpid())
    rows = mappings(text)
    places = [place for row in rows for place in (row.start - 1, row.start, row.end - 1, row.end)]
    around = [next((row.end for row in rows if row.start <= place < row.end), None) for place in places]
    assert ends_in(text.split("\n")[:-1], places) == around
    assert ends_of_mappings(os.getpid(), [0, rows[0].start, 1 << 63]) == [None, rows[0].end, None]
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert ends_of_mappings(ended.pid, [rows[0].start]) == [None]


def test_what_is_new_since_the_map_was_read_is_not_in_it() -> None:
    """The map is read before the stop; a stack that has grown since, or is new, is looked up once more."""
    image = AddressSpace(os.getpid())
    image.refresh()
    with mmap(-1, 1 << 20) as area:
        place = addressof(c_char.from_buffer(area))
        new = ends_of_mappings(os.getpid(), [place])
        assert new[0] is not None and ends_in(image.rows, [place]) == [None]
        image.refresh()
        assert ends_in(image.rows, [place]) == new


def test_what_has_no_meaning_together_is_refused() -> None:
    for words in (
        ["--top", "--json"],
        ["--gil", "--diagnose"],
        ["--interval", "-1"],
        ["--interval", "nan"],
    ):
        done = dualdbg("stacks", "1", *words)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done
