"""``diagnose`` of a session that stands at a crash: what the address is, and which variables led there."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Language, NativeFrame, PythonFrame, Value
from dualdbg.plugins.mcp.crash import Area, Crash, finding_of
from tests import support
from tests.mcp.driver import Tools, with_server

_SOURCE = """\
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>
struct Node { long pad[3]; Node *next; int value; };
const char text[] = "constant";
static int null(Node *node) { return node->value; }
static int member(Node *node) { return node->next->value; }
static int deep(int n) { volatile char a[256]; a[0] = n; return deep(n + 1) + a[0]; }
static int divide(int number, int by) { return number / by; }
static int run(int (*function)(int), int number) { return function(number) + 1; }
static void fill(char *to) { to[0] = 'x'; }
int main(int argc, char **argv) {
    const char *what = argv[1];
    Node node{};
    if (!strcmp(what, "null")) return null(nullptr);
    if (!strcmp(what, "member")) return member(&node);
    if (!strcmp(what, "deep")) return deep(0);
    if (!strcmp(what, "divide")) return divide(argc, 0);
    if (!strcmp(what, "constant")) fill((char *)text);
    if (!strcmp(what, "wild")) return null((Node *)0x700000001000);
    if (!strcmp(what, "none")) return null((Node *)0xdeadbeefdeadbeef);
    if (!strcmp(what, "call")) return run((int (*)(int))0xdead0000, argc);
    if (!strcmp(what, "assert")) assert(argc == 7);
    if (!strcmp(what, "throw")) throw std::runtime_error("no");
    if (!strcmp(what, "free")) { char *p = (char *)malloc(32); free(p); free(p); }
    if (!strcmp(what, "trap")) __builtin_trap();
    if (!strcmp(what, "short")) {
        int file = open(argv[2], O_RDWR | O_CREAT, 0600);
        if (ftruncate(file, 4096)) return 1;
        return ((char *)mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0))[5000];
    }
    return 0;
}
"""
# By what the program is to do: what is said of it.
_TOLD = {
    "null": ["SIGSEGV", "null pointer, 32 bytes behind it", "Node * node = 0x0 is a null pointer"],
    "member": ["null pointer, 32 bytes behind it", "Node * node->next = 0x0 is a null pointer"],
    "deep": ["SIGSEGV", "the stack of the thread is full: deep has called itself"],
    "divide": ["SIGFPE", "whole numbers were divided", "int by = 0"],
    "constant": ["which may only be read", "points there"],
    "wild": ["nothing is mapped at the address", "Node * node = 0x700000001000 points 32 bytes before it"],
    "none": ["the kernel names no address"],
    "call": ["code at this address was to be run", "nothing is mapped at the address", "run ("],
    "assert": ["SIGABRT", "C library said: ", "main(int, char**): Assertion `argc == 7' failed.", "main ("],
    "throw": ["a C++ exception was not caught", "main ("],
    "free": ["the C library said: free(): double free detected", "main ("],
    "trap": ["SIGILL", "an instruction that the processor does not have"],
    "short": ["SIGBUS", "short.dat, which has no page there"],
}
if platform.machine() == "aarch64":
    del _TOLD["divide"]  # the quotient is 0 there
    _TOLD["none"] = ["nothing is mapped at the address"]
    _TOLD["trap"] = ["SIGTRAP"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crash")
    compiler = support.require(shutil.which("c++"), "a C++ compiler")
    (folder / "crash.cpp").write_text(_SOURCE)
    options = ["-g", "-O0", "-fno-stack-protector", "-Wno-div-by-zero"]
    subprocess.run([compiler, *options, "crash.cpp", "-o", "crash"], cwd=folder, check=True)
    return folder / "crash"


@pytest.mark.processes
def test_each_crash_is_told_by_what_is_known_of_it(program: Path, tmp_path: Path) -> None:
    async def work(tools: Tools) -> None:
        for what, parts in _TOLD.items():
            arguments = [what, str(tmp_path / "short.dat")]
            run = await tools("run", program=str(program), native=True, args=arguments, seconds=60)
            session = run.data["session"]
            found = await tools("diagnose", session=session)
            (finding,) = found.data["findings"]
            assert finding["kind"] == "crash"
            assert [one["tid"] for one in finding["threads"]] == [run.data["pid"]]
            assert all(part in finding["text"] for part in parts), (what, finding["text"])
            assert f"stack(session={session!r})" in found.data["next"]
            await tools("end", session=session)

    with_server(work)


@pytest.mark.processes
def test_a_crash_below_python_names_the_line_of_python(tmp_path: Path) -> None:
    script = tmp_path / "reads.py"
    script.write_text("import ctypes\ndef read(place):\n    ctypes.string_at(place)\nread(8)\n")

    async def work(tools: Tools) -> None:
        session = (await tools("run", program=str(script))).data["session"]
        (finding,) = (await tools("diagnose", session=session)).data["findings"]
        assert "called in read (reads.py:3)" in finding["text"]
        assert "read (reads.py:3): int place = 8 is the address" in finding["text"]

    with_server(work)


@pytest.mark.processes
@pytest.mark.parametrize(("what", "part"), [("assert", "said: "), ("member", "member (crash.cpp:11)")])
def test_core_without_a_session_is_explained_as_in_a_session(
    program: Path, tmp_path: Path, what: str, part: str
) -> None:
    """No process with the number that it had is read, whoever has that number now."""
    core = str(tmp_path / "core")
    command = ["gdb", "-nx", "-batch", "-ex", f"run {what}", "-ex", f"gcore {core}", str(program)]
    subprocess.run(command, capture_output=True, check=True)

    async def work(tools: Tools) -> None:
        answer = await tools("diagnose", core=core)
        (finding,) = answer.data["findings"]
        assert finding["kind"] == "crash" and len(finding["threads"]) == 1
        assert part in finding["text"] and "(crash.cpp:" in finding["text"]
        assert "Nothing that looks wrong" not in answer.text
        assert f"attach(core={core!r})" in answer.data["next"]
        session = (await tools("attach", core=core)).data["session"]
        answer = await tools("diagnose", session=session)
        (finding,) = answer.data["findings"]
        assert part in finding["text"] and "SIG" in finding["text"]
        assert answer.data["failures"] == []
        assert "it is a core" in await tools.refused("continue_until", session=session)

    with_server(work)


# -- in words --------------------------------------------------------------------------------------

_AT = NativeFrame(0, 0x1000, "find", "/lib/list.so", "list.cpp", 16, sp=0x7FFF_0000_0000)


def _told(
    fault: int | None, *values: Value, mapped: Area | None = None, signal: str = "SIGSEGV"
) -> list[str]:
    crash = Crash(signal, f"{signal}, text", 5, "main", 5, fault, [_AT], [(_AT, values)], mapped, True)
    return finding_of(crash).text.split("\n")[1:]


def _value(name: str, kind: str, value: str, language: Language = Language.NATIVE) -> Value:
    return Value(name, kind, value, language)


def test_only_variables_whose_value_says_so_are_named() -> None:
    null = _value("node", "const Node * const", "0x0")
    other, number = _value("next", "Node *", "0x5000"), _value("key", "int", "0x0")
    assert _told(0, other, number, null) == [
        "the address is that of a null pointer",
        "find (list.cpp:16): const Node * const node = 0x0 is a null pointer",
    ]
    assert _told(0x5008, null, other) == [
        "nothing is mapped at the address",
        "find (list.cpp:16): Node * next = 0x5000 points 8 bytes before it",
    ]
    assert _told(0x6000, null, other) == ["nothing is mapped at the address"]
    assert _told(None, null) == [
        "the kernel names no address: it was sent by a process, or the address is one that no process can have"
    ]


@pytest.mark.parametrize(
    ("mapped", "told"),
    [
        (Area("r--p", "/lib/list.so"), "the address is in /lib/list.so, which may only be read"),
        (Area("r-xp", "/lib/list.so"), "the address is in /lib/list.so, which may only be read and run"),
        (Area("---p", ""), "the address is in memory without a file, which may be neither read nor written"),
    ],
)
def test_what_is_mapped_there(mapped: Area, told: str) -> None:
    assert _told(0x5000, mapped=mapped) == [told]


def test_a_stack_is_full_only_where_the_address_is_no_memory_of_it() -> None:
    near = 0x7FFF_0000_0000 - 64
    assert _told(near) == ["the stack of the thread is full"]
    assert _told(near, mapped=Area("---p", "")) == ["the stack of the thread is full"]
    assert _told(near, mapped=Area("rw-p", "[stack]")) == [
        "the address is in [stack], which may only be read and written"
    ]


def test_a_python_frame_further_in_hides_what_ended_it() -> None:
    frames = [PythonFrame("f", "a.py", 3), NativeFrame(1, 1, "__assert_fail", "/lib/libc.so.6")]
    crash = Crash("SIGABRT", "SIGABRT, Aborted", 5, "main", os.getpid(), None, frames, [])
    assert finding_of(crash).text == "thread 5 main: SIGABRT, Aborted, in f (a.py:3)"
