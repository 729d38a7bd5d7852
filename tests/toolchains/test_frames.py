"""What a toolchain says of a frame and of a line: the author's function, and whether the line is of its body."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import NativeFrame
from dualdbg.toolchains.registry import GLUE_SOURCES, TOOLCHAINS, author_of_line, toolchain_of
from tests.toolchains.test_function_names import CYTHON, build_library

SOURCE = "def is_prime(n):\n    return n > 1\n\n\ndef poly(x):\n    return x * x\n"

# C name in debug info, line, whether it was inlined; the function that is shown, its language, whether it is between.
FRAMES = [
    ("__pyx_pf_1m_2is_prime", 2, False, "m.is_prime", "cython", False),
    ("__pyx_pf_1m_2is_prime(PyObject*, int)", 2, False, "m.is_prime", "cython", False),
    ("__pyx_pf_1m_2is_prime", 1, False, "m.is_prime", "cython", True),
    ("__pyx_pw_1m_3is_prime", 1, False, "__pyx_pw_1m_3is_prime", "c", False),
    ("__Pyx_Raise", 2, False, "symbol", "c", False),
    ("__Pyx_Raise", 2, True, "__Pyx_Raise", "c", False),
]
# C name, line, the author's function if the line is of its body.
LINES = [
    ("__pyx_pf_1m_2is_prime", 2, "m.is_prime"),
    ("__pyx_pf_1m_2is_prime", 1, None),
    ("__pyx_pf_1m_2is_prime", 6, None),
    ("__pyx_pw_1m_1poly", 6, "m.poly"),
    ("__Pyx_Raise", 2, None),
    ("plain", 2, None),
]


def test_frames_and_lines_of_cython(tmp_path: Path) -> None:
    objfile = build_library(tmp_path / "m.so", CYTHON)
    file = tmp_path / "m.pyx"
    file.write_text(SOURCE)
    shown = []
    for name, line, inlined, *_ in FRAMES:
        frame = NativeFrame(
            0, 0x1000, function=name, file=str(file), line=line, inlined=inlined, source_language="c"
        )
        own = toolchain_of("cython").frame_named(frame, "symbol", objfile)
        assert own is not None
        shown.append((name, line, inlined, own.function, own.source_language, own.between))
    assert shown == FRAMES
    assert [(name, line, author_of_line(objfile, name, str(file), line)) for name, line, _ in LINES] == LINES


@pytest.mark.parametrize(
    ("language", "wrapper", "bodies"),
    [
        ("cython", "__pyx_pw_1m_3is_prime(_object*)", ("__pyx_pf_1m_2is_prime",)),
        ("cython", "__pyx_pw_1m_3is_prime.lto_priv.0", ("__pyx_pf_1m_2is_prime",)),
        ("cython", "__pyx_pf_1m_2is_prime", ()),
        ("rust", "demo::__pyfunction_area", ("demo::area",)),
        ("rust", "demo::area", ()),
        ("c++", "at::randn(int)", ()),
    ],
)
def test_a_wrapper_names_the_body_that_may_be_in_it(
    language: str, wrapper: str, bodies: tuple[str, ...]
) -> None:
    assert toolchain_of(language).bodies_inlined(wrapper) == bodies


@pytest.mark.parametrize("language", [None, "c", "c++", "asm", "rust", "fortran"])
def test_other_languages_leave_frames_and_steps_to_the_core(language: str | None) -> None:
    toolchain = toolchain_of(language)
    assert toolchain.frame_named(NativeFrame(0, 0x1000, line=1), "symbol", None) is None
    assert not toolchain.steps_by_lines
    assert not toolchain.glue_sources


def test_the_registry_finds_each_toolchain_by_its_language() -> None:
    assert [toolchain_of(one.language) for one in TOOLCHAINS] == list(TOOLCHAINS)
    assert "m.pyx".endswith(GLUE_SOURCES)
    assert not "m.cpp".endswith(GLUE_SOURCES)
