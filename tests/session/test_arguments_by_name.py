"""Arguments of C++ functions of which nothing but the mangled name is known: those that it proves, and no others."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.errors import EvaluationError
from dualdbg.model import Exited, Language, NativeFrame, Stopped
from tests.session.driver import Driver, run_session
from tests.support import require

SOURCE = """\
#include <string>
extern "C" { volatile long sink; }
#define PART __attribute__((noinline, used))
struct Pair { int a, b; };
struct Account {
  long sum = 7;
  PART Account(int cents, const std::string& what) { sink = sum = cents + what.size(); }
  PART void pay(int cents) { sum += cents; }
  PART std::string text(int n) const { return std::string(n, 'x'); }
  PART static int fee(int cents, double rate) { return sink = (int)(cents * rate); }
};
template <class T> PART long counted(T n, double rate, Pair pair, long behind) { return sink = n + pair.b + behind; }
extern "C" void run() {
  for (int i = 1; i < 3; i++) {
    Account account(i, "bread");
    account.pay(9);
    sink = account.text(5).size();
    Account::fee(4, 0.5);
    counted<int>(i, 2.5, Pair{1, 2}, 8);
  }
}
"""
UNKNOWN = "<not known>"
# Nothing tells whether there is `this`, or whether the result is made in memory; on AArch64 that takes no register.
SHOWN = {
    "Account::Account": {"arg1": "2", "arg2": '"bread"'},
    "Account::pay": {"arg1": UNKNOWN},
    "Account::text": {"arg1": "5" if platform.machine() == "aarch64" else UNKNOWN},
    "Account::fee": {"arg1": UNKNOWN, "arg2": "0.5"},
    "counted": {"arg1": "2", "arg2": "2.5", "arg3": UNKNOWN, "arg4": UNKNOWN},
}


def test_arguments_that_the_mangled_name_proves_are_shown(tmp_path: Path) -> None:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    objcopy = require(shutil.which("objcopy"), "objcopy")
    (tmp_path / "small.cpp").write_text(SOURCE)
    (tmp_path / "note").write_text("clang version 17")
    build = [compiler, "-std=c++17", "-O2", "-shared", "-fPIC", "small.cpp", "-o", "libsmall.so"]
    note = [objcopy, "--update-section", ".comment=note", "libsmall.so", "libnoted.so"]
    for command in (build, note):
        subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "script.py"
    calls = [f"ctypes.CDLL({str(tmp_path / one)!r}).run()\n" for one in ("libsmall.so", "libnoted.so")]
    script.write_text("import ctypes\n" + "".join(calls))

    async def work(driver: Driver) -> list[tuple[str, dict[str, str]]]:
        inspector, found = driver.session.inspector, []
        stop = await driver.stop()
        while True:
            frame = stop.frame
            assert isinstance(frame, NativeFrame) and frame.function is not None
            rows = await inspector.variables(stop.thread.tid, frame)
            found.append((frame.function.partition("(")[0], {row.name: row.value for row in rows}))
            if "arg1" in found[-1][1] and found[-1][1]["arg1"] == UNKNOWN:
                with pytest.raises(EvaluationError, match="the value of arg1 is not known here"):
                    await inspector.evaluate("arg1 + 1", stop.thread.tid, frame, Language.NATIVE)
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return found
            stop = event.stop

    specs = [
        "Account::Account if arg1 == 2",
        'Account::Account log "made {arg1} {arg2}"',
        "Account::pay hits 2",
        "Account::text hits 2",
        "Account::fee hits 2",
        "counted hits 2",
    ]
    found = run_session(work, script, *specs)
    first, second = found[: len(SHOWN)], found[len(SHOWN) :]
    for (name, rows), (expected, values) in zip(first, SHOWN.items(), strict=True):
        assert expected in name and values.items() <= rows.items(), found
    # Callers that Clang has compiled may leave out what a function does not use.
    assert all("arg1" not in rows for _, rows in second), second
