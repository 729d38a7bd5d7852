"""Reading what Inductor has written: from records of every kind, none of which is loaded."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from dualdbg.console.names import lines_text
from dualdbg.errors import SymbolError
from dualdbg.model import NativeFrame, ProgramLine, PythonFrame, Quality, Stack
from dualdbg.symbols.torch.compiled_code import CompiledCode, names_file, of_model, with_program_lines
from dualdbg.symbols.torch.compiled_report import KernelFiles, as_data, as_text, computes
from dualdbg.symbols.torch.compiled_search import kernels_of_package
from tests.cli.driver import dualdbg

from .made_records import GRAPH, KERNEL, MODULE, SOURCE, TRACES, CompiledFxGraph, package, record, write


class Evil:
    """Would run a command where it were loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


def test_the_kernels_of_a_record(folder: Path) -> None:
    code = CompiledCode(folder)
    added, multiplied = code.kernels()
    assert (added.name, added.arguments) == ("cpp_fused_add_0", ("float*", "const float*"))
    assert added.module == str(folder / "ab" / f"{MODULE}.py")
    assert [call.line for call in added.calls] == [13]
    assert added.lines == (
        ProgramLine("/home/model.py", 5, "scale", "return x"),
        ProgramLine("/home/model.py", 10, "step", "total = scale(x) + 1"),
        ProgramLine("/home/model.py", 11, "step", "total = total + 1"),
    )
    assert (multiplied.name, multiplied.source) == ("extern_kernels.mm", None)
    assert [call.line for call in multiplied.calls] == [16, 18]
    assert code.library_of(added) == folder / "zz" / f"{KERNEL}.main.so"
    assert code.library_of(multiplied) is None


def test_a_graph_that_is_one_library(tmp_path: Path) -> None:
    """Its frames are told apart by their functions, and lines of its own function by the calls there."""
    traces = {
        "cpp_fused_add_0:1": TRACES["cpp_fused_add_0:1"],
        "aoti_torch_cpu_mm_out:2": TRACES["extern_kernels.mm:2"],
        "cpp_fused_sum_1:3": ['  File "/home/model.py", line 30, in step\n    return total.sum()\n'],
    }
    members = {"cache_key": MODULE, "source_code": GRAPH}
    text = json.dumps(traces)
    write(tmp_path, pickle.dumps(CompiledFxGraph(**members, inductor_provenance_stack_traces_str=text)))
    source = tmp_path / "zz" / f"{KERNEL}.main.cpp"
    source.parent.mkdir()
    source.write_text(GRAPH.split("r'''")[1].split("'''")[0] + "\n// the entry of Python\n")
    library = str(source.with_suffix(".so"))
    Path(library).touch()
    code = CompiledCode(tmp_path)
    added, summed, multiplied = code.kernels()
    assert (added.function, added.arguments) == ("cpp_fused_add_0", ("const float*", "float*"))
    assert (summed.function, summed.arguments) == ("cpp_fused_sum_1", ())
    assert [one.calls[0].line for one in (added, summed, multiplied)] == [9, 14, 12]
    assert code.library_of(summed) == Path(library) and code.library_of(multiplied) is None
    rows = source.read_text().splitlines()
    call = rows.index("    cpp_fused_sum_1();") + 1
    frames = (
        NativeFrame(0, 0x1000, "cpp_fused_add_0(float const*, float*)", library),
        NativeFrame(1, 0x2000, "cpp_fused_sum_1 [parallel region]", library),
        NativeFrame(2, 0x3000, "inductor_entry_impl", library, str(source), call),
        NativeFrame(3, 0x3000, "inductor_entry_impl", library, "/usr/include/utils.h", call),
        NativeFrame(4, 0x4000, "inductor_entry_cpp", library, str(source), 1),
    )
    stack = with_program_lines(Stack(1, frames, Quality.FULL))
    assert [lines_text(one.computes) for one in stack.frames] == [
        "model.py:5, 10-11",
        "model.py:30",
        "model.py:30",
        "",
        "",
    ]


