"""Breakpoints on every function and every line of extensions as users build them: where gdb has them, and as often.

How often a function was called its own counter says; where gdb has a breakpoint, a gdb of its own. What gdb itself
gets wrong is left out by name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dualdbg.model import Breakpoint, BreakpointState
from dualdbg.shared.requests.code import FindFunctionBodies
from dualdbg.symbols.address_space import Module
from tests import support
from tests.native_corpus import control_flow
from tests.native_corpus.build import LAYERS, MODULES, MORE, SYSTEMS, VARIANTS, missing
from tests.session.driver import Driver, run_session

HERE = Path(__file__).resolve().parent

EVERY = [(layer, variant) for layer in LAYERS for variant in (*VARIANTS, *SYSTEMS)]
EVERY += [("capi", variant) for variant in MORE]
# What a build system does is up to its flags: the lines of extensions that three of them have built are counted in
# test_other_languages.py.
SOME = {("capi", "O3-lto"), ("capi", "O2-nodebug"), ("pybind", "O2")}
RECIPES = [
    pytest.param(*one, marks=() if one in SOME else pytest.mark.exhaustive, id="-".join(one)) for one in EVERY
]

# GCC makes a loop of a recursion. Then there is one call, whatever the counter says.
LOOPS = {"corpus::factorial"}
# gdb stops in the destructor that also frees the memory, and in the one that it calls.
DELETING = {"corpus::Dog::~Dog"}
# GCC 16 gives these an entry that is no code of theirs, or leaves nothing of what the line calls: gdb goes elsewhere.
ODD_ENTRIES = {"corpus::Point::operator+", "T best = values.front();"}
# Without debug info nobody knows where these were inlined.
INLINED = {
    "corpus::Animal::Animal", "corpus::Dog::Dog", "corpus::Dog::~Dog", "corpus::Animal::legs", "corpus::Dog::age",
    "corpus::clamp_sum", "corpus::twice", "corpus::walk", "corpus::largest", "corpus::hidden", "corpus::first",
    "corpus::second", "corpus::Point::operator+", "corpus::Adder::operator()",
}  # fmt: skip

SCRIPT = """\
import json, sys
import {module} as corpus
corpus.bark("rex", 2)
try:
    corpus.bark("rex", -1)
except RuntimeError:
    pass
if hasattr(corpus, "Dog"):
    dog = corpus.Dog("fido")
    dog.bark(1), dog.age()
    del dog
corpus.run(4)
with open(sys.argv[1], "w") as file:
    json.dump(corpus.counts(), file)
print("over")
"""


@dataclass
class Seen:
    """What a run with breakpoints everywhere had to say. Addresses are link-time ones."""

    hits: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    lines: dict[str, set[int | None]] = field(default_factory=dict)  # at which they are told to be
    uncertain: set[str] = field(
        default_factory=set
    )  # of which it says that they may not stop as often as they run
    mixed: set[str] = field(default_factory=set)  # the same of lines
    bodies: dict[int, int] = field(default_factory=dict)  # where each function begins -> its place


NAMES = re.findall(
    r"^    X\(\w+, (.+?)\)(?: *\\)?$", (HERE / "sources" / "corpus.hpp").read_text(), re.MULTILINE
)


def built(layer: str, variant: str) -> Path:
    """The extension's file."""
    support.require(shutil.which("g++"), "a C++ compiler")
    reason = missing(layer, SYSTEMS[variant]) if variant in SYSTEMS else None
    support.require(reason is None, reason or "")
    folder = support.built(HERE / "build.py", layer, variant)
    return next(folder.rglob(f"{MODULES[layer]}*.so"))


def ask_gdb(library: Path, specs: list[str], files: list[str]) -> dict[str, list[int]]:
    """Where a gdb without dualdbg puts breakpoints on these specs and on all lines of these files."""
    asked = json.dumps({"specs": specs, "files": files})
    command = [
        "gdb",
        "-nx",
        "-batch",
        "-ex",
        "set debuginfod enabled off",
        "-x",
        str(HERE / "oracle.py"),
        str(library),
    ]
    env = {**os.environ, "CORPUS_ASKED": asked}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env)
    line = next(line for line in done.stdout.splitlines() if line.startswith("oracle:"))
    answer: dict[str, list[int]] = json.loads(line.removeprefix("oracle:"))
    return answer


