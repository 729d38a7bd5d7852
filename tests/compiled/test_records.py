"""Reading what Inductor has written: from records of every kind, none of which is loaded."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dualdbg.console.names import lines_text
from dualdbg.errors import SymbolError
from dualdbg.model import NativeFrame, ProgramLine, PythonFrame, Quality, Stack
from dualdbg.symbols.torch.compiled_code import CompiledCode, names_file, of_model, with_program_lines
from dualdbg.symbols.torch.compiled_package import kernels_of_package
from dualdbg.symbols.torch.compiled_report import KernelFiles, as_data, as_text, computes
from dualdbg.symbols.torch.compiled_search import find_kernels
from tests.cli.driver import dualdbg

MODULE = "c" + "ab" + "2" * 49
KERNEL = "c" + "zz" + "3" * 49
SOURCE = """\
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

cpp_fused_add_0 = async_compile.cpp_pybinding(['float*', 'const float*'], r\'\'\'
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void kernel(float* out_ptr0, const float* in_ptr0) { out_ptr0[0] = in_ptr0[0] + 1; }
\'\'\')

class Runner:
    def call(self, args):
        buf0 = args
        # [Provenance debug handles] cpp_fused_add_0:1
        cpp_fused_add_0(buf0, buf0)
        # [Provenance debug handles] extern_kernels.mm:2
        # another comment
        extern_kernels.mm(buf0, buf0, out=buf0)
        # [Provenance debug handles] extern_kernels.mm:3
        extern_kernels.mm(buf0, buf0, out=buf0)
"""
TRACES = {
    "cpp_fused_add_0:1": [
        '  File "/home/model.py", line 10, in step\n    total = scale(x) + 1\n            ^^^^^\n'
        '  File "/home/model.py", line 5, in scale\n    return x\n',
        '  File "/home/model.py", line 11, in step\n    total = total + 1\n',
    ],
    "extern_kernels.mm:2": ['  File "/home/model.py", line 20, in step\n    return a @ b\n'],
    "extern_kernels.mm:3": ['  File "/home/layers.py", line 7, in forward\n    return a @ b\n'],
}


class CompiledFxGraph:
    """Pickled as PyTorch's class of the same name is: a dict of its members, in their order."""

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(current_callable=None, **members)


class Evil:
    """Would run a command where it were loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


def write(folder: Path, data: bytes, name: str = "record") -> None:
    path = folder / "fxgraph" / "ab" / "key" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def record(traces: Any = TRACES, **more: Any) -> bytes:
    members = {"cache_key": MODULE, "source_code": SOURCE}
    if traces is not None:
        members["inductor_provenance_stack_traces_str"] = json.dumps(traces)
    return pickle.dumps(CompiledFxGraph(**members, **more))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the record above, and the source and the library of its kernel."""
    write(tmp_path, record())
    (tmp_path / "zz").mkdir()
    code = SOURCE.split("r'''")[1].split("'''")[0]
    (tmp_path / "zz" / f"{KERNEL}.main.cpp").write_text(code + "\nstatic PyObject* kernel_py();\n")
    (tmp_path / "zz" / f"{KERNEL}.main.so").touch()
    return tmp_path


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


GRAPH = """\
cpp_wrapper_src = (
r'''
#include <torch/csrc/inductor/cpp_wrapper/cpu.h>
extern "C"  void  cpp_fused_add_0(const float* in_ptr0,
                       float* out_ptr0);
extern "C"  void  cpp_fused_sum_1();
void inductor_entry_impl(AtenTensorHandle* input_handles, AtenTensorHandle* output_handles) {
    // [Provenance debug handles] cpp_fused_add_0:1
    cpp_fused_add_0((const float*)(a.data_ptr()), (float*)(b.data_ptr()));
    // [Provenance debug handles] aoti_torch_cpu_mm_out:2
    // another comment
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out(b, a, a));
    // [Provenance debug handles] cpp_fused_sum_1:3
    cpp_fused_sum_1();
}
extern "C"  void  cpp_fused_add_0(const float* in_ptr0,
                       float* out_ptr0)
{
}
extern "C"  void  cpp_fused_sum_1()
{
}
'''
)
inductor_entry = CppWrapperCodeCache.load_pybinding(main_code=cpp_wrapper_src)
"""


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


WRAPPER = """\
void AOTInductorModel::run_impl() {
    // [Provenance debug handles] cpp_fused_add_0:1
    cpp_fused_add_0(a, b);
    // [Provenance debug handles] aoti_torch_cpu_mm_out:2
    aoti_torch_cpu_mm_out(b, a, a);
}
"""
DEFINITION = 'extern "C"  void  cpp_fused_add_0(const float* in_ptr0,\n    float* out_ptr0)\n{\n}\n'


def package(path: Path, *leave_out: str) -> Path:
    """A package of AOTInductor, as it is laid out in its archive."""
    folder = "model/data/aotinductor/model"
    traces = {
        "cpp_fused_add_0:1": TRACES["cpp_fused_add_0:1"],
        "aoti_torch_cpu_mm_out:2": TRACES["extern_kernels.mm:2"],
    }
    rows = {handle: {"stack_traces": lines, "post_grad_nodes": []} for handle, lines in traces.items()}
    files = {
        f"{MODULE}.wrapper.cpp": WRAPPER,
        f"{KERNEL}.kernel.cpp": DEFINITION,
        f"{MODULE}.wrapper.so": "a library",
        "kernel_information.json": json.dumps(rows),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            if name not in leave_out:
                archive.writestr(f"{folder}/{name}", text)
    return path


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


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A folder with one graph that is one library."""
    traces = {
        "cpp_fused_add_0:1": TRACES["cpp_fused_add_0:1"],
        "cpp_fused_sum_1:3": ['  File "/home/model.py", line 30, in step\n    return total.sum()\n'],
    }
    members = {"cache_key": MODULE, "source_code": GRAPH}
    text = json.dumps(traces)
    write(tmp_path, pickle.dumps(CompiledFxGraph(**members, inductor_provenance_stack_traces_str=text)))
    source = tmp_path / "zz" / f"{KERNEL}.main.cpp"
    source.parent.mkdir()
    source.write_text(GRAPH.split("r'''")[1].split("'''")[0] + "\n// the entry of Python\n")
    source.with_suffix(".so").touch()
    return tmp_path


def _back(wanted: str, where: Path | None) -> list[tuple[str, str]]:
    found = find_kernels(wanted, where)
    return [(one.kernel.name, lines_text(one.kernel.lines or ())) for one in found]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("cpp_fused_add_0", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        ("cpp_fused_add_0(float*, const float*)", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{KERNEL}.main.cpp", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{KERNEL}.main.so", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{KERNEL}.main.cpp:3", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{MODULE}.py:13", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{MODULE}.py:16", [("extern_kernels.mm", "model.py:20")]),  # and not what the other call computes
        (f"{MODULE}.py:18", [("extern_kernels.mm", "layers.py:7")]),
    ],
)
def test_the_way_back(folder: Path, wanted: str, found: list[tuple[str, str]]) -> None:
    assert _back(wanted, folder) == found
    paths = [*folder.glob(f"*/{wanted.partition(':')[0]}")]
    for path in paths:  # a file is its own place
        assert _back(f"{path}{wanted.partition(path.name)[2]}", None) == found


def test_the_way_back_in_a_graph_that_is_one_library(graph: Path) -> None:
    source = f"{KERNEL}.main.cpp"
    rows = (graph / "zz" / source).read_text().splitlines()
    first = rows.index("    cpp_fused_add_0((const float*)(a.data_ptr()), (float*)(b.data_ptr()));") + 1
    defined = [at for at, row in enumerate(rows, 1) if row.startswith('extern "C"  void  cpp_fused_add_0(')][
        1
    ]
    added, summed = ("cpp_fused_add_0", "model.py:5, 10-11"), ("cpp_fused_sum_1", "model.py:30")
    assert _back(source, graph) == [added, summed]
    assert _back(f"{source}:{first}", graph) == [added]
    assert [_back(f"{source}:{defined + more}", graph) for more in range(4)] == [[added]] * 4
    assert _back(f"{source}:{defined + 4}", graph) == [summed]
    for line in (1, first - 1, len(rows), 10**6):
        with pytest.raises(SymbolError, match="is in no kernel") as raised:
            find_kernels(f"{source}:{line}", graph)
        assert f"dualdbg ops --compiled {source}" in raised.value.hint


def test_the_way_back_in_a_package(tmp_path: Path) -> None:
    where = package(tmp_path / "model.pt2")
    assert _back(f"{KERNEL}.kernel.cpp:2", where) == [("cpp_fused_add_0", "model.py:5, 10-11")]
    assert _back(f"/tmp/unpacked/{MODULE}.wrapper.cpp:5", where) == [("aoti_torch_cpu_mm_out", "model.py:20")]
    assert _back("cpp_fused_add_0", where) == [("cpp_fused_add_0", "model.py:5, 10-11")]


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        ("kernel", "is what the function of every library is called", "cpp_fused_add_0"),
        (f"{MODULE}.py:17", "no kernel is called in line 17", "13, 16, 18"),
        (f"{KERNEL}.main.cpp:99", "line 99 of", f"ops --compiled {KERNEL}.main.cpp"),
        (f"{'c' + '4' * 51}.py", "has no record of c4", "--cache PATH"),
        ("cpp_fused_mul_7", "and none is called so", "extern_kernels.mm"),
    ],
)
def test_what_leads_nowhere_back(folder: Path, wanted: str, message: str, hint: str) -> None:
    with pytest.raises(SymbolError, match=message) as raised:
        find_kernels(wanted, folder)
    assert hint in raised.value.hint


@pytest.mark.processes
def test_resolve_knows_lines(folder: Path) -> None:
    source = next(folder.glob("zz/*.cpp"))
    done = dualdbg("resolve", f"{source}:3", "math.sin")
    assert done.status == 0
    assert "  cpp_fused_add_0(float*, const float*)  called in line 13" in done.stdout
    assert "      model.py:10 step  total = scale(x) + 1" in done.stdout
    assert "math.sin  (built-in function)" in done.stdout
    done = dualdbg("resolve", "model.py:20", "model.py:21", "--cache", folder, "--json")
    assert done.status == 3
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["name"], row.get("kernel")) for row in rows] == [
        ("model.py:20", "extern_kernels.mm"),
        ("model.py:21", None),
    ]
    assert "no kernel in" in rows[1]["error"]
    dualdbg("resolve", "math.sin", "--cache", folder).complains("--cache goes with FILE:LINE")
