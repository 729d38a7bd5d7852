"""Compiles the sample with PyO3; prints the folder with ``sample_pyo3``. The argument is O0 or O2."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import cargo_build  # noqa: E402
from cached_build import BuildError  # noqa: E402

PROFILES = {
    "O0": (),
    "O2": ("-Csymbol-mangling-version=v0",),
}  # rustc's old default for names, and the new one


def main() -> int:
    profile = sys.argv[1] if len(sys.argv) > 1 else "O0"
    try:
        print(cargo_build.build(HERE / "Cargo.toml", profile, [HERE / "src" / "lib.rs"], PROFILES[profile]))
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
