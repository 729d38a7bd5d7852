"""Arguments of C++ functions of which nothing but the mangled name is known: never a wrong one, and most are shown."""

from __future__ import annotations

import platform
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from dualdbg.errors import EvaluationError
from dualdbg.model import Exited, Language, NativeFrame, Stop, Stopped, Value
from tests.session.cxx_corpus import Function, Symbolic, library
from tests.session.driver import Driver, run_session
from tests.support import require

SEED = 20261126
CLANGS = ("-O0", "-O1", "-O2", "-Os", "-O3 -fno-semantic-interposition")
# Of the arguments whose types are known; a tenth of them is not used. Clang's callers prove less.
SHOWN = {"g++": 0.95, "clang": 0.4}
SHOWN_OF_FEW = {"g++": 0.9, "clang": 0.4}
NOT_KNOWN = "<not known"
ON_X86 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the code of functions proves something on x86-64 alone"
)


def clangxx() -> tuple[str, str]:
    """Clang for C++; Debian and Ubuntu have it with its version alone."""
    names = ("clang", *(f"clang-{version}" for version in range(30, 10, -1)))
    found = next(filter(None, map(shutil.which, names)), None)
    return require(found, "clang", outside=True), "--driver-mode=g++"


def prepared(
    folder: Path, count: int, flags: str, used: float = 0.9, clang: bool = False
) -> tuple[Path, dict[str, Function], dict[str, int]]:
    """The script, the functions by linkage name, and where the library has its symbols."""
    source, functions = library(random.Random(SEED), count, used)
    (folder / "corpus.cpp").write_text(source)
    command = [
        *(clangxx() if clang else (require(shutil.which("g++"), "a C++ compiler"),)),
        "-std=c++17",
        "-w",
        *flags.split(),
        "-shared",
        "-fPIC",
        "corpus.cpp",
        "-o",
        "libcorpus.so",
    ]
    subprocess.run(command, cwd=folder, check=True)
    lines = subprocess.run(
        ["nm", "libcorpus.so"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split() for line in lines.splitlines()]
    symbols = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    found = {}
    for one in functions:
        letters = f"{len(one.name)}{one.name}" if "pl" not in one.name else one.name
        names = [
            name
            for name in symbols
            if letters in name and name.startswith("_Z") and "." not in name and "_ZT" not in name
        ]
        names = [name for name in names if one.form != "constructor" or f"{letters}C1E" in name]
        assert len(names) == 1, (one, names)
        found[names[0]] = one
    script = folder / "script.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(folder / 'libcorpus.so')!r}).corpus_run()\n")
    return script, found, symbols


