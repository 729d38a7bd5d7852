"""A process with a root and process ids of its own, as in a container: its files are opened through /proc/PID/root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from dualdbg.shared.libraries import is_c_library
from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.target.interpreter import inspect
from tests.cli.driver import dualdbg
from tests.snapshot.programs_running import PROGRAMS
from tests.support import require, wait_until

# The files lie where nothing lies out here. What the script leaves is gone with its mount namespace.
SCRIPT = """set -e
mount -t tmpfs tmpfs {root}
cd {root}
mkdir -p opt/python opt/app proc usr dev old
mount --bind {prefix} opt/python; mount --rbind /usr usr; mount --rbind /dev dev
for name in bin lib lib64; do
    if [ -L /$name ]; then ln -s usr/$name $name
    elif [ -d /$name ]; then mkdir $name; mount --bind /$name $name; fi  # there is no lib64 on AArch64
done
cp {samples}/*.so {program} opt/app
mount -t proc proc proc
{enter} /usr/bin/env -i LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH=/opt/app /opt/python/bin/{python} /opt/app/{name}
"""
WAYS = {
    "pivot_root": "pivot_root . old; cd /; umount -l old; exec",
    "chroot": "exec chroot {root}",
}


@contextmanager
def contained(way: str, folder: Path, samples: Path) -> Iterator[int]:
    """The PID, out here, of the program in a container; it is 1 in there."""
    unshare = require(shutil.which("unshare"), "unshare (util-linux)")
    command = [unshare, "--mount", "--pid", "--fork", "--kill-child"]
    probe = subprocess.run([*command, "true"], capture_output=True, text=True)
    require(probe.returncode == 0, f"namespaces ({probe.stderr.strip()})", outside=True)
    program = PROGRAMS / "many_stacks.py"
    script = SCRIPT.format(
        root=folder,
        prefix=sys.base_prefix,
        samples=samples,
        program=program,
        name=program.name,
        enter=WAYS[way].format(root=folder),
        python=f"python{sys.version_info.major}.{sys.version_info.minor}",
    )
    with subprocess.Popen(
        [*command, "/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready pid=1\n"
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            yield int(wait_until(lambda: children.read_text().split(), what="the child")[0])
            assert process.poll() is None
        finally:
            process.kill()


def stripped_files() -> set[str]:
    """The names of the files that this interpreter consists of, the C library among them, and that are stripped."""
    facts = inspect(sys.executable)
    interpreter = facts.libpython or os.path.realpath(facts.executable)
    mapped = {one.path for one in psutil.Process().memory_maps()}
    files = {interpreter, *(path for path in mapped if path[0] == "/" and is_c_library(path))}
    return {Path(file).name for file in files if not ElfFile.open(file).has_symtab}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces of every kind")
@pytest.mark.parametrize("way", WAYS)
def test_native_frames_and_breakpoints(way: str, native_samples: Path, tmp_path: Path) -> None:
    with contained(way, tmp_path, native_samples) as pid:
        listed = dualdbg("stacks", str(pid), "--json")
        threads = {thread["python_name"]: thread for thread in listed.events[0]["threads"]}
        thread = threads["in_capi"]
        known = [frame["function"] for frame in thread["frames"] if frame["kind"] == "native"]
        assert "capi_call_back" in known

        commands = [f"thread {thread['tid']}", "bt --all", "break capi_call_back", "break PyObject_Call"]
        # Values and names of threads are read by what the interpreter's file tells.
        deep = threads["deep"]
        inner = next(at for at, frame in enumerate(deep["frames"]) if frame["function"] == "deep")
        commands += [f"thread {deep['tid']}", f"frame {inner}", "locals", "threads"]
        words = [word for command in commands for word in ("-x", command)]
        done = dualdbg("attach", str(pid), "--no-stacks", *words, "--batch", "--json")
        (stack,) = (event for event in done.events if event["event"] == "stack")
        native = [frame for frame in stack["frames"] if frame["kind"] == "native"]
        assert len(native) > 10
        # All files are found: who has no name is static in a stripped file, which has its exported names alone.
        nameless = {Path(frame["library"]).name for frame in native if frame["function"] is None}
        assert nameless <= stripped_files()
        assert stack["quality"] == "full"
        (frame,) = (one for one in native if one["function"] == "capi_call_back")
        assert frame["file"].endswith("sample_capi.cpp") and frame["line"]
        assert frame["library"].startswith("/opt/app/sample_capi")
        ((name, value),) = [
            (row["name"], row["value"]) for event in done.events for row in event.get("variables", ())
        ]
        assert name == "count" and value.isdigit()
        names = [row["python_name"] for event in done.events for row in event.get("threads", ())]
        assert set(names) >= set(threads)
        points = [event for event in done.events if event["event"] == "breakpoint"]
        assert {point["spec"] for point in points if point["locations"]} == {
            "capi_call_back",
            "PyObject_Call",
        }
        assert Path(f"/proc/{pid}/status").exists()
