"""The means by which a step crosses the boundary: the probe in the target, the beacon, breakpoints of a step."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..backends import events as engine
from ..errors import CommandError
from ..model import NativeFrame
from ..stacks.roles import is_evaluation_loop
from ..symbols.elf import PF_X
from ..symbols.image import Module
from ..symbols.policy import Load

if TYPE_CHECKING:
    from .holds import PythonHold
    from .session import Session

PROBE = "__import__('pydevd').dualdbg_probe"
# os.posix_fadvise(-1, address, 0, 0) in dualdbg_probe.py: its C function is our cue, rarely called by anyone.
BEACONS = ("posix_fadvise64", "posix_fadvise")
_FIRST_ARGUMENT = {"x86-64": "rdi", "aarch64": "x0"}
_SECOND_ARGUMENT = {"x86-64": "rsi", "aarch64": "x1"}
_SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")

# Linkage names that are not an extension author's own code: the C++ library, binding layers, the compiler's and the
# linker's functions, and the entry points that the interpreter calls to load a module.
LIBRARY_CODE = re.compile(
    rb"_ZN?K?(St|S[absiod]|9__gnu_cxx|8pybind11|8nanobind|10__cxxabiv1)|_Z+N?K?8pybind11|_Z+N?K?8nanobind|_Z(nw|na|dl|da)|_ZT|_ZGV|_ZZNK?St"
    rb"|_init$|_fini$|frame_dummy|deregister_tm|register_tm|__do_global|_GLOBAL__|PyInit_|pybind11_|nb_|_ZL?\d+nb_|.*\.cold|__|_?Py[A-Z_]"
)
_TORCH = re.compile(r"/torch/(lib|_C|bin)")  # its own libraries
_TORCH_CODE = re.compile(rb"_Z+N?K?(3c10|2at|5torch|6caffe2)|_ZN\d*at|_ZL\d+TORCH_LIBRARY")
_MANY_BODIES = 1500
_NOT_IMPLEMENTED = re.compile(r"TypeError_to_NotImplemented_<&([\w:]+)>")
_CYTHON = re.compile(r"__pyx_pw_(?P<scope>\w*)_(?P<number>\d*[13579])(?P<name>[^\W\d]\w*)")

_CASTER = "pybind11::cpp_function::initialize<"

# What call_probe in gdb_scripts/engine.py needs: functions of the C API that every CPython exports, and errno.
PROBE_FUNCTIONS = (
    "PyErr_Fetch",
    "PyErr_Restore",
    "PyImport_AddModule",
    "PyMem_RawFree",
    "PyMem_RawMalloc",
    "PyObject_CallMethod",
    "PyObject_GetAttrString",
    "PyObject_IsTrue",
    "PyUnicode_AsUTF8",
    "Py_DecRef",
    "__errno_location",
)


class Crossing:
    """Everything that a step needs to know or to set on the other side."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.beacon: int | None = None
        self.watched_entries: list[int] = []
        self.calls_operator = False  # the watched line may call one of torch.ops
        self._watching: PythonHold | None = None
        self._functions: dict[str, int] = {}
        self._machine: str | None = None
        self._bodies: dict[tuple[str, int], int] = {}  # entry in a file -> the user's code

    # -- breakpoints of a step --------------------------------------------------------------------

    async def insert(self, address: int, gdb_thread: int) -> int:
        number, _ = await self._session.native.insert_breakpoint(f"*{address:#x}", gdb_thread=gdb_thread)
        return number

    async def insert_return(self, caller: NativeFrame, gdb_thread: int) -> int:
        """Where the code above ``caller`` returns into it: this very call, not another through the same place.

        A return address is read when it is returned to, and hardly ever before: a hardware watchpoint on its slot,
        just below the caller's stack pointer, costs nothing while deeper calls come and go. Where the hardware has
        none to spare (or returns by register), a conditional breakpoint does it.
        """
        native = self._session.native
        if caller.sp is not None and await self._architecture() == "x86-64":
            try:
                answer = await native.command(f"-break-watch -a *(long*){caller.sp - 8:#x}")
                return int(answer["hw-awpt"]["number"])
            except CommandError:
                pass  # the breakpoint below serves as well, only slower
        number = await self.insert(caller.pc, gdb_thread)
        if caller.sp is not None:
            await native.command(f"-break-condition {number} (unsigned long)$sp >= {caller.sp}")
        return number

    async def insert_entries(self, addresses: list[int], gdb_thread: int) -> dict[int, int]:
        """At the entries of functions that Python calls; behind the prologue where there is debug info.

        Returns the address of each breakpoint by gdb's number, as the other methods for several do.
        """
        if not addresses:
            return {}
        image = self._session.breakpoints.image
        reader = self._session.inspector.reader
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
        starts = await self._session.native.helper("function-starts", places)
        return await self.insert_at(starts, gdb_thread)

    async def insert_at(self, addresses: Iterable[int], gdb_thread: int) -> dict[int, int]:
        """At these very addresses."""
        places = sorted(set(addresses))
        if not places:
            return {}
        numbers = await self._session.native.helper("insert-many", gdb_thread, places)
        return dict(zip(map(int, numbers), places, strict=True))

    def _body_behind(self, address: int, module: Module) -> int:
        """The user's function behind a wrapper of a binding layer, where it has a function of its own."""
        assert module.library is not None
        symbol = module.library.symbol_at(address - module.bias)
        name = symbol.name if symbol is not None else ""
        body = lambda_of_caster(name) or implementation_of(name) or operand_of(name)
        for found in module.library.find_functions(body) if body is not None else ():
            return found.address + module.bias
        return address

    async def insert_bodies(self, pc: int, gdb_thread: int) -> dict[int, int]:
        """In a binding layer of an extension: breakpoints at every function of the extension's own code."""
        module = self._session.breakpoints.image.module_at(pc)
        return await self._insert_all(module, gdb_thread) if module is not None else {}

    async def insert_operators(self, gdb_thread: int) -> dict[int, int]:
        """At every function of the extensions of PyTorch: an operator of ``torch.ops`` may be any of them.

        Which kernel a call arrives at is decided by the dispatcher, from registrations that only it can read.
        """
        found: dict[int, int] = {}
        for module in self.interesting():
            assert module.library is not None
            if _TORCH.search(module.path) or not any(
                "libtorch" in name for name in module.library.elf.needed
            ):
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
            if not LIBRARY_CODE.match(table.name(entry)) and not _TORCH_CODE.match(table.name(entry))
        }
        if len(addresses) > _MANY_BODIES:
            return {}
        await self._session.inspector.reader.prepare(module)
        starts = await self._session.native.helper("function-starts", sorted(addresses))
        return await self.insert_at(starts, gdb_thread)

    async def remove(self, numbers: list[int]) -> None:
        if numbers:
            await self._session.native.helper("delete-many", numbers)

    # -- from Python into native code ---------------------------------------------------------------

    async def begin_watch(self, hold: PythonHold) -> list[int]:
        """Arm the probe for a thread's current line; returns entries that the line may reach without a call."""
        top = self._session.inspector.python_top(hold)
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
        await self._ask_probe("end_step()", next(iter(self._session.python_holds.values()), hold))
        if self.beacon is not None:
            number, self.beacon = self.beacon, None
            await self._session.native.delete_breakpoint(number)

    async def line_returns(self, hold: PythonHold) -> bool:
        """Whether the function may return from the current Python line."""
        return await self._ask_probe("line_returns()", hold) == "True"

    async def announced_entry(self, event: engine.NativeStopped) -> int:
        """At the beacon: the address of the native code that the thread is about to call."""
        register = _SECOND_ARGUMENT[await self._architecture()]
        found = await self._session.native.helper("registers", event.gdb_thread or 1, [register])
        return int(found[register])

    async def _set_beacon(self) -> None:
        if self.beacon is not None:
            return
        image = self._session.breakpoints.image
        for name in BEACONS:
            places = [place for place in image.find(name) if is_of_system(place.module.path)]
            if places:
                location = f"*{places[0].address:#x}"
                self.beacon, _ = await self._session.native.insert_breakpoint(location)
                register = _FIRST_ARGUMENT[await self._architecture()]
                await self._session.native.command(f"-break-condition {self.beacon} (int)${register} == -1")
                return

    async def _architecture(self) -> str:
        if self._machine is None:
            name = str(await self._session.native.helper("architecture"))
            self._machine = "aarch64" if name.startswith("aarch64") else "x86-64"
        return self._machine

    def interesting(self) -> list[Module]:
        """The modules whose code a step enters: extensions and what they bring, not the interpreter or the system."""
        rules = self._session.inspector.reader.rules
        return [
            module
            for module in self._session.breakpoints.image.modules
            if module.library is not None
            and not is_of_system(module.path)
            and not rules.is_ours(module.path)
            and module.path not in rules.interpreter_libraries
            and "/lib-dynload/" not in module.path
        ]

    async def _ask_probe(self, call: str, hold: PythonHold) -> str:
        if not hold.frames:
            return ""
        # debugpy cuts long collections, and in every context but this one long strings too.
        answer = await self._session.inspector.ask(
            "evaluate",
            {"expression": f"{PROBE}.{call}", "frameId": hold.frames[0]["id"], "context": "clipboard"},
        )
        return str(answer.get("result", ""))

    # -- from native code to Python -----------------------------------------------------------------

    async def exit_to_python(self, gdb_thread: int) -> NativeFrame | None:
        """The evaluation loop to which the native code above the innermost Python frame returns in the end."""
        reader = self._session.inspector.reader
        frames = await reader.native_frames(gdb_thread)
        if not frames or reader.rules.is_interpreter(frames[0]):
            return None
        return next((frame for frame in frames if is_evaluation_loop(frame)), None)

    def is_interesting(self, pc: int) -> bool:
        """Whether a step may end in the code at ``pc``."""
        return self._session.breakpoints.image.module_at(pc) in self.interesting()

    def is_entry(self, pc: int) -> bool:
        """Whether code that a user may be interested in begins a function at ``pc``, nothing half done."""
        image = self._session.breakpoints.image
        return self.is_interesting(pc) and image.function_start(pc + 1) == pc

    async def may_call_python(self, tid: int) -> bool:
        """Whether debugpy may be armed in the thread now: it holds the GIL, and stands in the user's own code."""
        python = self._session.python
        return python is not None and python.connected and await self._session.inspector.holds_gil(tid)

    async def arm(self, gdb_thread: int, command: str) -> bool:
        """Make debugpy stop the thread as after this command; the thread holds the GIL. False when it cannot."""
        python = self._session.python
        if python is None or not python.connected or not self._find_functions():
            return False
        return bool(
            await self._session.native.helper("call-probe", gdb_thread, self._functions, "arm", command)
        )

    async def hear(self, gdb_thread: int, number: int) -> bool:
        """Let the thread, which holds the GIL, wait until debugpy has taken the message of this number."""
        python = self._session.python
        if python is None or not python.connected or not self._find_functions():
            return False
        words = ("call-probe", gdb_thread, self._functions, "hear", str(number))
        return bool(await self._session.native.helper(*words))

    async def probe_text(self, gdb_thread: int, method: str, argument: str, deadline: float) -> str:
        """The text that a method of the probe returns, run in a thread that holds the GIL."""
        if not self._find_functions():
            raise CommandError("the interpreter's functions are not to be found, so nothing can be run", "")
        words = ("probe-text", gdb_thread, self._functions, method, argument)
        return str(await self._session.native.helper(*words, deadline=deadline))

    async def stack_pointer(self, gdb_thread: int) -> int:
        registers = await self._session.native.helper("registers", gdb_thread, ["sp"])
        return int(registers["sp"])

    def _find_functions(self) -> bool:
        if not self._functions:
            image = self._session.breakpoints.image
            for name in PROBE_FUNCTIONS:
                places = image.find(name)
                if places:
                    self._functions[name] = places[0].address
        return len(self._functions) == len(PROBE_FUNCTIONS)


