"""Where a PyTorch is installed, and which `std::string` it was built with, by its own functions."""

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


WHERE = """\
import sys
from collections import namedtuple
from dualdbg_helpers.layout import installation

Library = namedtuple("Library", "path elf")

class Mapped:
    libraries = [Library(path, None) for path in sys.argv[1:]]

    def library_named(self, *prefixes):
        return next((one for one in self.libraries if one.path.rpartition("/")[2].startswith(prefixes)), None)

found = installation.find(Mapped())
print(found.root, found.version)
"""
HEADER = "include/torch/csrc/api/include/torch/version.h"


@pytest.mark.parametrize(
    ("files", "libraries", "root", "version"),
    [
        # a wheel
        (["torch/version.py"], ["torch/_C.cpython-313.so", "torch/lib/libc10.so"], "torch", "1.2.3"),
        # a wheel, in a program of C++
        (["torch/version.py"], ["torch/lib/libc10.so"], "torch", "1.2.3"),
        # Debian's: the libraries are where all are, with a version in their names
        (
            ["usr/lib/python3/dist-packages/torch/version.py"],
            [
                "usr/lib/python3/dist-packages/torch/_C.cpython-313.so",
                "usr/lib/x86_64-linux-gnu/libc10.so.2.6.0",
            ],
            "usr/lib/python3/dist-packages/torch",
            "1.2.3",
        ),
        # Debian's headers, a program of C++
        ([f"usr/{HEADER}"], ["usr/lib/x86_64-linux-gnu/libc10.so.2.6.0"], "usr", "1.2.3"),
        # conda's
        ([f"env/{HEADER}"], ["env/lib/libc10.so"], "env", "1.2.3"),
        # a libc10 that the user has built, by LD_LIBRARY_PATH
        (["torch/version.py"], ["torch/_C.cpython-313.so", "build/debug/libc10.so"], "torch", "1.2.3"),
        # none that says its version
        ([], ["opt/lib/libtorch_cpu.so"], "opt", "None"),
    ],
)
def test_where_it_is(tmp_path: Path, files: list[str], libraries: list[str], root: str, version: str) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        text = '#define TORCH_VERSION "1.2.3"' if file.endswith(".h") else "__version__ = '1.2.3+local'"
        (tmp_path / file).write_text(f"{text}\n")
    done = subprocess.run(
        [sys.executable, "-c", WHERE, *(tmp_path / path for path in libraries)],
        env={"PYTHONPATH": str(ROOT / "gdb_scripts")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{tmp_path / root} {version}\n"
