"""What functions return, without debug info and with it: against the values that the program was given."""

from __future__ import annotations

import json
import os
import platform
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.gdb_scripts.test_passed import HEAD, TYPES, VIEW, Maker, integer, real, view
from tests.support import require

FUNCTIONS = 250
SEED = 20260803

ON_ARM = platform.machine() == "aarch64"


def string(chance: random.Random) -> tuple[str, str]:
    word = "".join(chance.choice("abc é") for _ in range(chance.randrange(40)))
    return f'std::string("{word}")', f'"{word}"'


def vector(kind: str, inner: Maker) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        parts = [inner(chance) for _ in range(chance.randrange(4))]
        code = ", ".join(code for code, _ in parts)
        return f"std::vector<{kind}>{{{code}}}", f"[{', '.join(text for _, text in parts)}]"

    return make


def tuple_of(*inner: Maker) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        parts = [one(chance) for one in inner]
        code, text = (", ".join(part[at] for part in parts) for at in (0, 1))
        return f"{{{code}}}", f"({text})"

    return make


LONG, SHORT = integer(-(1 << 62), 1 << 62), integer(-9, 9)
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
# Types as the demangler writes them: values as C++ and as they are shown.
NAMED: dict[str, Maker] = {
    **{kind: make for kind, make in TYPES.items() if not kind.endswith("&")},
    STRING: string,
    "std::vector<long, std::allocator<long> >": vector("long", LONG),
    f"std::vector<{STRING}, std::allocator<{STRING} > >": vector("std::string", string),
    "std::tuple<int, int>": tuple_of(SHORT, SHORT),
    "std::tuple<bool, double, short>": tuple_of(TYPES["bool"], real, SHORT),
    f"std::tuple<{STRING}, long, {VIEW} >": tuple_of(string, LONG, view),
}
NOT_KNOWN = ("long double", "std::pair<int, int>", "Mixed", "std::unique_ptr<int, std::default_delete<int> >")

CLASSES = """\
#include <chrono>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>
struct Mixed { int a; double b; };
struct Floats { float x, y, z; };
struct Bytes { char text[11]; };
struct Big { long a, b, c; };
struct Apart { float a; alignas(8) float b; };
struct Quads { long double a, b; };
union Reals { float a; float b[2]; };
struct Nested { Floats f; int n; };
struct Empty {};
struct WithEmpty : Empty { double d; long n; };
struct Virtual { long n; virtual ~Virtual() {} Virtual(long n) : n(n) {} };
struct Counted {
  long n;
  Counted(long n) : n(n) {}
  Counted(const Counted& other) : n(other.n) { asm(""); }
  ~Counted() { asm(""); }
};
struct Holder { Counted c; };
struct Keeps { void operator()(int *) const {} };
struct Defaulted { long n; ~Defaulted() = default; };
struct Flags { unsigned a : 3, b : 5; };
union Either { int n; float f; };
enum Colour { RED, GREEN };
enum class Small : char { ONE = 1 };
"""


def code_of(make: Maker) -> Callable[[random.Random], str]:
    return lambda chance: make(chance)[0]


# With debug info: a type, and a value of it.
DECLARED: dict[str, Callable[[random.Random], str]] = {
    **{kind: code_of(make) for kind, make in TYPES.items()},
    "std::string": code_of(string),
    "std::vector<long>": code_of(vector("long", LONG)),
    "std::tuple<bool, double, short>": code_of(tuple_of(TYPES["bool"], real, SHORT)),
    "Mixed": lambda chance: f"{{{chance.randrange(99)}, {chance.randrange(99)}.5}}",
    "Floats": lambda chance: f"{{1.5f, {chance.randrange(99)}.25f, -3}}",
    "Bytes": lambda chance: f'{{"{chance.randrange(99)} bytes"}}',
    "Big": lambda chance: f"{{{chance.randrange(99)}, -2, 3}}",
    "Apart": lambda chance: f"{{1.5f, {chance.randrange(99)}.25f}}",
    "Quads": lambda chance: f"{{1.5L, {chance.randrange(99)}.25L}}",
    "Reals": lambda chance: f"{{{chance.randrange(99)}.5f}}",
    "Nested": lambda chance: f"{{{{1, 2, 3}}, {chance.randrange(99)}}}",
    "WithEmpty": lambda chance: f"{{{{}}, {chance.randrange(99)}.5, 7}}",
    "Virtual": lambda chance: f"{{{chance.randrange(99)}}}",
    "Counted": lambda chance: f"{{{chance.randrange(99)}}}",
    "Holder": lambda chance: f"{{{{{chance.randrange(99)}}}}}",
    "Either": lambda chance: f"{{{chance.randrange(99)}}}",
    "Colour": lambda chance: chance.choice(("RED", "GREEN")),
    "Small": lambda chance: "Small::ONE",
    "long double": lambda chance: f"{chance.randrange(99)}.5L",
    "int Mixed::*": lambda chance: "&Mixed::a",
    "std::pair<int, double>": lambda chance: f"{{{chance.randrange(99)}, 0.5}}",
    "std::shared_ptr<int>": lambda chance: (
        f"std::shared_ptr<int>((int*){chance.randrange(1, 99)}l, [](int*) {{}})"
    ),
    "std::pair<double, int>": lambda chance: f"{{0.5, {chance.randrange(99)}}}",
    "std::pair<int, Counted>": lambda chance: f"{{{chance.randrange(99)}, Counted(7)}}",
    "std::unique_ptr<int, Keeps>": lambda chance: (
        f"std::unique_ptr<int, Keeps>((int*){chance.randrange(99)}l)"
    ),
    "std::chrono::milliseconds": lambda chance: f"std::chrono::milliseconds({chance.randrange(99)})",
    "Defaulted": lambda chance: f"{{{chance.randrange(99)}}}",
    "Flags": lambda chance: "{1, 2}",
    "unsigned __int128": lambda chance: f"{chance.randrange(99)}",
}
MAY_BE_UNKNOWN = ("Defaulted", "Flags", "unsigned __int128")