def lambda_of_caster(name: str) -> str | None:
    """The lambda that a pybind11 function was made from, by the name of its caster.

    ``pybind11::cpp_function::initialize<f(x)::{lambda(int)#1}, ...>`` -> ``f(x)::{lambda(int)#1}::operator()``.
    """
    if not name.startswith(_CASTER):
        return None
    depth = 0
    for index, character in enumerate(name[len(_CASTER) :], len(_CASTER)):
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        if depth < 0 or (character == "," and depth == 0):
            first = name[len(_CASTER) : index].rstrip("& ")
            return f"{first}::operator()" if first.endswith("}") and "{lambda(" in first else None
    return None


def operand_of(name: str) -> str | None:
    """The binding of an operator (``a + b``) behind PyTorch's wrapper, which turns TypeError into NotImplemented."""
    match = _NOT_IMPLEMENTED.search(name)
    return match[1] if match is not None else None


def implementation_of(name: str) -> str | None:
    """The function that Cython makes of a body, by the name of the wrapper that it makes of the arguments.

    ``__pyx_pw_6module_3add(...)`` -> ``__pyx_pf_6module_2add``: both are numbered in one sequence, 0 is left out.
    """
    match = _CYTHON.match(name)
    if match is None:
        return None
    number = int(match["number"]) - 1
    return f"__pyx_pf_{match['scope']}_{number or ''}{match['name']}"


def _code_of(module: Module) -> list[tuple[int, int]]:
    """The absolute address ranges of a module's code."""
    assert module.library is not None
    return [
        (segment.address + module.bias, segment.address + segment.memory_size + module.bias)
        for segment in module.library.elf.loads()
        if segment.flags & PF_X
    ]


def is_of_system(path: str) -> bool:
    """Whether a library is one of the system's own."""
    return path.startswith(_SYSTEM_FOLDERS) and "-packages/" not in path
