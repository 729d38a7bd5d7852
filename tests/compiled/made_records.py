"""Records as Inductor writes them, made here without PyTorch."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

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


def write(folder: Path, data: bytes, name: str = "record") -> None:
    path = folder / "fxgraph" / "ab" / "key" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def record(traces: Any = TRACES, **more: Any) -> bytes:
    members = {"cache_key": MODULE, "source_code": SOURCE}
    if traces is not None:
        members["inductor_provenance_stack_traces_str"] = json.dumps(traces)
    return pickle.dumps(CompiledFxGraph(**members, **more))


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
