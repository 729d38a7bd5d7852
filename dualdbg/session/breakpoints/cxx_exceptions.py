"""What a C++ ``throw`` throws, or a panic of Rust says, read from memory where it begins; and where that was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from ...known.binding_layers import is_rust_library
from ...known.runtime_functions import PANIC, is_runtime_function
from ...model import NativeFrame, PythonFrame, Role, Stack
from ...shared.libraries import is_cxx_library
from ...shared.requests.breakpoints import ReadCaughtObject, ReadPanicText, ReadThrownObject, ThrownObject
from ...symbols.names.demangle import demangle
from ..engines import NativeEngine

# Itanium C++ ABI, 5.1.5.2: what a program may throw of them.
_BUILT_IN = {
    "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "f": "float", "d": "double", "e": "long double", "v": "void",
}  # fmt: skip


@dataclass(frozen=True)
class Throw:
    """A thrown object.

    ``types`` are its type and the first bases, the type first; empty where they are not known. ``text`` is what().
    """

    types: tuple[str, ...]
    text: str | None

    def is_a(self, name: str) -> bool:
        """Whether a handler for the type ``name`` would catch it. Scopes in front of the name may be left out."""
        wanted = name.removeprefix("::")
        return any(type_ == wanted or type_.endswith(f"::{wanted}") for type_ in self.types)

    def told(self, stack: Stack, how: str = "thrown") -> str:
        """For people: what is thrown or caught (``how``), where in C++, and the Python line that led there."""
        what = self.types[0] if self.types else "an exception of a type that is not known"
        if self.text is not None:
            what += f": {self.text}"
        python = next((frame for frame in stack.frames if isinstance(frame, PythonFrame)), None)
        caller = f", called from {PurePath(python.file or '?').name}:{python.line}" if python else ""
        return f"{what}, {how}{_site(stack)}{caller}"

    def site(self, stack: Stack) -> str:
        """For people: where in C++ it is thrown, and as what."""
        return f"thrown{_site(stack)} as {self.types[0]}" if self.types else f"thrown{_site(stack)}"


def _site(stack: Stack) -> str:
    frames = [frame for frame in stack.frames[1:] if _is_site(frame)]
    site = next(iter(frames), None)
    for frame in frames[1:]:
        # The optimiser extends what was inlined by the call behind it, which has the line of the function around.
        if not (isinstance(site, NativeFrame) and isinstance(frame, NativeFrame) and _is_part(site, frame)):
            break
        site = frame
    if not isinstance(site, NativeFrame):
        return " in native code"
    place = f" at {PurePath(site.file).name}:{site.line}" if site.file else ""
    return f" in {site.function or hex(site.pc)}{place}"


def _is_part(inner: NativeFrame, around: NativeFrame) -> bool:
    """Whether an inlined function is told at the very line that calls it."""
    return inner.inlined and inner.line is not None and (inner.file, inner.line) == (around.file, around.line)


def _is_site(frame: object) -> bool:
    """Whether the frame is neither of the C++ library nor of the interpreter."""
    if not isinstance(frame, NativeFrame) or frame.role is Role.PLUMBING:
        return False
    if is_rust_library(frame.source_language, frame.function):
        return False
    return not (is_cxx_library(frame.library) or is_runtime_function(frame.function, frame.file))


async def read_throw(native: NativeEngine, gdb_thread: int, function: str | None) -> Throw:
    """What a thread that stands at the entry of a thrower, ``function``, throws."""
    if function is not None and "rust_panic" in function:
        return Throw((PANIC,), await native.ask(ReadPanicText(gdb_thread)))
    return _read(await native.ask(ReadThrownObject(gdb_thread)))


async def read_catch(native: NativeEngine, gdb_thread: int) -> Throw:
    """What a handler takes, whose thread stands at the entry of ``__cxa_begin_catch``."""
    return _read(await native.ask(ReadCaughtObject(gdb_thread)))


def _read(thrown: ThrownObject) -> Throw:
    return Throw(tuple(map(_type_name, thrown.types)), thrown.text)


def _type_name(mangled: str) -> str:
    """The name of a type; std::type_info has it as linkage names have it, without their beginning."""
    pointed = mangled.removeprefix("P")
    plain = pointed.removeprefix("K")
    if plain not in _BUILT_IN:
        return demangle(f"_Z{mangled}").removeprefix("_Z")
    return "const " * (plain != pointed) + _BUILT_IN[plain] + " *" * (pointed != mangled)
