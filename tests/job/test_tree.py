"""The merged prefix tree over ranks."""

from __future__ import annotations

import random

from dualdbg.plugins.job.tree import Node, Place, rows

MAIN = Place("python", "main", "train.py", 9)
STEP = Place("python", "step", "train.py", 5)
EVALUATE = Place("python", "evaluate", "train.py", 7)
WAIT = Place("native", "gloo::wait", library="libtorch_cpu.so")


def job() -> list[tuple[int, tuple[Place, ...]]]:
    return [(rank, (MAIN, EVALUATE) if rank == 6 else (MAIN, STEP, WAIT)) for rank in range(8)]


def tree(stacks: list[tuple[int, tuple[Place, ...]]]) -> Node:
    root = Node()
    for rank, stack in stacks:
        root.add([rank], stack)
    return root


def test_the_odd_rank_comes_first() -> None:
    assert [(row.depth, row.ranks, row.count, row.places) for row in rows(tree(job()))] == [
        (0, "0-7", 8, (MAIN,)),
        (1, "6", 1, (EVALUATE,)),
        (1, "0-5,7", 7, (STEP, WAIT)),
    ]


def test_a_rank_that_ends_above_the_others_is_not_lost() -> None:
    found = list(rows(tree([(0, (MAIN,)), (1, (MAIN, STEP))])))
    assert [(row.ranks, row.places) for row in found] == [("0-1", (MAIN,)), ("1", (STEP,))]


def test_merging_is_associative_and_knows_no_order() -> None:
    chance = random.Random(18)
    for _ in range(50):
        stacks = [
            (chance.randrange(40), tuple(chance.choices([MAIN, STEP, EVALUATE, WAIT], k=chance.randrange(6))))
            for _ in range(60)
        ]
        whole = tree(stacks)
        a, b, c = tree(stacks[:20]), tree(stacks[20:40]), tree(stacks[40:])
        right = Node()
        right.merge(b)
        right.merge(c)
        right.merge(a)
        a.merge(b)
        a.merge(c)
        assert a == right == whole


def test_a_merge_leaves_the_other_as_it_was() -> None:
    one, other = tree(job()[:4]), tree(job()[4:])
    one.merge(other)
    one.add([99], (MAIN, EVALUATE))
    assert other == tree(job()[4:])
