"""One stack from two: every way in which the two sides meet, or do not add up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

import pytest

from dualdbg.model import Frame, NativeFrame, PythonFrame, Quality, Role
from dualdbg.stacks.merge import merge
from dualdbg.stacks.roles import RoleRules, first_of_user

INTERPRETER = "/usr/lib/libpython3.11.so.1.0"
RULES = RoleRules(frozenset({INTERPRETER}), ("/opt/debugpy",))
LOOP = "_PyEval_EvalFrameDefault"
BASE = ["pymain_run_python@i", "__libc_start_main@libc.so.6", "_start@python"]


def native(*functions: str) -> list[NativeFrame]:
    """``name@library``; the loop and ``@i`` stand for the interpreter's own file."""
    frames = []
    for level, text in enumerate(functions):
        function, _, library = text.partition("@")
        inside = library == "i" or function.startswith(LOOP)
        path = INTERPRETER if inside else f"/lib/{library}" if library else "/lib/ext.so"
        frames.append(NativeFrame(level, 0x1000 + level, function or None, path))
    return frames


def python(*texts: str) -> list[PythonFrame]:
    """``file:function`` with a ``!`` behind an entry frame."""
    frames = []
    for text in texts:
        file, _, function = text.rstrip("!").partition(":")
        frames.append(PythonFrame(function, file, 1, entry=text.endswith("!")))
    return frames


def shown(frames: tuple[Frame, ...]) -> list[str]:
    return [
        frame.function or "?"
        if isinstance(frame, NativeFrame)
        else f"{PurePath(frame.file or '').name}:{frame.function}"
        for frame in frames
    ]


def test_python_frames_take_the_place_of_their_loop() -> None:
    stack = merge(
        7,
        native("at::native::randn", "THPVariable_randn", "cfunction_call@i", LOOP, *BASE),
        python("a.py:f", "a.py:<module>!"),
        RULES,
    )
    assert stack.quality is Quality.FULL and stack.note is None
    assert shown(stack.visible()) == ["at::native::randn", "THPVariable_randn", "a.py:f", "a.py:<module>"]
    assert [frame.role for frame in stack.visible()] == [Role.USER, Role.GLUE, Role.USER, Role.USER]


def test_the_bindings_of_a_stripped_pytorch_are_glue_without_their_names() -> None:
    stack = merge(
        7,
        native(
            "at::native::randn",
            "@libtorch_cpu.so.2.6.0",
            "@libtorch_python.so.2.6.0",
            "cfunction_call@i",
            LOOP,
        ),
        python("a.py:<module>!"),
        RULES,
    )
    assert [frame.role for frame in stack.visible()] == [Role.USER, Role.USER, Role.GLUE, Role.USER]


def test_all_keeps_the_plumbing() -> None:
    stack = merge(7, native("f", LOOP, *BASE), python("a.py:<module>!"), RULES)
    assert len(stack.frames) == 1 + 1 + len(BASE)
    assert shown(stack.visible()) == ["f", "a.py:<module>"]


def test_a_callback_goes_between_the_native_frames() -> None:
    stack = merge(
        7,
        native("inner", LOOP, "_PyObject_Call@i", "call_back", "cfunction_call@i", LOOP, *BASE),
        python("a.py:callback!", "a.py:g", "a.py:<module>!"),
        RULES,
    )
    assert stack.quality is Quality.FULL
    assert shown(stack.visible()) == ["inner", "a.py:callback", "call_back", "a.py:g", "a.py:<module>"]


def test_older_interpreters_have_one_loop_a_frame() -> None:
    stack = merge(7, native("f", LOOP, LOOP, LOOP, *BASE), python("a.py:x!", "a.py:y!", "a.py:z!"), RULES)
    assert stack.quality is Quality.FULL
    assert shown(stack.visible()) == ["f", "a.py:x", "a.py:y", "a.py:z"]


@pytest.mark.parametrize("loop", [f"{LOOP}.cold", f"{LOOP}.lto_priv.0", "_TAIL_CALL_CALL", LOOP])
def test_a_loop_has_many_names(loop: str) -> None:
    stack = merge(7, native("f", f"{loop}@i", *BASE), python("a.py:<module>!"), RULES)
    assert stack.quality is Quality.FULL