def judged(
    one: Function, values: list[Value], bias: int, symbols: dict[str, int], counts: Counter[tuple[str, str]]
) -> list[str]:
    """What is wrong about the arguments; ``counts`` has how many are shown and how many there are."""
    wrong = []
    rows = {value.name: value for value in values}
    expected: list[tuple[str, str, str | Symbolic | None]] = [
        (f"arg{at}", group, text) for at, (group, text) in enumerate(one.given, 1)
    ]
    if one.this is not None:
        expected.append(("this", "this", Symbolic(one.this)))
    elif one.form != "constructor" and "this" in rows and not rows["this"].value.startswith(NOT_KNOWN):
        wrong.append(f"{one.form} {one.name}: this = {rows['this'].value}")
    for name, group, text in expected:
        row = rows.get(name)
        shown = row is not None and not row.value.startswith(NOT_KNOWN)
        counts[one.form, group] += shown
        counts[one.form, f"{group} in all"] += 1
        if not shown or row is None or text is None:
            continue
        want = f"{symbols[text.name] + bias:#x}" if isinstance(text, Symbolic) else text
        if row.value != want:
            wrong.append(
                f"{one.form} {one.name} -> {one.result}: {row.type} {name} = {row.value}, not {want}"
            )
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "flags", "count"),
    [
        pytest.param("g++", "-O0", 60, marks=pytest.mark.exhaustive),  # all is where it was passed
        ("g++", "-O2", 60),
        ("clang", "-O2", 60),
        *(pytest.param("g++", flags, 600, marks=pytest.mark.exhaustive) for flags in ("-O0", "-O2")),
        *(pytest.param("clang", flags, 600, marks=pytest.mark.exhaustive) for flags in CLANGS),
    ],
)
def test_arguments_of_functions_that_nobody_describes(
    tmp_path: Path, count: int, compiler: str, flags: str
) -> None:
    script, known, symbols = prepared(tmp_path, count, flags, clang=compiler == "clang")
    counts: Counter[tuple[str, str]] = Counter()

    async def work(driver: Driver) -> tuple[list[str], int]:
        wrong: list[str] = []
        seen = 0
        stop = await driver.stop()
        image = driver.session.breakpoints.image
        while True:
            frame = stop.frame
            assert isinstance(frame, NativeFrame)
            module = image.module_at(frame.pc)
            symbol = module.library.symbol_at(frame.pc - module.bias)
            one = next(known[name] for name in (symbol.linkage_name, *symbol.aliases) if name in known)
            values = await driver.session.inspector.variables(driver.session.pid, frame)
            wrong += judged(one, values, module.bias, symbols, counts)
            seen += 1
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return wrong, seen
            stop = event.stop

    wrong, seen = run_session(work, script, *known)
    for form, group in sorted(counts):
        if not group.endswith("in all"):
            print(f"{flags}: {form}, {group}: {counts[form, group]} of {counts[form, group + ' in all']}")
    groups = ("scalar", "pointer", "reference", "class", "this")
    shown = sum(number for (_, group), number in counts.items() if group in groups)
    total = (
        sum(number for (_, group), number in counts.items() if group.removesuffix(" in all") in groups)
        - shown
    )
    print(f"{compiler} {flags}: {shown} of {total}")
    assert wrong == []
    assert seen >= count
    least = (SHOWN if count >= 600 else SHOWN_OF_FEW)[compiler]
    assert shown >= least * total or (platform.machine() == "aarch64" and shown > 0)


SMALL = """\
#include <string>
struct Account { long sum = 7; void pay(int cents, const std::string& what); static int fee(int cents, double rate); };
extern "C" { volatile long sink = 0; }
__attribute__((noinline)) void Account::pay(int cents, const std::string& what) { sum += cents; sink = what.size(); }
__attribute__((noinline)) int Account::fee(int cents, double rate) { sink = cents; return (int)(cents * rate); }
extern "C" Account account;
Account account;
int (*volatile fee)(int, double) = Account::fee;
extern "C" void small_run() {
  for (int i = 0; i < 4; i++) { account.pay(i, "bread"); fee(i, 0.5); }
}
"""


def small(folder: Path) -> Path:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (folder / "small.cpp").write_text(SMALL)
    command = [compiler, "-std=c++17", "-O2", "-shared", "-fPIC", "small.cpp", "-o", "libsmall.so"]
    subprocess.run(command, cwd=folder, check=True)
    script = folder / "small.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(folder / 'libsmall.so')!r}).small_run()\n")
    return script


@ON_X86
def test_arguments_are_shown_by_name_and_type_and_logged_or_said_not_to_be_known(tmp_path: Path) -> None:
    """Nothing tells that ``fee`` is static, or whether it has an argument more than it uses: it is called by its
    address. There the registers are shown.
    """

    async def work(driver: Driver) -> None:
        inspector, pid = driver.session.inspector, driver.session.pid
        stop = await driver.stop()
        assert isinstance(stop.frame, NativeFrame) and stop.breakpoints == (3,)
        rows = [(one.name, one.value) for one in await inspector.variables(pid, stop.frame)]
        assert rows[:3] == [("this", "<not known>"), ("arg1", "<not known>"), ("arg2", "0.5")]
        registers = {
            "x86_64": ["$rdi", "$rsi", "$rdx", "$rcx", "$r8", "$r9"],
            "aarch64": [f"$x{number}" for number in range(8)],
        }
        assert [name for name, _ in rows[3:]] == registers[platform.machine()]
        with pytest.raises(EvaluationError, match="the value of arg1 is not known here"):
            await inspector.evaluate("arg1 + 1", pid, stop.frame, Language.NATIVE)
        await driver.session.breakpoints.remove(3)

        stop = await driver.resume()
        assert isinstance(stop.frame, NativeFrame) and stop.breakpoints == (1,)
        shown = [(one.name, one.type, one.value) for one in await inspector.variables(pid, stop.frame)]
        assert [shown[0][:2], *shown[1:]] == [
            ("this", "Account*"),
            ("arg1", "int", "2"),
            ("arg2", "std::string const&", '"bread"'),
        ]
        again = await inspector.evaluate("arg2", pid, stop.frame, Language.NATIVE)
        assert again.value == '"bread"'
        module = driver.session.breakpoints.image.module_at(stop.frame.pc)
        assert module is not None and module.library is not None
        (account,) = module.library.find_data("account")
        assert shown[0][2] == hex(account.address + module.bias)
        await driver.session.resume()
        await driver.exit()
        paid = [line for line in driver.console.splitlines() if "paid" in line]
        assert paid == ["paid 2 for bread", "paid 3 for bread"]

    specs = [
        "Account::pay if arg1 == 2 and this != nullptr and not this == 0",
        'Account::pay if arg1 > 1 log "paid {arg1} for {arg2}"',
        "Account::fee",
    ]
    run_session(work, small(tmp_path), *specs)