def test_each_call_has_its_own_lines(folder: Path) -> None:
    code = CompiledCode(folder)
    module = str(folder / "ab" / f"{MODULE}.py")
    assert lines_text(code.at_line(module, 16)) == "model.py:20"
    assert lines_text(code.at_line(module, 18)) == "layers.py:7"
    assert lines_text(code.at_line(module, 13)) == "model.py:5, 10-11"
    assert code.at_line(module, 12) == ()


def test_frames_of_generated_code_say_what_they_compute(folder: Path) -> None:
    library = str(folder / "zz" / f"{KERNEL}.main.so")
    frames = (
        NativeFrame(0, 0x1000, "kernel", library),
        PythonFrame("Runner.call", str(folder / "ab" / f"{MODULE}.py"), 18),
        PythonFrame("step", "/home/model.py", 9),
        NativeFrame(1, 0x2000, "main", "/usr/bin/python3"),
    )
    stack = Stack(1, frames, Quality.FULL)
    told = [lines_text(frame.computes) for frame in with_program_lines(stack).frames]
    assert told == ["model.py:5, 10-11", "layers.py:7", "", ""]
    plain = Stack(1, frames[2:], Quality.FULL)
    assert with_program_lines(plain) is plain


def test_the_library_of_a_model_says_what_each_of_its_kernels_computes(tmp_path: Path) -> None:
    library = tmp_path / f"{MODULE}.wrapper.so"
    rows = {handle: {"stack_traces": traces, "post_grad_nodes": []} for handle, traces in TRACES.items()}
    (tmp_path / "kernel_information.json").write_text(json.dumps(rows))
    names = ["cpp_fused_add_0", "cpp_fused_add_0 [parallel region]", "run_impl", None]
    frames = tuple(NativeFrame(at, 0x1000, name, str(library)) for at, name in enumerate(names))
    told = [lines_text(one.computes) for one in with_program_lines(Stack(1, frames, Quality.FULL)).frames]
    assert told == ["model.py:5, 10-11"] * 2 + ["", ""]


@pytest.mark.parametrize("text", ["", "[]", "5", '{"a:1": 5}', '{"a:1": {"stack_traces": 7}}', '{"a:1": {}}'])
def test_a_model_with_another_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernel_information.json").write_text(text)
    assert not any(of_model(str(tmp_path / f"{MODULE}.wrapper.so")).values())


def test_a_record_of_another_graph_with_the_same_kernel(folder: Path) -> None:
    """Its library is made once."""
    again = {"cpp_fused_add_0:1": ['  File "/home/other.py", line 3, in f\n    x + 1\n']}
    write(folder, record(again), "another")
    kernels = CompiledCode(folder).of_library(str(folder / "zz" / f"{KERNEL}.main.so"))
    assert sorted(lines_text(one.lines or ()) for one in kernels) == ["model.py:5, 10-11", "other.py:3"]


def test_a_record_that_comes_later_is_read(folder: Path) -> None:
    code = CompiledCode(folder)
    assert len(code.kernels()) == 2
    write(folder, record({}), "later")
    assert len(code.kernels()) == 4


@pytest.mark.parametrize("traces", [None, {}, [], {"cpp_fused_add_0:1": 5}, {"cpp_fused_add_0:1": [7]}])
def test_what_was_not_recorded_is_not_known(tmp_path: Path, traces: Any) -> None:
    write(tmp_path, record(traces))
    added = CompiledCode(tmp_path).kernels()[0]
    assert added.name == "cpp_fused_add_0"
    assert not added.lines


def test_no_record_is_loaded(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    write(tmp_path, record(constants=Evil(f"touch {mark}")))
    write(tmp_path, pickle.dumps(Evil(f"touch {mark}")), "evil")
    assert len(CompiledCode(tmp_path).kernels()) == 2
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no pickle at all",
        record()[:200],
        pickle.dumps(CompiledFxGraph(cache_key="../x", source_code=SOURCE)),
    ],
    ids=["empty", "text", "cut off", "a name that is none"],
)
def test_what_is_no_record_has_no_kernels(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, data)
    assert CompiledCode(tmp_path).kernels() == []