def test_a_loop_whose_frame_is_not_made_yet_is_partial_and_keeps_both_sides() -> None:
    stack = merge(7, native(LOOP, "call_back", LOOP, *BASE), python("a.py:<module>!"), RULES)
    assert stack.quality is Quality.PARTIAL
    assert stack.note is not None and "one evaluation loop has no Python frame" in stack.note
    assert shown(stack.visible()) == ["call_back", "a.py:<module>"]


def test_a_native_stack_cut_short_joins_from_the_innermost_frame() -> None:
    stack = merge(7, native("f", LOOP, "g"), python("a.py:x!", "a.py:y!"), RULES)
    assert stack.quality is Quality.PARTIAL
    assert stack.note is not None and "ends early, in g" in stack.note
    assert shown(stack.visible()) == ["f", "a.py:x", "g", "a.py:y"]


def test_python_frames_without_a_loop_are_never_dropped() -> None:
    stack = merge(7, native("f", LOOP, *BASE), python("a.py:x!", "a.py:y!"), RULES)
    assert stack.quality is Quality.PARTIAL
    assert set(shown(stack.visible())) == {"f", "a.py:x", "a.py:y"}


def test_no_python_at_all() -> None:
    stack = merge(7, native("worker", "start_thread@libc.so.6", "clone3@libc.so.6"), [], RULES)
    assert stack.quality is Quality.NATIVE_ONLY and stack.note is None
    assert shown(stack.visible()) == ["worker", "start_thread", "clone3"]


def test_python_that_could_not_be_read_says_why() -> None:
    stack = merge(7, native("f", LOOP, *BASE), [], RULES, "no interpreter yet")
    assert stack.quality is Quality.NATIVE_ONLY and stack.note == "no interpreter yet"


def test_no_native_side() -> None:
    stack = merge(7, [], python("a.py:<module>!"), RULES, "gdb cannot say")
    assert stack.quality is Quality.PYTHON_ONLY and stack.note == "gdb cannot say"


def test_debugpys_own_frames_in_a_users_thread_are_folded_away() -> None:
    frames = native("futex_wait@libc.so.6", LOOP, "do_wait_suspend", LOOP, *BASE)
    frames[2] = NativeFrame(2, 0x2000, "do_wait_suspend", "/opt/debugpy/cy.so")
    names = ["/usr/lib/python3.11/threading.py:wait", "/opt/debugpy/pydevd.py:hold!", "a.py:<module>!"]
    stack = merge(7, frames, python(*names), RULES)
    assert stack.quality is Quality.FULL
    assert shown(stack.visible()) == ["a.py:<module>"]


def test_what_the_user_evaluates_at_a_stop_is_shown_above_debugpy() -> None:
    stack = merge(
        7,
        native("at::native::randn", LOOP, LOOP, *BASE),
        python("<string>:<module>!", "/opt/debugpy/pydevd.py:evaluate", "a.py:<module>!"),
        RULES,
    )
    assert shown(stack.visible()) == ["at::native::randn", "<string>:<module>", "a.py:<module>"]


def test_the_start_of_python_m_is_folded_away() -> None:
    stack = merge(
        7,
        native("f", LOOP, *BASE),
        python("m.py:<module>", "<frozen runpy>:_run_code", "<frozen runpy>:_run_module_as_main!"),
        RULES,
    )
    assert shown(stack.visible()) == ["f", "m.py:<module>"]


def test_import_machinery_is_folded_away() -> None:
    stack = merge(
        7,
        native("PyInit_x", LOOP, *BASE),
        python("x.py:<module>", "<frozen importlib._bootstrap>:_load", "a.py:<module>!"),
        RULES,
    )
    assert shown(stack.visible()) == ["PyInit_x", "x.py:<module>", "a.py:<module>"]


def test_the_first_frame_of_the_users_is_not_one_of_a_header_of_the_c_library() -> None:
    strtol, atoi, own = native("strtol", "atoi", "bad")
    atoi, own = replace(atoi, library="/home/ext.so"), replace(own, library="/home/ext.so")
    header = replace(atoi, file="/usr/include/stdlib.h", inlined=True)
    assert first_of_user([strtol, header, own]) == 2
    assert first_of_user([strtol, atoi, own]) == 1
