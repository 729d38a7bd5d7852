"""``python -m bench [NAME…] [OPTIONS]``: run the benchmarks, all of them or those named, and print their tables.

Options are those of the last that is named: ``python -m bench fuzz --mi 100000``.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Benchmark:
    about: str
    has_options: bool


def main(words: list[str]) -> int:
    # What a shell has put into the background inherits that SIGINT is ignored; benchmarks end by it what they run.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    known = benchmarks()
    at = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:at], words[at:]
    if not names and options:
        sys.stdout.write(usage(known))
        return 0 if options[0] in ("-h", "--help") else 2
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            print(f"there is no benchmark {name!r}", file=sys.stderr)
            print(f"  {f'did you mean {near[0]}?' if near else ', '.join(known)}", file=sys.stderr)
            return 2
    if options and not known[names[-1]].has_options:
        print(f"the benchmark {names[-1]} has no options", file=sys.stderr)
        return 2
    status = 0
    for name in names or list(known):
        print(f"== {name}", flush=True)
        run = importlib.import_module(f"bench.{name}").main
        status = (run(options) if options and name == names[-1] else run()) or status
    return status


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name, with what each says of itself. None is imported."""
    found = {}
    for path in sorted(FOLDER.glob("[!_]*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        run = [part for part in module.body if isinstance(part, ast.FunctionDef) and part.name == "main"]
        if run:
            has_options = bool(run[0].args.args)
            found[path.stem] = Benchmark((ast.get_docstring(module) or "").partition("\n")[0], has_options)
    return found


def usage(known: dict[str, Benchmark]) -> str:
    width = max(map(len, known))
    rows = "".join(f"  {name:<{width}}  {one.about}\n" for name, one in known.items())
    return (
        "usage: python -m bench [NAME...] [OPTIONS]\n\n"
        f"The benchmarks that are named, or all of them, one after the other. Options go to the last one.\n\n{rows}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
