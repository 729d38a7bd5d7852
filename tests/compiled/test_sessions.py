"""Debugging what torch.compile has generated: from the user's line to the kernel that computes it, and back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dualdbg.known.generated_code import COMPILED_DEBUG
from dualdbg.model import ProgramLine
from dualdbg.symbols.torch.compiled_code import CompiledCode
from dualdbg.system.patience import patient
from tests import rows
from tests.cli.driver import Done, dualdbg
from tests.compiled.conftest import SAMPLE
from tests.dap.client import Client
from tests.support import require

pytestmark = [pytest.mark.slow, pytest.mark.torch]

SCALED = f"{SAMPLE.name}:9@kernel"  # torch.relu(x) * factor
ADDED = f"{SAMPLE.name}:14@kernel"  # total = scale(x, 3.0) + 1
MULTIPLIED = f"{SAMPLE.name}:15@kernel"  # torch.mm
SUMMED = f"{SAMPLE.name}:16@kernel"  # mixed.tanh().sum(dim=1), and its gradient


def run(folder: Path, *words: str) -> Done:
    environment = ["--env", f"TORCHINDUCTOR_CACHE_DIR={folder}"]
    return dualdbg("run", "--batch", "--json", *environment, *words, SAMPLE, cwd=SAMPLE.parent)


def why_unbound(done: Done, place: str) -> str:
    told = f"({place}) never bound"
    (hint,) = [one["hint"] for one in done.of("notice") if told in one["message"]]
    return str(hint)


def numbers(lines: Sequence[ProgramLine] | None) -> tuple[int, ...]:
    return tuple(line.line for line in lines or ())


def lines_of(frame: dict) -> list[int]:  # type: ignore[type-arg]
    return [row["line"] for row in frame["computes"]]


# Where the records are there the lines are known earlier: the tests of steps and of an editor begin with that.
@pytest.mark.parametrize("records", rows.some(["without_records", "compiled"], 1))
def test_a_line_stops_in_the_kernels_that_compute_it(records: str, request: pytest.FixtureRequest) -> None:
    """Forward and backward, whether it is known when the kernel is loaded what it computes, or only when it runs."""
    folder = request.getfixturevalue(records)
    in_python = f"{SAMPLE.name}:9"  # in the compiled function, where Python never stops
    places = [word for place in (SCALED, MULTIPLIED, SUMMED, in_python) for word in ("-b", place)]
    at_stops = ["continue", "bt", "args", "continue", "bt", "finish", "delete 1", "delete 3", "continue"]
    commands = [word for command in at_stops for word in ("-x", command)]
    done = run(folder, "--compiled-debug", *places, *commands)
    assert done.status == 0, done
    (told,) = [one for one in done.of("notice") if "torch.compile has made kernels of" in one["message"]]
    assert told["message"].startswith(f"breakpoint 4: torch.compile has made kernels of {SAMPLE.name}:9")
    assert told["hint"] == f"a breakpoint {SAMPLE.name}:9@kernel stops in them"
    scaled, first, second, back = done.of("stopped")
    assert lines_of(scaled["frame"]) == [9, 14]
    for stop in (first, second):
        assert (stop["origin"], stop["frame"]["function"], lines_of(stop["frame"])) == (
            "native",
            "kernel",
            [16],
        )
    forward, backward = done.of("stack")
    functions = [row["function"] for row in forward["frames"]]
    assert functions[:3] == ["kernel", "kernel_py", "Runner.call"]
    assert "step" in functions
    assert [row["glue"] for row in forward["frames"][:3]] == [False, True, False]
    assert [lines_of(row) for row in forward["frames"][:3]] == [[16]] * 3
    assert any(row["function"].startswith("torch::autograd::") for row in backward["frames"])
    pointers = [(row["name"], row["type"]) for row in done.of("variables")[0]["variables"]]
    assert pointers == [("in_ptr0", "const float *"), ("out_ptr0", "float *")]
    assert back["frame"]["function"] == "Runner.call"
    assert done.of("exited")[0]["code"] == 0
    assert why_unbound(done, MULTIPLIED).startswith(
        "computed by extern_kernels.mm: a function of PyTorch's own"
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("records", ["graphs", "graphs_without_records"])
def test_a_graph_that_is_one_library(records: str, request: pytest.FixtureRequest) -> None:
    """Each of its kernels is known by the name of its function."""
    folder = request.getfixturevalue(records)
    places = [word for place in (SCALED, MULTIPLIED, SUMMED) for word in ("-b", place)]
    at_stops = ["bt", "args", "continue", "bt", "continue", "delete 1", "delete 3", "continue"]
    commands = [word for command in at_stops for word in ("-x", command)]
    setting = ["--env", "TORCHINDUCTOR_CPP_WRAPPER=1"]
    done = run(folder, "--compiled-debug", *setting, *places, *commands)
    assert done.status == 0, done
    stops = [(stop["frame"]["function"][:16], lines_of(stop["frame"])) for stop in done.of("stopped")]
    assert stops == [("cpp_fused_add_mu", [9, 14]), ("cpp_fused_sum_ta", [16]), ("cpp_fused_expand", [16])]
    scaled, summed = done.of("stack")
    glue = {row["function"]: row["glue"] for row in scaled["frames"]}
    assert (glue["inductor_entry_impl"], glue["inductor_entry_cpp_py"]) == (False, True)
    assert "step" in {row["function"] for row in summed["frames"]}
    pointers = [(row["name"], row["type"]) for row in done.of("variables")[0]["variables"]]
    assert pointers == [("in_ptr0", "const float *"), ("out_ptr0", "float *")]
    assert done.of("exited")[0]["code"] == 0
    assert "aoti_torch_cpu_mm_out: a function of PyTorch's own" in why_unbound(done, MULTIPLIED)


@pytest.mark.exhaustive
def test_the_kernels_of_a_graph_that_is_one_library(graphs: Path) -> None:
    done = dualdbg("ops", "--compiled", "scale", "--cache", graphs, "--json")
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["function"], one["line"]) for one in row["lines"]] == [("scale", 9), ("step", 14)]
    assert row["arguments"] == ["const float*", "float*"]
    assert row["kernel"] in Path(row["source"]).read_text() and Path(row["library"]).is_file()


@pytest.mark.exhaustive
def test_without_a_record_it_is_said_how_to_get_one(without_records: Path) -> None:
    words = ["--compiled-debug", "--env", "INDUCTOR_PROVENANCE=0", "-b", ADDED, "-x", "bt"]
    done = run(without_records, *words)
    assert done.of("stopped") == []
    assert (
        why_unbound(done, ADDED)
        == "which lines a kernel computes is not recorded: run with --compiled-debug, with Inductor's caches on"
    )


def test_steps_from_python_into_the_kernel_and_back(compiled: Path) -> None:
    """On the way the thread is stopped where TorchDynamo compiles what it meets: the debugger's code is not met."""
    code = CompiledCode(compiled)
    (kernel,) = [one for one in code.kernels() if numbers(one.lines) == (9, 14)]
    library = code.library_of(kernel)
    assert library is not None
    source = str(library.with_suffix(".cpp"))
    commands = ["step", "step", f"tbreak {kernel.module}:{kernel.calls[0].line}", "continue", "step", "bt"]
    questions = ["info compiled scale", f"info compiled {source}"]
    words = [word for command in [*commands, *questions, "finish", "finish"] for word in ("-x", command)]
    call = f"{SAMPLE.name}:23 hits 2"  # result = step(x, weights): the second time, nothing is compiled
    done = run(compiled, "--compiled-debug", "-b", call, *words)
    assert done.status == 0, done
    assert "Debugging will be disabled" not in done.stdout + done.stderr
    places = [(stop["origin"], stop["frame"]["function"]) for stop in done.of("stopped")]
    into = [
        ("python", "main"),
        ("python", "step"),
        ("python", "call"),
        ("python", "call"),
        ("native", "kernel"),
    ]
    assert places == [*into, ("native", "Runner.call"), ("python", "step")]
    computed = [lines_of(stop["frame"]) for stop in done.of("stopped")]
    assert computed[3:5] == [[9, 14], [9, 14]]  # the line of the module, and the kernel that it calls
    told = [row["text"] for row in done.of("output") if row["stream"] == "console"]
    assert told == [dualdbg("resolve", source).stdout.partition("\n")[2]] * 2


