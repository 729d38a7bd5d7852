"""Where thread states are is known before the program runs on, so that the first hits have their line of Python too."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dualdbg.probes.recording import Shared
from dualdbg.session.breakpoints import tracing
from dualdbg.trace.memory import TraceMemory


class Lines:
    """Tells the place of thread states at the stop ``when``, counted from 1."""

    def __init__(self, when: int) -> None:
        self.when, self.asked = when, 0

    def state_offsets(self) -> tuple[int, ...]:
        self.asked += 1
        return (8,) if self.asked >= self.when else ()


@pytest.mark.parametrize(("when", "asked"), [(1, [1, 1, 1, 1]), (2, [1, 1, 2, 2])])
def test_they_are_looked_for_in_the_stop(
    when: int, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads the records here, as on a machine that has no time for it. Once in a stop is enough."""
    shared = Shared.for_records(1)
    descriptor = os.memfd_create("records")
    os.ftruncate(descriptor, shared.size)
    memory = TraceMemory(f"/proc/self/fd/{descriptor}", shared, 0)
    os.close(descriptor)
    lines, image = Lines(when), SimpleNamespace(version=1, modules=[], find=lambda *_: [])
    monkeypatch.setattr(tracing, "PythonLines", lambda *_: lines)
    manner = tracing.Manner(records=True)
    program = tracing.Program(memory, 0, cast(Any, None), interpreter=cast(Any, "known"))
    traced = tracing.Tracing(cast(Any, None), cast(Any, image), _now={manner: program})
    seen = []
    for image.version in (1, 1, 2, 2):
        asyncio.run(traced.wish(0, is_entry=True, has_condition=False, manner=manner))
        seen.append(lines.asked)
    assert (seen, memory.state_offsets) == (asked, [8])
    assert program.source.lines is not None
