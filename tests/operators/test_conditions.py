"""Conditions and log texts about the arguments of operators in the stock wheel: they hold where Python says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.errors import SpecError
from dualdbg.model import Exited, Stopped
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, run_session

pytestmark = [pytest.mark.slow, pytest.mark.torch]

CALLS = [
    ((2, 3), "float32", 1), ((64,), "float32", 2), ((64, 2), "int64", 3), ((3, 3, 3), "float64", 64), ((), "int32", -5),
    ((64, 64), "float32", 0),
]  # fmt: skip
PROGRAM = f"""\
import torch
for sizes, dtype, alpha in {CALLS}:
    one = torch.ones(sizes, dtype=getattr(torch, dtype))
    torch.add(one, one, alpha=alpha)
print("end")
"""
Holds = Callable[[tuple[int, ...], str, int], bool]
# The condition, and the same of a call in Python.
CONDITIONS: dict[str, Holds] = {
    "alpha > 1": lambda sizes, dtype, alpha: alpha > 1,
    "alpha == 64 || alpha < 0": lambda sizes, dtype, alpha: alpha == 64 or alpha < 0,
    "self.ndim == 2 && self.sizes[0] == 64": lambda sizes, dtype, alpha: len(sizes) == 2 and sizes[0] == 64,
    "self.dtype == 'float32'": lambda sizes, dtype, alpha: dtype == "float32",
    'other.dtype != "float32" and not (alpha == 3)': lambda sizes, dtype, alpha: (
        dtype != "float32" and alpha != 3
    ),
    "64 in self.shape": lambda sizes, dtype, alpha: 64 in sizes,
    "self.numel > alpha * 10": lambda sizes, dtype, alpha: _product(sizes) > alpha * 10,
    "self.sizes == [64, 64]": lambda sizes, dtype, alpha: sizes == (64, 64),
    "!self.requires_grad && self.ndim == 0": lambda sizes, dtype, alpha: not sizes,
    "self.device == 'cpu' && self.ndim != 3": lambda sizes, dtype, alpha: len(sizes) != 3,
}


def _product(sizes: tuple[int, ...]) -> int:
    found = 1
    for size in sizes:
        found *= size
    return found


# Of these no call has a value: the first one stops, and says why.
WITHOUT_VALUE = ("self.rank == 2", "self", "self + 1 == 2", "alpha[0] == 1")


def test_conditions_about_arguments_hold_where_python_says_so(table: OperatorTable, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)

    async def work(driver: Driver) -> tuple[dict[int, int], list[str]]:
        await driver.stop()
        add = driver.session.breakpoints.add
        rows = [row for one in CONDITIONS for row in await add(f"add.Tensor if {one}")]
        assert [row.message for row in rows if row.message] == []
        for one in WITHOUT_VALUE:
            await add(f"add.Tensor if {one}")
        with pytest.raises(SpecError, match="would call dim"):
            await add("add.Tensor if self.dim() == 2")
        hits: dict[int, int] = {row.id: 0 for row in rows}
        why = []
        while True:
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return hits, why
            if event.stop.description is not None:
                why.append(event.stop.description)
            for id in event.stop.breakpoints:
                if id in hits:
                    hits[id] += 1

    hits, why = run_session(work, script, stop_on_entry=True, operators=table)
    expected = [sum(holds(*call) for call in CALLS) for holds in CONDITIONS.values()]
    assert dict(zip(CONDITIONS, hits.values(), strict=True)) == dict(zip(CONDITIONS, expected, strict=True))
    assert 0 not in expected and len(CALLS) not in expected[:-1]
    assert len(why) == 1 and "cannot be evaluated" in why[0]


def test_log_texts_and_hits_at_conditions_about_arguments(table: OperatorTable, tmp_path: Path) -> None:
    """An operator's arrivals are looked at by the session; at a function gdb prints by itself."""
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\ntorch.randn(2, 3)\ntorch.randn(64, dtype=torch.float64)\n"
        "torch.rand(2, 3)\n"
        "for n in (1, 3, 1, 3, 1, 3):\n    torch.ones(n)\n"
    )
    text = "{size} {size[0]} {dtype} {device} {pin_memory} {size[9]} {{}}"

    async def work(driver: Driver) -> tuple[str, list[str]]:
        await driver.stop()
        add = driver.session.breakpoints.add
        await add(f'randn@kernel if pin_memory == false log "{text}"')
        await add(
            'at::native::rand if pin_memory == false log "rand {size} {size[0]} {dtype} {size[9]} {{}}"'
        )
        await add("at::native::ones if size[0] == 3 hits 2")
        found = []
        while True:
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return driver.console, found
            values = await driver.session.inspector.variables(driver.session.pid, event.stop.frame)
            found.append(next(value.value for value in values if value.name == "size"))

    said, sizes = run_session(work, script, stop_on_entry=True, operators=table)
    lines = [line for line in said.splitlines() if line.startswith("[")]
    wrong = "<size[9]: list index out of range>"
    # One overload calls the other.
    assert list(dict.fromkeys(lines)) == [
        f"[2, 3] 2 nullopt cpu false {wrong} {{}}",
        f"[64] 64 float64 cpu false {wrong} {{}}",
    ]
    assert f"rand [2, 3] 2 nullopt {wrong} {{}}\n" in said
    assert sizes == ["[3]", "[3]"]