def test_source_that_is_no_python(tmp_path: Path) -> None:
    data = pickle.dumps(CompiledFxGraph(cache_key=MODULE, source_code="def (:"))
    write(tmp_path, data)
    assert CompiledCode(tmp_path).kernels() == []


@pytest.mark.parametrize(
    ("named", "file", "same"),
    [
        ("model.py", "/home/model.py", True),
        ("home/model.py", "/home/model.py", True),
        ("/home/model.py", "/home/model.py", True),
        ("odel.py", "/home/model.py", False),
        ("/model.py", "/home/model.py", False),
    ],
)
def test_names_of_files(named: str, file: str, same: bool) -> None:
    assert names_file(named, file) is same


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ("step", 2),
        ("Model.forward", 1),
        ("scale", 1),
        ("model.py:20", 1),
        ("model.py:21", 0),
        ("layers.py", 1),
    ],
)
def test_what_is_asked_for(folder: Path, wanted: str, count: int) -> None:
    assert sum(computes(one, wanted) for one in CompiledCode(folder).kernels()) == count


def test_the_report(folder: Path) -> None:
    added, multiplied = CompiledCode(folder).kernels()
    text = as_text([KernelFiles(added, "/c/k.main.cpp", "/c/k.main.so"), KernelFiles(multiplied)])
    assert text.splitlines()[1:] == [
        "  cpp_fused_add_0(float*, const float*)  called in line 13",
        "      model.py:5 scale  return x",
        "      model.py:10 step  total = scale(x) + 1",
        "      model.py:11 step  total = total + 1",
        "    source   /c/k.main.cpp",
        "    library  /c/k.main.so",
        "  extern_kernels.mm  called in line 16, 18",
        "      layers.py:7 forward  return a @ b",
        "      model.py:20 step     return a @ b",
        "    a function of PyTorch's own",
    ]
    data = as_data(KernelFiles(multiplied))
    assert (data["calls"], data["library"], len(data["lines"])) == ([16, 18], None, 2)


@pytest.mark.smoke
@pytest.mark.processes
def test_the_command(folder: Path) -> None:
    done = dualdbg("ops", "--compiled", "model.py:20", "--cache", folder)
    assert "extern_kernels.mm  called in line 16, 18" in done.stdout and "cpp_fused" not in done.stdout
    dualdbg("ops", "--compiled", "nothing", "--cache", folder).complains(
        "computes nothing", "forward, scale, step"
    )
    dualdbg("ops", "--compiled", "step", "--cache", folder / "ab").complains("no record", "--compiled-debug")
    dualdbg("ops", "add", "--compiled", "step").complains("goes with no operator")
    dualdbg("ops", "add", "--cache", folder).complains("--cache goes with --compiled")


def test_a_pipe_among_the_records_is_no_record(tmp_path: Path) -> None:
    """The folder may be one in which others write."""
    record = tmp_path / "fxgraph" / "a" / "b" / "c"
    record.parent.mkdir(parents=True)
    os.mkfifo(record)
    assert CompiledCode(tmp_path).kernels() == []


def test_a_pipe_instead_of_a_source_is_no_source(folder: Path) -> None:
    (kernel,) = [one for one in CompiledCode(folder).kernels() if one.source is not None]
    source = folder / "qq" / "other.main.cpp"
    source.parent.mkdir()
    os.mkfifo(source)
    os.mkfifo(folder / "kernel_information.json")
    code = CompiledCode(folder)
    assert code.of_library(str(source.with_suffix(".so"))) == []
    code.library_of(kernel)
    assert of_model(str(folder / "model.so")) == {}


@pytest.mark.parametrize(
    "text", ["[" * 200_000, json.dumps({"k:1": [f'File "a", line {"9" * 5000}, in f']})], ids=["deep", "long"]
)
def test_a_package_with_odd_json_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernel_information.json").write_text(
        text.replace('{"k:1": [', '{"k:1": {"stack_traces": [').replace("]}", "]}}")
    )
    assert not any(of_model(str(tmp_path / "model.so")).values())


