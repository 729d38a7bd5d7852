"""Thousands of functions of PyTorch, the interpreter and a compiled corpus get counters while threads run through them.

``python -m bench torture --functions N --seconds S``. The program (bench/_torture_program.py) compares each of its
results with that before. The jumps are put in and taken out several times under load; then the program makes rounds
whose calls are counted: by the functions of the corpus themselves, and by gdb's own breakpoints for some others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench._torture_corpus import make
from dualdbg.model import Location
from dualdbg.session.breakpoints.tracing import TracedPlace
from dualdbg.shared.requests.threads import ListThreads
from tests.probes.holding import Held, held

ROUNDS = 3  # of each thread, whose calls are counted
CYCLES = 4
CORPUS = 1200  # functions
BY_GDB = 40  # functions whose calls gdb counts too
_MOST_BY_GDB = 400  # calls of each in a round of all threads
_PROGRAM = Path(__file__).with_name("_torture_program.py")
# Of PyTorch those that its operators are made of come first; what the program surely calls is always among them.
_SURE = re.compile(
    r"_ZN2at4_ops\d+(mm|relu|sort|cumsum|_fft_r2c|arange|where_self|addmm|conv2d)\d*(4call|10redispatch)"
)
# A stripped interpreter has those names alone that it exports.
_SURE_PYTHON = re.compile(
    r"builtin_(ord|hash|divmod|sorted|chr)$|Py(Sequence_List|Unicode_Join|Number_(Power|Divmod)|Dict_Items)$"
)
_LIKELY = re.compile(r"_ZN?K?(2at4_ops|2at6native|3c10|5torch8autograd)")


class Harm(Exception):
    """What is not as it should be."""


@dataclass
class Found:
    """What came of it."""

    wanted: int = 0
    placed: int = 0
    called: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    placing: float = 0.0  # seconds
    processor: float = 0.0  # seconds of it that were ours
    putting_in: float = 0.0
    rounds: int = 0
    hits: int = 0
    equal: int = 0  # functions of the corpus whose own count is the same
    equal_by_gdb: int = 0

    def __str__(self) -> str:
        reasons = "\n".join(f"  {count:6}  {why}" for why, count in self.reasons.most_common())
        return (
            f"{self.placed:,} of {self.wanted:,} functions placed in {self.placing:.1f} s ({self.processor:.1f} s of a "
            f"processor), put in and let run in {self.putting_in:.1f} s; {self.called:,} of them called\n"
            f"not placed:\n{reasons}\n"
            f"{self.rounds:,} rounds with right results, {self.hits:,} hits\n"
            f"counts equal to the program's own: {self.equal:,} functions; to gdb's: {self.equal_by_gdb:,}"
        )


class Program:
    """The program at work."""

    def __init__(self, corpus: Path, threads: int, with_torch: bool) -> None:
        words = [sys.executable, str(_PROGRAM), str(corpus), str(threads), *(["torch"] if with_torch else [])]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self.rounds = 0
        self.threads = threads

    def tell(self, words: str) -> None:
        """Give it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()

    def hear(self) -> list[int]:
        """Wait until its threads stand. Returns the counts of the corpus. Raises Harm for a wrong result."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Harm(f"the program has ended with {self._process.wait()}")
        said: dict[str, Any] = json.loads(line)
        if any(said["wrong"].values()):
            raise Harm(f"wrong results: {said['wrong']} of {said['rounds']} rounds {said['trouble']}")
        self.rounds = said["rounds"]
        found: list[int] = said["counts"]
        return found

    def end(self) -> None:
        """It ends by itself. Raises Harm where it does so in another way."""
        _, status = self._process.communicate("over\n")[0], self._process.returncode
        if status != 0:
            raise Harm(f"the program has ended with {status}")

    def kill(self) -> None:
        """For the case that something went wrong."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def running(corpus: Path, threads: int, with_torch: bool) -> Iterator[Program]:
    """The program; its threads stand."""
    program = Program(corpus, threads, with_torch)
    try:
        program.hear()
        yield program
    finally:
        program.kill()


