"""Compiles the native sample modules for one interpreter, and prints the folder to put on PYTHONPATH."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, BuildError, compile_once, show  # noqa: E402

MODULES = ("sample_capi", "sample_pybind", "sample_locks")


class Interpreter(NamedTuple):
    """What compiling for an interpreter takes."""

    tag: str  # "cpython-311"
    suffix: str  # of a module's file: ".cpython-311-x86_64-linux-gnu.so"
    version: int  # as sys.hexversion
    include: str  # the folder of Python.h
    pybind11: list[str]  # include folders with pybind11, the best first


def this_interpreter() -> Interpreter:
    return Interpreter(
        tag=str(sys.implementation.cache_tag),
        suffix=sysconfig.get_config_var("EXT_SUFFIX"),
        version=sys.hexversion,
        include=sysconfig.get_path("include"),
        pybind11=_pybind11_folders(),
    )


def other_interpreter(python: str) -> Interpreter:
    command = [python, str(HERE / "build.py"), "--describe"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{python} cannot be asked for its headers: {error}") from error
    return Interpreter(**json.loads(done.stdout))


def build(python: str = sys.executable, optimize: str = "0", build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the modules for ``python``, compiled with ``-g -O<optimize>`` unless they are there."""
    target = this_interpreter() if python == sys.executable else other_interpreter(python)
    include = Path(target.include)
    if not (include / "Python.h").is_file():
        raise BuildError(
            f"{include}/Python.h is missing; install it, for example: apt-get install python3-dev"
        )
    pybind11 = _pybind11_for(target.version, [*target.pybind11, *_pybind11_folders()])
    flags = ["-shared", "-fPIC", "-std=c++17", "-Wall", "-Wno-deprecated-declarations", "-pthread", "-g"]
    flags += [f"-O{optimize}", f"-I{include}", f"-I{HERE}"]
    extra = {"sample_pybind": [f"-I{pybind11}", "-fvisibility=hidden"]}
    commands = {
        f"{module}{target.suffix}": [
            *flags,
            *extra.get(module, []),
            str(HERE / f"{module}.cpp"),
            str(HERE / "helper.cpp"),
        ]
        for module in MODULES
    }
    inputs = [*sorted(HERE.glob("*.?pp")), include / "patchlevel.h", pybind11 / "pybind11/detail/common.h"]
    return compile_once(target.tag, commands, inputs, build_dir)


def _pybind11_folders() -> list[str]:
    """Include folders with pybind11: its own package, PyTorch's copy, then those of this checkout's .venv."""
    specs = [importlib.util.find_spec(name) for name in ("pybind11", "torch")]
    packages = [Path(place) for spec in specs if spec for place in spec.submodule_search_locations or []]
    packages += [
        folder
        for name in ("pybind11", "torch")
        for folder in CHECKOUT.glob(f".venv/lib/python3*/site-packages/{name}")
    ]
    includes = [package / "include" for package in packages]
    return [str(include) for include in includes if (include / "pybind11/pybind11.h").is_file()]


def _pybind11_for(version: int, folders: list[str]) -> Path:
    """The first folder whose pybind11 still takes Python ``version`` (as in ``sys.hexversion``)."""
    for folder in folders:
        text = (Path(folder) / "pybind11/detail/common.h").read_text(encoding="utf-8")
        oldest = re.search(r"PY_VERSION_HEX < (0x[0-9A-Fa-f]{8})\n#\s*error", text)
        if oldest is None or version >= int(oldest.group(1), 16):
            return Path(folder)
    raise BuildError(
        f"no pybind11 for Python {version >> 24}.{version >> 16 & 255} here; type: pip install pybind11"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to compile for")
    parser.add_argument("--optimize", default="0", choices=["0", "1", "2", "3"], help="the level of -O")
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR, help="where the outputs are kept")
    parser.add_argument("--describe", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.describe:
        print(json.dumps(this_interpreter()._asdict()))
        return 0
    return show(lambda: build(options.python, options.optimize, options.build_dir))


if __name__ == "__main__":
    sys.exit(main())
