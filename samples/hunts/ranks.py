"""Four processes of a job that meet after each has loaded its shard: the one with rank 2 never comes."""

import os
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hangs"))

from hang_support import announce_when_asleep, die_with_parent, end_after, parse_arguments

RANKS = 4


def load_shard(rank):
    if rank == 2:
        os.read(0, 1)  # of a pipe into which nobody writes
    return [rank] * 3


def meet(room):
    os.read(room, 1)  # a byte comes for each when all are there


def take_part(rank, room):
    shard = load_shard(rank)
    meet(room)
    return sum(shard)


def start(rank, room, silence):
    words = [sys.executable, __file__, "--rank", str(os.getpid()), str(room)]
    env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS)}
    return subprocess.Popen(words, env=env, stdin=silence, pass_fds=[room])


def main():
    end_after(parse_arguments(__doc__).limit)
    (silence, _), (room, _) = os.pipe(), os.pipe()
    ranks = [start(rank, room, silence).pid for rank in range(RANKS)]
    announce_when_asleep(ranks, ranks=ranks)
    threading.Event().wait()


if sys.argv[1:2] == ["--rank"]:
    die_with_parent(int(sys.argv[2]))
    take_part(int(os.environ["RANK"]), int(sys.argv[3]))
else:
    main()
