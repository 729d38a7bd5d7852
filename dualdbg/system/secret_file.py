"""A file with a secret that clients of a port have to know: read, or made where there is none."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from ..errors import UsageError
from .folders import expanded

LEAST = 16  # characters; what is made here has 43, of 256 random bits


def read_secret(name: str, command: str = "dap", option: str = "--secret-file") -> str:
    """The first line of a file that only we can read. A missing file is made, with a new secret.

    Raises UsageError, in the name of ``command`` and its ``option``, for a file that others can read, or that holds no
    secret.
    """
    path = expanded(name)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(path, command, option)
    except OSError as error:
        raise UsageError(
            f"{command}: {path} cannot be made: {error.strerror}", f"name another {option}"
        ) from error
    made = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w") as file:
        file.write(made + "\n")
    return made


def _read(path: Path, command: str, option: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            line = file.readline(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{command}: {path} cannot be read: {why}", f"name another {option}") from error
    if about.st_uid not in (0, os.geteuid()) or stat.S_IMODE(about.st_mode) & 0o077:
        raise UsageError(
            f"{command}: {path} is open to other users: it is no secret",
            "name a file that does not exist: it is made with a new secret, for you alone",
        )
    if len(line) < LEAST:
        raise UsageError(
            f"{command}: the first line of {path} has {len(line)} characters: that can be guessed",
            f"give it {LEAST} or more, or remove the file: a new one is made",
        )
    return line
