"""The table that decides what gdb reads of each library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.errors import UsageError
from dualdbg.session.inspect.symbol_policy import SymbolPolicy
from dualdbg.symbols.address_space import Module
from dualdbg.symbols.gdb_feed.policy import Decision, Facts, Load, Policy, facts_of, human_size
from dualdbg.symbols.objfile import Objfile
from dualdbg.symbols.source_lines import SourceLines
from tests.symbols.conftest import run, torch_library


def facts(path: str, *, debug_info: bool = False) -> Facts:
    return Facts(path, debug_info)


def decided(path: Path) -> Decision:
    return Policy().decide(Objfile.open(path), str(path))


@pytest.mark.parametrize(
    ("path", "debug_info", "expected"),
    [
        ("/home/me/project/build/mine.cpython-311-x86_64-linux-gnu.so", True, Load.WHOLE),
        ("/home/me/project/build/mine.cpython-311-x86_64-linux-gnu.so", False, Load.UNWIND),
        ("/home/me/pytorch/torch/lib/libtorch_cpu.so", True, Load.WHOLE),
        ("/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", False, Load.UNWIND),
        ("/usr/lib/python3/dist-packages/mine.so", True, Load.WHOLE),
        ("/opt/python/lib/libpython3.11.so.1.0", True, Load.UNWIND),
        ("/opt/python/lib/libpython3.13t.so.1.0", True, Load.UNWIND),
        ("/opt/python/bin/python3.12", True, Load.UNWIND),
        ("/opt/python/bin/python3.13t", True, Load.UNWIND),
        ("/opt/python/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so", True, Load.UNWIND),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", True, Load.UNWIND),
        ("/lib64/libstdc++.so.6", False, Load.UNWIND),
        ("/home/me/bin/pythonic", True, Load.WHOLE),
    ],
)
def test_the_default(path: str, debug_info: bool, expected: Load) -> None:
    decision = Policy().decide_by(facts(path, debug_info=debug_info))
    assert decision.load is expected and decision.reason


@pytest.mark.parametrize(
    ("texts", "path", "expected"),
    [
        (["full"], "/lib/libc.so.6", Load.WHOLE),
        (["lazy"], "/home/me/mine.so", Load.UNWIND),
        (["libtorch_*=whole"], "/venv/lib/libtorch_cpu.so", Load.WHOLE),
        (["libtorch_*=whole"], "/venv/lib/libc10.so", Load.UNWIND),
        (["/venv/*=skip"], "/venv/lib/libc10.so", Load.SKIP),
        (["full", "libtorch_cpu.so=unwind"], "/venv/lib/libtorch_cpu.so", Load.UNWIND),
        (["libtorch_cpu.so=unwind", "full"], "/venv/lib/libtorch_cpu.so", Load.WHOLE),
        (["lazy,mine.so=full"], "/home/me/mine.so", Load.WHOLE),
        ([" ", ""], "/home/me/mine.so", Load.WHOLE),
    ],
)
def test_overrides_the_last_that_fits_decides(texts: list[str], path: str, expected: Load) -> None:
    decision = Policy.parse(texts).decide_by(facts(path, debug_info="mine" in path))
    assert decision.load is expected


@pytest.mark.parametrize("text", ["everything", "lib=", "=whole", "libc.so=half", "full=", "whole"])
def test_an_override_that_is_none_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Policy.parse([text])
    assert text in caught.value.message and "PATTERN=whole" in caught.value.hint


def test_the_facts_of_real_libraries(build: Callable[..., Path]) -> None:
    own = decided(build("shapes.cpp", "-g"))
    assert own.load is Load.WHOLE and "debug info" in own.reason
    assert decided(build("shapes.cpp")).load is Load.UNWIND
    assert decided(Path(sys.executable).resolve()).load is Load.UNWIND


@pytest.mark.parametrize("path", ["/usr/lib/libshapes.so", "/opt/conda/bin/python3.11"])
@pytest.mark.parametrize("mark", ["", " (deleted)"])
def test_a_library_is_known_by_the_path_that_the_process_has(
    build: Callable[..., Path], path: str, mark: str
) -> None:
    """It is read at /proc/PID/root in a container, and at /proc/PID/map_files after it was replaced."""
    library = Objfile.open(f"/proc/self/root{build('shapes.cpp', '-g')}")
    module = Module(path + mark, 0, 1, 0, library)
    assert SymbolPolicy().decide(module).load is Load.UNWIND
    assert not SourceLines.are_read(library, module.path)
    assert SymbolPolicy().decide(Module("/home/me/mine.so" + mark, 0, 1, 0, library)).load is Load.WHOLE


@pytest.mark.usefixtures("binutils")
def test_a_split_debug_file_counts_as_debug_info(build: Callable[..., Path], tmp_path: Path) -> None:
    library, debug = tmp_path / "own.so", tmp_path / "own.so.debug"
    run("objcopy", "--only-keep-debug", build("shapes.cpp", "-g"), debug)
    run("strip", "-o", library, build("shapes.cpp", "-g"))
    assert not facts_of(Objfile.open(library), str(library)).has_debug_info
    run("objcopy", f"--add-gnu-debuglink={debug}", library)
    assert facts_of(Objfile.open(library), str(library)).has_debug_info


@pytest.mark.torch
def test_the_wheels_of_torch_are_only_unwound() -> None:
    for name in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so"):
        assert decided(torch_library(name)).load is Load.UNWIND


def test_sizes_for_people() -> None:
    assert [human_size(n) for n in (0, 999, 1000, 434_184_800)] == ["0 B", "999 B", "1.0 kB", "434.2 MB"]
