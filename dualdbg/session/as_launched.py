"""How a process was started that somebody else started, as far as the kernel says it. Nothing is run."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from ..shared.libraries import holds_interpreter
from ..shared.python_command import read, with_site, without_site
from ..symbols.address_space import root_of
from ..target.launcher import Launch
from ..target.peers import is_ours, user_of


def as_launched(pid: int) -> Launch:
    """How the process was started, as far as that is known. It says where files are looked for."""
    try:
        cwd = str(Path(f"/proc/{pid}/cwd").readlink())
        words = command_of(pid)
        unasked = _unasked(pid)
        python = "" if unasked else _executable(pid, words[0], cwd)
    except (OSError, IndexError) as error:
        cwd, words, python = ".", [], ""
        why = getattr(error, "strerror", None) or "it has no command line"
        unasked = f"how the process was started cannot be read ({why}): name a file and a line"
    script = next((word for word in words[1:] if word.endswith(".py")), None)
    return Launch(python=python, script=script, cwd=cwd, unasked=unasked)


def command_of(pid: int) -> list[str]:
    """The command line of a process. Raises OSError when it is gone."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]


def keeps_python_out(pid: int) -> tuple[str, str] | None:
    """Why the interpreter that the process runs will not join, and what to type instead; None where it may.

    Raises OSError when the process is gone.
    """
    words = command_of(pid)
    if not words or not holds_interpreter(str(Path(f"/proc/{pid}/exe").readlink())):
        return None
    option = without_site(read(words).options)
    if option is None:
        return None
    why = f"the interpreter's option {option} keeps the debugger out of Python: C code alone can be stopped"
    return why, f"without it Python joins: dualdbg run --native {shlex.join(with_site(words))}"


def _unasked(pid: int) -> str:
    """Why the interpreter of the process is not to be asked about names, in words; empty when it may be.

    The process says itself which interpreter it is and where its modules are. Whoever asks that one runs what the
    process has named, here and with our rights. Raises OSError when the process is gone.
    """
    owner = user_of(pid)
    if not is_ours(owner):
        whose = f"the process is user {owner}'s, and its interpreter would be run with your rights"
    elif root_of(pid):
        whose = "the process has a root or mounts of its own, and what has its interpreter's path here may be another"
    else:
        return ""
    return f"{whose} to be asked where the name is: name a file and a line"


def _executable(pid: int, name: str, cwd: str) -> str:
    """The absolute path of the interpreter as it was called; empty for another program, which must not be run.

    A virtual environment is known by that path.
    """
    if not holds_interpreter(str(Path(f"/proc/{pid}/exe").readlink())):
        return ""
    if "/" in name:
        path = str(Path(cwd) / name)
    else:
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "surrogateescape").split("\0")
        folders = next((row[5:] for row in environment if row.startswith("PATH=")), os.defpath)
        path = shutil.which(name, path=folders) or ""
    return path if os.access(path, os.X_OK) else f"/proc/{pid}/exe"
