"""The Python exceptions to stop at, as debugpy is told: filters, or options instead of filters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_ALL = {"names": ["Python Exceptions"]}
# The break modes of DAP's ExceptionOptions, by the filters of debugpy that mean the same.
_MODES = {"raised": "always", "uncaught": "unhandled", "userUnhandled": "userUnhandled"}


def exception_arguments(
    filters: Iterable[str], names: Iterable[str], options: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The arguments of ``setExceptionBreakpoints``.

    ``filters`` are raised, uncaught and userUnhandled. ``names`` are types to stop at wherever they are raised.
    ``options`` are ExceptionOptions as a client sends them. (pydevd_process_net_command_json.py,
    on_setexceptionbreakpoints_request.)
    """
    wanted = [name for name in _MODES if name in set(filters)]
    types = list(names)
    chosen = [dict(option) for option in options]
    if types:
        chosen.append({"path": [_ALL, {"names": types}], "breakMode": "always"})
    if not chosen:
        return {"filters": wanted}
    chosen += [{"path": [_ALL], "breakMode": _MODES[name]} for name in wanted]
    return {"filters": [], "exceptionOptions": chosen}
