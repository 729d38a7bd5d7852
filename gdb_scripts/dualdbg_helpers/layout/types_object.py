"""Layouts from an object file that the user's own compiler makes of the installed PyTorch headers.

The object holds types only and is compiled once; what it says is kept as JSON under the user's
cache folder, by the build-id of the libraries, ABI flags and compiler. Does not import ``gdb``:
the object is read by a gdb process of its own.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from dualdbg_shared.patience import factor
from dualdbg_shared.trust import is_in_no_home, is_out_of_reach

from ..errors import LayoutMissing
from .model import Layout
from .wanted import PARTS, source

_A_HEADER = Path("ATen", "core", "ivalue.h")

TIMEOUT = 300.0 * (factor() or 1.0)
"""Seconds that the compiler, and then gdb, may take on a slow machine."""

_PACKAGE_PARENT = str(Path(__file__).resolve().parent.parent.parent)


def cache_folder():
    """Where layouts are kept; where there is no home, or others could put files there, a place where nothing can be."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG Base Directory Specification: a relative path is to be ignored
        try:
            base = Path("~/.cache").expanduser()
        except RuntimeError:
            base = Path(os.devnull)
    folder = base / "dualdbg" / "layouts"
    is_good = is_out_of_reach(folder) and not is_in_no_home(folder)
    return folder if is_good else Path(os.devnull) / "dualdbg"


def _make(folder):
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


class TypesObject:
    """The layouts of one PyTorch installation by compiler; see :meth:`cached` and :meth:`build`.

    ``compiler`` and ``gdb`` are programs (names or paths).
    """

    def __init__(self, installation, compiler="g++", gdb="gdb"):
        self.installation = installation
        self.compiler = compiler
        self.gdb = gdb
        self._include = Path(installation.root) / "include"
        self._folder = cache_folder()

    @property
    def source(self):
        """How people are told where these layouts come from."""
        return f"types compiled from the headers of torch {self.version}"

    @property
    def version(self):
        """The version of this PyTorch, for people."""
        return self.installation.version or "(unknown version)"

    def cached(self, part):
        """The layout of ``part`` ("core" or "jit") as made earlier, or None."""
        try:
            found = json.loads((self._folder / self.file_name(part)).read_text(encoding="utf-8"))
            return Layout(self.source, found["records"], found["enums"])
        except (OSError, ValueError, LookupError, TypeError):  # none, or a damaged one
            return None

    def possible(self):
        """Why the object cannot be compiled here, or None when it can."""
        if not (self._include / _A_HEADER).is_file():
            return f"no PyTorch headers under {self._include}"
        if shutil.which(self.compiler) is None:
            return f"no compiler {self.compiler!r}"
        return None

    def build(self, part):
        """Compiles and reads the layout of ``part`` and keeps it; raises :class:`LayoutMissing`.

        Where another process does the same, this waits for it and takes what it has made.
        """
        problem = self.possible()
        if problem:
            raise LayoutMissing(f"Cannot compile the types of PyTorch: {problem}.")
        with self._alone(part):
            made = self.cached(part)
            if made is not None and self._object_path(part) is not None:
                return made
            with tempfile.TemporaryDirectory(prefix="dualdbg-types-") as folder:
                self._compile(part, folder)
                found = self._read(part, folder)
                self._keep(part, Path(folder, "types.o").read_bytes(), ".o")
            self._keep(part, json.dumps(found).encode("utf-8"), ".json")
        return Layout(self.source, found["records"], found["enums"])

    @contextlib.contextmanager
    def _alone(self, part):
        """While no other process is in here. The kernel drops the lock of one that is killed."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # not a folder to write to, or a file system without locks
                _make(self._folder)
                lock = stack.enter_context(self._path(part, ".lock").open("ab"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _path(self, part, suffix):
        return (self._folder / self.file_name(part)).with_suffix(suffix)

    def file_name(self, part):
        """What the file with the layout of ``part`` is called, in whichever folder it is."""
        key = hashlib.sha256()
        for piece in (
            source(PARTS[part]),
            json.dumps(PARTS[part].stand_ins),
            self.installation.build_id or self._age_of_headers(),
            self.compiler,
            str(self.installation.cxx11_abi),
        ):
            key.update(piece.encode() + b"\0")
        return "torch-{}-{}-{}.json".format(
            self.installation.version or "unknown", part, key.hexdigest()[:16]
        )

    def _age_of_headers(self):
        """What tells one installation from another where the libraries have no build-id."""
        with contextlib.suppress(OSError):
            return f"{self._include} {(self._include / _A_HEADER).stat().st_mtime_ns}"
        return str(self._include)

    def _compile(self, part, folder):
        # Functions.h declares every operator and holds no type: without it the object takes a third of the time.
        stand_ins = {"ATen/Functions.h": "#include <ATen/core/Tensor.h>\n", **PARTS[part].stand_ins}
        for name, text in stand_ins.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        leave_out = set()
        for standard in ("c++20", "c++20", "c++17", "c++17"):
            text = source(PARTS[part], leave_out)
            (Path(folder) / "types.cpp").write_text(text, encoding="utf-8")
            done = self._run([self.compiler, *self._flags(folder, standard)], folder)
            if done.returncode == 0:
                return
            # A type that this version does not have is left out, and the rest compiled again.
            leave_out |= self._culprits(done.stderr, text, part)
        raise LayoutMissing(
            f"{self.compiler} cannot compile the types of PyTorch: {_first_error(done.stderr)}"
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
            f"-D_GLIBCXX_USE_CXX11_ABI={int(self.installation.cxx11_abi)}",
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
            [self.gdb, "-nx", "-batch", "-iex", "set auto-load off", "types.o", "-ex", "python " + script],
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
        if self._object_path(part) is None:
            self.build(part)
        path = self._object_path(part)
        if path is None:
            raise LayoutMissing(f"The compiled types cannot be kept in {self._folder}.")
        return path

    def _object_path(self, part):
        path = self._path(part, ".o")
        return path if path.exists() else None

    def _keep(self, part, content, suffix):
        """Where the folder can be written to; else it is compiled again next time."""
        with contextlib.suppress(OSError):
            _make(self._folder)
            # Written beside and renamed, so that another gdb never reads half a file.
            handle, draft = tempfile.mkstemp(dir=str(self._folder))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(draft).replace(self._path(part, suffix))


def _first_error(text):
    for line in text.splitlines():
        if "error" in line.lower():
            return line.strip()
    return text.strip().splitlines()[-1] if text.strip() else "no message"
