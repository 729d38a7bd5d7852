"""Functions of the C++ runtime are known by their names, those of a program are not taken for them."""

from __future__ import annotations

import pytest

from dualdbg.known.runtime_functions import is_runtime_function


@pytest.mark.parametrize(
    "function",
    [
        "__cxa_throw",
        "__cxa_rethrow",
        "__gthread_mutex_lock",
        "__gxx_personality_v0",
        "__gnu_cxx::__verbose_terminate_handler",
        "__cxxabiv1::__terminate(void (*)())",
        "__terminate",
        "__dynamic_cast",
        "__clang_call_terminate",
        "__asan_memcpy",
        "__asan::ReportGenericError(unsigned long)",
        "std::terminate()",
        "std::__throw_out_of_range_fmt(char const*, ...)",
        "_Unwind_RaiseException",
        "uw_update_context_1",
        "operator new(unsigned long)",
    ],
)
def test_a_function_of_the_runtime(function: str) -> None:
    assert is_runtime_function(function)


@pytest.mark.parametrize(
    "function",
    [
        None,
        "standard::throw_it",
        "__my_kernel",
        "__pyx_pw_4fast_1sum",
        "uw_energy",
        "unwind",
        "operator newline",
        "cxa_throw",
    ],
)
def test_a_function_of_a_program(function: str | None) -> None:
    assert not is_runtime_function(function)


def test_an_allocation_of_the_program_has_a_source_file() -> None:
    assert not is_runtime_function("operator new(unsigned long)", "/home/me/pool.cpp")
