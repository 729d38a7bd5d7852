"""Files that are no regular ones: nothing is read ahead of who is to have it, and nobody waits for a pipe."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from dualdbg.shared.regular_files import open_regular
from tests.cli.driver import dualdbg

SCRIPT = "import os\ndef work():\n    return os.getppid()\nwork()\nprint('all was read')\n"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("words", [("-b", "getppid"), ("-b", "py:work")])
def test_a_script_from_a_pipe_is_read_by_the_interpreter_alone(words: tuple[str, ...], pipe: Path) -> None:
    writer = threading.Thread(target=pipe.write_text, args=(SCRIPT,))
    writer.start()
    done = dualdbg("run", "--batch", *words, "-x", "list", "-x", "continue", pipe, cwd=pipe.parent)
    writer.join()
    assert "* Breakpoint 1: " in done.stdout and "\nall was read\n" in done.stdout, done


def test_a_script_on_standard_input_is_read_by_the_interpreter_alone(tmp_path: Path) -> None:
    done = dualdbg("run", "--batch", "-b", "getppid", "/dev/stdin", stdin=SCRIPT, cwd=tmp_path)
    assert "\nall was read\n" in done.stdout, done


@pytest.mark.parametrize(
    "words", [("core", "{}"), ("run", "--stop-on-entry", "--batch", "-x", "source {}", "-c", "1")]
)
def test_a_pipe_is_refused_where_a_file_is_wanted(words: tuple[str, ...], pipe: Path) -> None:
    done = dualdbg(*(word.format(pipe) for word in words))
    assert f"{pipe} cannot be read: it is not a regular file" in done.stdout + done.stderr and done.status, (
        done
    )


def test_a_pipe_is_not_even_opened(pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"for who reads it")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(pipe)
    assert os.read(reader, 100) == b"for who reads it"
    os.close(reader)
    os.close(writer)
