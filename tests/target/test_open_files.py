"""The limit of open files: raised for us, as it was for the program, refused where it cannot be raised far enough."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.driver import DUALDBG

pytestmark = pytest.mark.processes
SHOW = "import resource; print('limits', *resource.getrlimit(resource.RLIMIT_NOFILE))"


def limited(limits: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", "-c", f'{limits}; exec "$@"', "sh", *DUALDBG, *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def test_many_libraries_are_read_where_a_shell_allows_few_files() -> None:
    """Below, the interpreter's libraries and those of `ssl` alone are more than 20."""
    words = ("-x", "bt", "--batch", "-b", "SSL_CTX_new", "-c", "import ssl; ssl.create_default_context()")
    done = limited("ulimit -Sn 20", "run", *words)
    assert done.returncode == 0, done.stderr
    assert "* Breakpoint 1: native" in done.stdout, done.stdout + done.stderr
    assert "Too many open files" not in done.stdout + done.stderr


def test_the_program_has_the_limit_that_dualdbg_was_given() -> None:
    done = limited("ulimit -Sn 100; ulimit -Hn 4000", "run", "--batch", "-c", SHOW)
    assert "limits 100 4000" in done.stdout, done.stdout + done.stderr


def test_too_low_a_limit_is_refused_with_what_to_type() -> None:
    done = limited("ulimit -n 100", "run", "--batch", "-c", "pass")
    assert done.returncode == 3
    assert "the limit is 100 open files" in done.stderr and "ulimit -n 1024" in done.stderr
