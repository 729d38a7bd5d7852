"""Small libraries in C for LD_PRELOAD: compiled on the machine where they are needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import TargetError
from ..system import session_folders
from ..system.environment import for_tools
from ..system.in_thread import run
from ..system.patience import patient

VARIABLE = "LD_PRELOAD"
COMPILERS = ("cc", "gcc", "clang", "g++")
_OPTIONS = ("-x", "c", "-O1", "-shared", "-fPIC")
_DEADLINE = patient(60.0)  # seconds; it takes a tenth of one


@dataclass(frozen=True)
class PreloadLibrary:
    """A library of one C file.

    ``purpose`` is the beginning of a sentence that ends with " by a small library". ``without`` says what the user can
    do where it cannot be made.
    """

    source: Path
    purpose: str
    without: str

    @property
    def file_name(self) -> str:
        """The name of the compiled file: it differs for another source or machine."""
        key = hashlib.sha256(self.source.read_bytes() + os.uname().machine.encode()).hexdigest()[:16]
        return f"{self.source.stem}-{key}.so"

    def compile(self) -> bytes:
        """Compile the library and return its contents. Raises TargetError where no C compiler can do it."""
        compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
        if compiler is None:
            raise TargetError(
                f"{self.purpose} by a small library, and there is no C compiler to make it",
                f"apt-get install gcc, or {self.without}",
            )
        failed = f"{compiler} could not compile {self.source.name}"
        try:
            with session_folders.temporary() as folder:
                library = folder / "library.so"
                command = [compiler, *_OPTIONS, "-o", str(library), str(self.source)]
                own = {
                    **for_tools(os.environ),
                    "TMPDIR": str(folder),
                }  # what a compiler leaves that is killed goes too
                done = run(
                    command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=_DEADLINE
                )
                if done.returncode:
                    why = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
                    raise TargetError(f"{failed}: {why}", self.without)
                return library.read_bytes()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TargetError(f"{failed}: {error}", self.without) from error

    def preload(self, path: Path, before: str | None) -> str:
        """The value of LD_PRELOAD with the library at ``path`` behind the user's own libraries.

        Raises TargetError for a path with a space or a colon: ld.so(8) takes these for the end of a path.
        """
        if set(" :") & set(str(path)):
            raise TargetError(
                f"{self.purpose} by {VARIABLE}, which cannot name {path}",
                "XDG_CACHE_HOME names another folder, without spaces and colons",
            )
        return f"{before}:{path}" if before else str(path)
