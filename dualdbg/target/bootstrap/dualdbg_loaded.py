"""Runs in the target: tells the session when the program first runs code of a file that has a breakpoint.

debugpy calls each breakpoint verified, also one in a copy of a file that the program never imports.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Set

A_WAIT, MOST_WAITS = 0.05, 40  # seconds, for the session's answer about a file that it did not know


class Loaded:
    """``known`` are the files, links resolved, whose code pydevd has seen; ``awaited`` the names that the session gave.

    A name is an absolute path, or the last components of one.
    """

    def __init__(self, pydevd: Any) -> None:
        self.pydevd = pydevd
        self.known: Set[str] = set()
        self.awaited: Dict[str, Any] = {}
        self.answers: Dict[str, Any] = {}  # by path: an event, set when the session has heard of the file

    def note(self, path: str) -> None:
        """Code of a file is about to run for the first time."""
        self.known.add(path)
        if [name for name in list(self.awaited) if self.compare(name, path) and name[:1] != "/"]:
            self.wait_for_answer(path)

    def wait_for(self, names: Any) -> None:
        """The session has breakpoints in files of these names."""
        if not names:
            return
        self.awaited.update(dict.fromkeys(names))
        modules = [vars(one) for one in list(sys.modules.values()) if isinstance(one, type(sys))]
        files = {
            one["__file__"] for one in modules if is_text(one.get("__file__")) and "__compiled__" not in one
        }
        for name in names:
            for path in self.known | {os.path.realpath(one) for one in files if is_like(name, one)}:
                self.compare(name, path)

    def watch(self, debugger: Any) -> None:
        """Have pydevd hear of code that begins, where it has no breakpoint in a file of its own yet."""
        if any(name[:1] != "/" for name in self.awaited):
            debugger.breakpoints["dualdbg"] = {0: None}  # in no file
            debugger.on_breakpoints_changed()

    def compare(self, name: str, path: str) -> bool:
        """Tell the session of a file that has an awaited name, or the last components of it. Whether it has it."""
        is_it = path == name or (name[:1] != "/" and path.endswith("/" + name))
        if is_it or is_like(name, path):
            self.tell({"loaded": [name, path, is_it]})
        return is_it

    def tell(self, ours: Any) -> None:
        from _pydevd_bundle import pydevd_net_command  # type: ignore[import-not-found]
        from _pydevd_bundle._debug_adapter import pydevd_schema  # type: ignore[import-not-found]

        event = pydevd_schema.OutputEvent(pydevd_schema.OutputEventBody("", "telemetry", dualdbg=ours))
        writer = self.pydevd.get_global_debugger().writer
        writer.add_command(pydevd_net_command.NetCommand(0, 0, event, is_json=True))

    def wait_for_answer(self, path: str) -> None:
        """Wait until the session has set its breakpoints in a file: lines of it are about to run."""
        answer = self.answer_about(path)
        for _ in range(MOST_WAITS):  # not one long wait: its clock runs on while gdb holds the process
            if answer.wait(A_WAIT):
                return

    def answer_about(self, path: str) -> Any:
        from _pydev_bundle._pydev_saved_modules import threading  # type: ignore[import-not-found]

        return self.answers.setdefault(path, threading.Event())


def is_text(value: Any) -> bool:
    return type(value) is str


def is_like(name: str, path: str) -> bool:
    """Whether two files have the same name; those of packages with their folders."""
    count = 2 if name.endswith("/__init__.py") else 1
    return name.split("/")[-count:] == path.split("/")[-count:]


def telling(pydevd: Any, debugger: Any) -> Any:
    """The class of debuggers ``debugger``, which tells the session so."""
    processor = pydevd.PyDevJsonCommandProcessor
    earlier: Any = getattr(pydevd, "dualdbg_loaded", None)  # of a session that has left
    loaded: Any = earlier or Loaded(pydevd)
    loaded.awaited.clear()
    frame_type = type(sys._getframe())

    class Debugger(debugger):  # type: ignore[misc]
        def get_file_type(self, frame: Any, names: Any = None, *given: Any) -> Any:
            # Of a file with a breakpoint pydevd asks too, with a frame of its own making.
            if names is not None and names[1] not in loaded.known and type(frame) is frame_type:
                loaded.note(names[1])
            return super().get_file_type(frame, names, *given)

    def hears(name: str) -> None:
        original = getattr(processor, name)

        def take(this: Any, debugger: Any, request: Any) -> Any:
            given = request.arguments.kwargs
            loaded.wait_for(given.get("dualdbgFiles", ()))
            answer = original(this, debugger, request)
            loaded.watch(debugger)
            for path in given.get("dualdbgAnswers", ()):
                loaded.answer_about(path).set()
            return answer

        setattr(processor, name, take)

    if earlier is None:
        pydevd.dualdbg_loaded = loaded
        hears("on_setbreakpoints_request")
        hears("on_setfunctionbreakpoints_request")
    return Debugger
