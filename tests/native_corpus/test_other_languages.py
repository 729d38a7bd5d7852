"""The same for Rust, by the C API and by PyO3, and for Cython; and lines that are hit as often as counters say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import support
from tests.native_corpus import control_flow, test_places
from tests.native_corpus.build import MATURIN, MODULES, SOURCES, SYSTEMS, VARIANTS, why_no_maturin
from tests.native_corpus.test_places import ask_gdb, built, in_dualdbg

PROGRAM = """\
import json, sys
import {module} as corpus
corpus.run(4)
counts = corpus.counts()
with open(sys.argv[1], "w") as file:
    file.write(counts if isinstance(counts, str) else json.dumps(counts))
print("over")
"""

SOME = {("rust", "O2"), ("cython", "O3-lto")}
RECIPES = [
    pytest.param(*one, marks=() if one in SOME else pytest.mark.exhaustive, id="-".join(one))
    for one in [(layer, variant) for layer in ("rust", "pyo3", "cython") for variant in VARIANTS]
    + [("cython", system) for system in SYSTEMS]
    + [("pyo3", MATURIN)]
]

RUST = dict(re.findall(r'^    (\w+) "([\w:]+)"$', (SOURCES / "corpus.rs").read_text(), re.MULTILINE))
PYX = (SOURCES / "corpus_cython.pyx").read_text()
CYTHON = [f"corpus_cython.{name}" for name in re.findall(r'"([\w.]+)"[,)]', PYX.partition(")")[0] + ")")]


def require(layer: str, request: pytest.FixtureRequest, variant: str = "") -> None:
    if variant == MATURIN:
        reason = why_no_maturin()
        support.require(reason is None, reason or "", outside=True)
    if layer == "rust":
        request.getfixturevalue("rust_samples")
    elif layer == "pyo3":
        request.getfixturevalue("pyo3_crates")


def names_of(layer: str) -> list[str]:
    return CYTHON if layer == "cython" else list(RUST.values())


@pytest.mark.parametrize(("layer", "variant"), RECIPES)
def test_every_function_and_every_line(
    layer: str, variant: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Lines of Cython are not compared with gdb's, which has one place for a line: see the hits of lines below."""
    require(layer, request, variant)
    library, names = built(layer, variant), names_of(layer)
    has_lines = layer != "cython" and variant != "O2-nodebug"
    gdb = ask_gdb(library, [], ["corpus.rs"] if has_lines else [])
    seen = in_dualdbg(library, PROGRAM.format(module=MODULES[layer]), tmp_path, names, list(gdb))
    calls = json.loads((tmp_path / "counts.json").read_text())
    flow = control_flow.functions_of(library)
    wrong = [
        f"{name}: {calls[name]} calls, {seen.hits[name]} hits"
        for name in names
        if not is_right(name, calls[name], seen.hits[name], variant) and name not in seen.uncertain
    ]
    wrong += [
        f"{spec}: gdb has {list(map(hex, gdb[spec]))}, dualdbg {list(map(hex, seen.places[spec]))}"
        for spec in gdb
        if not test_places.is_as_gdb_or_better(
            spec, gdb[spec], test_places.without_copies(spec, gdb[spec], seen, library, flow), flow
        )
        and not is_at_entries(gdb[spec], seen.places[spec], flow)
    ]
    print(
        f"{layer} {variant}: {len(names)} functions, {len(gdb)} lines, {len(wrong)} wrong; uncertain: {seen.uncertain}"
    )
    assert len(names) == len(calls) and (len(gdb) > 40) == has_lines and len(seen.uncertain) <= 4
    assert not wrong, "\n".join(wrong)


def is_at_entries(gdb: list[int], ours: list[int], flow: dict[int, control_flow.Function]) -> bool:
    """Whether each place is gdb's, or the entry of the function where gdb goes behind what it takes for the prologue.

    gdb does so with all code of LLVM, also where that is optimised, or begins with what was inlined.
    """
    entries = {next((one.start for one in flow.values() if place in one.rows), None) for place in gdb}
    return len(ours) == len(gdb) and set(ours) <= {*gdb, *entries}


