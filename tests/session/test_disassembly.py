"""Machine code is decoded from where functions begin: what lies between two of them is not always code."""

from __future__ import annotations

import platform
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from dualdbg.session.inspect.disassembly import Code
from tests import support
from tests.session.driver import Driver, run_session

# Behind each function stand bytes that gdb takes for the beginning of an instruction which reaches into the next one.
BETWEEN = ("0x00", "0x48", "0x0f", "0x66, 0x2e", "0xe8, 0x01", "0x48, 0xb8, 0x01, 0x02")
NAMES = [f"function_{number}" for number in range(len(BETWEEN) + 1)]


def source() -> str:
    functions = [
        f".globl {name}\n.type {name}, @function\n{name}:\nmov ${number}, %eax\nlea 1(%rax), %rax\nret\n"
        f".size {name}, . - {name}\n.byte {between}\n"
        for number, (name, between) in enumerate(zip(NAMES, (*BETWEEN, "0x90"), strict=True))
    ]
    return ".text\n" + "".join(functions) + '.section .note.GNU-stack,"",@progbits\n'


@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of AArch64 have one length")
def test_each_function_is_decoded_from_its_first_byte(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    assembly, library, script = tmp_path / "between.s", tmp_path / "libbetween.so", tmp_path / "program.py"
    assembly.write_text(source())
    subprocess.run([compiler, "-shared", "-o", library, assembly], check=True)
    script.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\nlibrary.function_3()\n")

    async def work(driver: Driver) -> None:
        await driver.stop()
        code = Code(driver.session)
        starts = [driver.session.breakpoints.image.find(name)[0].address for name in NAMES]
        whole = await code.around(starts[0], 0, 4 * len(NAMES))
        listings = [whole, await code.around(starts[-1], 4 * len(NAMES) - 4, 4)]
        for rows in listings:
            places = {row.address: row for row in rows}
            assert [places[start].text.split() for start in starts] == [
                ["mov", f"$0x{number:x},%eax"] for number in range(len(NAMES))
            ]
            assert [places[start].offset for start in starts] == [0] * len(NAMES)
            sizes = [len(bytes.fromhex(row.bytes)) for row in rows]
            following = [one.address - row.address for row, one in pairwise(rows)]
            assert following == sizes[:-1]  # no byte twice, none left out
            said = [row.text for row in rows if row.text.startswith(".byte")]
            assert len(said) == len(BETWEEN)
            assert said[0] == ".byte  0x00"
        await driver.finish_run()

    run_session(work, script, "function_3")
