"""Runs methods of the probe in a thread that gdb holds: arm debugpy, wait for it, evaluate an expression."""

from __future__ import annotations

from ...backends.native import PROBE_FUNCTIONS, AskingGdb
from ...errors import CommandError
from ...shared.libraries import holds_interpreter, is_c_library
from ...shared.requests.process import CallProbe, CallProbeForText
from ...symbols.address_space import AddressSpace
from ...system.patience import patient
from ..ports import AskingPython

# Seconds for pydevd to take the messages that came while gdb held the target; it needs milliseconds.
_TO_HEAR = patient(2.0)
_TO_BEGIN = patient(5.0)


class Probe:
    """``bootstrap/dualdbg_probe.py`` in the target. The thread must hold the GIL and be able to run Python code."""

    def __init__(self, native: AskingGdb, python: AskingPython, image: AddressSpace) -> None:
        self._native = native
        self._python = python
        self._image = image
        self._functions: dict[str, int] = {}
        self._mailbox = 0  # its address, once the probe has told it

    def learn_mailbox(self, address: int) -> None:
        """Where the probe has its mailbox, by which a call of it is fast."""
        self._mailbox = address

    def program_replaced(self) -> None:
        """The process runs another program, whose functions lie elsewhere."""
        self._functions.clear()
        self._mailbox = 0

    def foresee(self) -> None:
        """Find what :meth:`arm` will need."""
        self._find_functions()

    async def arm(self, gdb_thread: int, command: str) -> int:
        """Make debugpy stop the thread as after this command. Returns how many frames debugpy would show now; 0 when
        it cannot.
        """
        if not self._python.hears_python or not self._find_functions():
            return 0
        return await self._call(gdb_thread, "arm", command)

    async def hear(self, gdb_thread: int, number: int) -> bool:
        """Let the thread wait until debugpy has taken the message of this number. False when it cannot."""
        if not self._python.hears_python or not self._find_functions():
            return False
        return bool(await self._call(gdb_thread, "hear", f"{number} {_TO_HEAR:g}"))

    async def begin_step(self, gdb_thread: int, argument: str) -> str:
        """Watch the calls of the Python line on which the thread is. Raises CommandError."""
        return await self.probe_text(gdb_thread, "begin_step", argument, _TO_BEGIN)

    async def probe_text(self, gdb_thread: int, method: str, argument: str, deadline: float) -> str:
        """The text that a method of the probe returns within ``deadline`` seconds. Raises CommandError."""
        if not self._find_functions():
            raise CommandError("the interpreter's functions are not to be found, so nothing can be run", "")
        words = (gdb_thread, self._functions, method, argument)
        return await self._native.ask(CallProbeForText(*words), deadline)

    async def _call(self, gdb_thread: int, method: str, argument: str) -> int:
        return await self._native.ask(CallProbe(gdb_thread, self._functions, method, argument, self._mailbox))

    def _find_functions(self) -> bool:
        """Whether the functions by which gdb calls are known: those of the interpreter, and one of the C library."""
        if not self._functions:
            files = self._image.modules
            likely = [one for one in files if holds_interpreter(one.path)]
            for name in PROBE_FUNCTIONS:
                c_library = [one for one in files if is_c_library(one.path)] if name.startswith("__") else []
                places = self._image.find(name, c_library or likely) or self._image.find(name)
                if places:
                    self._functions[name] = places[0].address
        return len(self._functions) == len(PROBE_FUNCTIONS)
