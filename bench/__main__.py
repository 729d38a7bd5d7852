"""``python -m bench [NAME…] [OPTIONS]``: run the benchmarks, all of them or those named, and print their tables.

Options are those of the last that is named: ``python -m bench fuzz --mi 100000``.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench


def main() -> int:
    words = sys.argv[1:]
    at = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:at], words[at:]
    names = names or sorted(
        module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")
    )
    status = 0
    for name in names:
        print(f"== {name}", flush=True)
        main = importlib.import_module(f"bench.{name}").main
        status = (main(options) if options and name == names[-1] else main()) or status
    return status


if __name__ == "__main__":
    sys.exit(main())
