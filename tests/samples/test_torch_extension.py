"""The PyTorch extension samples: operators, and values of every tag with what PyTorch prints for them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LOAD = """
import json, sys, torch
torch.ops.load_library(sys.argv[1] + "/sample_operators.so")
torch.ops.load_library(sys.argv[1] + "/sample_values.so")
sample = torch.ops.sample
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LOAD + code, str(folder)]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(120)
    )


def test_reading_far_outside_is_a_segmentation_fault(torch_extension: Path) -> None:
    done = run(torch_extension, "sample.read_unchecked(torch.ones(2), 1 << 40)")
    assert done.returncode == -signal.SIGSEGV


def test_operators_work_and_values_cover_the_tags(torch_extension: Path) -> None:
    done = run(
        torch_extension,
        """
x = torch.ones(2)
echo = sample.boxed_echo(x, 1, 2.5, True, "label", [3, 4])
assert torch.equal(echo[0], x)
told = [list(echo[1:]), sample.scale(x, 3.0).tolist(), sample.read_unchecked(x, 1)]
rows = list(zip(sample.value_names(), sample.value_tags(), sample.value_texts()))
print(json.dumps([told, sample.stop_with_values(), rows]))
""",
    )
    assert done.returncode == 0, done.stderr
    told, count, rows = json.loads(done.stdout)
    assert told == [[1, 2.5, True, "label", [3, 4], None], [3.0, 3.0], 1.0]
    assert count == len(rows)
    texts = {name: text for name, _tag, text in rows}
    assert texts["tensor"] == " 0  1  2\n 3  4  5\n[ CPUFloatType{2,3} ]"
    assert texts["dict"] == "{ada: 36, alan: 41}"
    assert texts["enum"] == "Enum<Color.GREEN>"
    expected = """None Tensor Storage Double ComplexDouble Int UInt SymInt SymFloat SymBool Bool Tuple String
        GenericList GenericDict Future Await Device Stream Object Capsule Generator Enum Uninitialized"""
    assert set(expected.split()) <= {tag for _name, tag, _text in rows}