CDEF = {"corpus_cython.term", "corpus_cython.twice", "corpus_cython.Counter.hidden", "corpus_cython.no_gil"}
# A generator stops when it begins, and each time that it goes on.
GENERATORS = {"corpus_cython.numbers"}


def is_right(name: str, calls: int, hits: int, variant: str) -> bool:
    if name in GENERATORS:
        return hits > calls
    if variant == "O2-nodebug" and (not name.startswith("corpus_cython") or name in CDEF):
        return hits <= calls  # nothing says where it was inlined
    return calls == hits > 0


COUNTED = [("capi", "corpus.cpp"), ("rust", "corpus.rs"), ("cython", "corpus_cython.pyx")]
# Not optimised each line is there once; in Cython it is made of many. Meson has options of its own.
SOME_COUNTED = {("capi", "O2"), ("rust", "O2"), ("cython", "O0"), ("cython", "meson")}
BY_SYSTEMS = [("pybind", "corpus.cpp"), ("nanobind", "corpus.cpp"), ("cython", "corpus_cython.pyx")]


@pytest.mark.parametrize(
    ("layer", "file", "variant"),
    [
        pytest.param(*one, variant, marks=() if (one[0], variant) in SOME_COUNTED else pytest.mark.exhaustive)
        for one in COUNTED
        for variant in ("O0", "O2", "O3-lto")
    ]
    + [
        pytest.param(*one, system, marks=() if (one[0], system) in SOME_COUNTED else pytest.mark.exhaustive)
        for one in BY_SYSTEMS
        for system in SYSTEMS
    ],
)
def test_a_line_is_hit_as_often_as_the_counter_on_it_says(
    layer: str, file: str, variant: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    require(layer, request)
    lines = dict(counters_of(layer, file))
    library = built(layer, variant)
    seen = in_dualdbg(library, PROGRAM.format(module=MODULES[layer]), tmp_path, list(lines), [])
    calls = json.loads((tmp_path / "counts.json").read_text())
    begin = control_flow.statements(library, file)
    wrong, told = [], []
    for spec, name in lines.items():
        line = int(spec.rpartition(":")[2])
        text = f"{spec}: {calls[name]} counted, {seen.hits[spec]} hits"
        if calls[name] == seen.hits[spec]:
            continue
        # The compiler has mixed it with others, or unrolled a loop: the breakpoint says that it may stop less often.
        mixed = spec in seen.uncertain and seen.hits[spec] < calls[name]
        if mixed or (line not in begin and line not in seen.lines[spec]):
            told.append(text)
        else:
            wrong.append(text)
    print(f"{layer} {variant}: {len(lines)} lines with a counter, {len(wrong)} wrong; {told}")
    # One was unrolled; with a stack protector GCC leaves a copy of another one to rows of headers.
    assert len(lines) >= 14 and not wrong and len(told) <= 2, "\n".join([*wrong, *told])


def counters_of(layer: str, file: str) -> list[tuple[str, str]]:
    """(line as a breakpoint, name of its counter)."""
    if layer == "cython":
        names = dict(enumerate(CYTHON))
        return [(f"{file}:{line}", names[int(id)]) for line, id in found_in(file, r"calls\[(\d+)\] \+= 1")]
    if layer == "rust":
        return [(f"{file}:{line}", RUST[id]) for line, id in found_in(file, r"count\(Id::(\w+)\);")]
    ids = dict(
        re.findall(r"^    X\((\w+), (.+?)\)(?: *\\)?$", (SOURCES / "corpus.hpp").read_text(), re.MULTILINE)
    )
    return [(f"{file}:{line}", ids[id]) for line, id in found_in(file, r"^ +COUNT\((\w+)\);")]


def found_in(file: str, pattern: str) -> list[tuple[int, str]]:
    text = (SOURCES / file).read_text().splitlines()
    return [(number, match[1]) for number, line in enumerate(text, 1) if (match := re.search(pattern, line))]