def in_dualdbg(library: Path, program: str, tmp_path: Path, names: list[str], lines: list[str]) -> Seen:
    """The same specs as log points in one run of a program that writes its counts; at its last line then the lines."""
    script, counts = tmp_path / "drive.py", tmp_path / "counts.json"
    script.write_text(program)
    seen = Seen()

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.interrupted(lambda: look(driver))
        await driver.session.resume()
        await driver.exit()

    async def look(driver: Driver) -> None:
        table, native = driver.session.breakpoints, driver.session.native
        there = next(one for one in table.image.modules if one.path == str(library))
        for row in table.all()[:-1]:
            seen.hits[row.spec.text] = row.hit_count
            seen.places[row.spec.text] = places_of(row, there)
            seen.lines[row.spec.text] = {one.line for one in row.locations}
            if row.state is BreakpointState.UNCERTAIN:
                seen.uncertain.add(row.spec.text)
        assert there.library is not None
        starts = [entry.value for entry in there.library.tables[0].functions()]
        found = await native.ask(FindFunctionBodies([start + there.bias for start in starts]))
        seen.bodies = dict(zip(starts, (one - there.bias for one in found), strict=True))
        for spec in lines:
            (row,) = await table.add(spec)
            seen.places[spec] = places_of(row, there)
            seen.lines[spec] = {one.line for one in row.locations}
            if row.state is BreakpointState.UNCERTAIN:
                seen.mixed.add(spec)
            await table.remove(row.id)

    breakpoints = [f'{name} log "x"' for name in names] + [f"drive.py:{len(program.splitlines())}"]
    env = {"PYTHONPATH": str(library.parent)}
    run_session(work, script, *breakpoints, env=env, launch_options={"args": (str(counts),)})
    return seen


def places_of(row: Breakpoint, module: Module) -> list[int]:
    assert all(one.library == module.path for one in row.locations), row
    return sorted(one.address - module.bias for one in row.locations if one.address is not None)


@pytest.mark.parametrize(("layer", "variant"), RECIPES)
def test_every_function_and_every_line(layer: str, variant: str, tmp_path: Path) -> None:
    library = built(layer, variant)
    has_lines = variant != "O2-nodebug"
    gdb = ask_gdb(library, NAMES, ["corpus.cpp", "corpus.hpp"] if has_lines else [])
    lines = [spec for spec in gdb if spec not in NAMES]
    seen = in_dualdbg(library, SCRIPT.format(module=LAYERS[layer].module), tmp_path, NAMES, lines)
    calls = json.loads((tmp_path / "counts.json").read_text())
    flow = control_flow.functions_of(library)

    wrong = [
        f"{name}: {calls[name]} calls, {seen.hits[name]} hits"
        for name in NAMES
        if name not in seen.uncertain and not is_right(name, calls[name], seen.hits[name], variant)
    ]
    wrong += [
        f"{spec}: gdb has {list(map(hex, gdb[spec]))}, dualdbg {list(map(hex, seen.places[spec]))}"
        for spec in (*lines, *(NAMES if has_lines else ()))
        if not is_as_gdb_or_better(
            spec, gdb[spec], without_copies(spec, gdb[spec], seen, library, flow), flow
        )
        and not is_of_line(spec, seen.places[spec], library)
        # Of a line of which no statement begins gdb takes the next one, in whatever function that is.
        and not (spec in seen.mixed and not is_of_line(spec, gdb[spec], library))
    ]
    wrong += [
        f"{start:#x}: {place:#x} is not on the way that ends at {around:#x}"
        for start, place in seen.bodies.items()
        if start in flow and (around := control_flow.way_around(flow[start], place)) is not None
    ]
    assert len(NAMES) == len(calls) and len(seen.bodies) > 30 and (len(lines) > 100) == has_lines
    print(
        f"{layer} {variant}: {len(NAMES)} functions, {len(lines)} lines, {len(seen.bodies)} entries, {len(wrong)} wrong"
        f"; uncertain: {seen.uncertain}"
    )
    assert len(seen.uncertain) <= 6
    assert not wrong, "\n".join(wrong)


