"""A value has one text: as read in the program from the live object, and from outside from its memory."""

from __future__ import annotations

import json
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from dualdbg.snapshot.cpython.object_text import ObjectText
from dualdbg.snapshot.linux.memory import ProcessMemory
from dualdbg.snapshot.linux.procfs import MemoryMap
from dualdbg.target.launcher import BOOTSTRAP
from tests.rows import versions
from tests.support import other_interpreter

PROGRAM = Path(__file__).with_name("drawn_objects.py")
SEED, COUNT = 53, 600


@pytest.mark.parametrize("version", versions())
def test_objects_drawn_by_a_seed_have_the_same_text_from_inside_and_from_memory(version: str) -> None:
    command = [str(other_interpreter(version)), "-I", str(PROGRAM), str(BOOTSTRAP), str(SEED), str(COUNT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        drawn = json.loads(program.stdout.readline())
        texts = ObjectText(ProcessMemory(program.pid), MemoryMap.read(program.pid), with_values=False)
        target = texts.torch_target()
        target.limits = import_module("dualdbg_helpers.limits").Limits()
        target.renew()
        objects = target.decoder(import_module("dualdbg_helpers.python.objects").Objects)
        read = [(kind, inside, objects.text(address)) for kind, address, inside in drawn]
        program.communicate()
    assert len(read) == COUNT
    assert [row for row in read if row[1] != row[2]] == []
