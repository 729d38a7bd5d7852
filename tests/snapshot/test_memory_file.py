"""Memory that is read and mended by a file that was opened while that was allowed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.errors import PermissionRefused, TargetGone, UnreadableMemory
from dualdbg.snapshot.linux.memory import PAGE, ProcessMemory, open_memory
from dualdbg.snapshot.linux.procfs import MemoryMap
from dualdbg.snapshot.linux.repair import find_traps, remove_traps
from dualdbg.symbols.address_space import AddressSpace
from tests import support

TRAP = {"x86_64": b"\xcc", "aarch64": b"\x00\x00\x20\xd4"}[os.uname().machine]
TRACER = """
import ctypes, sys
ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None)
print("ready pid=0", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-c",
        "import os; print('ready pid=0', flush=True); input(); os.execvp('cat', ['cat'])",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        support.read_ready(process)
        yield process
        process.kill()


@pytest.fixture
def file(program: subprocess.Popen[str]) -> Iterator[int]:
    descriptor = open_memory(program.pid)
    yield descriptor
    os.close(descriptor)


def code_of(pid: int) -> int:
    """Where the code of a function lies."""
    image = AddressSpace(pid)
    image.refresh()
    return image.find("PyNumber_Add")[0].address


def test_it_reads_the_same(program: subprocess.Popen[str], file: int) -> None:
    by_file, by_call = ProcessMemory(program.pid, file), ProcessMemory(program.pid)
    address = code_of(program.pid)
    for start in (address, address // PAGE * PAGE - 8):
        assert by_file.read(start, 3 * PAGE) == by_call.read(start, 3 * PAGE)
    stack = MemoryMap.read(program.pid).named("[stack]")
    assert stack is not None
    for memory in (by_file, by_call):
        memory.capture(stack.end - PAGE, stack.end + PAGE)
        assert len(memory.read(stack.end - PAGE, PAGE)) == PAGE
        for nowhere in (0, stack.end, 1 << 47, 0xFFFF_FFFF_FFFF_F000):
            with pytest.raises(UnreadableMemory):
                memory.read(nowhere, 8)


def test_a_program_that_came_by_exec_is_read_in_the_usual_way(
    program: subprocess.Popen[str], file: int
) -> None:
    print(file=program.stdin, flush=True)
    support.wait_until(lambda: any(one.path.endswith("/cat") for one in AddressSpace(program.pid).refresh()))
    start = MemoryMap.read(program.pid).rows[0].start
    assert ProcessMemory(program.pid, file).read(start, 4) == b"\x7fELF"


def test_a_process_that_is_gone_is_said(program: subprocess.Popen[str], file: int) -> None:
    address = code_of(program.pid)
    program.kill()
    program.wait()
    with pytest.raises(TargetGone):
        ProcessMemory(program.pid, file).read(address, 8)
    with pytest.raises(TargetGone):
        open_memory(program.pid)


def test_traps_are_taken_out_of_a_process_that_we_may_not_trace(
    program: subprocess.Popen[str], file: int
) -> None:
    """Another tracer keeps us from it, as Yama does once its scope is put back."""
    address = code_of(program.pid)
    before = ProcessMemory(program.pid).read(address, 16)
    os.pwrite(file, TRAP, address)
    assert [trap.address for trap in find_traps(program.pid)] == [address]
    command = [sys.executable, "-c", TRACER, str(program.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tracer:
        support.read_ready(tracer)
        with pytest.raises(PermissionRefused):
            remove_traps(program.pid)
        assert [trap.address for trap in remove_traps(program.pid, file)] == [address]
        tracer.communicate()
    assert find_traps(program.pid) == []
    assert ProcessMemory(program.pid).read(address, 16) == before


OWN_FILE = """\
import mmap, sys, time
with open(sys.argv[1], "rb") as file:
    code = mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code[8:12] = bytes.fromhex(sys.argv[2])
print("ready", flush=True)
time.sleep(600)
"""


def test_the_file_of_a_process_with_other_mounts_is_its_own(tmp_path: Path) -> None:
    """Out here the name is that of another file, which has a trap there itself."""
    unshare = support.require(shutil.which("unshare"), "unshare (util-linux)")
    probe = subprocess.run([unshare, "--mount", "true"], capture_output=True)
    support.require(probe.returncode == 0, "mount namespaces", outside=True)
    inside, outside = tmp_path / "inside", tmp_path / "code"
    inside.write_bytes(bytes(PAGE))
    outside.write_bytes(TRAP * (PAGE // len(TRAP)))
    python = shlex.join([sys.executable, "-ISc", OWN_FILE, str(outside), (TRAP * 4)[:4].hex()])
    script = f"mount --bind {shlex.quote(str(inside))} {shlex.quote(str(outside))} && exec {python}"
    with subprocess.Popen([unshare, "--mount", "sh", "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            found = find_traps(process.pid)
        finally:
            process.kill()
    assert len(found) == 4 // len(TRAP) and {one.original for one in found} == {bytes(len(TRAP))}