CALLED_TWICE = """\
struct Vm { long told(long x, long y); };
typedef long (*Pointer)(Vm*, long, long);
extern "C" { volatile long sink = 0; volatile Pointer pointer; }
__attribute__((noinline)) long Vm::told(long x, long y) { sink = x; return 7; }
extern "C" void twice_run() {
  Vm vm;
  pointer = (Pointer)(void*)&Vm::told;
  for (int i = 0; i < 4; i++) sink = vm.told(i, 7) + vm.told(i, 8) + 1;
  sink = pointer(&vm, 2, 8) + 1;
}
"""


def called_twice(folder: Path) -> Path:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (folder / "twice.cpp").write_text(CALLED_TWICE)
    command = [compiler, "-w", "-O2", "-shared", "-fPIC", "twice.cpp", "-o", "libtwice.so"]
    subprocess.run(command, cwd=folder, check=True)
    script = folder / "twice.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(folder / 'libtwice.so')!r}).twice_run()\n")
    return script


@ON_X86
def test_conditions_and_log_texts_about_what_only_the_caller_tells(tmp_path: Path) -> None:
    """The second argument is not used, and it is not known whether there is ``this``. The last call goes through a
    pointer, which proves nothing: a condition stops there once, and says so.
    """
    specs = {
        'Vm::told if arg2 == 8 log "if {arg1}"': [f"if {x}" for x in range(4)],
        'Vm::told log "told {arg1} {arg2}"': [
            *(f"told {x} {y}" for x in range(4) for y in (7, 8)),
            "told <the value of arg1 is not known here> <the value of arg2 is not known here>",
        ],
        'Vm::told if arg2 == 8 and arg1 > 1 hits 2 log "and {arg1}"': ["and 3"],
    }

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.breakpoints == (1, 3)
        assert "is not known here" in (stop.description or "")
        assert [row.enabled for row in driver.session.breakpoints.all()] == [False, True, False]
        await driver.session.resume()
        await driver.exit()
        said = driver.console.splitlines()
        for expected in specs.values():
            start = expected[0].partition(" ")[0]
            assert [line for line in said if line.startswith(start)] == expected

    run_session(work, called_twice(tmp_path), *specs)


LEFT = """\
extern "C" { volatile long sink = 0; }
__attribute__((noinline)) void unused(int a, int b, int c) { sink = a + c; }
extern "C" void left_run() { unused(11, 12, 13); }
"""


