"""Compiles C++ samples once: the output folder is named after a hash of everything that went in."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent
BUILD_DIR = SAMPLES.parent / "build" / "samples"


class BuildError(Exception):
    """A sample cannot be compiled; the text says what to type next."""


def compiler() -> Path:
    """The C++ compiler: ``$CXX``, else ``g++``."""
    name = os.environ.get("CXX", "g++")
    found = shutil.which(name)
    if found is None:
        raise BuildError(f"no C++ compiler {name} is on PATH; install it, for example: apt-get install g++")
    return Path(found).resolve()


def compile_once(
    name: str, commands: dict[str, list[str]], inputs: list[Path], build_dir: Path = BUILD_DIR
) -> Path:
    """The folder ``build_dir/name-HASH``, which holds the file of each key of ``commands``.

    A command is the compiler's arguments, without compiler and output. They run side by side, in a
    folder that gets its name when all have succeeded, so that nobody ever sees half a build.
    ``inputs`` are the files whose content decides whether to compile again.
    """
    cxx = compiler()
    folder = build_dir / f"{name}-{_digest(cxx, commands, inputs)}"
    if folder.is_dir():
        return folder
    build_dir.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=build_dir))
    try:
        for output in commands:
            (unfinished / output).parent.mkdir(exist_ok=True)
        with ThreadPoolExecutor() as pool:
            jobs = [
                pool.submit(_run, [str(cxx), *arguments, "-o", str(unfinished / output)])
                for output, arguments in commands.items()
            ]
            for job in jobs:
                job.result()
        unfinished.chmod(0o755)
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.is_dir():  # else: somebody else has built the same meanwhile
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def cython_source(source: Path, suffix: str, arguments: list[str], build_dir: Path) -> Path:
    """What Cython makes of ``source`` with these arguments, under a name that stays the same: debug info has it.

    ``suffix`` is the end of that name. Lines name the source by its path, where Cython is told to write them.
    """
    try:
        import Cython
    except ImportError as error:
        raise BuildError(f"{error}; type: pip install cython") from error
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    target = build_dir / f"{source.stem}-{Cython.__version__}-{digest}{suffix}"
    if target.is_file():
        return target
    build_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build_dir) as folder:
        written = Path(folder) / f"{source.stem}{target.suffix}"
        _run([sys.executable, "-m", "cython", *arguments, str(source), "-o", str(written)])
        text = written.read_text(encoding="utf-8").replace(f'"{source.name}"\n', f'"{source}"\n')
        written.write_text(text, encoding="utf-8")  # gdb finds the source from wherever the compiler runs
        written.replace(target)
    return target


def show(build: Callable[[], Path]) -> int:
    """Build, and print the folder, or why that cannot be done. Returns the exit status."""
    try:
        print(build())
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    return 0


def _digest(cxx: Path, commands: dict[str, list[str]], inputs: list[Path]) -> str:
    # The compiler's size and time stand for its version: asking it would start a process each time.
    about = cxx.stat()
    digest = hashlib.sha256(repr((str(cxx), about.st_size, about.st_mtime_ns, commands)).encode())
    for path in inputs:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        raise BuildError("this command failed: " + " ".join(command))
