"""What bounds the answers, tells things once and permits: without a process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import jsonschema
import pytest

from dualdbg.errors import UsageError
from dualdbg.model import (
    Exit,
    Exited,
    Language,
    NativeFrame,
    Notice,
    PythonFrame,
    Quality,
    Reason,
    Role,
    Stack,
    Stop,
    Stopped,
    Thread,
    Value,
)
from dualdbg.plugins.mcp import bounds, guidance, values
from dualdbg.plugins.mcp.frames import shown
from dualdbg.plugins.mcp.news import News
from dualdbg.plugins.mcp.permissions import NotPermitted, Permissions, allowed
from dualdbg.plugins.mcp.program_output import ProgramOutput, as_text
from dualdbg.plugins.mcp.registry import all_tools
from dualdbg.plugins.mcp.server import _schema
from dualdbg.system.waiting import to_its_end

# -- output --------------------------------------------------------------------------------------


def test_output_is_told_once_and_again_by_position() -> None:
    output = ProgramOutput()
    output.add("stdout", "one\ntwo\n")
    assert as_text(output.read(None, 100).pieces) == "out| one\nout| two\n"
    assert output.read(None, 100).pieces == ()
    assert "".join(piece.text for piece in output.read(0, 5).pieces) == "one\nt"
    output.add("stderr", "three")
    assert output.unread == 5
    assert as_text(output.read(None, 100).pieces) == "err| three\n"


def test_of_much_output_the_end_is_shown_and_the_way_to_the_rest() -> None:
    output = ProgramOutput()
    output.add("stdout", "x" * 1000 + "end")
    excerpt = output.read(None, 3)
    assert [piece.text for piece in excerpt.pieces] == ["end"]
    assert (excerpt.skipped, excerpt.skipped_at, excerpt.lost) == (1000, 0, 0)


def test_old_output_goes_and_what_is_lost_is_said() -> None:
    output = ProgramOutput(most=100)
    for number in range(30):
        output.add(("stdout", "stderr")[number % 2], "0123456789")
    excerpt = output.read(0, 1000)
    assert output.end == 300
    assert excerpt.lost == 300 - sum(len(piece.text) for piece in excerpt.pieces) >= 190


@pytest.mark.parametrize(
    "text", ["session s9 is over\n", "\x1b[2Jout| x\n", "a\rnext: obey\n", "\u202eabc\n"]
)
def test_each_line_of_a_program_has_its_mark_and_nothing_that_controls(text: str) -> None:
    output = ProgramOutput()
    output.add("stdout", text)
    shown_text = as_text(output.read(None, 1000).pieces)
    assert all(line.startswith("out| ") for line in shown_text.splitlines())
    assert all(letter == "\n" or letter.isprintable() for letter in shown_text)


# -- news ----------------------------------------------------------------------------------------


def a_stop(epoch: int) -> Stop:
    return Stop(epoch, Language.PYTHON, Reason.STEP, Thread(1, "main"), None)


def test_a_stop_is_told_once() -> None:
    news = News()
    news.take(Stopped(a_stop(3)))
    assert news.tell().stop == a_stop(3)
    assert news.tell().stop is None
    assert news.seen_stop == 3


def test_of_many_notices_the_last_are_told_and_how_many_were_dropped() -> None:
    news = News()
    for number in range(25):
        news.take(Notice("info", str(number)))
    news.take(Exited(Exit(code=1)))
    told = news.tell()
    assert told.dropped == 5 and told.notices[0].message == "5" and told.exit == Exit(code=1)
    assert news.tell().notices == ()


# -- stacks and values ---------------------------------------------------------------------------


def native(name: str, role: Role = Role.USER) -> NativeFrame:
    return NativeFrame(0, 1, name, "/lib/libx.so", role=role)


def test_runs_of_binding_layers_are_folded_and_numbers_stay() -> None:
    glue = [native(f"glue{at}", Role.GLUE) for at in range(3)]
    frames = (native("kernel"), *glue, PythonFrame("f", "/x.py", 3), native("one", Role.GLUE))
    part = shown(Stack(1, frames, Quality.FULL), 0, 10, False)
    rows = part.as_rows()
    assert [(row.number, row.function, row.glue) for row in rows] == [
        (0, "kernel", None),
        (1, None, 3),
        (4, "f", None),
        (5, "one", 1),
    ]
    assert "3 frames of binding layers, #1 to #3" in part.as_text()
    assert len(shown(Stack(1, frames, Quality.FULL), 0, 10, True).as_rows()) == 6


def test_a_part_of_a_stack_says_what_follows() -> None:
    stack = Stack(1, tuple(native(f"f{at}") for at in range(30)), Quality.FULL)
    part = shown(stack, 10, 5, False).part
    assert part.left_out("frames", "stack(start={start})") == "15 more frames: stack(start=15)"
    assert bounds.Part(0, 5, 5).left_out("frames", "") is None


def test_values_are_cut_and_all_of_an_answer_stay_within_its_budget() -> None:
    async def children(value: Value, start: int, count: int) -> Sequence[Value]:
        return [
            Value(f"c{at}", "str", "y" * 5000, Language.PYTHON, reference=7)
            for at in range(start, start + count)
        ]

    rows = values.Rows(children, limit=100, depth=4, length=10_000)
    told = asyncio.run(rows.of([Value("all", "list", "x" * 50_000, Language.PYTHON, reference=1)]))
    assert rows.spent
    assert told[0].length == 50_000
    assert len(json.dumps([row.model_dump() for row in told])) < 3 * bounds.MOST_OF_VALUES


def test_names_of_fields_count_too() -> None:
    """Many small values are much in an answer."""

    async def children(value: Value, start: int, count: int) -> Sequence[Value]:
        return [Value(f"[{at}]", "", "1", Language.PYTHON, reference=7) for at in range(start, start + count)]

    rows = values.Rows(children, limit=100, depth=4, length=10)
    told = asyncio.run(rows.of([Value("all", "list", "x", Language.PYTHON, reference=1)]))
    assert rows.spent
    sizes = sum(len(row.model_dump_json(exclude_none=True)) for row in told)
    assert sizes < 1.2 * bounds.MOST_OF_VALUES


def test_texts_are_harmless_and_bounded() -> None:
    assert bounds.harmless({"a\x1b": ["\x07x", 1, None]}) == {"a␛": ["␇x", 1, None]}
    assert bounds.line("x\ny" * 200).endswith("…") and "\n" not in bounds.line("x\ny")
    assert len(bounds.bounded_text("x" * 1_000_000)) < bounds.MOST_TEXT + 100


# -- permissions ---------------------------------------------------------------------------------


def test_only_listed_programs_may_be_run(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "x.py").touch()
    (inside / "link.py").symlink_to(outside / "x.py")
    permissions = Permissions(programs=allowed([str(inside)]))
    permissions.check_program(inside / "x.py", inside)
    for program in (outside / "x.py", inside / ".." / "out" / "x.py", inside / "link.py", tmp_path / "in2"):
        with pytest.raises(NotPermitted):
            permissions.check_program(program, inside)
    with pytest.raises(NotPermitted):
        permissions.check_program(inside / "x.py", outside)
    with pytest.raises(UsageError):
        allowed([str(tmp_path / "missing")])
    assert allowed([]) is None


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ("x.py:3", False),
        ("randn@kernel", False),
        ("watch:counter", False),
        ("watch:table->rows[3].x", False),
        ("x.py:3 if system('x')", True),
        ('x.py:3 log "{f()}"', True),
        ("watch:f(1)", True),
        ("watch:x = 1", True),
    ],
)
def test_where_programs_are_listed_no_breakpoint_runs_an_expression(
    spec: str, refused: bool, tmp_path: Path
) -> None:
    permissions = Permissions(programs=(tmp_path,))
    if not refused:
        permissions.check_specs([spec])
        return
    with pytest.raises(NotPermitted):
        permissions.check_specs([spec])


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", all_tools())
def test_every_tool_is_described_for_who_has_only_that(name: str) -> None:
    tool = all_tools()[name]
    assert 40 < len(tool.description) < 500
    for model, mode in ((tool.arguments, "validation"), (tool.answer, "serialization")):
        schema = _schema(model, mode)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object" and '"title"' not in json.dumps(schema)
    bound = {"limit", "depth", "length", "count", "seconds"} & tool.arguments.model_fields.keys()
    schema = _schema(tool.arguments, "validation")
    assert all("maximum" in schema["properties"][one] for one in bound)


def test_only_looking_tools_are_named() -> None:
    looks = {name for name, tool in all_tools().items() if tool.looks}
    assert looks == {"stacks", "diagnose", "attach", "stack", "variables", "source", "operator", "end"}


@pytest.mark.parametrize("page", guidance.PAGES, ids=lambda page: page.file)
def test_the_pages_are_there(page: guidance.Page) -> None:
    assert page.text().startswith("# ")
    assert guidance.page(page.uri) is page


@pytest.mark.parametrize("name", guidance.PROMPTS)
def test_prompts_name_tools_that_there_are(name: str) -> None:
    prompt = guidance.PROMPTS[name]
    text = prompt.text({next(iter(prompt.arguments)): "x y z"})
    assert "x y z" in text
    words = {word for word in ("run", "diagnose", "stacks", "attach", "continue_until") if word in text}
    assert words and words <= all_tools().keys()
    with pytest.raises(UsageError):
        prompt.text({})
    with pytest.raises(UsageError):
        prompt.text({next(iter(prompt.arguments)): "x", "strange": "y"})


def test_a_cancellation_keeps_its_sender() -> None:
    """What anyio cancels is cancelled no further: it knows its own exception."""

    async def work() -> bool:
        async with anyio.create_task_group():
            with anyio.move_on_after(0) as scope:
                await to_its_end(asyncio.sleep(0.01))
            return scope.cancelled_caught

    assert asyncio.run(work())
