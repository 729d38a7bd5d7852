"""Many cases that are made from seeds: the command line of a campaign, and what is printed of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Failures = list[tuple[Case, str]]


def failures(cases: Iterable[Case], wrong: Iterable[str]) -> Failures[Case]:
    """What was wrong with which case, printed as soon as it is known."""
    return list(_printed(zip(cases, wrong, strict=True)))


def _printed(results: Iterable[tuple[Case, str]]) -> Iterator[tuple[Case, str]]:
    for case, wrong in results:
        if wrong:
            print(f"{case}\n    {wrong}", flush=True)
            yield case, wrong


def run(
    name: str,
    about: str | None,
    campaign: Callable[[range, int], Failures[Case]],
    told: Callable[[Failures[Case]], str],
    words: Sequence[str] | None,
) -> int:
    """Play a campaign as ``words`` ask for it. Returns the exit status: whether something was wrong."""
    parser = argparse.ArgumentParser(
        prog=f"python -m bench {name}", description=(about or "").splitlines()[0]
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args([] if words is None else words)
    seeds = range(options.seed, options.seed + options.count)
    started = time.monotonic()
    found = campaign(seeds, options.jobs)
    print(f"{len(seeds)} {name} in {time.monotonic() - started:.0f} s, {told(found)}")
    return 1 if found else 0
