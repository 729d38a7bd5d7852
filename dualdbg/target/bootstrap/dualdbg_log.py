"""Runs in the target: writes the text of a log point, and tells the session which of its expressions have no value.

CPython 3.8 and later.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple


# Texts in pydevd's queue. When the program ends, pydevd writes what waits there for half a second, and no longer.
MOST_WAITING = 100
LONGEST_WAIT = 5.0  # seconds, for a session that does not read


def write(
    presentation: Any,
    id: int,
    texts: List[str],
    expressions: List[Tuple[str, str]],
    names: Dict[str, Any],
    variables: Any,
) -> bool:
    """Write ``texts`` with the values of ``expressions`` between them, in a frame's globals and locals.

    An expression is what the user wrote, and what is evaluated for it. Where it fails, the type of the exception stands
    in its place. Returns False: a log point does not stop.
    """
    written, failed = texts[0], []
    for at, (expression, code) in enumerate(expressions, 1):
        try:
            shown = value_of(code, names, variables)
        except BaseException as error:  # whatever the expression raises is its result
            shown = "<%s>" % presentation.reader().type_name(error)
            failed.append([expression, presentation.worded(error)])
        written += shown + texts[at]
    send(presentation, written + "\n", {"dualdbg": {"log": id, "failed": failed}} if failed else {})
    return False


def value_of(code: str, names: Dict[str, Any], variables: Any) -> str:
    from _pydevd_bundle import pydevd_vars  # type: ignore[import-not-found]

    value = pydevd_vars.eval_in_context(code, names, variables)
    if type(value) is pydevd_vars.ExceptionOnEvaluate:
        raise value.result
    return str(value)


def send(presentation: Any, text: str, more: Dict[str, Any]) -> None:
    """An output event as debugpy's own log points send it, with ``more`` for the session.

    A program that writes faster than it is read waits for the reader.
    """
    from _pydev_bundle._pydev_saved_modules import time  # type: ignore[import-not-found]
    from _pydevd_bundle import pydevd_net_command
    from _pydevd_bundle._debug_adapter import pydevd_schema  # type: ignore[import-not-found]
    from _pydevd_bundle.pydevd_comm_constants import CMD_WRITE_TO_CONSOLE  # type: ignore[import-not-found]

    event = pydevd_schema.OutputEvent(pydevd_schema.OutputEventBody(text, "stdout", **more))
    command = pydevd_net_command.NetCommand(CMD_WRITE_TO_CONSOLE, 0, event, is_json=True)
    writer = presentation.pydevd.get_global_debugger().writer
    writer.add_command(command)
    end = time.monotonic() + LONGEST_WAIT
    while writer._cmd_queue.qsize() > MOST_WAITING and writer.is_alive() and time.monotonic() < end:
        time.sleep(0.001)