def source_of(rows: Sequence[tuple[str, str]], extra: str = "") -> str:
    """A program with a function for each type and value; ``between`` is called behind each."""
    lines = [HEAD, CLASSES, extra, '__attribute__((noipa)) void between() { asm(""); }']
    calls = []
    for number, (kind, code) in enumerate(rows):
        lines.append(f"using T{number} = {kind};")
        if code:
            lines.append(f"static const long target_{number} = {number};" if kind.endswith("&") else "")
            value = f"target_{number}" if kind.endswith("&") else ""
            lines.append(f"T{number} want_{number} = {value or code};")
            copy = f"T{number}(want_{number}.get())" if "unique_ptr" in kind else f"want_{number}"
            body = f'asm(""); return {copy};'
        else:
            body = 'asm("");'
        lines.append(f'T{number} f{number}() __asm__("probe_{number}");')
        lines.append(f"__attribute__((noipa)) T{number} f{number}() {{ {body} }}")
        calls.append(f"  {{ f{number}(); between(); }}")
    return "\n".join([*lines, "int main() {", *calls, "}", ""])


def results(folder: Path, source: str, kinds: Sequence[str | None], *flags: str) -> Any:
    (folder / "program.cpp").write_text(source)
    compiler, gdb = require(shutil.which("g++"), "a C++ compiler"), require(shutil.which("gdb"), "gdb")
    command = [compiler, "-std=c++17", *flags, "-no-pie", "program.cpp", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    settings = ("set debuginfod enabled off", "set auto-load off", "set startup-with-shell off")
    words = [word for setting in settings for word in ("-iex", setting)]
    env = {
        **os.environ,
        "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent),
        "DUALDBG_TEST_KINDS": json.dumps(kinds),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", *words, "-x", HERE / "targets" / "look_at_results.py", folder / "program"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(300), env=env,
    )  # fmt: skip
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(answers[0].removeprefix("answer: "))


@pytest.mark.slow
@pytest.mark.parametrize("level", rows.some(["-O2", "-O0"], 1))  # where a result lies is up to the ABI
def test_results_of_functions_without_debug_info(tmp_path: Path, level: str) -> None:
    chance = random.Random(SEED)
    kinds = [*NAMED, *(chance.choice(list(NAMED)) for _ in range(FUNCTIONS - len(NAMED)))]
    values = [NAMED[kind](chance) for kind in kinds]
    rows = [(kind, code) for kind, (code, _) in zip(kinds, values, strict=True)]
    unknown = [(kind, "{}") for kind in NOT_KNOWN[:-1]]
    found = results(tmp_path, source_of([*rows, *unknown]), [*kinds, *NOT_KNOWN[:-1]], level)
    wrong = [
        (kind, got, text)
        for kind, (got, _), (_, text) in zip(kinds, found, values, strict=False)
        if got is None or got[1] != text
    ]
    assert wrong == []
    assert all(is_not_known(got[1]) for got, _ in found[len(kinds) :])


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", rows.some([(("-O2", "-g"),), (("-O1", "-gdwarf-4"),), (("-O0", "-g"),)], 1), ids=" ".join
)
def test_results_of_functions_with_debug_info(tmp_path: Path, flags: tuple[str, ...]) -> None:
    chance = random.Random(SEED)
    kinds = [*DECLARED, *(chance.choice(list(DECLARED)) for _ in range(FUNCTIONS - len(DECLARED)))]
    rows = [(kind, DECLARED[kind](chance)) for kind in kinds]
    found = results(tmp_path, source_of(rows), [None] * len(rows), *flags)
    wrong, unknown = [], set()
    for kind, (got, want) in zip(kinds, found, strict=True):
        text = got[1] if got is not None else None
        if text is not None and is_not_known(text):
            unknown.add(kind)
        elif _uncounted(text) != _uncounted(want):
            wrong.append((kind, got, want))
    assert wrong == []
    assert unknown <= {*MAY_BE_UNKNOWN, *(("WithEmpty", "Apart", "Reals") if ON_ARM else ())}


def is_not_known(text: str) -> bool:
    return text.startswith("<not known: ")


def _uncounted(text: str | None) -> str | None:
    """The text without the number of a shared pointer's owners: the result is one more."""
    return re.sub(r"use count \d+", "", text) if text is not None else None


def test_a_function_that_returns_nothing_has_no_result(tmp_path: Path) -> None:
    source = source_of([("void", "")])
    for kind, flags in (("void", ("-O0",)), (None, ("-O0", "-g"))):
        if kind is None:
            source = source.replace("using T0", "int want_0;\nusing T0")
        ((got, _),) = results(tmp_path, source, [kind], *flags)
        assert got is None