def functions_of(path: str) -> list[tuple[str, int]]:
    """The functions of a library, with their link-time addresses; of a stripped one those that it exports."""
    command = ["nm", "--defined-only", path]
    said = "".join(
        subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout
        for more in ([], ["--dynamic"])
    )
    rows = (line.split() for line in said.splitlines())
    found = {int(row[0], 16): row[2] for row in rows if len(row) == 3 and row[1] in "tTwW"}
    return [(name, address) for address, name in sorted(found.items())]


def chosen(one: Held, count: int, seed: int) -> list[tuple[str, int]]:
    """Names and addresses of functions: of the corpus all, then of the interpreter, the rest of PyTorch."""
    dice = random.Random(seed)
    modules = {Path(module.path).name: module for module in one.image.modules}
    of: dict[str, list[tuple[str, int]]] = {}
    for kind, name in (("corpus", "libcorpus"), ("python", "python"), ("torch", "libtorch_cpu")):
        # A library of the interpreter before the program that is linked to it.
        files = sorted(file for file in modules if file.startswith((name, f"lib{name}")))
        module = next((modules[file] for file in files), None)
        rows = functions_of(module.path) if module is not None else []
        of[kind] = [(name, address + module.bias) for name, address in rows if module is not None]
    corpus = [row for row in of["corpus"] if re.fullmatch(r"f\d+", row[0])]
    python = [row for row in of["python"] if _SURE_PYTHON.match(row[0])]
    python += dice.sample(of["python"], min(len(of["python"]), (count - len(corpus)) // 2))
    sure = [row for row in of["torch"] if _SURE.match(row[0])]
    likely = [row for row in of["torch"] if _LIKELY.match(row[0])]
    dice.shuffle(likely)
    return list(dict.fromkeys([*corpus, *python, *sure, *likely]))[:count]


async def _place(
    one: Held, rows: Sequence[tuple[str, int]], wanted: int, found: Found
) -> dict[str, TracedPlace]:
    places: dict[str, TracedPlace] = {}
    for name, address in rows:
        if len(places) == wanted:
            break
        found.wanted += 1
        place = TracedPlace(1, one.engine.probes.new_trace(), Location(name, None, address))
        await one.probes.trace(place, None, None)
        if place.why_not is None:
            places[f"{name} {address:#x}"] = place
        else:
            found.reasons[re.sub(r"0x[0-9a-f]+|: .*", "…", place.why_not)] += 1
    return places


def _sites(one: Held, places: Sequence[TracedPlace]) -> list[bytes]:
    with open(f"/proc/{one.pid}/mem", "rb", buffering=0) as memory:
        return [os.pread(memory.fileno(), 24, place.location.address or 0) for place in places]


async def torture(program: Program, functions: int, seconds: float, by_gdb: int, seed: int = 1) -> Found:
    """All of it. Raises Harm."""
    found = Found()
    program.tell("go")
    async with held(program.pid) as one:
        rows = await asyncio.to_thread(chosen, one, functions * 2, seed)
        used, began = time.process_time(), time.monotonic()
        places = await _place(one, rows, functions, found)
        found.placed, found.placing = len(places), time.monotonic() - began
        found.processor = time.process_time() - used
        every = list(places.values())
        before = _sites(one, every)
        for _ in range(CYCLES):
            began = time.monotonic()
            await one.engine.resume()
            found.putting_in = time.monotonic() - began
            found.reasons.update(one.engine.probes.left_out.values())
            await asyncio.sleep(seconds / CYCLES)
            await one.interrupted()
            await one.engine.ask(ListThreads())  # gdb has told of the stop before it takes the jumps out
            now = _sites(one, every)
            wrong = [
                (place.location.function, old.hex(), new.hex())
                for place, old, new in zip(every, before, now, strict=True)
                if old != new
            ]
            if wrong:
                raise Harm(f"code of {len(wrong)} functions is not as it was: {wrong[:5]}")
        await one.engine.resume()
        program.tell("stop")
        await asyncio.to_thread(program.hear)
        counted = [await _counted(program, places, rounds) for rounds in (ROUNDS, 2 * ROUNDS)]
        left_out = set(one.engine.probes.ever_left_out)
        await one.interrupted()
        found.hits = sum(place.hits for place in every)
    found.called = sum(place.hits > 0 for place in every)
    found.placed -= len(left_out)
    ours_too = [key for key in places if re.match(r"f\d+ ", key) and places[key].number not in left_out]
    for own, ours in counted:
        others = [
            (key, ours[key], own[key.split()[0]]) for key in ours_too if ours[key] != own[key.split()[0]]
        ]
        if others:
            raise Harm(f"counts of the corpus (ours, its own): {others[:10]}")
    found.equal = len(ours_too)
    first, second = (ours for _, ours in counted)
    # What the rounds themselves call: twice as often in twice as many. What the program calls besides, as where its
    # threads wait for each other, may come to the same number twice by chance.
    in_all = ROUNDS * program.threads
    same = [
        key
        for key in places
        if 0 < first[key] <= _MOST_BY_GDB * ROUNDS
        and second[key] == 2 * first[key]
        and first[key] % in_all == 0
        and key not in ours_too
    ]
    random.Random(seed).shuffle(same)
    addresses = {key: places[key].location.address or 0 for key in same[:by_gdb]}
    theirs = await asyncio.to_thread(_counts_of_gdb, program, addresses) if addresses else {}
    if {key: first[key] for key in theirs} != theirs:
        raise Harm(
            f"counts of gdb: {[(key, first[key], theirs[key]) for key in theirs if first[key] != theirs[key]]}"
        )
    found.equal_by_gdb = len(theirs)
    program.tell(f"rounds {ROUNDS}")
    program.hear()
    found.rounds = program.rounds
    return found


async def _counted(
    program: Program, places: dict[str, TracedPlace], rounds: int
) -> tuple[dict[str, int], dict[str, int]]:
    """How often functions are called in ``rounds`` of each thread: as the corpus counts, and as we do."""
    program.tell("rounds 0")
    before = await asyncio.to_thread(program.hear)
    ours = {key: place.hits for key, place in places.items()}
    program.tell(f"rounds {rounds}")
    after = await asyncio.to_thread(program.hear)
    own = {f"f{at}": new - old for at, (old, new) in enumerate(zip(before, after, strict=True))}
    return own, {key: place.hits - ours[key] for key, place in places.items()}


_BY_HAND = """
import gdb, subprocess
rows = {rows!r}
points = {{key: gdb.Breakpoint("*%d" % address) for key, address in rows.items()}}
for point in points.values():
    point.ignore_count = 1 << 30
gdb.Breakpoint("*%d" % {end})
print("begun", flush=True)
gdb.execute("continue")
print("counts", {{key: point.hit_count for key, point in points.items()}}, flush=True)
gdb.execute("detach")
"""


def _counts_of_gdb(program: Program, addresses: dict[str, int]) -> dict[str, int]:
    """What gdb alone counts in as many rounds: breakpoints that it passes over by itself."""
    end = _address_in(program.pid, "corpus_finished")
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(_BY_HAND.format(rows=addresses, end=end))
        script.flush()
        words = ["gdb", "-nx", "-q", "-batch", "-iex", "set auto-solib-add off", "-p", str(program.pid)]
        debugger = subprocess.Popen([*words, "-x", script.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    stdin=subprocess.DEVNULL, text=True)  # fmt: skip
        assert debugger.stdout is not None
        for line in debugger.stdout:
            if line.startswith("begun"):
                program.tell(f"rounds {ROUNDS}")
            if line.startswith("counts "):
                counts: dict[str, int] = json.loads(line[len("counts ") :].replace("'", '"'))
                break
        else:
            raise Harm("gdb has counted nothing")
        debugger.communicate()
        program.hear()
        return counts


def _address_in(pid: int, name: str) -> int:
    from dualdbg.symbols.address_space import AddressSpace

    image = AddressSpace(pid)
    image.refresh()
    return image.find(name)[0].address


def main(words: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="bench torture", description=__doc__)
    parser.add_argument("--functions", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    chosen_words = parser.parse_args(list(words))
    with tempfile.TemporaryDirectory() as folder:
        corpus = make(Path(folder), CORPUS, chosen_words.seed)
        with running(corpus, chosen_words.threads, with_torch=True) as program:
            try:
                work = torture(
                    program, chosen_words.functions, chosen_words.seconds, BY_GDB, chosen_words.seed
                )
                print(asyncio.run(work))
                program.end()
            except Harm as harm:
                print(f"HARM: {harm}")
                return 1
    return 0
