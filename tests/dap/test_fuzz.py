"""Random clients against ``dualdbg dap``; DUALDBG_FUZZ=100000 and DUALDBG_FUZZ_SEED=N for more and others."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import connect
from .fuzz import PROGRAM, Fuzzer
from .server import Server

MESSAGES = int(os.environ.get("DUALDBG_FUZZ", "300"))
SEED = int(os.environ.get("DUALDBG_FUZZ_SEED", "7"))
FIRST = int(os.environ.get("DUALDBG_FUZZ_FIRST", "0"))  # the number of the first session, to see one again
A_SESSION = 300


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server("--log-dir", str(tmp_path / "dualdbg-log"))
    yield started
    _, errors = started.close()
    lines = [
        line for line in errors.splitlines() if not line.startswith("dualdbg: a client was turned away: ")
    ]
    assert lines == [], errors


@pytest.mark.slow
def test_random_messages(server: Server, native_samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "fuzzed.py"
    path.write_text(PROGRAM.format(samples=str(native_samples), counter=str(path.with_suffix(".count"))))
    sent, sessions = 0, FIRST
    while sent < MESSAGES:
        chance = random.Random(SEED * 1_000_003 + sessions)
        client = connect(server.port)
        fuzzer = Fuzzer(client, chance, path)
        try:
            fuzzer.run(min(A_SESSION, MESSAGES - sent))
        except AssertionError as error:
            raise AssertionError(f"session {sessions} of seed {SEED}: {error}") from error
        finally:
            client.close()  # type: ignore[attr-defined]
        sent += max(fuzzer.sent, 1)
        sessions += 1
        if MESSAGES > 10_000:
            print(f"{sent} messages, {sessions} sessions", flush=True)
    assert server.process.poll() is None
