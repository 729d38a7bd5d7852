"""Runs in the target: gevent and eventlet replace functions of the standard library, and the debugger keeps its own.

Its threads would wait for greenlets, for ever. It is what pydevd does with GEVENT_SUPPORT, but when the program comes
to need it: before, pydevd and the program have one ``threading``, which knows the threads of both. CPython 3.8 and
later.
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from types import FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

# Modules that replace functions, and what they have that is empty before they do.
PATCHING = {"gevent.monkey": "saved", "eventlet.patcher": "already_patched"}
GREENLETS = "greenlet"
AS_CODE = ("threading", "queue")  # their functions look for others in their module
AS_THEY_ARE = ("_thread", "time", "select", "socket")


class Watch:
    """What is done when the program imports one of these modules. ``beside``: the modules of our own folder."""

    def __init__(self, pydevd: "Any", imports: "Any", beside: "List[ModuleType]") -> None:
        self.pydevd, self.imports, self.beside = pydevd, imports, beside
        self.real: "Dict[int, Any]" = {}  # by the identity of what may be replaced

    def before(self, name: str) -> None:
        """The program is going to import a module."""
        if name in PATCHING and not self.real:
            self.keep()

    def after(self, name: str) -> None:
        """It has imported it."""
        if name == GREENLETS and sys.version_info < (
            3,
            12,
        ):  # where greenlets have no trace function when they begin
            tracing: "Any" = __import__("pydevd_tracing")
            before = sys.modules[GREENLETS].gettrace()

            def switched(event: str, greenlets: "Any") -> None:
                tracing.reapply_settrace()
                if before is not None:
                    before(event, greenlets)

            sys.modules[GREENLETS].settrace(switched)

    def keep(self) -> None:
        """From now on the debugger has modules of its own."""
        hidden = self.imports.hidden
        there = {name: sys.modules.get(name, hidden.get(name)) for name in (*AS_CODE, *AS_THEY_ARE)}
        copies: "Dict[str, Any]" = {}
        for name, module in there.items():
            if module is not None:
                copies[name] = (copied if name in AS_THEY_ARE else run_again)(module, copies)
                self.real[id(module)] = copies[name]
                for key, value in vars(module).items():
                    own = getattr(copies[name], key, value)
                    if (
                        own is not value
                        and isinstance(value, (type, FunctionType))
                        and value.__module__ == name
                    ):
                        self.real[id(value)] = own
        share_threads(there["threading"], copies["threading"])
        modules = [*sys.modules.values(), *hidden.values()]
        ours = [one for one in modules if str(getattr(one, "__file__", "")).startswith(self.imports.folders)]
        self.imports.own.update(copies)
        seen: "Dict[int, Any]" = {}
        for one in (*ours, *self.beside):
            if hasattr(one, "SUPPORT_GEVENT"):  # else pydevd tells the user to ask for it
                one.SUPPORT_GEVENT = True
            self.replace_in(vars(one), seen)
        self.replace_in(self.pydevd.get_global_debugger(), seen)

    def replace_in(self, value: "Any", seen: "Dict[int, Any]") -> "Any":
        """What stands for a value; all that the debugger has below it is replaced in it."""
        real = self.real.get(id(value))
        if real is not None:
            return real
        if id(value) in seen:
            return value
        kind = type(value)
        if id(kind) in self.real:  # a queue, an event
            value.__class__ = self.real[id(kind)]
        if kind in (dict, defaultdict):
            seen[id(value)] = value
            for key, inner in list(value.items()):
                replaced = self.replace_in(inner, seen)
                if replaced is not inner:
                    value[key] = replaced
            if kind is defaultdict:
                value.default_factory = self.replace_in(value.default_factory, seen)
        elif kind in (list, tuple, set):
            seen[id(value)] = value
            for inner in list(value):
                self.replace_in(inner, seen)
        elif isinstance(value, type):
            seen[id(value)] = value
            bases = tuple(self.real.get(id(base), base) for base in value.__bases__)
            if bases != value.__bases__:
                value.__bases__ = bases
        elif is_ours(kind) or id(kind) in self.real:
            seen[id(value)] = value
            self.replace_in(getattr(value, "__dict__", None), seen)
        return value


def patched_by() -> "str | None":
    """Who has replaced functions of the standard library already; None if nobody has."""
    for name, kept in PATCHING.items():
        if getattr(sys.modules.get(name), kept, None):
            return name.partition(".")[0]
    return None


def is_ours(kind: type) -> bool:
    """Whether a class is pydevd's or of this folder."""
    return str(kind.__module__).startswith(("pydev", "_pydev", "dualdbg", "sitecustomize"))


def copied(module: "Any", copies: "Dict[str, Any]") -> "Any":
    """A module with what is in another one now."""
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    return copy


def run_again(module: "Any", copies: "Dict[str, Any]") -> "Any":
    """A module of the same code, which finds ``copies`` when it imports."""

    def import_(name: str, *rest: "Any") -> "Any":
        return copies[name] if name in copies else __import__(name, *rest)

    copy = ModuleType(module.__name__)
    vars(copy).update(
        __builtins__={**vars(builtins), "__import__": import_},
        __spec__=module.__spec__,
        __file__=module.__file__,
    )
    exec(module.__spec__.loader.get_code(module.__name__), vars(copy))
    return copy


class Threads(dict):  # type: ignore[type-arg]
    """The threads by their numbers. In a child by a fork the debugger's begin before ``copy`` forgets all but one."""

    def __delitem__(self, number: int) -> None:
        self.pop(number, None)


def share_threads(own: "Any", copy: "Any") -> None:
    """The copy of ``threading`` knows the threads that there are, by their numbers without greenlets."""
    main = copy._main_thread
    vars(main).update(vars(own._main_thread))
    copy._active = Threads(
        {number: main if one is own._main_thread else one for number, one in own._active.items()}
    )
    copy._trace_hook, copy._profile_hook = own._trace_hook, own._profile_hook
