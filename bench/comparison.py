"""A process that hangs, by each of the tools that look at one; and debugpy and gdb side by side, without dualdbg.

py-spy and pystack are taken where they are on PATH. What a tool's text shows is told by what stands in it: the frame of
Python, the frame of C++, both beside each other in one stack, and the thread that holds what is waited for.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import _debugpy_client
from bench.stacks import dualdbg, running
from tests.support import build_native

ROOT = Path(__file__).resolve().parent.parent
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
SECONDS = 5.0  # that a debugger is given to answer
TOOLS: dict[str, Callable[[str], list[str]]] = {
    "dualdbg stacks": lambda pid: dualdbg("stacks", pid, "--each"),
    "dualdbg stacks --diagnose": lambda pid: dualdbg("stacks", pid, "--diagnose", "--each"),
    "py-spy dump --native": lambda pid: ["py-spy", "dump", "--native", "--pid", pid],
    "pystack remote --native": lambda pid: ["pystack", "remote", "--native", pid],
    "gdb, thread apply all bt": lambda pid: [
        *("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-p", pid),
        *("-ex", "thread apply all bt"),
    ],
}
# In samples/hangs/gil_deadlock.py main calls process_item, which waits for a mutex; the holder waits for the GIL.
PYTHON, CPP = r"\bmain\b[^\n]*gil_deadlock\.py|gil_deadlock\.py\"?, line 24, in main", r"\bprocess_item\b"
HOLDER = r"waits for the mutex.{0,300}which\s+thread \d+\s+item-worker\s+holds"


def timed(command: list[str]) -> tuple[float, float, str]:
    """Seconds of the command, those of the processor in it, which say more on a busy machine, and its output."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, used, done.stdout


def told(name: str, runs: list[tuple[float, float, str]]) -> str:
    walls, used = [run[0] for run in runs], [run[1] for run in runs]
    least = f"{min(walls):.2f} to {max(walls):.2f}"
    return f"{name:28} {statistics.median(walls):6.2f} s ({least}), processor {statistics.median(used):.2f} s"


def shown(text: str, thread: str) -> dict[str, bool]:
    """What a tool's text has of the deadlock; ``thread`` is the number of the main thread."""
    lines = text.splitlines()
    python = [at for at, line in enumerate(lines) if re.search(PYTHON, line)]
    cpp = [at for at, line in enumerate(lines) if re.search(CPP, line)]
    return {
        "Python frame": bool(python),
        "C++ frame": bool(cpp),
        "in one stack": any(0 < abs(one - other) < 6 for one in python for other in cpp),
        "who holds the mutex": bool(re.search(HOLDER, text, re.S)),
        "who has the GIL": bool(re.search(rf"{thread}[^\n]*(holds|Has) the GIL", text, re.I)),
    }


def hung() -> None:
    os.environ["PYTHONPATH"] = str(ROOT / "samples")
    command = [sys.executable, str(ROOT / "samples/hangs/gil_deadlock.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("ready")
            for name, tool in TOOLS.items():
                if not shutil.which(tool("0")[0]):
                    print(f"{name}: is not on PATH")
                    continue
                times = [timed(tool(str(process.pid))) for _ in range(RUNS)]
                found = shown(times[-1][2], str(process.pid))
                said = ", ".join(f"{what}: {'yes' if there else 'no'}" for what, there in found.items())
                print(f"{told(name, times)}; {said}", flush=True)
        finally:
            process.kill()


def many_threads() -> None:
    with running(str(ROOT / "bench/_many_threads.py"), "60") as pid:
        for name, tool in TOOLS.items():
            if shutil.which(tool("0")[0]):
                print(told(name, [timed(tool(str(pid))) for _ in range(RUNS)]), flush=True)


def side_by_side() -> None:
    """Where debugpy's step into torch.randn ends, and whether it answers while gdb has the program stopped."""
    script = str(ROOT / "samples/testdebug.py")
    program, port = _debugpy_client.start(script)
    try:
        client = _debugpy_client.Client(port)
        thread = {"threadId": client.stop_at(script, 3)}
        client.send("stepIn", thread)
        client.wait("event", "stopped")
        client.send("stackTrace", thread)
        frame = client.wait("response", "stackTrace")["body"]["stackFrames"][0]
        print(
            f"debugpy: a step into torch.randn ends at {Path(frame['source']['path']).name}:{frame['line']}"
        )
        holding = ["gdb", "-nx", "-q", "-p", str(program.pid), "-ex", "python print('held', flush=True)"]
        pipe = subprocess.PIPE
        with subprocess.Popen(holding, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as gdb:
            assert gdb.stdout is not None and gdb.stdin is not None
            while "held" not in gdb.stdout.readline():
                pass
            client.socket.settimeout(SECONDS)
            client.send("stackTrace", thread)
            try:
                client.wait("response", "stackTrace")
                print("debugpy answers while gdb has the program stopped")
            except TimeoutError:
                print(f"debugpy gives no answer in {SECONDS:g} s while gdb has the program stopped")
            gdb.stdin.write("detach\nquit\n")
            gdb.stdin.flush()
            gdb.stdout.read()
    finally:
        program.kill()
        program.wait()


def main() -> None:
    build_native()
    print("-- a deadlock of the GIL and a mutex")
    hung()
    print("-- PyTorch, 60 threads")
    many_threads()
    print("-- debugpy and gdb side by side")
    side_by_side()


if __name__ == "__main__":
    main()
