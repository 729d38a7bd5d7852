"""``python -m bench [NAME…] [--OPTION…]``: run the benchmarks, all or those named, and print their tables.

Options go to the one that is named: ``python -m bench kills --count 1000 --seed 1``.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench


def main() -> int:
    words = sys.argv[1:]
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    options = words[first:]
    names = words[:first] or sorted(
        module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")
    )
    for name in names:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main(*([options] if options else []))
    return 0


if __name__ == "__main__":
    sys.exit(main())
