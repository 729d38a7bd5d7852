"""exceptionInfo: what was raised, thrown or signalled at this stop."""

from __future__ import annotations

import re
from typing import Any, cast

from ...errors import WrongState
from ...model import Language, Reason
from ...protocol import dap_types as dap
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..client.paths import PathMap
from ..registry import request

# The type, and what follows it: its text, or where it was thrown or caught.
_TOLD = re.compile(r"(.*?)(?:: (.*)|(?=, (?:thrown|caught) in ).*)?$", re.DOTALL)
# A line of debugpy's text of the stack.
_FILE = re.compile(r'^(\s*File ")(.+)(", line \d+)', re.MULTILINE)


@request("exceptionInfo", looks=True, capabilities=("supportsExceptionInfoRequest",))
async def exception_info(adapter: Adapter, arguments: Arguments) -> dap.ExceptionInfoResponseBody:
    session = adapter.session
    stop = session.require_stopped()
    tid = arguments.number("threadId")
    if stop.origin is Language.PYTHON:
        number = session.inspector.debugpy_thread(tid)
        if stop.reason is not Reason.EXCEPTION or number is None:
            adapter.debuggee.thread(tid)
            raise WrongState(f"thread {tid} did not stop for an exception")
        answer = await session.inspector.relay("exceptionInfo", {"threadId": number})
        return _with_clients_names(cast(dap.ExceptionInfoResponseBody, answer), adapter.client.paths)
    if tid != stop.thread.tid or not stop.description:
        raise WrongState(f"thread {tid} did not stop for an exception")
    if stop.reason is Reason.SIGNAL:
        name, _, meaning = stop.description.partition(", ")
        return {"exceptionId": name, "description": meaning or name, "breakMode": "unhandled"}
    kind = stop.description.removeprefix("throw").strip()
    told = _TOLD.match(kind)
    assert told is not None, "each part may be missing"
    name, what = told.groups("")
    return {
        "exceptionId": name or "C++ exception",
        "description": what or stop.description,
        "breakMode": "always",
        "details": {"typeName": name, "message": what},
    }


def _with_clients_names(
    answer: dap.ExceptionInfoResponseBody, paths: PathMap
) -> dap.ExceptionInfoResponseBody:
    """debugpy's answer with the client's names of the files in it."""
    details = cast(dict[str, Any], dict(answer.get("details", {})))
    if "source" in details:
        details["source"] = paths.to_client(details["source"])
    if "stackTrace" in details:
        details["stackTrace"] = _FILE.sub(
            lambda row: row[1] + paths.to_client(row[2]) + row[3], details["stackTrace"]
        )
    return cast(dap.ExceptionInfoResponseBody, {**answer, "details": details})
