"""Short loops at the beginning of functions, as compilers make them: each turn is counted that gdb stops at."""

from __future__ import annotations

import itertools
import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.probes import placement
from dualdbg.system.patience import patient
from tests import rows, warm
from tests.support import require

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]
_LEVELS = ("O1", "O2", "Os", "O3")
_TYPES = {"char": "char", "short": "short", "int": "int", "long": "long", "number": "unsigned"}
_LOOPS = {
    "wait": "while (*p) ;",
    "countdown": "do ; while (--*p);",
    "test_first": "while (*p) --*p;",
    "decrement_first": "while (--*p) ;",
    "steps_of_two": "do *p -= 2; while (*p > 1);",
    "up": "for (; *p < 20; ++*p) ;",
    "pausing": "do __builtin_ia32_pause(); while (--*p);",
    "pausing_first": "while (--*p) __builtin_ia32_pause();",
}
_IN_REGISTERS = {
    "register_down": 'do __asm__ volatile("" : "+r"(n)); while (--n > 0);',
    "register_first": 'while (n-- > 0) __asm__ volatile("" : "+r"(n));',
    "register_bits": 'do { n >>= 1; __asm__ volatile("" : "+r"(n)); } while (n);',
}
_TEXT = """
__attribute__((noipa)) const char *NAME(skip)(const char *s) { while (*++s) ; return s; }
__attribute__((noipa)) const char *NAME(behind)(const char *s) { while (*s++) ; return s; }
__attribute__((noipa)) void NAME(last)(struct one *p) { do p = p->next; while (p); }
"""


def _source() -> tuple[str, list[str]]:
    """A file that is compiled once for each level, and the names of its functions."""
    head = "struct one { struct one *next; };\n#define JOIN(a, b) a##_##b\n#define JOINED(a, b) JOIN(a, b)\n"
    made = [head, "#define NAME(name) JOINED(name, LEVEL)\n", _TEXT]
    calls = ["NAME(skip)(text); NAME(behind)(text); NAME(last)(list);"]
    names = ["skip", "behind", "last"]
    for (loop, body), (name, kind) in itertools.product(_LOOPS.items(), _TYPES.items()):
        names.append(f"{loop}_{name}")
        made.append(f"__attribute__((noipa)) void NAME({names[-1]})(volatile {kind} *p) {{ {body} }}\n")
        begins = 0 if loop == "wait" else 9
        calls.append(f"{{ volatile {kind} n = {begins}; NAME({names[-1]})(&n); }}")
    for (loop, body), (name, kind) in itertools.product(_IN_REGISTERS.items(), _TYPES.items()):
        names.append(f"{loop}_{name}")
        made.append(f"__attribute__((noipa)) long NAME({names[-1]})({kind} n) {{ {body} return n; }}\n")
        calls.append(f"NAME({names[-1]})(9);")
    body = "\n".join(calls)
    setup = 'const char *text = "0123456"; struct one list[5] = {{list + 1}, {list + 2}, {list + 3}, {list + 4}, {0}};'
    made.append(f"void NAME(all)(void) {{ {setup}\nfor (int turn = 0; turn < 3; turn++) {{ {body} }} }}\n")
    return "".join(made), names


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """The program, and how often gdb stops at each of its functions."""
    folder = tmp_path_factory.mktemp("loops")
    text, names = _source()
    (folder / "loops.c").write_text(text)
    for level in _LEVELS:
        options = [f"-{level}", "-fcf-protection=none", f"-DLEVEL={level}", "-o", folder / f"{level}.o"]
        subprocess.run(["gcc", "-c", *options, folder / "loops.c"], check=True)
    declared = "".join(f"void all_{level}(void);" for level in _LEVELS)
    called = "".join(f"all_{level}();" for level in _LEVELS)
    (folder / "main.c").write_text(f"{declared}\nint main(void) {{ {called} return 7; }}\n")
    objects = [folder / f"{level}.o" for level in _LEVELS]
    subprocess.run(["gcc", "-o", folder / "loops", folder / "main.c", *objects], check=True)
    functions = [f"{name}_{level}" for name, level in itertools.product(names, _LEVELS)]
    return folder / "loops", _counted_by_gdb(folder / "loops", functions)


def _counted_by_gdb(program: Path, functions: list[str]) -> dict[str, int]:
    require(shutil.which("gdb"), "gdb is not installed", outside=True)
    commands = ["set confirm off", "set debuginfod enabled off"]
    for number, name in enumerate(functions, 1):
        commands += [f"break *&{name}", f"ignore {number} 1000000"]
    commands += ["run", "info breakpoints"]
    words = ["gdb", "-nx", "-batch", *(word for one in commands for word in ("-ex", one)), str(program)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=patient(300), check=True).stdout
    found = dict.fromkeys(functions, 0)
    rows = r"(?m)^(\d+) +breakpoint +keep y .*(?:\n\tbreakpoint already hit (\d+) times?)?"
    for number, hits in re.findall(rows, said[said.rindex("Num ") :]):
        found[functions[int(number) - 1]] = int(hits or 0)
    return found


@pytest.mark.parametrize("how", rows.some([["--count", "if $rsp != 0"], [], ["--count"]], 2))
def test_each_turn_is_counted_that_gdb_stops_at(loops: tuple[Path, dict[str, int]], how: list[str]) -> None:
    """A loop may lie wholly in the bytes that the jump takes. Else it is said why nothing is counted."""
    program, by_gdb = loops
    suffix = "".join(f" {one}" for one in how if one.startswith("if"))
    words = [word for name in by_gdb for word in ("-b", name + suffix)]
    options = [one for one in how if one.startswith("--")]
    command = [sys.executable, "-m", "dualdbg", "trace", "--json", *options, *words, "--native", str(program)]
    done = warm.run(command, text=True, timeout=patient(300))
    assert done.returncode == 7, done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])["functions"]
    assert {row["function"] for row in rows} == set(by_gdb)
    counted = {row["function"]: row["hits"] for row in rows if row["hits"] is not None}
    assert counted == {name: by_gdb[name] for name in counted}
    looped = [name for name in counted if by_gdb[name] > 3]
    assert len(looped) > len(by_gdb) / 4, sorted(set(by_gdb) - set(looped))
    assert {row["function"] for row in rows if row.get("looped")} >= set(looped)
    reasons = {row["why"] for row in rows if row["hits"] is None}
    known = "shorter than the jump|leads into its first bytes|lie in two pages"
    assert all(re.search(known, why) for why in reasons), reasons
