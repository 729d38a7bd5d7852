"""Records that say the same are counted, and their numbers summed: the machine code does what plain Python does."""

from __future__ import annotations

import os
import random
from array import array
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from dualdbg.probes import durations, placement, recording
from dualdbg.trace import tally
from dualdbg.trace.clock import Clock
from dualdbg.trace.tally import FastTally, Kind, Met, PlainTally, Site, Sum

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
]
FULL = (1 << 64) - 1


def _records(dice: random.Random, count: int, sites: int, first: int = 1) -> array[int]:
    places = [
        [dice.randrange(4) << 32 | dice.randrange(9), *(dice.getrandbits(64) for _ in range(3))]
        for _ in range(sites)
    ]
    edges = [0, 1, FULL, 1 << 63, (1 << 63) - 1, 0x80000000, 0x7FFFFFFF, 0xFFFF8000]
    words: array[int] = array("Q")
    for number in range(first, first + count):
        values = [dice.choice([dice.choice(edges), dice.getrandbits(64)]) for _ in recording.REGISTERS]
        words.extend([number, dice.getrandbits(64), *dice.choice(places), *values])
    return words


def _by_hand(words: array[int], probe: int, kind: Kind) -> Sum:
    bits = 8 * kind.size
    found = []
    for at in range(0, len(words), recording.WORDS):
        if words[at + recording.THREAD] >> 32 == probe:
            number = words[at + recording.ARGUMENTS + kind.register] & (1 << bits) - 1
            found.append(number - (1 << bits) if kind.signed and number >> bits - 1 else number)
    return Sum(len(found), min(found), max(found), sum(found))


def _met(words: array[int], times: bool = True) -> dict[Site, Met]:
    """By hand: the sum of times has 64 bits."""
    found: dict[Site, list[int]] = {}
    for at in range(0, len(words), recording.WORDS):
        site: Any = tuple(words[at + recording.THREAD : at + recording.THREAD + 4])
        found.setdefault(site, []).append(words[at + durations.DURATION] if times else 0)
    return {site: Met(len(all_), sum(all_) & FULL, max(all_)) for site, all_ in found.items()}


@pytest.mark.parametrize("seed", range(8))
def test_both_count_what_is_there(seed: int) -> None:
    dice = random.Random(seed)
    words = _records(
        dice, dice.choice([1, 7, 3000]), dice.choice([1, 5, 900]), first=dice.choice([1, 1 << 40])
    )
    for at in range(durations.DURATION, len(words), recording.WORDS):
        words[at] >>= 20  # their sum has 64 bits too
    for one, times in ((FastTally(), True), (PlainTally(True), True), (PlainTally(), False)):
        for _ in range(2):
            assert one.take(memoryview(words), words[0]) == len(words) // recording.WORDS
            assert one.sites() == _met(words, times)
        assert one.sites() == {}


@pytest.mark.parametrize("wrong", [0, 1, 499])
def test_both_end_before_a_record_that_is_not_complete(wrong: int) -> None:
    words = _records(random.Random(1), 500, 3)
    words[wrong * recording.WORDS] = 0
    for one in (FastTally(), PlainTally()):
        assert one.take(memoryview(words), 1) == wrong
        assert sum(met.hits for met in one.sites().values()) == wrong


@pytest.mark.parametrize("seed", range(6))
def test_sums_are_those_by_hand(seed: int) -> None:
    """Of all sizes, with sign and without; from the second look at a probe on."""
    dice = random.Random(seed)
    kinds = [Kind(at, dice.choice([2, 4, 8]), dice.random() < 0.5) for at in range(dice.randint(1, 6))]
    one = FastTally()
    assert [one.sums(probe, kinds) for probe in range(4)] == [None] * 4
    for _ in range(2):
        words = _records(dice, 2000, 50)
        assert one.take(memoryview(words), 1) == 2000
        one.sites()
        for probe in range(4):
            assert one.sums(probe, kinds) == [_by_hand(words, probe, kind) for kind in kinds]


def test_more_places_than_it_has_room_for_are_taken_in_turns() -> None:
    words = _records(random.Random(2), 30_000, 30_000)
    view, one, done, counts = memoryview(words), FastTally(), 0, Counter[tally.Site]()
    while done < 30_000:
        taken = one.take(view[done * recording.WORDS :], done + 1)
        assert taken > 0
        done += taken
        counts.update({site: met.hits for site, met in one.sites().items()})
    assert counts == Counter(tuple(words[at + 2 : at + 6]) for at in range(0, len(words), recording.WORDS))


def test_plain_python_does_it_where_no_code_may_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(code: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tally, "OwnCode", refuse)
    assert isinstance(tally.tally(), PlainTally)
    monkeypatch.undo()
    assert isinstance(tally.tally(), FastTally)
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    assert isinstance(tally.tally(), PlainTally)
    monkeypatch.undo()
    monkeypatch.setattr(tally, "iced", None)
    assert isinstance(tally.tally(), PlainTally)


def test_other_machines_have_the_raw_clock_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Python is traced there, whose times are its."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    clock = Clock()
    assert abs(clock.began - clock.began_ns) < 1e9
    assert clock.ticks_a_second() == pytest.approx(1e9, rel=0.5)
