"""What structured kernels are given in place of the arguments of their schemas, and how: by name, type and value."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from dualdbg.symbols.torch.native_functions import parse
from dualdbg.symbols.torch.native_signature import structured_arguments, structured_parameters
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, run_session

SCRIPT = """\
import torch

two, three = torch.ones(2, 3), torch.ones(2, 4)
torch.cat([two, three], -1)
torch.nn.functional.avg_pool2d(torch.ones(1, 4, 6), (2, 3), (1, 2), (1, 0))
torch.clamp(two, max=torch.zeros(2, 3))
two[torch.tensor([0, 1, 1])]
torch.nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]))
torch.empty(0).set_(two.untyped_storage(), 0, (2, 3))
torch.randn(2, generator=torch.Generator())
"""
EXPECTED = {
    "at::native::structured_cat_out_cpu::impl": {
        "tensors": "[float32 [2, 3] cpu, float32 [2, 4] cpu]", "dim": "1", "valid": "0", "all_contiguous": "true",
        "all_same_dtype": "true", "all_same_sizes_and_stride": "false", "memory_format": "contiguous_format",
        "out": "float32 [2, 7] cpu",
    },
    "at::native::structured_avg_pool2d_out_cpu::impl": {
        "self": "float32 [1, 4, 6] cpu", "kH": "2", "kW": "3", "dH": "1", "dW": "2", "padH": "1", "padW": "0",
        "ceil_mode": "false", "count_include_pad": "true", "divisor_override": "nullopt",
        "out": "float32 [1, 5, 2] cpu",
    },
    "at::native::structured_clamp_Tensor_out::impl": {
        "self": "float32 [2, 3] cpu", "min": "nullopt", "max": "float32 [2, 3] cpu", "out": "float32 [2, 3] cpu",
    },
    "at::native::structured_index_out::impl": {
        "self": "float32 [2, 3] cpu", "sizes": "[2]", "strides": "[12]", "out": "float32 [3, 3] cpu",
    },
    "at::native::structured_nll_loss_forward_out_cpu::impl": {
        "self": "float32 [2, 3] cpu", "target": "int64 [2] cpu", "weight": "nullopt", "reduction": "1",
        "ignore_index": "-100", "output": "float32 [] cpu", "total_weight": "float32 [] cpu",
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.torch
def test_structured_kernels_generators_and_storages_have_facts(table: OperatorTable, tmp_path: Path) -> None:
    """At the entry of a structured kernel, what was computed before; in log texts, what generators and storages are."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    async def work(driver: Driver) -> tuple[dict[str, dict[str, str]], str]:
        found: dict[str, dict[str, str]] = {}
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = event.stop.frame
            assert isinstance(frame, NativeFrame)
            values = await driver.session.inspector.variables(event.stop.thread.tid, frame)
            found.setdefault(frame.function or "", {value.name: value.value for value in values})
            await driver.session.resume()
        return found, driver.console

    logs = (
        'set_ log "from {source.nbytes} bytes on {source.device}: {source}"',
        'randn@dispatch if generator.device == "cpu" log "by {generator}"',
    )
    found, said = run_session(work, script, *EXPECTED, *logs, operators=table)
    assert found == EXPECTED
    assert "from 24 bytes on cpu: 0x" in said and " of 24 bytes at 0x" in said
    assert "by at::CPUGeneratorImpl 0x" in said


@pytest.mark.pure
def test_what_is_computed_before_a_structured_kernel() -> None:
    entry = parse(
        "- func: f.out(Tensor self, int[2] size, int dim, Tensor? by=None, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  structured: True\n"
        "  precomputed:\n"
        "  - size -> int sizeH, int sizeW\n"
        "  - dim -> int dim\n"
        "  - bool all, DimVector strides\n"
        "  dispatch:\n"
        "    CPU: f_out\n"
    )
    given = structured_arguments(entry.schema, entry.precomputed)
    assert [one.name for one in given] == ["self", "sizeH", "sizeW", "dim", "by", "all", "strides", "out"]
    assert structured_parameters(given)[3:] == (
        "long", "at::OptionalTensorRef", "bool", "c10::SmallVector<long,5u>", "at::Tensor const&",
    )  # fmt: skip
    assert entry.dispatch == (("CPU", "f_out"),) and entry.structured
