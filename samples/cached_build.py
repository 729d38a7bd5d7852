"""Compiles samples once a machine: what was made is named after a hash of everything that went in.

It lies in ``$DUALDBG_TEST_CACHE``, else in ``~/.cache/dualdbg-samples``, with paths below ``/dualdbg`` in the place of
this checkout's, and each checkout has a copy with its own paths in ``build/samples``: they are of one length.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent
ROOT = str(SAMPLES.parent)
BUILD_DIR = SAMPLES.parent / "build" / "samples"
_WIDTH = 80
IN_CACHE = "/dualdbg".ljust(_WIDTH, "/") if len(ROOT) <= _WIDTH else ROOT
"""The name of the checkout in what is in the cache. A checkout with a longer path has its own there."""
_PADDED = ROOT.ljust(_WIDTH, "/")
MAPPED = [f"-ffile-prefix-map={one}={IN_CACHE}" for one in (ROOT, _PADDED)]  # the last that fits decides
_BUILD_ID = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)  # the note, as in elf(5)


class BuildError(Exception):
    """A sample cannot be compiled; the text says what to type next."""


def compiler() -> Path:
    """The C++ compiler: ``$CXX``, else ``g++``."""
    name = os.environ.get("CXX", "g++")
    found = shutil.which(name)
    if found is None:
        raise BuildError(f"no C++ compiler {name} is on PATH; install it, for example: apt-get install g++")
    return Path(found).resolve()


def made_once(name: str, make: Callable[[Path], None], build_dir: Path = BUILD_DIR) -> Path:
    """The folder ``build_dir/name``: a copy of the one of the cache, which ``make`` fills unless it is there.

    A folder gets its name when it is whole, so that nobody ever sees half of one.
    """
    folder = build_dir / name
    if not folder.is_dir():
        kept = _cache() / name
        if not kept.is_dir():
            _whole(kept, lambda unfinished: _make(make, unfinished))
        _whole(folder, lambda unfinished: _copy(kept, unfinished))
    return folder


def _cache() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("DUALDBG_TEST_CACHE") or Path(caches) / "dualdbg-samples")


def _whole(folder: Path, make: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        make(unfinished)
        unfinished.chmod(0o755)
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.is_dir():  # else: somebody else has made the same meanwhile
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _make(make: Callable[[Path], None], folder: Path) -> None:
    make(folder)
    for file in folder.rglob("*"):
        if file.is_file() and _PADDED.encode() in (data := file.read_bytes()):  # of what went in
            file.write_bytes(data.replace(_PADDED.encode(), IN_CACHE.encode()))


def _copy(kept: Path, to: Path) -> None:
    """Files with this checkout's paths, and libraries with build ids of their own."""
    for file in kept.rglob("*"):
        if file.is_dir():
            continue
        copy = to / file.relative_to(kept)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = file.read_bytes().replace(IN_CACHE.encode(), _PADDED.encode())
        if data.startswith(b"\x7fELF") and (note := _BUILD_ID.search(data)):
            id = hashlib.sha1(note[1] + ROOT.encode()).digest()
            data = data[: note.start(1)] + id + data[note.end(1) :]
        copy.write_bytes(data)
        copy.chmod(file.stat().st_mode)


def compile_once(
    name: str, commands: dict[str, list[str]], inputs: list[Path], build_dir: Path = BUILD_DIR
) -> Path:
    """The folder ``build_dir/name-HASH``, which holds the file of each key of ``commands``.

    A command is the compiler's arguments, without compiler and output. They run side by side. ``inputs`` are the files
    whose content decides whether to compile again.
    """
    cxx = compiler()

    def make(unfinished: Path) -> None:
        for output in commands:
            (unfinished / output).parent.mkdir(exist_ok=True)
        with ThreadPoolExecutor() as pool:
            jobs = [
                pool.submit(
                    run, [str(cxx), *MAPPED, *map(_as_in_cache, arguments), "-o", str(unfinished / output)]
                )
                for output, arguments in commands.items()
            ]
            for job in jobs:
                job.result()

    # The compiler's size and time stand for its version: asking it would start a process each time.
    about = cxx.stat()
    return made_once(
        f"{name}-{digest((str(cxx), about.st_size, about.st_mtime_ns, commands), inputs)}", make, build_dir
    )


def _as_in_cache(argument: str) -> str:
    """A compiler's argument whose text comes into the output, where it needs no file."""
    return argument.replace(ROOT, IN_CACHE) if argument.startswith("-Wl,-rpath,") else argument


def torch_flags() -> tuple[list[str], list[str], Path]:
    """How an extension of the installed PyTorch is compiled and linked, and the file that has its version.

    PyTorch is not imported: that takes longer than to see that everything is there.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BuildError("PyTorch is needed; type: pip install torch")
    torch = Path(spec.origin).parent
    abi = re.search(r"_GLIBCXX_USE_CXX11_ABI=\d", (torch / "share/cmake/Torch/TorchConfig.cmake").read_text())
    flags = ["-shared", "-fPIC", "-std=c++20", "-g", *([f"-D{abi[0]}"] if abi else [])]
    flags += [f"-isystem{torch / folder}" for folder in ("include", "include/torch/csrc/api/include")]
    link = [f"-L{torch / 'lib'}", f"-Wl,-rpath,{torch / 'lib'}"]
    return flags, [*link, "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"], torch / "version.py"


def cython_source(source: Path, suffix: str, arguments: list[str], build_dir: Path) -> Path:
    """What Cython makes of ``source`` with these arguments, under a name that stays the same: debug info has it.

    ``suffix`` is the end of that name. Lines name the source by its path, where Cython is told to write them.
    """
    try:
        import Cython
    except ImportError as error:
        raise BuildError(f"{error}; type: pip install cython") from error
    name = f"{source.stem}-{Cython.__version__}-{digest((suffix, arguments), [source])}"

    def make(folder: Path) -> None:
        written = folder / f"{source.stem}{suffix}"
        run([sys.executable, "-m", "cython", *arguments, str(source), "-o", str(written)])
        # gdb finds the source from wherever the compiler runs.
        path = str(source).replace(ROOT, IN_CACHE)
        text = written.read_text(encoding="utf-8").replace(f'"{source.name}"\n', f'"{path}"\n')
        written.write_text(text, encoding="utf-8")

    return made_once(name, make, build_dir) / f"{source.stem}{suffix}"


def show(build: Callable[[], Path]) -> int:
    """Build, and print the folder, or why that cannot be done. Returns the exit status."""
    try:
        print(build())
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    return 0


def digest(about: object, inputs: list[Path]) -> str:
    """A name for what is made of these; the same in each checkout."""
    found = hashlib.sha256(repr(about).replace(_PADDED, IN_CACHE).replace(ROOT, IN_CACHE).encode())
    for path in inputs:
        content = path.read_bytes().replace(_PADDED.encode(), IN_CACHE.encode())
        found.update(path.name.encode() + b"\0" + content)
    return found.hexdigest()[:12]


def run(command: list[str], **more: Any) -> None:
    """Run a compiler. Raises BuildError where it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise BuildError(f"this command failed: {' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr}")
