"""Files of /proc/PID: those of processes whose names and files have odd characters."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.shared.proc_files import (
    Mapping,
    is_stopped,
    mappings,
    read_maps,
    read_stat,
    read_status,
    stat_of,
    without_mark,
)
from dualdbg.snapshot.linux.procfs import MemoryMap

ROWS = """\
7f0000000000-7f0000001000 r-xp 00002000 08:01 7                          /c/lib/libx.so
7f0000001000-7f0000002000 rw-p 00000000 00:00 0
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
7ffc00030000-7ffc00031000 r--s 00000000 08:01 8                          /data/a name (deleted)
"""


def test_the_rows_of_maps() -> None:
    assert mappings(ROWS, "/c") == [
        Mapping(0x7F0000000000, 0x7F0000001000, 0x2000, "/lib/libx.so", "r-xp", 7),
        Mapping(0x7F0000001000, 0x7F0000002000, 0, "", "rw-p", 0),
        Mapping(0x7FFC00000000, 0x7FFC00021000, 0, "[stack]", "rw-p", 0),
        Mapping(0x7FFC00030000, 0x7FFC00031000, 0, "/data/a name (deleted)", "r--s", 8),
    ]
    assert [row.is_code for row in mappings(ROWS)] == [True, False, False, False]
    assert mappings(ROWS)[0].path == "/c/lib/libx.so"


@pytest.mark.parametrize("name", [b"form\x0cfeed", b"return\rhere", "line\u2028here".encode(), b"latin-\xe9"])
def test_a_mapped_file_whose_name_has_any_character(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        row = MemoryMap.read(os.getpid()).named(str(path))
        assert row is not None
        assert (row.end - row.start, row.mode[0], row.inode) == (mmap.PAGESIZE, "r", path.stat().st_ino)
        path.unlink()
        (deleted,) = [row for row in mappings(read_maps(os.getpid())) if row.path.startswith(str(path))]
        assert deleted.path != str(path) and without_mark(deleted.path) == str(path)


def test_a_process_whose_name_looks_like_the_fields_behind_it() -> None:
    name = "a) Z 1 ("
    code = f"open('/proc/self/comm', 'w').write({name!r}); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        stat = stat_of(process.pid)
        assert (stat.name, stat.parent, stat.has_ended) == (name, os.getpid(), False)
        assert read_stat(f"/proc/{process.pid}/task/{process.pid}/stat").began == stat.began
        assert stat_of(os.getpid()).began <= stat.began
        status = read_status(f"/proc/{process.pid}/status")
        assert (status["Name"], int(status["PPid"])) == (name, os.getpid())
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert is_stopped(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        stat = stat_of(process.pid)
        assert (stat.state, stat.has_ended) == ("Z", True)
        assert os.WTERMSIG(stat.exit_status) == 9
    for read in (lambda: stat_of(process.pid), lambda: read_maps(process.pid)):
        with pytest.raises(OSError):
            read()
    assert not is_stopped(process.pid)
