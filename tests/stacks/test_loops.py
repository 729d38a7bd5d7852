"""Evaluation loops told by what they keep on the C stack, in whichever shape the compiler left them."""

from __future__ import annotations

from dataclasses import replace

from dualdbg.model import NativeFrame, PythonFrame, Quality
from dualdbg.stacks.loops import frame_around, with_loops
from dualdbg.stacks.merge import merge
from dualdbg.stacks.roles import is_evaluation_loop
from tests.stacks.test_merge import BASE, INTERPRETER, LOOP, RULES, native, shown


def stack_of(*functions: str) -> list[NativeFrame]:
    """Native frames of 0x100 bytes each, of which the innermost begins at 0x1000; ``^`` before one that is inlined."""
    frames, sp = [], 0x1000
    for frame in native(*(function.removeprefix("^") for function in (*functions, *BASE))):
        inlined = len(frames) < len(functions) and functions[len(frames)].startswith("^")
        frames.append(replace(frame, sp=sp, inlined=inlined))
        sp += 0 if inlined else 0x100
    return frames


def python(*texts: str) -> list[PythonFrame]:
    """``file:function``, with ``@number`` behind an entry frame: its loop is the native frame of that number."""
    frames = []
    for text in texts:
        text, _, loop = text.partition("@")
        file, _, function = text.partition(":")
        address = 0x1000 + 0x100 * int(loop) + 0x40 if loop else None
        frames.append(PythonFrame(function, file, 1, bool(loop), loop=address))
    return frames


def merged(frames: list[NativeFrame], *texts: str) -> tuple[Quality, str | None, list[str]]:
    run = python(*texts)
    marked = with_loops(frames, [frame.loop for frame in run if frame.loop is not None])
    stack = merge(7, marked, run, RULES)
    return stack.quality, stack.note, shown(stack.frames)[: -len(BASE)]


def test_a_nameless_frame_is_the_loop() -> None:
    frames = stack_of("inner", "@i", "call_back", "@i", "@i", "@i")
    found = merged(frames, "a.py:callback@1", "a.py:g", "a.py:<module>@4")
    assert found == (
        Quality.FULL, None, ["inner", "a.py:callback", "call_back", "?", "a.py:g", "a.py:<module>", "?"]
    )  # fmt: skip


def test_the_loop_is_in_its_caller() -> None:
    found = merged(stack_of("write@libc.so.6", "@i", "PyEval_EvalCode@i", "@i"), "a.py:<module>@2")
    assert found == (Quality.FULL, None, ["write", "?", "a.py:<module>", "?"])


def test_of_what_is_inlined_the_loop_is_named() -> None:
    frames = stack_of("inner", "^Py_DECREF@i", f"^{LOOP}", "^_PyEval_Vector@i", "PyEval_EvalCode@i")
    assert frame_around(frames, 0x1140) == 2
    assert merged(frames, "a.py:<module>@1")[2] == [
        "inner", "Py_DECREF", "a.py:<module>", "_PyEval_Vector", "PyEval_EvalCode"
    ]  # fmt: skip


def test_a_tail_calling_loop_takes_two_frames() -> None:
    frames = stack_of("inner", "PyObject_Vectorcall@i", "_TAIL_CALL_CALL@i", LOOP)
    expected = Quality.FULL, None, ["inner", "PyObject_Vectorcall", "a.py:f", "a.py:<module>"]
    assert merged(frames, "a.py:f", "a.py:<module>@3") == expected
    loops = with_loops(frames, [0x1340])
    assert [at for at, frame in enumerate(loops) if is_evaluation_loop(frame)] == [2, 3]


def test_names_alone_pair_a_tail_calling_loop_too() -> None:
    frames = native("inner", "_TAIL_CALL_CALL@i", LOOP, "call_back", "_TAIL_CALL_CALL@i", LOOP, *BASE)
    run = [PythonFrame("g", "a.py", 1, True), PythonFrame("<module>", "a.py", 1, True)]
    stack = merge(7, frames, run, RULES)
    assert stack.quality is Quality.FULL
    assert shown(stack.visible()) == ["inner", "a.py:g", "call_back", "a.py:<module>"]


def test_a_signal_handlers_own_stack_does_not_reach_over_the_loops() -> None:
    frames = stack_of("handler", "@i", "@i")
    handler = [
        replace(frames[0], sp=0x10),
        NativeFrame(1, 0x99, "<signal handler called>", INTERPRETER, sp=0x20),
    ]
    frames = [*handler, *(replace(frame, level=frame.level + 1) for frame in frames[1:])]
    assert frame_around(frames, 0x1140) == 2


def test_a_loop_that_has_just_begun_has_its_name_alone() -> None:
    frames = stack_of(LOOP, "_PyEval_Vector@i", "@i")
    quality, note, names = merged(frames, "a.py:<module>@2")
    assert (
        quality is Quality.PARTIAL
        and note is not None
        and note.startswith("one evaluation loop has no Python")
    )
    assert names == [LOOP, "_PyEval_Vector", "a.py:<module>"]


def test_a_run_whose_loop_is_missing_keeps_its_place() -> None:
    frames = stack_of("inner", "@i", "call_back", "@i")
    found = merged(frames, "a.py:lost@70", "a.py:g@1", "a.py:<module>@3")
    assert found[0] is Quality.PARTIAL and "no evaluation loop" in (found[1] or "")
    assert found[2] == ["inner", "a.py:lost", "a.py:g", "call_back", "a.py:<module>"]
