"""C++ exceptions and signals: filters, the stop, and what exceptionInfo says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .client import Client
from .samples import HELPER, line_of

Write = Callable[..., Path]

CAUGHT = """\
#include <exception>
#include <stdexcept>
extern "C" int run() {
    std::exception_ptr kept;
    try {
        throw std::out_of_range("far");
    } catch (const std::exception &) {
        kept = std::current_exception();
    }
    try {
        std::rethrow_exception(kept);
    } catch (...) {
    }
    try {
        throw 7;
    } catch (int) {
    }
    try {
        throw "text";
    } catch (const char *) {
    }
    return 0;
}
"""


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


@pytest.mark.parametrize("condition", ["", "out_of_range"])
def test_a_cpp_catch(client: Client, program: Write, tmp_path: Path, condition: str) -> None:
    """Where handlers begin: one that throws again, and one of std::rethrow_exception."""
    source, library = tmp_path / "caught.cpp", tmp_path / "libcaught.so"
    source.write_text(CAUGHT)
    subprocess.run(["g++", "-g", "-O0", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    path = program(f"import ctypes\nctypes.CDLL({str(library)!r}).run()\n")
    client.initialize()
    launched = client.send("launch", {"program": str(path)})
    client.initialized(launched)
    options = [{"filterId": "cpp_catch", **({"condition": condition} if condition else {})}]
    asked = {"filters": [], "filterOptions": options}
    assert len(client.request("setExceptionBreakpoints", asked)["breakpoints"]) == 1
    client.request("configurationDone")
    seen = []
    while (event := client.next_event("stopped", "terminated"))["event"] == "stopped":
        thread = event["body"]["threadId"]
        assert event["body"]["reason"] == "exception"
        information = client.request("exceptionInfo", {"threadId": thread})
        frame = next(row for row in client.stack(thread) if row["name"] == "run")
        seen.append((information["exceptionId"], frame["line"]))
        client.go("continue", thread)
    handlers = ("catch (const std::exception", "catch (...)", "catch (int", "catch (const char")
    types = ("std::out_of_range", "std::out_of_range", "int", "const char *")
    expected = list(zip(types, (line_of(source, text) for text in handlers), strict=True))
    assert seen == (expected[:2] if condition else expected)


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


def test_the_frames_that_a_chained_exception_came_from(client: Client, program: Write) -> None:
    """Behind those of the thread, as with debugpy, with their variables."""
    path = program(
        "def bad(key):\n    raise KeyError(key)\ntry:\n    bad(3)\n"
        "except KeyError as e:\n    raise ValueError('outer') from e\n"
    )
    client.start({"program": str(path)}, exceptions=["uncaught"])
    stack = client.stack(client.stopped(reason="exception")["threadId"])
    places = [(one["name"], one["line"]) for one in stack]
    assert places == [("<module>", 6), ("[Chained Exc: 3] <module>", 4), ("[Chained Exc: 3] bad", 2)]
    assert client.scope(stack[2])["key"]["value"] == "3"