def is_right(name: str, calls: int, hits: int, variant: str) -> bool:
    """Whether a breakpoint was hit as often as its function was called."""
    is_optimized, has_lines = variant != "O0", variant != "O2-nodebug"
    if is_optimized and name in LOOPS:
        return 0 < hits <= calls
    if not has_lines and name in INLINED:
        return hits <= calls  # nothing says where
    return hits == calls


def source_line(spec: str) -> str | None:
    """The text of a line of the corpus's sources; None for a name."""
    file, _, line = spec.rpartition(":")
    return (
        (HERE / "sources" / file).read_text().splitlines()[int(line) - 1].strip() if line.isdigit() else None
    )


def is_behind(place: int, before: int, flow: dict[int, control_flow.Function]) -> bool:
    """Whether each way to a place leads over an instruction before."""
    function = next((one for one in flow.values() if place in one.rows), None)
    return function is not None and control_flow.is_behind(function, place, {before})


def is_of_line(spec: str, ours: list[int], library: Path) -> bool:
    """Whether each place is code that was inlined by a call on this line, as binutils read it.

    gdb goes to the next line with code of its own, be that in another function.
    """
    command = ["addr2line", "-i", "-e", str(library), *map(hex, ours)]
    rows = [
        subprocess.run([*command[:4], place], capture_output=True, text=True).stdout for place in command[4:]
    ]
    return bool(rows) and all(re.search(rf"/{re.escape(spec)}\b", text) for text in rows)


def without_copies(
    spec: str, gdb: list[int], seen: Seen, library: Path, flow: dict[int, control_flow.Function]
) -> list[int]:
    """The places without those that gdb misses: where a statement of the line begins, as binutils read it, to which no
    way leads from another place but over a statement of another line.
    """
    ours = seen.places[spec]
    if not set(gdb) < set(ours):
        return ours
    begin = control_flow.statements(library, spec.partition(":")[0])
    own = set().union(*(begin.get(line or 0, set()) for line in seen.lines[spec]))
    others = set().union(*(rows for line, rows in begin.items() if line not in seen.lines[spec]))
    copies = []
    for one in set(ours) - set(gdb):
        function = next((f for f in flow.values() if one in f.rows), None)
        if function is None or one not in own:
            continue
        from_others = (other for other in ours if other != one and other in function.rows)
        if one in others or not any(
            control_flow.is_reached(function, one, place, others - {place}) for place in from_others
        ):
            copies.append(one)
    return [one for one in ours if one not in copies]


def is_as_gdb_or_better(
    spec: str, gdb: list[int], ours: list[int], flow: dict[int, control_flow.Function]
) -> bool:
    """Whether the places are those of gdb, but for what gdb is known to get wrong."""
    extra = set(gdb) - set(ours)
    if spec in ODD_ENTRIES or source_line(spec) in ODD_ENTRIES:
        return bool(ours)
    if spec in NAMES:
        # gdb takes stubs of the linker for functions, finds none in an unnamed scope, and has what only wraps one.
        extra = {one for one in extra if not control_flow.is_stub(flow, one)}
        # It has the first instruction, which the compiler may have moved out of a loop that calls what was inlined.
        moved = {one for one in extra if any(is_behind(other, one, flow) for other in set(ours) - set(gdb))}
        return extra == moved or spec in DELETING or not gdb
    # Of a line that is only in the part of a function that is seldom run, gdb goes to the function's entry.
    others = set(ours) - set(gdb)
    return (
        len(extra) == len(others)
        and all(one in flow for one in extra)
        and all(control_flow.is_cold(flow, one) for one in others)
    )
