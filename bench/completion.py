"""The first Tab of a session at names of libtorch: until what it completes is on the screen, and the processor time.

A stop in ``samples/testdebug.py``, on a terminal. Each figure is that of another session.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from tests.cli.driver import terminal
from tests.support import ROOT, wait_until

ROUNDS = int(os.environ.get("BENCH_RUNS", "5"))
LINES = {
    "a function in a large scope": ("tbreak at::native::rand_lik", "e"),
    "a scope": ("tbreak torch::jit::tensorex", "pr"),
    "a name without scopes": ("tbreak THPModule_initExt", "ension"),
    "an operator": ("tbreak randn_li", "ke"),
}
INDEX = "scopes*"


def first_tab(line: str, rest: str, cache: Path, index: bool) -> tuple[float, float]:
    """(seconds by the clock, seconds of processor time of dualdbg) of the first Tab behind ``line``."""
    words = ["run", "-b", "testdebug.py:4", str(ROOT / "samples" / "testdebug.py")]
    with terminal(*words, env={"XDG_CACHE_HOME": str(cache)}) as screen:
        screen.prompt()
        if index:
            wait_until(lambda: any(cache.rglob(INDEX)) and not helpers(screen.child.pid), 300.0)
        screen.type(line)
        screen.expect(line.rpartition(" ")[2])
        process = psutil.Process(screen.child.pid)
        begun, used = time.perf_counter(), sum(process.cpu_times()[:2])
        screen.type("\t")
        screen.expect(rest)
        return time.perf_counter() - begun, sum(process.cpu_times()[:2]) - used


def helpers(pid: int) -> list[psutil.Process]:
    """The processes that make indexes."""
    return [
        child
        for child in psutil.Process(pid).children(recursive=True)
        if "dualdbg.symbols.name_preparation" in child.cmdline()
    ]


def main() -> None:
    """Print the table."""
    print(f"{'the first Tab of a session, ms':42} {'median':>7} {'least':>7} {'CPU':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for index in (False, True):
            for what, (line, rest) in LINES.items():
                figures = []
                for number in range(ROUNDS):
                    # Each session without an index has a cache of its own.
                    cache = Path(
                        folder, "kept" if index else f"{line}{number}".replace(":", "").replace(" ", "")
                    )
                    cache.mkdir(exist_ok=True)
                    figures.append(first_tab(line, rest, cache, index))
                wall, cpu = ([one[at] * 1e3 for one in figures] for at in (0, 1))
                name = f"{what}, {'index' if index else 'no index yet'}"
                print(
                    f"{name:42} {statistics.median(wall):7.1f} {min(wall):7.1f} {min(cpu):7.1f}", flush=True
                )


if __name__ == "__main__":
    main()
