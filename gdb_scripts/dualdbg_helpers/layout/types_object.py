"""Layouts from an object file that the user's own compiler makes of the installed PyTorch headers.

The object holds types only and is compiled once; what it says is kept as JSON under the user's
cache folder, by PyTorch version, ABI flags, compiler and age of the headers. Does not import ``gdb``:
the object is read by a gdb process of its own.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from dualdbg_shared.patience import factor

from ..errors import LayoutMissing
from .model import Layout
from .wanted import PARTS, source

_A_HEADER = Path("ATen", "core", "ivalue.h")

TIMEOUT = 300.0 * (factor() or 1.0)
"""Seconds that the compiler, and then gdb, may take on a slow machine."""

_PACKAGE_PARENT = str(Path(__file__).resolve().parent.parent.parent)


def cache_folder():
    """Where layouts are kept; a place where nothing can be without a home, and in that of another user (sudo -E)."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG Base Directory Specification: a relative path is to be ignored
        try:
            base = Path("~/.cache").expanduser()
        except RuntimeError:
            base = Path(os.devnull)
    folder = base / "dualdbg" / "layouts"
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return folder if _is_ours(there) else Path(os.devnull) / "dualdbg"


def _is_ours(folder):
    """Whether nobody else can put files there in our place. A folder like /tmp keeps others from what we make."""
    status = folder.stat()
    shared = status.st_mode & stat.S_IWOTH
    return status.st_uid in (os.geteuid(), 0) and (not shared or bool(status.st_mode & stat.S_ISVTX))


def _make(folder):
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