def test_the_way_from_a_function_to_its_kernels(compiled: Path) -> None:
    done = dualdbg("ops", "--compiled", "scale", "--cache", compiled, "--json")
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["function"], one["line"]) for one in row["lines"]] == [("scale", 9), ("step", 14)]
    assert Path(row["source"]).is_file() and Path(row["library"]).is_file()
    module = Path(row["module"]).read_text().splitlines()
    assert [row["kernel"] in module[number - 1] for number in row["calls"]] == [True]
    (source,) = {row["source"] for row in map(json.loads, done.stdout.splitlines())}
    back = dualdbg("resolve", f"{source}:6", "--json")
    assert [(one["function"], one["line"]) for one in json.loads(back.stdout)["lines"]] == [
        ("scale", 9),
        ("step", 14),
    ]
    missing = dualdbg("ops", "--compiled", "nothing", "--cache", compiled)
    missing.complains("computes nothing", "scale, step")


@pytest.mark.exhaustive  # tests/dap/test_pure.py has the name and the option
def test_an_editor_is_told_what_a_frame_computes(compiled: Path, client: Client) -> None:
    settings = {"TORCHINDUCTOR_CACHE_DIR": str(compiled)}
    client.start({"program": str(SAMPLE), "compiledDebug": True, "env": settings}, functions=[SUMMED])
    thread = client.stopped(reason="function breakpoint")["threadId"]
    names = [frame["name"] for frame in client.stack(thread)]
    assert names[0] == f"kernel [computes {SAMPLE.name}:16]"


