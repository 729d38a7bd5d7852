"""Runs in the target: threads of the debugger take no signals and no numbers away from the program's.

The first of the program's is called ``Thread-1``.
CPython 3.8 and later.
"""

from __future__ import annotations

import sys
import threading
import types
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "dualdbg"  # of a thread that pydevd gives no name
_module: Any = threading


class Unnumbered:
    """While it is entered, threads that this thread makes without a name are called :data:`NAME`."""

    def __enter__(self) -> None:
        own, thread = _module._newname, get_ident()

        def newname(*template: str) -> Any:
            return NAME if get_ident() == thread else own(*template)

        self.own, _module._newname = own, newname

    def __exit__(self, *_: object) -> None:
        _module._newname = self.own


def keep_those_of_pydevd_apart(signals: Any) -> None:
    """pydevd's threads have a name when they are made, and block signals when they begin (dualdbg_signals.py)."""
    import pydevd_tracing  # type: ignore[import-not-found]
    from _pydev_bundle import pydev_monkey  # type: ignore[import-not-found]

    class Named:
        @staticmethod
        def __init__(thread: Any) -> None:
            threading.Thread.__init__(thread, name=NAME)

    daemon: Any = sys.modules["_pydevd_bundle.pydevd_daemon_thread"].PyDBDaemonThread
    own = daemon.__init__
    names = {**own.__globals__, "threading": types.SimpleNamespace(Thread=Named)}
    daemon.__init__ = types.FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)
    daemon.start = lambda thread: signals.start_blocked(threading.Thread.start, thread)

    class Starting:
        @staticmethod
        def get_original_start_new_thread(module: Any) -> Any:
            start = pydev_monkey.get_original_start_new_thread(module)
            return lambda function, arguments: signals.start_blocked(start, function, arguments)

    pydevd_tracing.pydev_monkey = Starting  # the only thing that pydevd_tracing takes from there