@ON_X86
def test_what_is_not_used_is_shown_where_callers_surely_pass_it(tmp_path: Path) -> None:
    """Of two libraries; one has the note of another compiler."""
    compiler, objcopy = (
        require(shutil.which("g++"), "a C++ compiler"),
        require(shutil.which("objcopy"), "objcopy"),
    )
    (tmp_path / "left.cpp").write_text(LEFT)
    (tmp_path / "note").write_text("clang version 17")
    command = [compiler, "-O2", "-shared", "-fPIC", "left.cpp", "-o", "libleft.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    command = [objcopy, "--update-section", ".comment=note", "libleft.so", "libnoted.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "left.py"
    calls = [f"ctypes.CDLL({str(tmp_path / one)!r}).left_run()\n" for one in ("libleft.so", "libnoted.so")]
    script.write_text("import ctypes\n" + "".join(calls))

    async def work(driver: Driver) -> None:
        for second in ("12", "<not known>"):
            stop = await driver.stop()
            assert await arguments(driver, stop) == ["11", second, "13"]
            await driver.session.resume()
        await driver.exit()

    run_session(work, script, "unused")


async def arguments(driver: Driver, stop: Stop) -> list[str]:
    assert isinstance(stop.frame, NativeFrame)
    values = await driver.session.inspector.variables(driver.session.pid, stop.frame)
    return [one.value for one in values if one.name.startswith("arg")]


CALLED = """\
struct Vm { long direct(long x, long y); long by_pointer(long x, long y); };
typedef long (*Pointer)(Vm*, long, long);
extern "C" { volatile long sink = 0; volatile Pointer pointer; }
__attribute__((noinline)) long Vm::direct(long x, long y) { sink = x; return 7; }
__attribute__((noinline)) long Vm::by_pointer(long x, long y) { sink = x; return 8; }
extern "C" void called_run() {
  Vm vm;
  pointer = (Pointer)(void*)&Vm::by_pointer;
  vm.direct(1, 2);
  sink = pointer(&vm, 3, 4) + 1;
}
"""


@ON_X86
def test_a_call_through_a_pointer_proves_nothing(tmp_path: Path) -> None:
    """Another function may have been called, and have jumped on."""
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (tmp_path / "called.cpp").write_text(CALLED)
    command = [compiler, "-w", "-O2", "-shared", "-fPIC", "called.cpp", "-o", "libcalled.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "called.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(tmp_path / 'libcalled.so')!r}).called_run()\n")

    async def work(driver: Driver) -> None:
        assert await arguments(driver, await driver.stop()) == ["1", "2"]
        assert await arguments(driver, await driver.resume()) == ["<not known>"] * 2
        await driver.finish_run()

    run_session(work, script, "Vm::direct", "Vm::by_pointer")


LOOKED_INTO = """\
struct Base { virtual ~Base() {} long base = 1; };
struct Inner { int x, y; };
struct Thing : Base { long a = 41; Inner inner = {5, 6}; void met(int by, const Inner& other, const char* text); };
"""
CALLEE = """\
extern "C" { volatile long sink = 0; }
__attribute__((noinline)) void Thing::met(int by, const Inner& other, const char* text) {
  sink = a + by + other.x + *text;
}
"""
CALLER = """\
struct Derived : Thing { ~Derived() override {} };
extern "C" void caller_run() { Inner one{7, 8}; Derived thing; thing.met(3, one, "some"); }
"""


def looked_into(folder: Path) -> Path:
    """A method without debug info, which a library calls that has debug info with its class."""
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (folder / "callee.cpp").write_text(LOOKED_INTO + CALLEE)
    (folder / "caller.cpp").write_text(LOOKED_INTO + CALLER)
    common = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC"]
    subprocess.run([*common, "callee.cpp", "-o", "libcallee.so"], cwd=folder, check=True)
    command = [*common, "-g", "caller.cpp", "-o", "libcaller.so", "-L.", "-lcallee", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, cwd=folder, check=True)
    script = folder / "caller.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(folder / 'libcaller.so')!r}).caller_run()\n")
    return script


@ON_X86
def test_expressions_look_into_arguments_by_the_debug_info_of_the_caller(tmp_path: Path) -> None:
    expected = {
        "this->a": "41", "this->inner.y * 2": "12", "this->base + arg1": "4", "arg2.x": "7", "arg1 == 3": "1",
        "arg2": None, "(*this).inner": "{x = 5, y = 6}", "&arg2 == 0": "0",
    }  # fmt: skip

    async def work(driver: Driver) -> dict[str, str]:
        stop = await driver.stop()
        assert isinstance(stop.frame, NativeFrame)
        inspector, pid = driver.session.inspector, driver.session.pid
        found = {}
        for text in expected:
            value = await inspector.evaluate(text, pid, stop.frame, Language.NATIVE)
            assert value.name == text
            found[text] = value.value
        with pytest.raises(EvaluationError, match="There is no member"):
            await inspector.evaluate("this->nothing", pid, stop.frame, Language.NATIVE)
        with pytest.raises(EvaluationError, match="only the text is known"):
            await inspector.evaluate("*arg3 + arg2.x", pid, stop.frame, Language.NATIVE)
        await driver.finish_run()
        return found

    found = run_session(work, looked_into(tmp_path), "Thing::met")
    assert {text: found[text] if right else None for text, right in expected.items()} == expected