TRITON = """\
import triton
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK):
    pass
"""


@pytest.mark.processes
def test_a_kernel_for_triton_is_named_with_what_triton_has_made_of_it(tmp_path: Path) -> None:
    """Laid out as Triton 3.6 does; another graph's kernel of the same name is another one's."""
    kernel = "triton_poi_fused_add_0"
    module = (
        f"{kernel} = async_compile.triton('{kernel}', '''{TRITON}''', device_str='cuda')\n"
        f"def call():\n    # [Provenance debug handles] {kernel}:1\n    {kernel}.run(buf0, buf0, 8)\n"
    )
    traces = json.dumps({f"{kernel}:1": TRACES["extern_kernels.mm:2"]})
    members = {"cache_key": MODULE, "source_code": module}
    write(tmp_path, pickle.dumps(CompiledFxGraph(**members, inductor_provenance_stack_traces_str=traces)))
    source = tmp_path / "zz" / f"{KERNEL}.py"
    source.parent.mkdir()
    source.write_text(TRITON)
    for key, file in (("OURS", source), ("OTHERS", tmp_path / "aa" / f"{MODULE}.py")):
        folder = tmp_path / "triton" / "0" / key
        folder.mkdir(parents=True)
        (folder / f"{kernel}.source").write_text(f'#loc = loc("{file}":2:0)\nmodule {{}}\n')
        (folder / f"{kernel}.cubin").write_bytes(b"\x7fELF")
    done = dualdbg("ops", "--compiled", "model.py:20", "--cache", tmp_path)
    ours = tmp_path / "triton" / "0" / "OURS" / kernel
    assert done.stdout.splitlines()[1:] == [
        f"  {kernel}  called in line 8",
        "      model.py:20 step  return a @ b",
        f"    source   {source}",
        f"    compiled {ours}.cubin",
        f"    compiled {ours}.source",
    ]


def test_the_kernels_of_a_package(tmp_path: Path) -> None:
    inside = f"{package(tmp_path / 'model.pt2')}/model/data/aotinductor/model"
    added, multiplied = kernels_of_package(tmp_path / "model.pt2")
    assert (added.kernel.name, added.kernel.arguments) == ("cpp_fused_add_0", ("const float*", "float*"))
    assert lines_text(added.kernel.lines or ()) == "model.py:5, 10-11"
    assert [call.line for call in added.kernel.calls] == [3]
    assert added.kernel.module == f"{inside}/{MODULE}.wrapper.cpp"
    assert (added.source, added.library) == (f"{inside}/{KERNEL}.kernel.cpp", f"{inside}/{MODULE}.wrapper.so")
    assert (multiplied.kernel.source, multiplied.library) == (None, None)
    assert lines_text(multiplied.kernel.lines or ()) == "model.py:20"


@pytest.mark.processes
def test_the_command_reads_packages(tmp_path: Path) -> None:
    done = dualdbg("ops", "--compiled", "scale", "--cache", package(tmp_path / "model.pt2"))
    assert "cpp_fused_add_0(const float*, float*)  called in line 3" in done.stdout
    bare = package(tmp_path / "bare.pt2", "kernel_information.json")
    dualdbg("ops", "--compiled", "scale", "--cache", bare).complains("no record of what they compute")
    other = package(tmp_path / "other.pt2", f"{MODULE}.wrapper.so")
    dualdbg("ops", "--compiled", "scale", "--cache", other).complains("has no record of compiled code")


@pytest.mark.parametrize("cut", [0, 10, 700])
def test_what_is_no_package_is_said(tmp_path: Path, cut: int) -> None:
    path = package(tmp_path / "model.pt2")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SymbolError, match="no package of AOTInductor"):
        kernels_of_package(path)
    with pytest.raises(SymbolError, match="No such file"):
        kernels_of_package(tmp_path / "none.pt2")
