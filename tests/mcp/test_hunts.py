"""Ten bugs, each found by a policy that reads nothing but the answers of the tools."""

from __future__ import annotations

import asyncio
import json
import re
import textwrap
from pathlib import Path

import pytest

from bench import hunts
from tests import rows
from tests.support import ROOT, built

pytestmark = [pytest.mark.processes, pytest.mark.slow]

MOST_CALLS = 30
MOST_BYTES = 40_000


@pytest.fixture(scope="session")
def modules() -> Path:
    return built(hunts.SAMPLES / "build.py")


# One for each kind of end: a crash, a hang, an exception, a wrong result, more memory, several processes.
SOME = ("segfault", "deadlock", "exception", "optimised", "leak", "ranks")


@pytest.mark.parametrize("name", rows.some(sorted(hunts.HUNTS, key=lambda name: name not in SOME), len(SOME)))
def test_the_bug_is_found(name: str, modules: Path) -> None:
    verdict, agent = asyncio.run(hunts.solve(name, modules))
    assert hunts.is_found(name, verdict), verdict
    assert len(agent.calls) <= MOST_CALLS and agent.size <= MOST_BYTES
    stops = [call.data["stop"]["number"] for call in agent.calls if "stop" in call.data]
    sessions = [call.data["session"] for call in agent.calls if "stop" in call.data]
    told = list(zip(sessions, stops, strict=True))
    assert len(told) == len(set(told)), "a stop was told twice"
    if name == "segfault":
        page = (ROOT / "docs" / "agents.md").read_text()
        shown = page[page.index("    > run(") :]
        assert _without_numbers(textwrap.dedent(shown)) == _without_numbers(hunts.transcript(agent.calls))


def _without_numbers(text: str) -> list[str]:
    """The lines of a transcript, without what is another's on each machine."""
    text = re.sub(r"build/samples/hunts[\w-]*", "build/samples/hunts", text.replace(f"{ROOT}/", ""))
    lines = re.sub(r"(process|thread) \d+", r"\1 N", text).splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def test_the_kept_table_has_every_hunt() -> None:
    kept = json.loads(hunts.KEPT.read_text())
    assert list(kept) == list(hunts.HUNTS)
    assert all(0 < row["calls"] <= MOST_CALLS and 0 < row["bytes"] <= MOST_BYTES for row in kept.values())
