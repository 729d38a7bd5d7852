"""Which arrivals at kernels belong to one call."""

from __future__ import annotations

from dualdbg.symbols.torch.nested_calls import Arrival, continues_call

KERNELS = {0x100, 0x200}
FIRST = Arrival(thread=1, function=0x100, stack_pointer=0x7000, return_address=0x50)


def test_a_kernel_that_was_called_by_another() -> None:
    inner = Arrival(1, 0x200, 0x6F00, 0x123)
    assert continues_call(inner, [0x300, 0x100, 0x400], KERNELS, FIRST)
    assert not continues_call(inner, [0x300, 0x400], KERNELS, FIRST)
    assert not continues_call(FIRST, [], KERNELS)


def test_a_kernel_that_was_jumped_to() -> None:
    jumped = Arrival(1, 0x200, FIRST.stack_pointer, FIRST.return_address)
    assert continues_call(jumped, [0x50], KERNELS, FIRST)
    assert not continues_call(Arrival(2, 0x200, 0x7000, 0x50), [0x50], KERNELS, FIRST)
    assert not continues_call(Arrival(1, 0x200, 0x7000, 0x51), [0x50], KERNELS, FIRST)


def test_the_next_round_of_a_loop_is_a_call_of_its_own() -> None:
    assert not continues_call(FIRST, [0x50], KERNELS, FIRST)
