"""What is shared with gdb's helpers runs in the oldest Python that a gdb may have, and reads the same there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.symbols.objfile import Objfile
from dualdbg.system.resources import resource_directory
from tests import support

SCRIPTS = resource_directory("gdb_scripts")
READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
import pkgutil, importlib, dualdbg_shared
for module in pkgutil.iter_modules(dualdbg_shared.__path__):
    importlib.import_module("dualdbg_shared." + module.name)
assert not any(name == "dualdbg" or name.startswith("dualdbg.") for name in sys.modules)
from dualdbg_helpers.elf import ElfFile
elf = ElfFile.open(sys.argv[2])
print(json.dumps([[name, elf.find_symbol(name), elf.at(elf.find_symbol(name)), elf.around(elf.find_symbol(name) + 1)]
                  for name in sys.argv[3:]]))
"""


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_in_other_interpreters(version: str, native_samples: Path) -> None:
    python = support.other_interpreter(version)
    [path] = native_samples.glob("sample_capi*.so")
    library = Objfile.open(path)
    names = ["PyInit_sample_capi"]
    command = [str(python), "-c", READ, str(SCRIPTS), str(path), *names]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, value, at, around in json.loads(done.stdout):
        [symbol] = library.find_functions(name, exact=True)
        assert (value, at, around) == (symbol.address, name, [name, symbol.address])


def test_the_link_and_the_folder_are_one() -> None:
    shared = Path(sys.modules[Objfile.__module__].__file__ or "").parents[1] / "shared"
    assert {path.name for path in shared.glob("*.py")} == {
        p.name for p in (SCRIPTS / "dualdbg_shared").glob("*.py")
    }
    for path in shared.glob("*.py"):
        assert path.read_bytes() == (SCRIPTS / "dualdbg_shared" / path.name).read_bytes()
