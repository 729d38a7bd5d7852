"""From a Python callable to its native functions, and a stop in each when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from dualdbg.errors import SymbolError
from dualdbg.shared import python_versions
from dualdbg.symbols.callables.native_entries import find_entries
from dualdbg.symbols.callables.resolved import NativeEntry, Resolved
from dualdbg.symbols.elf.elf_file import ElfFile
from tests import rows, support
from tests.operators.counting import run


def resolve(names: list[str], folder: Path | None = None, setup: str | None = None) -> dict[str, Resolved]:
    answers = find_entries(sys.executable, names, setup=setup, search_path=[str(folder)] if folder else [])
    assert [answer.name for answer in answers] == names
    return {answer.name: answer for answer in answers}


def functions(answer: Resolved) -> list[tuple[str, Any]]:
    """The roles and names. Where a library has no names (Debian's interpreter is stripped), any is right."""
    assert answer.error is None
    return [(entry.role, ANY if is_nameless(entry) else entry.function) for entry in answer.entries]


def is_nameless(entry: NativeEntry) -> bool:
    stripped = not any(section.name == ".symtab" for section in ElfFile.open(entry.library).sections)
    return stripped and entry.function is None and f"+{entry.address:#x}" in entry.spec


@pytest.mark.smoke
def test_built_in_functions_methods_and_slots() -> None:
    answers = resolve(
        ["math.sin", "len", "str.join", "int.__add__", "property.fget", "int", "functools.partial"]
    )
    assert functions(answers["math.sin"]) == [("function", "math_sin")]
    [sin] = answers["math.sin"].entries
    assert is_nameless(sin) or sin.spec == "math_sin"
    assert functions(answers["len"]) == [("function", "builtin_len")]
    assert answers["str.join"].kind == "method of a built-in type"
    assert functions(answers["str.join"]) == [("function", "unicode_join")]
    assert functions(answers["int.__add__"]) == [("__add__", "long_add")]
    assert "field of a C structure" in str(answers["property.fget"].error)
    assert ("__new__ function", "long_new") in functions(answers["int"])
    assert ("__new__ function", "partial_new") in functions(answers["functools.partial"])


def test_functions_in_python_say_where() -> None:
    answers = resolve(["os.path.join", "json.decoder.JSONDecoder"])
    assert answers["os.path.join"].python is not None
    assert answers["os.path.join"].python.name == "posixpath.join"
    assert answers["os.path.join"].entries == ()
    place = answers["json.decoder.JSONDecoder"].python
    assert place is not None and place.name == "json.decoder.JSONDecoder.__init__"


def test_names_that_lead_nowhere() -> None:
    answers = resolve(["nosuch.module", "math.sinus", "math.pi", "sys.argv.append.x", "math.cos"])
    assert answers["nosuch.module"].error == "ImportError: there is no module named 'nosuch'"
    assert answers["math.sinus"].error == "AttributeError: math has no 'sinus'"
    assert answers["math.pi"].error == "TypeError: math.pi is a float, which cannot be called"
    assert answers["sys.argv.append.x"].error == "AttributeError: sys.argv.append has no 'x'"
    assert functions(answers["math.cos"]) == [("function", "math_cos")]


def test_a_module_that_fails_or_prints(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text("import sys; print('x' * 100000); sys.stderr.write('y'); f = len")
    (tmp_path / "broken.py").write_text("import no_such_thing")
    answers = resolve(["noisy.f", "broken.f"], tmp_path)
    assert functions(answers["noisy.f"]) == [("function", "builtin_len")]
    assert answers["broken.f"].error == "ModuleNotFoundError: No module named 'no_such_thing'"


def test_an_interpreter_that_fails() -> None:
    with pytest.raises(SymbolError, match="cannot run /no/such/python: No such file"):
        find_entries("/no/such/python", ["len"])
    with pytest.raises(SymbolError, match="died of signal 6"):
        find_entries(sys.executable, ["len"], setup="import os; os.abort()")
    with pytest.raises(SymbolError, match="ended with status 1: ZeroDivisionError"):
        find_entries(sys.executable, ["len"], setup="1/0")
    with pytest.raises(SymbolError, match=r"did not answer within 0\.5 s"):
        find_entries(sys.executable, ["len"], setup="import time; time.sleep(60)", seconds=0.5)


PYBIND11 = {
    "sample_pybind.outer": ("function", "sample::outer(double, int)"),
    "sample_pybind.Vec2.length": ("function", "sample::Vec2::length() const"),
}


def test_pybind11(native_samples: Path) -> None:
    answers = resolve(
        [*PYBIND11, "sample_pybind.Vec2.x", "sample_pybind.Vec2", "sample_capi.add"], native_samples
    )
    for name, first in PYBIND11.items():
        assert answers[name].kind == "pybind11 function"
        assert functions(answers[name])[0] == first
        assert [entry.role for entry in answers[name].entries] == ["function", "caster", "dispatcher"]
    outer = answers["sample_pybind.outer"].entries[0]
    assert outer.spec == "sample::outer"
    assert outer.signature is not None and "start" in outer.signature
    assert {"get caster", "set caster"} <= {entry.role for entry in answers["sample_pybind.Vec2.x"].entries}
    assert "__init__ caster" in {entry.role for entry in answers["sample_pybind.Vec2"].entries}
    assert functions(answers["sample_capi.add"]) == [("function", "capi_add(_object*, _object*)")]


@pytest.mark.slow
@pytest.mark.parametrize("version", rows.some(reversed(python_versions.NAMES), 3))
def test_other_interpreters(version: str) -> None:
    """The newest; to compile the samples takes a quarter of a minute for each."""
    python = support.other_interpreter(version)
    folder = support.build_native(python)
    names = ["math.sin", "str.join", "int", *PYBIND11, "sample_capi.add"]
    answers = find_entries(python, names, search_path=[str(folder)])
    first = {answer.name: functions(answer)[0] for answer in answers}
    assert first["math.sin"] == ("function", "math_sin")
    assert first["str.join"] == ("function", "unicode_join")
    assert first["int"] == ("__new__ function", "long_new")
    assert first["sample_capi.add"] == ("function", "capi_add(_object*, _object*)")
    assert {name: first[name] for name in PYBIND11} == PYBIND11


@pytest.mark.torch
def test_pytorch() -> None:
    answers = resolve(
        ["torch.randn", "torch.Tensor.add", "torch.ops.aten.mm", "torch.ops.aten.mm.out", "torch.Tensor.T"]
    )
    randn = answers["torch.randn"].entries[0]
    assert randn.spec == "torch::autograd::THPVariable_randn"
    add = answers["torch.Tensor.add"].entries[0]
    assert add.function is not None and add.function.startswith("torch::autograd::THPVariable_add(")
    assert add.spec == f"libtorch_python.so+{add.address:#x}"  # torch.add is of the same name
    assert answers["torch.ops.aten.mm"].operator == "aten::mm"
    assert (
        answers["torch.ops.aten.mm"].overloads[0].startswith("aten::mm(Tensor self, Tensor mat2) -> Tensor")
    )
    assert len(answers["torch.ops.aten.mm.out"].overloads) == 1
    assert answers["torch.Tensor.T"].entries[0].role == "get"


LOAD = "import torch; torch.ops.load_library({!r})"
CUSTOM = ["torch.ops.sample.scale", "torch.ops.sample.boxed_echo", "torch.ops.sample.read_unchecked"]


@pytest.mark.torch
def test_custom_operators(torch_extension: Path) -> None:
    answers = resolve(CUSTOM, setup=LOAD.format(str(torch_extension / "sample_operators.so")))
    for name in CUSTOM:
        kernel = answers[name].entries[0]
        assert kernel.role == "kernel"
        assert kernel.spec == name.removeprefix("torch.ops.").replace(".", "::")
        assert answers[name].operator == kernel.spec


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.exhaustive  # session/test_resolved_places.py has some of them in a session
def test_calls_come_by_what_is_named(native_samples: Path, torch_extension: Path, tmp_path: Path) -> None:
    library = str(torch_extension / "sample_operators.so")
    calls = {
        "math.sin": "math.sin(1.0)",
        "torch.randn": "torch.randn(2)",
        "torch.Tensor.add": "torch.zeros(2).add(1)",
        "torch.Tensor.T": "torch.zeros(2, 2).T",
        "torch.ops.sample.scale": "torch.ops.sample.scale(torch.ones(2), 2.0)",
        "sample_pybind.outer": "sample_pybind.outer(1.0, 3)",
        "sample_pybind.Vec2.length": "sample_pybind.Vec2(3, 4).length()",
        "sample_pybind.Vec2": "sample_pybind.Vec2(3, 4)",
        "sample_pybind.Vec2.x": "sample_pybind.Vec2(3, 4).x",
        "sample_capi.add": "sample_capi.add(1, 2)",
    }
    answers = resolve(list(calls), native_samples, LOAD.format(library))
    load = f"torch.ops.load_library({library!r})"
    hits = run(
        list(calls.values()),
        [{place(entry) for entry in answer.entries} for answer in answers.values()],
        tmp_path,
        ["math", "sample_pybind", "sample_capi", "preload_operators"],
        {"PYTHONPATH": _with_preload(tmp_path, load, native_samples)},
    )
    for answer, counts in zip(answers.values(), hits, strict=True):
        assert place(answer.entries[0]) in counts, answer


def _with_preload(folder: Path, load: str, samples: Path) -> str:
    """A folder with a module that loads the library of operators before the breakpoints are set."""
    (folder / "preload_operators.py").write_text(f"import torch\n{load}\n")
    return f"{folder}:{samples}"


def place(entry: NativeEntry) -> str:
    return f"{entry.library}+{entry.address:#x}"
