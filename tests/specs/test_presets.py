"""Presets: each spec reads, each name is in the installed PyTorch, and users can add their own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dualdbg.config import PresetTable
from dualdbg.errors import SpecError
from dualdbg.model import BreakpointKind
from dualdbg.symbols.callables.python_functions import FunctionDefinition, find_function
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec
from dualdbg.symbols.locspec.presets import Preset, available, expand, shipped
from dualdbg.symbols.objfile import Objfile
from tests import support


def test_the_shipped_presets() -> None:
    presets = shipped()
    assert list(presets) == ["jit-run", "jit-script", "jit-passes", "torch-init", "dispatch", "autograd"]
    for preset in presets.values():
        assert preset.about and preset.breakpoints
        for text in preset.breakpoints + preset.inlined:
            assert parse_spec(text).subject == text.removeprefix("py:").partition(" outermost ")[0]


@pytest.mark.torch
def test_the_functions_are_there() -> None:
    spec = support.require(importlib.util.find_spec("torch"), "PyTorch")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "lib"
    libraries = [Objfile.open(folder / name) for name in ("libtorch_cpu.so", "libtorch_python.so")]
    for preset in shipped().values():
        read = [parse_spec(text) for text in preset.breakpoints]
        outer = {one.outermost for one in read if one.outermost is not None}
        native = {one.subject for one in read if one.kind is BreakpointKind.FUNCTION}
        python = {one.subject for one in read} - native | {name for name in outer if "::" not in name}
        for text in python:
            place = find_function(text, folder, [str(Path(spec.origin).parent.parent)])
            assert isinstance(place, FunctionDefinition), (preset.name, text, place)
        for text in native | {name for name in outer if "::" in name}:
            found = [library.path for library in libraries if library.find_functions(text)]
            assert len(found) == 1, (preset.name, text, found)


def test_the_users_presets_replace_and_extend() -> None:
    own = {"mine": PresetTable(("randn", "preset:autograd")), "torch-init": PresetTable(("PyInit__C",))}
    presets = available(own)
    assert expand("mine", presets) == ["randn", *shipped()["autograd"].breakpoints]
    assert expand("torch-init", presets) == ["PyInit__C"]
    assert "jit-run" in presets


def test_inlined_functions_come_last() -> None:
    presets = {
        "a": Preset("a", ("preset:b", "f"), inlined=("g",)),
        "b": Preset("b", ("h", "f"), inlined=("i",)),
    }
    assert expand("a", presets) == ["h", "f", "g", "i"]


def test_an_unknown_preset() -> None:
    with pytest.raises(SpecError) as caught:
        expand("jitrun", shipped())
    assert caught.value.message == "there is no preset named 'jitrun'"
    assert caught.value.hint.startswith("nearest: jit-run")
    with pytest.raises(SpecError) as caught:
        expand("qqq", shipped())
    assert caught.value.hint.startswith("presets: jit-run, jit-script")


def test_a_preset_that_contains_itself() -> None:
    presets = {"a": Preset("a", ("preset:b",)), "b": Preset("b", ("randn", "preset:a"))}
    with pytest.raises(SpecError, match="preset 'a' contains itself: a -> b -> a"):
        expand("a", presets)