class TypesObject:
    """The layouts of one PyTorch installation by compiler; see :meth:`cached` and :meth:`build`.

    ``compiler`` and ``gdb`` are programs (names or paths).
    """

    def __init__(self, installation, compiler="g++", gdb="gdb"):
        self._installation = installation
        self._include = Path(installation.root) / "include"
        self._compiler = compiler
        self._gdb = gdb

    @property
    def source(self):
        """How people are told where these layouts come from."""
        return "types compiled from the headers of torch {}".format(
            self._installation.version or "(unknown version)"
        )

    def cached(self, part):
        """The layout of ``part`` ("core" or "jit") as made earlier, or None."""
        try:
            found = json.loads(self._path(part).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return Layout(self.source, found["records"], found["enums"])

    def possible(self):
        """Why the object cannot be compiled here, or None when it can."""
        if not (self._include / _A_HEADER).is_file():
            return f"no PyTorch headers under {self._include}"
        if shutil.which(self._compiler) is None:
            return f"no compiler {self._compiler!r}"
        return None

    def build(self, part):
        """Compiles and reads the layout of ``part`` and keeps it; raises :class:`LayoutMissing`."""
        problem = self.possible()
        if problem:
            raise LayoutMissing(f"Cannot compile the types of PyTorch: {problem}.")
        with tempfile.TemporaryDirectory(prefix="dualdbg-types-") as folder:
            self._compile(part, folder)
            found = self._read(part, folder)
            self._keep_object(part, folder)
        self._keep(part, found)
        return Layout(self.source, found["records"], found["enums"])

    def _path(self, part):
        key = hashlib.sha256()
        with contextlib.suppress(OSError):
            key.update(str((self._include / _A_HEADER).stat().st_mtime_ns).encode())
        for piece in (
            source(PARTS[part]),
            str(self._include),
            self._compiler,
            str(self._installation.cxx11_abi),
        ):
            key.update(piece.encode() + b"\0")
        name = "torch-{}-{}-{}.json".format(
            self._installation.version or "unknown", part, key.hexdigest()[:16]
        )
        return cache_folder() / name

    def _compile(self, part, folder):
        # Functions.h declares every operator and holds no type: without it the object takes a third of the time.
        (Path(folder) / "ATen").mkdir()
        (Path(folder) / "ATen" / "Functions.h").write_text(
            "#include <ATen/core/Tensor.h>\n", encoding="utf-8"
        )
        leave_out = set()
        for standard in ("c++20", "c++20", "c++17", "c++17"):
            text = source(PARTS[part], leave_out)
            (Path(folder) / "types.cpp").write_text(text, encoding="utf-8")
            done = self._run([self._compiler, *self._flags(folder, standard)], folder)
            if done.returncode == 0:
                return
            # A type that this version does not have is left out, and the rest compiled again.
            leave_out |= self._culprits(done.stderr, text, part)
        raise LayoutMissing(
            f"{self._compiler} cannot compile the types of PyTorch: {_first_error(done.stderr)}"
        )

    def _flags(self, folder, standard):
        includes = (folder, self._include, self._include / "torch" / "csrc" / "api" / "include")
        return [
            "-std=" + standard,
            *("-c", "types.cpp", "-o", "types.o", "-g", "-O1", "-w"),
            # Optimised, so that it has no inline functions. Every class is complete, even if its vtable is elsewhere,
            # and private types can be named.
            *("-femit-class-debug-always", "-fno-access-control"),
            *("-DNDEBUG", "-DAT_PER_OPERATOR_HEADERS"),
            f"-D_GLIBCXX_USE_CXX11_ABI={int(self._installation.cxx11_abi)}",
            *(f"-I{include}" for include in includes),
        ]

    @staticmethod
    def _culprits(errors, text, part):
        lines = text.splitlines()
        names = PARTS[part].records + PARTS[part].enums
        found = set()
        for number in re.findall(r"^types\.cpp:(\d+):", errors, re.MULTILINE):
            match = re.match(r"struct dualdbg_use_(\d+) ", lines[int(number) - 1])
            if match:
                found.add(names[int(match.group(1))])
        return found

    def _read(self, part, folder):
        out = Path(folder) / "layout.json"
        script = (
            f"import sys; sys.path.insert(0, {_PACKAGE_PARENT!r}); from dualdbg_helpers.layout import from_gdb; "
            + f"from_gdb.write({str(out)!r}, {part!r})"
        )
        done = self._run(
            [self._gdb, "-nx", "-batch", "-iex", "set auto-load off", "types.o", "-ex", "python " + script],
            folder,
        )
        try:
            return json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise LayoutMissing(f"gdb cannot read the compiled types: {_first_error(done.stderr)}") from None

    @staticmethod
    def _run(command, folder):
        try:
            return subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "TMPDIR": str(folder)},  # what a compiler leaves that is killed goes too
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LayoutMissing(f"{command[0]} took more than {TIMEOUT:.0f} s.") from None
        except OSError as error:
            raise LayoutMissing(f"{command[0]} cannot be run: {error}") from None

    def object_file(self, part):
        """The path of the object itself, for gdb to read types from; builds it when it is not there."""
        path = self._path(part).with_suffix(".o")
        if not path.exists():
            self.build(part)
        if not path.exists():
            raise LayoutMissing(f"The compiled types cannot be kept in {path.parent}.")
        return path

    def _keep_object(self, part, folder):
        path = self._path(part).with_suffix(".o")
        with contextlib.suppress(OSError):  # only the layout matters
            _make(path.parent)
            handle, beside = tempfile.mkstemp(dir=str(path.parent))
            os.close(handle)
            shutil.copyfile(str(Path(folder) / "types.o"), beside)
            Path(beside).replace(path)

    def _keep(self, part, found):
        path = self._path(part)
        try:
            _make(path.parent)
            # Written beside and renamed, so that another gdb never reads half a file.
            handle, beside = tempfile.mkstemp(dir=str(path.parent))
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(found, file)
            Path(beside).replace(path)
        except OSError:
            return  # a cache that cannot be written only means to compile again next time


def _first_error(text):
    for line in text.splitlines():
        if "error" in line.lower():
            return line.strip()
    return text.strip().splitlines()[-1] if text.strip() else "no message"
