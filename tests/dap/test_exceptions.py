"""C++ exceptions and signals: filters, the stop, and what exceptionInfo says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .client import Client
from .samples import HELPER

Write = Callable[..., Path]


@pytest.fixture
def throwing(native_samples: Path, program: Write) -> Path:
    return program(
        f"""\
import sys
sys.path.insert(0, {str(native_samples)!r})
import sample_pybind
for value in (1.0, -1.0):
    try:
        sample_pybind.check_positive(value)
    except RuntimeError as error:
        print(error)
try:
    sample_pybind.outer(1.0, -1)
except ValueError as error:
    print(error)
"""
    )


def test_a_cpp_throw(client: Client, throwing: Path) -> None:
    client.start({"program": str(throwing)}, exceptions=["cpp_throw"])
    thread = client.stopped(reason="exception")["threadId"]
    information = client.request("exceptionInfo", {"threadId": thread})
    assert information["exceptionId"] == "std::runtime_error"
    assert information["breakMode"] == "always"
    frames = client.stack(thread)
    assert any(frame.get("source", {}).get("path") == str(HELPER) for frame in frames)
    assert any(frame["name"] == "<module>" and frame["line"] == 6 for frame in frames)
    client.go("continue", thread)
    client.stopped(reason="exception")
    assert client.request("exceptionInfo", {"threadId": thread})["exceptionId"] == "std::invalid_argument"


def test_one_type_of_cpp_exception(client: Client, throwing: Path) -> None:
    client.initialize()
    launched = client.send("launch", {"program": str(throwing)})
    client.initialized(launched)
    options = [{"filterId": "cpp_throw", "condition": "std::invalid_argument"}]
    client.request("setExceptionBreakpoints", {"filters": [], "filterOptions": options})
    client.request("configurationDone")
    thread = client.stopped(reason="exception")["threadId"]
    assert client.request("exceptionInfo", {"threadId": thread})["exceptionId"] == "std::invalid_argument"


def test_a_signal(client: Client, program: Write) -> None:
    path = program("import ctypes\nctypes.string_at(1)\n")
    client.start({"program": str(path)})
    stop = client.stopped(reason="exception", description="Paused on signal")
    information = client.request("exceptionInfo", {"threadId": stop["threadId"]})
    assert information["exceptionId"] == "SIGSEGV" and information["breakMode"] == "unhandled"
    assert any(frame["name"] == "<module>" and frame["line"] == 2 for frame in client.stack(stop["threadId"]))
    client.go("continue", stop["threadId"])
    assert client.event("exited") == {"exitCode": 139}


def test_no_exception_at_this_stop(client: Client, program: Write) -> None:
    path = program("x = 1\ny = 2\n")
    client.start({"program": str(path)}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    assert "did not stop for an exception" in client.refused("exceptionInfo", {"threadId": thread})


def test_a_filter_that_does_not_exist(client: Client, program: Write) -> None:
    path = program("x = 1\n")
    client.start({"program": str(path)}, lines={path: [1]})
    client.stopped()
    answer = client.request("setExceptionBreakpoints", {"filters": ["raised", "rust_panic", "uncaught"]})
    first, second, third = answer["breakpoints"]
    assert first["verified"] and third["verified"]
    assert not second["verified"] and "no exception filter 'rust_panic'" in second["message"]
