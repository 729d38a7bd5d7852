"""Compiles the modules of the bug hunts, each with its level of -O; prints the folder to put on PYTHONPATH."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, compile_once, show  # noqa: E402
from native.build import this_interpreter  # noqa: E402

MODULES = {
    "hunt_list": "0",
    "hunt_locks": "0",
    "hunt_buffers": "0",
    "hunt_throws": "0",
    "hunt_table": "0",
    "hunt_counter": "0",
    "hunt_callback": "0",
    "hunt_fast": "2",
}
"""By module: the level of ``-O``."""


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the modules for this interpreter, compiled with ``-g`` unless they are there."""
    target = this_interpreter()
    flags = ["-shared", "-fPIC", "-std=c++17", "-Wall", "-pthread", "-g", f"-I{target.include}"]
    commands = {
        f"{module}{target.suffix}": [*flags, f"-O{level}", str(HERE / f"{module}.cpp")]
        for module, level in MODULES.items()
    }
    return compile_once(f"hunts-{target.tag}", commands, sorted(HERE.glob("*.?pp")), build_dir)


if __name__ == "__main__":
    sys.exit(show(build))
