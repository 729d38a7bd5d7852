"""``python -m bench [NAME…]``: run the benchmarks, all of them or those named, and print their tables."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench


def main() -> int:
    names = sys.argv[1:] or sorted(
        module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")
    )
    for name in names:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
