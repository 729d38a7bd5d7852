"""Core files: the same stacks as of the living process, and what is said about one that is not whole."""

from __future__ import annotations

import json
import platform
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.snapshot.capture import Wanted
from dualdbg.snapshot.core_file import capture_core
from dualdbg.system.patience import patient
from tests.snapshot.programs_running import core_of, running
from tests.snapshot.test_command import dualdbg
from tests.support import SAMPLES, read_ready, require


def stacks(*words: str) -> dict[int, list[tuple[str, str | None, int | None]]]:
    done = dualdbg(*words, "--json")
    assert done.returncode == 0, done.stderr
    (process,) = map(json.loads, done.stdout.splitlines())
    return {
        thread["tid"]: [(frame["function"], frame["address"], frame["line"]) for frame in thread["frames"]]
        for thread in process["threads"]
    }


def test_a_core_has_the_stacks_of_the_process(native_samples: Path, tmp_path: Path) -> None:
    with running("many_stacks.py", PYTHONPATH=str(native_samples)) as pid:
        live = stacks("stacks", str(pid))
        core = core_of(pid, tmp_path)
    assert stacks("core", str(core)) == live
    assert stacks("stacks", str(core)) == live
    kernels = [one for one in capture_core(str(core), Wanted())[0].modules if one.path == "[vdso]"]
    assert [one.library is not None for one in kernels] == [True]

    size = core.stat().st_size
    with core.open("r+b") as file:
        file.truncate(size * 2 // 3)
    cut = dualdbg("core", str(core))
    assert cut.returncode == 3
    assert "is cut off before its notes" in cut.stderr


READER = """
import mmap, sys
kept = []
for path in dict.fromkeys(line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line and ".so" in line):
    with open(path, "rb") as file:
        for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            kept.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ, flags=flags))
print("ready", len(kept), flush=True)
sys.stdin.read()
"""


def test_a_program_that_reads_its_own_libraries(tmp_path: Path) -> None:
    """They are mapped twice, and loaded once: in the process, in a core of it, and for gdb's helpers."""
    program = tmp_path / "reader.py"
    program.write_text(READER)
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().split()[0] == "ready"
            live = stacks("stacks", str(process.pid))
            core = core_of(process.pid, tmp_path)
        finally:
            process.kill()
    (frames,) = live.values()
    assert ("<module>", None, 9) in frames
    if platform.machine() != "aarch64":  # there glibc's read jumps to the function that makes the call
        # Before it come static functions of a stripped C library.
        assert "read" in next(function for function, _, _ in frames if function is not None)
    assert stacks("core", str(core)) == live
    modules = capture_core(str(core), Wanted())[0].modules
    assert len({module.path for module in modules}) == len(modules)
    assert all(module.library is not None for module in modules if ".so" in module.path)
    gdb = require(shutil.which("gdb"), "gdb")
    scripts = Path(__file__).parents[2] / "gdb_scripts"
    asked = (
        f"python import sys; sys.path.insert(0, {str(scripts)!r}); "
        "from dualdbg_helpers import inferior; mapped = inferior.mappings(inferior.require_inferior()); "
        "print('libraries', *('%s=%x' % (one.path, one.base) for one in mapped.libraries))"
    )
    done = subprocess.run(
        [gdb, "-nx", "-batch", "-iex", "set auto-load off", sys.executable, core, "-ex", asked],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("libraries"))
    expected = {
        f"{module.path}={module.bias:x}" for module in modules if module.library and module.path[0] == "/"
    }
    assert set(line.split()[1:]) == expected


def test_what_is_no_core(tmp_path: Path) -> None:
    compressed = tmp_path / "core.gz"
    compressed.write_bytes(b"\x1f\x8b" + bytes(100))
    done = dualdbg("core", str(compressed))
    assert done.returncode == 3
    assert "gzip -d" in done.stderr
    done = dualdbg("core", "/bin/true")
    assert done.returncode == 3
    assert "is not a core file" in done.stderr
    done = dualdbg("core", str(tmp_path / "nothing"))
    assert done.returncode == 3
    assert "No such file" in done.stderr


@pytest.mark.torch
@pytest.mark.slow
def test_a_worker_that_crashed(torch_extension: Path, tmp_path: Path) -> None:
    """The kernel's own core of a DataLoader worker: the stack through the signal handler, and the tensor argument."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    require(pattern in ("core", "core.%p"), "cores in the working directory (core_pattern)", outside=True)

    def allow_cores() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    with subprocess.Popen(
        [sys.executable, str(SAMPLES / "hangs" / "worker_segfault.py"), "--limit", "120"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        preexec_fn=allow_cores,
    ) as process:
        try:
            (worker,) = read_ready(process)["worker"]
            process.communicate("go\n", timeout=patient(60))
        finally:
            process.kill()
    (core,) = tmp_path.glob("core*")
    done = dualdbg("core", str(core), "--locals")
    assert done.returncode == 0, done.stderr
    # PyTorch's handler sends the signal once more: the kernel names no address for that one.
    assert f"ended by SIGSEGV (Segmentation fault), in thread {worker}" in done.stdout
    order = [
        "<signal handler called>",
        "sample::read_element",
        "sample::read_unchecked",
        "py   Readings.read ",
    ]
    assert sorted(order, key=done.stdout.index) == order
    assert "args = (tensor([0., 1., 2., 3., 4., 5., 6., 7.]), 1099511627776)" in done.stdout


def test_a_crash_under_run_leaves_its_core(native_samples: Path, tmp_path: Path) -> None:
    script = SAMPLES / "crash.py"
    done = dualdbg(
        "run", "--on-crash", "core", "--cwd", str(tmp_path), "--json", "--batch", "-x", "bt", str(script)
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    [stack] = [event for event in events if event["event"] == "stack"]
    [core] = tmp_path.glob("core.*")
    assert core.stat().st_mode & 0o777 == 0o600
    live = [(frame["function"], frame["line"]) for frame in stack["frames"] if frame["kind"] == "python"]
    [kept] = [rows for tid, rows in stacks("core", str(core)).items() if tid == stack["thread"]]
    assert [(function, line) for function, address, line in kept if address is None] == live
    assert kept[0][0] == stack["frames"][0]["function"] == "sample::write_at"

    words = ("args", "frame 3", "locals", "print module", "continue", "break main")
    looked = dualdbg("core", str(core), "--json", *(word for command in words for word in ("-x", command)))
    events = [json.loads(line) for line in looked.stdout.splitlines()]
    native, python = (event["variables"] for event in events if event["event"] == "variables")
    assert {row["name"]: row["value"] for row in native} == {"address": "0x0", "value": "42"}
    assert {row["name"]: row["value"] for row in python}["value"] == "42"
    [printed] = [event["value"] for event in events if event["event"] == "value"]
    assert "sample_capi" in printed
    refused = [event["message"] for event in events if event["event"] == "error"]
    assert len(refused) == 2 and all("it cannot run" in message for message in refused)
