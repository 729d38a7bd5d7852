"""Journey 5, what it says of a debug build: with lines for the stub of ``torch._C``, its frame and its line are there.

A debug build of the whole of PyTorch takes hours. The stub is the part that the page's stacks are about, and it can be
built alone: it is linked with the wheel's own libtorch_python.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.support import SAMPLES, require

from .driver import dualdbg

pytestmark = [pytest.mark.torch, pytest.mark.slow]

STUB = """\
#include <Python.h>

extern PyObject* initModule(void);

PyMODINIT_FUNC PyInit__C(void)
{
  return initModule();
}
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with a package torch that is the wheel's, but for ``_C``."""
    spec = require(importlib.util.find_spec("torch"), "PyTorch")
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    package = tmp_path / "packages" / "torch"
    package.mkdir(parents=True)
    for entry in wheel.iterdir():
        if not entry.name.startswith("_C."):
            (package / entry.name).symlink_to(entry)
    # The table of operators is beside torch.
    (package.parent / "torchgen").symlink_to(wheel.parent / "torchgen")
    source = tmp_path / "stub.c"
    source.write_text(STUB)
    command = [
        *("cc", "-g", "-O0", "-shared", "-fPIC", str(source), "-I", sysconfig.get_path("include")),
        *("-L", str(wheel / "lib"), "-ltorch_python", f"-Wl,-rpath,{wheel / 'lib'}"),
        *("-o", str(package / f"_C{sysconfig.get_config_var('EXT_SUFFIX')}")),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return package.parent


def test_the_stub_has_a_line_and_a_frame(packages: Path) -> None:
    done = dualdbg(
        *("run", "--batch", "--env", f"PYTHONPATH={packages}", "-b", "stub.c:7", "-b", "::initModule"),
        *("-x", "bt", "-x", "continue", "-x", "bt", str(SAMPLES / "testdebug.py")),
    )
    assert done.status == 0, done
    at_stub, in_module = done.stdout.split("* Breakpoint ")[1:]
    assert "PyInit__C  " in at_stub and "stub.c:7" in at_stub and "return initModule();" in at_stub
    assert re.search(r"^>#0 c    PyInit__C ", at_stub, re.M) and "torch/__init__.py:445" in at_stub
    rows = [line for line in in_module.splitlines() if "#" in line]
    assert rows[0].startswith(">#0 c++  initModule") and "PyInit__C" in rows[1] and "stub.c:7" in rows[1]
