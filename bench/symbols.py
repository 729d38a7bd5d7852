"""Names to addresses, addresses to names, and unwinding through libtorch_cpu, against gdb and nm by hand."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dualdbg.symbols.gdb_feed.unwind_file import unwind_file
from dualdbg.symbols.nearest_names import nearest_names
from dualdbg.symbols.objfile import Objfile

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
NAMES = (
    "at::native::randn",
    "randn",
    "at::_ops::mm::call",
    "InterpreterStateImpl::runTemplate",
    "at::native::add(at::Tensor const&, c10::Scalar const&, c10::Scalar const&)",
    "c10::Dispatcher::~Dispatcher",
    "at::native::*softmax*",
)
_COLD = """
import sys, time
from dualdbg.symbols.objfile import Objfile
started = time.perf_counter()
assert Objfile.open(sys.argv[1]).find_functions(sys.argv[2])
print(time.perf_counter() - started)
"""


def torch_library(name: str) -> str:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("this benchmark needs PyTorch in the environment")
    return str(Path(spec.origin).parent / "lib" / name)


def seconds(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def row(what: str, values: list[float], note: str = "") -> None:
    middle = statistics.median(values)
    print(f"{what:64} {middle:8.3f} {min(values):8.3f} {max(values):8.3f}  {note}")


def run(command: list[str]) -> str:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout


def names(path: str) -> None:
    print(f"{'a name in libtorch_cpu -> its addresses':64} {'median s':>8} {'min':>8} {'max':>8}")
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", _COLD, path, name]
            values: dict[str, list[float]] = {"no cache": [], "cache": []}
            for _ in range(RUNS):
                os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=folder)
                for kind in values:  # the first run leaves what the second finds
                    values[kind].append(float(run(command)))
        for kind, taken in values.items():
            row(f"{kind}: {name[:54]}", taken)
    by_hand = ["gdb", "-nx", "-batch", path, "-ex", "break at::native::randn"]
    row(
        "by hand: gdb libtorch_cpu.so, break at::native::randn",
        [seconds(lambda: run(by_hand)) for _ in range(RUNS)],
    )
    row("by hand: nm -C libtorch_cpu.so", [seconds(lambda: run(["nm", "-C", path])) for _ in range(RUNS)])


def places(path: str) -> None:
    starts = Objfile.open(path).frames.starts
    chosen = starts[:: len(starts) // 20][:20]
    one: list[float] = []
    many: list[float] = []
    for _ in range(RUNS):
        library = Objfile(Objfile.open(path).elf)  # a new object has no answers yet
        library.symbol_at(starts[-1])
        one.append(seconds(lambda library=library: library.symbol_at(chosen[0] + 1)))  # type: ignore[misc]
        many.append(seconds(lambda library=library: library.symbols_at(p + 2 for p in chosen)))  # type: ignore[misc]
    row("an address -> its function", one)
    row("20 addresses -> their functions", many)
    library = Objfile.open(path)
    row(
        "nearest names of at::native::radn",
        [seconds(lambda: nearest_names("at::native::radn", [library])) for _ in range(RUNS)],
    )


def unwinding(path: str) -> None:
    (kernel,) = (
        s for s in Objfile.open(path).find_functions("at::native::randn") if "Generator" not in s.name
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        program = Path(folder, "program.py")
        program.write_text(f"import sys\nsys.path[:] = {sys.path!r}\nimport torch\ntorch.randn(2, 3)\n")
        job = {"program": os.path.realpath(sys.executable), "arguments": str(program), "library": path}
        job |= {"vaddr": kernel.address, "files": None}
        made = seconds(lambda: unwind_file(Objfile.open(path)))
        file = unwind_file(Objfile.open(path))
        assert file is not None
        row("the unwind file of libtorch_cpu, made", [made], f"{file.stat().st_size / 1e6:.1f} MB")
        row(
            "the same, from the cache",
            [seconds(lambda: unwind_file(Objfile.open(path))) for _ in range(RUNS)],
        )
        _, _, libraries = in_gdb(job)
        ways = {
            "gdb reads every library": None,
            "gdb reads the unwind files": {p: unwind_file(Objfile.open(p)) for p in libraries},
        }
        results: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(RUNS):
            for way, files in ways.items():
                known = None if files is None else {p: str(f) for p, f in files.items() if f is not None}
                elapsed, memory, *_ = in_gdb({**job, "files": known})
                results[way].append((elapsed, memory))
        for way, values in results.items():
            row(f"the first backtrace: {way}", [v[0] for v in values], f"+{max(v[1] for v in values):.0f} MB")


def whole_debug_info() -> None:
    """A breakpoint in the C library with its debug info, which Debian's libc6-dbg has."""
    if not Path("/usr/lib/debug/.build-id").is_dir():
        print("no libc6-dbg here: nothing is said of a session with whole debug info")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text("import os\nos.getpid()\n")
        dualdbg = [sys.executable, "-m", "dualdbg", "run", "--batch", "-b", "getpid", "-x", "bt"]
        by_hand = ["gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "break getpid"]
        commands = {
            "dualdbg run -b getpid": dualdbg,
            "dualdbg run --symbols 'libc*=full' -b getpid": [*dualdbg, "--symbols", "libc*=full"],
            "dualdbg run --symbols full -b getpid": [*dualdbg, "--symbols", "full"],
            "by hand: gdb python, break getpid": [
                *by_hand,
                "-ex",
                "run",
                "-ex",
                "bt",
                "--args",
                sys.executable,
            ],
        }
        for what, command in commands.items():
            row(what, [seconds(functools.partial(run, [*command, str(program)])) for _ in range(RUNS)])


def in_gdb(job: dict[str, Any]) -> list[Any]:
    script = str(Path(__file__).with_name("_gdb_unwind.py"))
    os.environ["BENCH_JOB"] = json.dumps(job)
    output = run(["gdb", "-nx", "-q", "-batch", "-x", script])
    lines = [line for line in output.splitlines() if line.startswith("BENCH ")]
    if not lines:
        raise SystemExit(f"gdb did not reach at::native::randn: {output[-500:]}")
    result: list[Any] = json.loads(lines[0].removeprefix("BENCH "))
    return result


def main() -> None:
    whole_debug_info()
    path = torch_library("libtorch_cpu.so")
    names(path)
    places(path)
    unwinding(path)


if __name__ == "__main__":
    main()
