"""The means by which a step crosses the boundary: the probe in the target, the beacon, breakpoints of a step."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from ...backends import events as engine
from ...backends import python as debugpy
from ...backends.native import PROBE_FUNCTIONS, Access
from ...errors import CommandError
from ...known.binding_layers import body_behind, is_library_code, is_pytorch_code
from ...model import NativeFrame
from ...patience import patient
from ...shared.libraries import is_c_library, is_pytorch, is_standard_module, is_system
from ...stacks.roles import is_evaluation_loop
from ...symbols.address_space import AddressSpace, Module
from ...symbols.elf.elf_file import PF_X
from ...symbols.gdb_feed.policy import Load
from ..engines import CallingTarget, CodeReading, NativeBreakpointEngine, Reading
from ..loop import Loop
from ..ports import Reads

if TYPE_CHECKING:
    from ..stops.facts import PythonHold

PROBE = "__import__('pydevd').dualdbg_probe"
# os.posix_fadvise(-1, address, 0, 0) in dualdbg_probe.py: its C function is our cue, rarely called by anyone.
BEACONS = ("posix_fadvise64", "posix_fadvise")
_FIRST_ARGUMENT = {"x86-64": "rdi", "aarch64": "x0"}
_SECOND_ARGUMENT = {"x86-64": "rsi", "aarch64": "x1"}
_TO_HEAR = patient(
    2.0
)  # seconds for pydevd to take messages from while gdb held the target; it needs milliseconds
_MANY_BODIES = 1500


class Engine(NativeBreakpointEngine, CodeReading, Reading, CallingTarget, Protocol):
    """What a step needs of gdb."""


class Crossing:
    """Everything that a step needs to know or to set on the other side."""

    def __init__(self, loop: Loop, native: Engine, reads: Reads, image: AddressSpace) -> None:
        self._loop = loop
        self._native = native
        self._reads = reads
        self._image = image
        self.beacon: int | None = None
        self.watched_entries: list[int] = []
        self.calls_operator = False  # the watched line may call one of torch.ops
        self._watching: PythonHold | None = None
        self._functions: dict[str, int] = {}
        self._bodies: dict[tuple[str, int], int] = {}  # entry in a file -> the user's code

    # -- breakpoints of a step --------------------------------------------------------------------

    async def insert(self, address: int, gdb_thread: int) -> int:
        return await self._native.insert_breakpoint(address, gdb_thread)

    async def insert_return(self, caller: NativeFrame, gdb_thread: int) -> int:
        """Where the code above ``caller`` returns into it: this very call, not another through the same place.

        A return address is read when it is returned to, and hardly ever before: a hardware watchpoint on its slot,
        just below the caller's stack pointer, costs nothing while deeper calls come and go. Where the hardware has
        none to spare (or returns by register), a conditional breakpoint does it.
        """
        native = self._native
        if caller.sp is not None and await native.architecture() == "x86-64":
            try:
                return await native.watch(caller.sp - 8, 8, Access.READ_WRITE)
            except CommandError:
                pass  # the breakpoint below serves as well, only slower
        number = await self.insert(caller.pc, gdb_thread)
        if caller.sp is not None:
            await native.require_stack_pointer(number, caller.sp)
        return number

    async def insert_entries(self, addresses: list[int], gdb_thread: int) -> dict[int, int]:
        """At the entries of functions that Python calls; behind the prologue where there is debug info.

        Returns the address of each breakpoint by gdb's number, as the other methods for several do.
        """
        if not addresses:
            return {}
        image = self._image
        reader = self._reads.reader
        places = []
        for address in addresses:
            module = image.module_at(address)
            if module is not None and module.library is not None and reader.load_of(module) is Load.WHOLE:
                await reader.prepare(module)
            if module is not None and module.library is not None:
                key = module.path, address
                if key not in self._bodies:
                    self._bodies[key] = self._body_behind(address, module)
                address = self._bodies[key]
            places.append(address)
        starts = await self._native.function_bodies(places)
        return await self.insert_at(starts, gdb_thread)

    async def insert_at(self, addresses: Iterable[int], gdb_thread: int) -> dict[int, int]:
        """At these very addresses."""
        places = sorted(set(addresses))
        if not places:
            return {}
        numbers = await self._native.insert_breakpoints(gdb_thread, places)
        return dict(zip(numbers, places, strict=True))

    def _body_behind(self, address: int, module: Module) -> int:
        """The user's function behind a wrapper of a binding layer, where it has a function of its own."""
        assert module.library is not None
        symbol = module.library.symbol_at(address - module.bias)
        name = symbol.name if symbol is not None else ""
        body = body_behind(name)
        for found in module.library.find_functions(body) if body is not None else ():
            return found.address + module.bias
        return address

    async def insert_bodies(self, pc: int, gdb_thread: int) -> dict[int, int]:
        """In a binding layer of an extension: breakpoints at every function of the extension's own code."""
        module = self._image.module_at(pc)
        return await self._insert_all(module, gdb_thread) if module is not None else {}

    async def insert_operators(self, gdb_thread: int) -> dict[int, int]:
        """At every function of the extensions of PyTorch: an operator of ``torch.ops`` may be any of them.

        Which kernel a call arrives at is decided by the dispatcher, from registrations that only it can read.
        """
        found: dict[int, int] = {}
        for module in self.interesting():
            assert module.library is not None
            if is_pytorch(module.path) or not any("libtorch" in name for name in module.library.elf.needed):
                continue
            found.update(await self._insert_all(module, gdb_thread))
        return found

    async def _insert_all(self, module: Module, gdb_thread: int) -> dict[int, int]:
        if module.library is None:
            return {}
        addresses = {
            entry.value + module.bias
            for table in module.library.tables
            for entry in table.functions()
            if not is_library_code(table.name(entry)) and not is_pytorch_code(table.name(entry))
        }
        if len(addresses) > _MANY_BODIES:
            return {}
        await self._reads.reader.prepare(module)
        starts = await self._native.function_bodies(sorted(addresses))
        return await self.insert_at(starts, gdb_thread)

    async def remove(self, numbers: list[int]) -> None:
        if numbers:
            await self._native.delete_breakpoints(numbers)

    # -- from Python into native code ---------------------------------------------------------------

    async def begin_watch(self, hold: PythonHold) -> list[int]:
        """Arm the probe for a thread's current line; returns entries that the line may reach without a call."""
        top = hold.top
        if top is None:
            return []
        ranges = [span for module in self.interesting() for span in _code_of(module)]
        if not ranges:
            self._watching = None
            return []
        await self._set_beacon()
        answer = await self._ask_probe(f"begin_step({top.line}, {ranges})", hold)
        self._watching = hold
        self.calls_operator, self.watched_entries = (
            json.loads(ast.literal_eval(answer)) if answer else (False, [])
        )
        return self.watched_entries

    async def end_watch(self) -> None:
        hold, self._watching = self._watching, None
        if hold is None:
            return
        self.watched_entries = []
        await self._ask_probe("end_step()", next(iter(self._loop.state.python_holds.values()), hold))
        if self.beacon is not None:
            number, self.beacon = self.beacon, None
            await self._native.delete_breakpoint(number)

    async def line_returns(self, hold: PythonHold) -> bool:
        """Whether the function may return from the current Python line."""
        return await self._ask_probe("line_returns()", hold) == "True"

    async def announced_entry(self, event: engine.NativeStopped) -> int:
        """At the beacon: the address of the native code that the thread is about to call."""
        register = _SECOND_ARGUMENT[await self._native.architecture()]
        found = await self._native.registers(event.gdb_thread or 1, [register])
        return found[register]

    async def _set_beacon(self) -> None:
        if self.beacon is not None:
            return
        image = self._image
        for name in BEACONS:
            places = [place for place in image.find(name) if is_c_library(place.module.path)]
            if places:
                native = self._native
                self.beacon = await native.insert_breakpoint(places[0].address)
                await native.require_register(self.beacon, _FIRST_ARGUMENT[await native.architecture()], -1)
                return

    def interesting(self) -> list[Module]:
        """The modules whose code a step enters: extensions and what they bring, not the interpreter or the system."""
        rules = self._reads.reader.rules
        return [
            module
            for module in self._image.modules
            if module.library is not None
            and not is_system(module.path)
            and not rules.is_ours(module.path)
            and module.path not in rules.interpreter_libraries
            and not is_standard_module(module.path)
        ]

    async def _ask_probe(self, call: str, hold: PythonHold) -> str:
        if not hold.frames:
            return ""
        # debugpy cuts long collections, and in every context but this one long strings too.
        question = debugpy.evaluate(f"{PROBE}.{call}", hold.frames[0].id, "clipboard")
        return (await self._reads.ask(question)).text

    # -- from native code to Python -----------------------------------------------------------------

    async def exit_to_python(self, gdb_thread: int) -> NativeFrame | None:
        """The evaluation loop to which the native code above the innermost Python frame returns in the end."""
        reader = self._reads.reader
        frames = await reader.native_frames(gdb_thread)
        if not frames or reader.rules.is_interpreter(frames[0]):
            return None
        return next((frame for frame in frames if is_evaluation_loop(frame)), None)

    def is_interesting(self, pc: int) -> bool:
        """Whether a step may end in the code at ``pc``."""
        return self._image.module_at(pc) in self.interesting()

    def is_entry(self, pc: int) -> bool:
        """Whether code that a user may be interested in begins a function at ``pc``, nothing half done."""
        image = self._image
        return self.is_interesting(pc) and image.function_start(pc + 1) == pc

    async def may_call_python(self, tid: int) -> bool:
        """Whether debugpy may be armed in the thread now: it holds the GIL, and stands in the user's own code."""
        return self._reads.hears_python and await self._reads.holds_gil(tid)

    async def arm(self, gdb_thread: int, command: str) -> bool:
        """Make debugpy stop the thread as after this command; the thread holds the GIL. False when it cannot."""
        if not self._reads.hears_python or not self._find_functions():
            return False
        return await self._native.call_probe(gdb_thread, self._functions, "arm", command)

    async def hear(self, gdb_thread: int, number: int) -> bool:
        """Let the thread, which holds the GIL, wait until debugpy has taken the message of this number."""
        if not self._reads.hears_python or not self._find_functions():
            return False
        return await self._native.call_probe(gdb_thread, self._functions, "hear", f"{number} {_TO_HEAR:g}")

    async def probe_text(self, gdb_thread: int, method: str, argument: str, deadline: float) -> str:
        """The text that a method of the probe returns, run in a thread that holds the GIL."""
        if not self._find_functions():
            raise CommandError("the interpreter's functions are not to be found, so nothing can be run", "")
        words = (gdb_thread, self._functions, method, argument)
        return await self._native.probe_text(*words, deadline=deadline)

    async def stack_pointer(self, gdb_thread: int) -> int:
        registers = await self._native.registers(gdb_thread, ["sp"])
        return registers["sp"]

    def _find_functions(self) -> bool:
        if not self._functions:
            image = self._image
            for name in PROBE_FUNCTIONS:
                places = image.find(name)
                if places:
                    self._functions[name] = places[0].address
        return len(self._functions) == len(PROBE_FUNCTIONS)


def _code_of(module: Module) -> list[tuple[int, int]]:
    """The absolute address ranges of a module's code."""
    assert module.library is not None
    return [
        (segment.address + module.bias, segment.address + segment.memory_size + module.bias)
        for segment in module.library.elf.loads()
        if segment.flags & PF_X
    ]
