"""Which `std::string` a PyTorch was built with, by its own functions: wheels up to 2.6 have that before C++11."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, require

SCRIPT = """\
import sys
from dualdbg_helpers.elf import ElfFile
from dualdbg_helpers.layout import installation
print(installation.of("/", [ElfFile.open(sys.argv[1])]).cxx11_abi)
"""
# As c10 has it, beside what libstdc++ has for both.
C10 = """\
#include <stdexcept>
#include <string>
namespace c10 { namespace detail {
void torchCheckFail(const char *, const char *, unsigned, const std::string &text) { throw std::logic_error(text); }
} }
extern "C" void _ZNSt11logic_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE_copy() {}
"""


@pytest.mark.parametrize("newer", [True, False])
def test_the_string_of_its_own_functions(tmp_path: Path, newer: bool) -> None:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    source, library = tmp_path / "c10.cpp", tmp_path / "libc10.so"
    source.write_text(C10)
    flags = ["-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={int(newer)}"]
    subprocess.run([compiler, *flags, source, "-o", library], check=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, library],
        env={"PYTHONPATH": str(ROOT / "gdb_scripts")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{newer}\n"