@pytest.mark.exhaustive
def test_a_graph_of_fx_is_python_like_any_other(tmp_path: Path) -> None:
    """Its code is in no file: it says itself what it is."""
    program = tmp_path / "graph.py"
    program.write_text(
        "import torch\nfrom torch.fx import symbolic_trace\n"
        "def double(x):\n    return torch.relu(x) * 2\n"
        "print(symbolic_trace(double)(torch.ones(2)))\n"
    )
    words = [
        "run",
        "--batch",
        "--json",
        "--all-code",
        "-b",
        "py:forward",
        "-x",
        "bt",
        "-x",
        "print self.code",
    ]
    done = dualdbg(*words, "-x", "next", "-x", "delete 1", "-x", "continue", program)
    stop, after = done.of("stopped")
    assert stop["frame"]["file"].startswith("<eval_with_key>.0 from ")
    assert stop["frame"]["file"].endswith("graph.py:3 in double")
    assert (after["frame"]["function"], after["frame"]["line"]) == ("forward", stop["frame"]["line"] + 1)
    assert "torch.relu(x)" in done.of("value")[0]["value"]
    assert done.of("exited")[0]["code"] == 0


MODEL = """\
import sys
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        total = torch.relu(x) * 3.0 + y
        return total.mean(dim=1).sin()

inputs = torch.ones(8, 4), torch.ones(8, 4)
if sys.argv[1] == "make":
    exported = torch.export.export(Model(), inputs)
    torch._inductor.aoti_compile_and_package(exported, package_path=sys.argv[2])
else:
    print(torch._inductor.aoti_load_package(sys.argv[2])(*inputs).shape)
"""


LOADER = """\
#include <ATen/ATen.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

int main(int, char **arguments) {
    torch::inductor::AOTIModelPackageLoader loader(arguments[1]);
    auto result = loader.run({at::ones({8, 4}), at::ones({8, 4})});
    return static_cast<int>(result.at(0).numel());
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was compiled ahead of time, beside its source."""
    require(shutil.which(os.environ.get("CXX", "g++")), "a C++ compiler")
    folder = tmp_path_factory.mktemp("package")
    (folder / "model.py").write_text(MODEL)
    settings = {**dict(COMPILED_DEBUG), "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    made = [sys.executable, folder / "model.py", "make", folder / "model.pt2"]
    subprocess.run(made, env={**os.environ, **settings}, check=True, timeout=patient(600))
    return folder / "model.pt2"


@pytest.mark.exhaustive
def test_a_model_that_was_compiled_ahead_of_time(package: Path) -> None:
    words = ["run", "--batch", "--json", "-b", "model.py:6@kernel", "-x", "bt"]
    done = dualdbg(*words, package.with_name("model.py"), "load", package)
    (stop,) = done.of("stopped")
    assert stop["frame"]["function"].startswith("cpp_fused_")
    assert lines_of(stop["frame"]) == [6, 7]
    assert done.of("stack")[0]["frames"][-1]["function"] == "<module>"


@pytest.mark.exhaustive
def test_the_kernels_of_a_package_are_listed(package: Path) -> None:
    done = dualdbg("ops", "--compiled", "model.py:6", "--cache", package, "--json")
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["line"] for one in row["lines"]] == [6, 7]
    assert row["arguments"] == ["const float*", "const float*", "float*"] and row["calls"]


@pytest.mark.exhaustive
def test_a_model_that_a_program_in_c_plus_plus_loads(package: Path, tmp_path: Path) -> None:
    import torch

    root = Path(torch.__file__).parent
    source, program = tmp_path / "load.cpp", tmp_path / "load"
    source.write_text(LOADER)
    compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-g", source, "-o", program]
    headers = ["-I", root / "include", "-I", root / "include/torch/csrc/api/include"]
    libraries = ["-L", root / "lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"]
    found_at = f"-Wl,-rpath,{root / 'lib'}"
    subprocess.run([*compiler, *headers, *libraries, found_at], check=True, timeout=patient(600))
    words = ["run", "--batch", "--json", "--native", "-b", "model.py:6@kernel", "-x", "bt", "-x", "args"]
    done = dualdbg(*words, "-x", "continue", program, package)
    (stop,) = done.of("stopped")
    assert stop["frame"]["function"].startswith("cpp_fused_")
    assert lines_of(stop["frame"]) == [6, 7]
    assert done.of("stack")[0]["frames"][-1]["function"] == "main"
    assert {row["type"] for row in done.of("variables")[0]["variables"]} == {"const float *", "float *"}
    assert done.of("exited")[0]["code"] == 8
