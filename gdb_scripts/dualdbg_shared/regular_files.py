"""Files that others name, of which only a regular one is read: to open a pipe takes its content from who is to have it.

Even its writer goes on, and ends when we close it. So the kind is known before a file is opened.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Union, cast


def open_regular(path: Union[str, "os.PathLike[str]"]) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for every other kind of file."""
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    # A pipe that has come in its place meanwhile is not waited for.
    return cast(BinaryIO, open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)))
