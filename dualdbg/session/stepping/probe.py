"""Runs methods of the probe in a thread that gdb holds: arm debugpy, wait for it, evaluate an expression."""

from __future__ import annotations

from ...backends.native import PROBE_FUNCTIONS
from ...errors import CommandError
from ...patience import patient
from ...symbols.address_space import AddressSpace
from ..engines import CallingTarget
from ..ports import AskingPython

# Seconds for pydevd to take the messages that came while gdb held the target; it needs milliseconds.
_TO_HEAR = patient(2.0)


class Probe:
    """``bootstrap/dualdbg_probe.py`` in the target. The thread must hold the GIL and be able to run Python code."""

    def __init__(self, native: CallingTarget, python: AskingPython, image: AddressSpace) -> None:
        self._native = native
        self._python = python
        self._image = image
        self._functions: dict[str, int] = {}

    async def arm(self, gdb_thread: int, command: str) -> int:
        """Make debugpy stop the thread as after this command. Returns how many frames debugpy would show now; 0 when
        it cannot.
        """
        if not self._python.hears_python or not self._find_functions():
            return 0
        return await self._native.call_probe(gdb_thread, self._functions, "arm", command)

    async def hear(self, gdb_thread: int, number: int) -> bool:
        """Let the thread wait until debugpy has taken the message of this number. False when it cannot."""
        if not self._python.hears_python or not self._find_functions():
            return False
        heard = await self._native.call_probe(gdb_thread, self._functions, "hear", f"{number} {_TO_HEAR:g}")
        return bool(heard)

    async def probe_text(self, gdb_thread: int, method: str, argument: str, deadline: float) -> str:
        """The text that a method of the probe returns within ``deadline`` seconds. Raises CommandError."""
        if not self._find_functions():
            raise CommandError("the interpreter's functions are not to be found, so nothing can be run", "")
        words = (gdb_thread, self._functions, method, argument)
        return await self._native.probe_text(*words, deadline=deadline)

    def _find_functions(self) -> bool:
        """Whether the interpreter's functions by which gdb calls are known."""
        if not self._functions:
            for name in PROBE_FUNCTIONS:
                places = self._image.find(name)
                if places:
                    self._functions[name] = places[0].address
        return len(self._functions) == len(PROBE_FUNCTIONS)
