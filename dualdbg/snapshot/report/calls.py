"""The system call that a captured thread is in, and what it is about."""

from __future__ import annotations

from ..capture import Captured
from ..facts import SystemCall
from ..linux.descriptors import describe_descriptor
from ..linux.procfs import ThreadFacts
from ..linux.system_calls import describe, descriptor_of


def call_of(captured: Captured, facts: ThreadFacts) -> SystemCall | None:
    """None where it is in no call, and where that is not known."""
    registers = captured.registers.get(facts.tid)
    if registers is None:
        return None
    raw = registers.system_call
    if raw is None and facts.pc == registers.pc:  # AArch64, of a call that a stop ends
        raw = facts.system_call
    # It had not waited there: the stop met it on its way out of the call, which had been carried out. (What was
    # waiting may have a result too, of the part of its data that was written before the stop.)
    if registers.has_returned and raw != facts.system_call and not captured.is_core:
        raw = None
    if raw is None:
        return None
    name, _ = describe(registers.architecture, raw[0])
    number, sends = captured.polled.get(facts.tid, (descriptor_of(registers.architecture, raw), None))
    descriptor = None
    if number is not None and not captured.is_core:
        descriptor = describe_descriptor(captured.facts.pid, number, captured.descriptors.get(facts.tid))
    limit, sleep = captured.limits.get(facts.tid), captured.sleeps.get(facts.tid)
    return SystemCall(name, raw[1:], descriptor, sends, limit, sleep)
