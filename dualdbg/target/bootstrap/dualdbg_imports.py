"""Runs in the target: what the debugger imports for itself is not what the program finds in `sys.modules`.

The debugger's modules import two hundred of the standard library. Were they still in `sys.modules` when the program
begins, a file `queue.py` beside its script would not be found any more, as it is without a debugger. So they are taken
out. When the program imports one, it gets the same module, if running it again would have come to the same: if the
program finds the same file by that name, and so it is for all that the module imported while it ran. Otherwise the
import takes its usual way. Thus nothing exists twice without need: locks of `threading`, types of `decimal`.

Run without an import. CPython 3.8 and later.
"""

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Dict, List, Optional, Set

# How the names of the debugger's own modules begin; they stay, by these names it finds its parts.
OWN = ("debugpy", "pydevd", "_pydev", "pydev_", "pydevconsole", "cython_runtime", "_cython_")
KEPT = (
    "warnings",
    "_py_warnings",
    "_contextvars",
)  # it looks for itself in sys.modules at each catch_warnings
MACHINERY = "<frozen importlib._bootstrap>"  # frames of this file are left out of tracebacks
# Where the loaders of files are, of folders without a file (None before 3.11), and of archives.
PLAIN = ("_frozen_importlib_external", "builtins", "zipimport")
# What pydevd imports for a console of its own and for its runner of tests, which nobody uses here: with all that they
# import in turn (ssl, email, expat) a fifth of its import, and a dozen libraries for gdb to look at.
UNUSED = ("xmlrpc.client", "xmlrpc.server", "http.server")


class StandardLibrary:
    """While it is entered, this thread imports what the standard library and the debugger have, and nothing else.

    A folder of PYTHONPATH may have a file `queue.py`, or `nt.py`, for which the standard library asks; and so may that
    of the script of a program that runs. It is the program's: the debugger must not run it.
    """

    def __init__(self) -> None:
        machinery: "Any" = sys.modules["_frozen_importlib"]
        external: "Any" = sys.modules["_frozen_importlib_external"]
        library = os.path.dirname(str(os.__file__))
        # Spelled as in sys.path: by that the places of modules are compared.
        self.folders = [one for one in sys.path if one == library or one.endswith(os.sep + "lib-dynload")]
        self.inside = machinery.BuiltinImporter, machinery.FrozenImporter
        self.path: "Any" = external.PathFinder
        self.get_ident: "Any" = sys.modules["_thread"].get_ident
        self.thread: "Any" = None

    def __enter__(self) -> None:
        self.thread = self.get_ident()
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """What the machinery asks each of `sys.meta_path`. None: the others are asked."""
        if path is not None or name.startswith(OWN) or self.get_ident() != self.thread:
            return None
        for finder in self.inside:
            spec = finder.find_spec(name)
            if spec is not None:
                return spec
        spec = self.path.find_spec(name, self.folders)
        if spec is not None:
            return spec
        other = self.path.find_spec(name)
        if other is None or type(other.loader).__module__ not in PLAIN:
            return None  # the others may know: an application can be frozen with loaders of its own
        raise ModuleNotFoundError("No module named %r" % name, name=name)


class Imports:
    """``folder`` is that of this file. What is imported after :meth:`begin` is the debugger's, until :meth:`hide`."""

    def __init__(self, folder: str) -> None:
        self.folders: "Any" = (folder,)
        self.machinery: "Any" = sys.modules["_frozen_importlib"]
        self.library = StandardLibrary()
        self.hidden: "Dict[str, ModuleType]" = {}
        self.needs: "Dict[str, Dict[str, Optional[ModuleType]]]" = {}
        self.usual = builtins.__import__
        self.shown = set(sys.modules) - {"__future__"}  # our own file has imported that
        self.begun = False  # whether the program has
        self.load: "Any" = self.machinery._load_unlocked
        self.loading: "List[str]" = []
        future: "Any" = sys.modules["__future__"].__spec__
        self.loaded: "Dict[str, Any]" = {"__future__": future.origin}  # where each module came from
        self.made: "Any" = None
        self.own_builtins: "Dict[str, Any]" = {}
        self.find_and_load: "Any" = self.machinery._find_and_load
        self.given: "Set[str]" = set()  # names of those that the program has got
        self.own: "Dict[str, ModuleType]" = {}  # what the debugger alone finds, though the program has others
        self.watched: "Dict[str, Any]" = {}  # who is told before and after a module is imported (dualdbg_patched.py)

    def begin(self) -> None:
        """From here on it is kept which module imports which while it runs for the first time."""
        for name, module in self.hidden.items():
            sys.modules.setdefault(name, module)
        builtins.__import__ = self.recorded
        self.machinery._load_unlocked = self.load_recorded
        self.library.__enter__()

    def hide(self) -> None:
        """What was imported since :meth:`begin` is out of sight."""
        if builtins.__import__ == self.recorded:
            self.library.__exit__()
            builtins.__import__ = self.usual
            self.machinery._load_unlocked = self.load
        for name in list(sys.modules):
            if name not in self.shown and not name.startswith(OWN) and name not in KEPT:
                self.hidden[name] = sys.modules.pop(name)
        if self.machinery._find_and_load is self.find_and_load:
            self.machinery._find_and_load = self.hook()

    def show_as_the_programs(self) -> None:
        """What is in sight now belongs to the program, and the debugger goes on importing."""
        self.shown.update(sys.modules)
        self.begin()

    def furnish(self, package: "ModuleType", folder: str) -> None:
        """One of the debugger's packages is about to be imported from ``folder``; its modules find what is hidden."""
        self.folders += (folder,)
        if self.begun:
            return
        package.__builtins__ = self.builtins_of_ours()  # type: ignore[attr-defined]
        made: "Any" = self.machinery.module_from_spec
        ours, folders = self.builtins_of_ours(), self.folders

        def module_from_spec(spec: "Any") -> "Any":
            module = made(spec)
            if str(spec.origin).startswith(folders):
                module.__builtins__ = ours
            return module

        self.machinery.module_from_spec, self.made = module_from_spec, made

    def leave_out(self) -> "Dict[str, ModuleType]":
        """Puts others in the place of modules that the debugger imports and does not use; :meth:`take_out` ends it.

        What is asked of them is imported when it is called.
        """
        others = {name: stand_in(name) for name in UNUSED if name not in sys.modules and not self.begun}
        sys.modules.update(others)
        return others

    def take_out(self, others: "Dict[str, ModuleType]") -> None:
        """The modules of :meth:`leave_out` are not to be found any more, but by those that have them."""
        for name, other in others.items():
            if sys.modules.get(name) is other:
                del sys.modules[name]

    def program_begins(self) -> None:
        """All that the debugger has imported is put away."""
        self.hide()
        self.begun = True
        if self.made is not None:
            self.machinery.module_from_spec = self.made

    # -- while the debugger is imported ------------------------------------------------------------

    def load_recorded(self, spec: "Any") -> "Any":
        """Stands for the machinery's function that runs a module."""
        self.loaded[spec.name] = spec.origin
        self.loading.append(spec.name)
        try:
            return self.load(spec)
        finally:
            self.loading.pop()

    def recorded(
        self, name: str, globals: "Any" = None, locals: "Any" = None, fromlist: "Any" = (), level: int = 0
    ) -> "Any":
        """Stands for `__import__`."""
        needs = None
        if globals is not None and self.loading:
            # An extension module imports from the frames of the machinery.
            by = globals["__name__"]
            by = self.loading[-1] if by.startswith(("importlib._bootstrap", "_frozen_importlib")) else by
            needs = self.needs.setdefault(by, {}) if by in self.loading else None
        try:
            found = self.usual(name, globals, locals, fromlist, level)
        except ImportError:
            if needs is not None:
                needs.setdefault(absolute(name, globals, level), None)
            raise
        if needs is not None:
            full = absolute(name, globals, level)
            for one in (full, *(full + "." + part for part in fromlist or ())):
                if one in sys.modules:
                    needs.setdefault(one, sys.modules[one])
        return found

    # -- while the program runs --------------------------------------------------------------------

    def hook(self) -> "Any":
        """Takes the place of the function that is called for each module that is not in `sys.modules`."""
        hidden, modules, entry, find_and_load = self.hidden, sys.modules, self.entry, self.find_and_load
        watched = self.watched
        frame = sys._getframe

        def _find_and_load(name: str, import_: "Any") -> "Any":
            if name in hidden and name not in modules:
                try:
                    module = entry(name, frame().f_back)  # the interpreter imports without one
                except Exception:  # the usual way raises it too, without a line of ours in its traceback
                    module = None
                if module is not None:
                    return module
            watch = watched.get(name)
            if watch is None:
                return find_and_load(name, import_)
            watch.before(name)
            module = find_and_load(name, import_)
            watch.after(name)
            return module

        code: "Any" = _find_and_load.__code__
        _find_and_load.__code__ = code.replace(co_filename=MACHINERY)
        return _find_and_load

    def entry(self, name: str, frame: "Any") -> "Any":
        """The hidden module, for the debugger or, where it is the same, for the program. None: it is imported."""
        return self.hidden[name] if self.is_ours(frame) else self.shown_to_the_program(name)

    def shown_to_the_program(self, name: str) -> "Any":
        """The hidden module, in `sys.modules` from now on. None where the program would have another."""
        if name in self.given:  # the program has taken it out of `sys.modules`, and gets another one
            return None
        parent = name.rpartition(".")[0]
        first = parent if self.is_made_by_another(name) else name
        if first in self.hidden and first not in sys.modules:
            self.restore(first, set())
        return sys.modules.get(name)

    def is_ours(self, frame: "Any") -> bool:
        """Whether the code that imports is the debugger's."""
        while frame is not None and frame.f_globals.get("__name__", "").startswith(
            ("importlib", "_frozen_importlib")
        ):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(self.folders)

    def restore(self, name: str, under_way: "Set[str]") -> bool:
        """Shows a hidden module to the program. False where the program would have another."""
        module = self.hidden[name]
        parent = name.rpartition(".")[0]
        under_way.add(name)
        if parent and not self.is_same(parent, self.hidden.get(parent, sys.modules.get(parent)), under_way):
            return False
        spec = self.find_spec(name)
        if spec is None or name not in self.loaded or spec.origin != self.loaded[name]:
            return False
        sys.modules[name] = module  # as an import does: what a package imports looks for it
        for other in self.hidden:  # `importlib` needs such a one itself
            if other.startswith(name + ".") and self.is_made_by_another(other):
                sys.modules.setdefault(other, self.hidden[other])
        for need, seen in self.needs.get(name, {}).items():
            if not self.is_same(need, seen, under_way):
                for other in self.hidden:  # its own parts too: they are attributes of the package
                    if other == name or other.startswith(name + "."):
                        sys.modules.pop(other, None)
                return False
        if parent:
            setattr(sys.modules[parent], name.rpartition(".")[2], module)
        self.given.add(name)
        return True

    def is_same(self, name: str, seen: "Optional[ModuleType]", under_way: "Set[str]") -> bool:
        """Whether the program finds by this name what the debugger has ``seen``, which may be nothing."""
        here = sys.modules.get(name)
        if seen is None:
            return here is None and self.find_spec(name) is None
        if here is not None:
            return here is seen
        return name not in under_way and self.hidden.get(name) is seen and self.restore(name, under_way)

    def find_spec(self, name: str) -> "Any":
        """The spec of a module as if nothing of the debugger had been imported; None where there is none."""
        parent = name.rpartition(".")[0]
        path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
        if parent and path is None:
            return None
        return self.machinery._find_spec(name, path)

    def is_made_by_another(self, name: str) -> bool:
        """Whether a module put this name into `sys.modules` itself, as `typing` and `pyexpat` do."""
        return name not in self.loaded

    # -- for the debugger's own modules --------------------------------------------------------------

    def builtins_of_ours(self) -> "Dict[str, Any]":
        """What the debugger's modules get for `__builtins__`: their imports find what is hidden, first of all."""
        if not self.own_builtins:
            self.own_builtins = {**vars(builtins), "__import__": self.import_ours}
        return self.own_builtins

    def import_ours(
        self, name: str, globals: "Any" = None, locals: "Any" = None, fromlist: "Any" = (), level: int = 0
    ) -> "Any":
        hidden = self.hidden
        if level == 0 and name in self.own:
            return self.own[name]
        if name in hidden and name not in sys.modules and is_of_the_interpreter(fromlist):
            # It is for the user's expression: to compile a name that is not ASCII takes unicodedata.
            return self.shown_to_the_program(name) or self.find_and_load(name, builtins.__import__)
        if level == 0 and name in hidden:
            module = hidden[name] if fromlist else hidden.get(name.partition(".")[0])
            if module is not None and all(part == "*" or hasattr(module, part) for part in fromlist or ()):
                return module
        return builtins.__import__(name, globals, locals, fromlist, level)


def stand_in(name: str) -> "ModuleType":
    """A module whose attributes are functions: they call those of the module ``name``, and import it for that."""
    module = type(sys)(name)

    def attribute(wanted: str) -> "Any":
        if wanted.startswith("__"):
            raise AttributeError(wanted)

        def called(*values: "Any", **named: "Any") -> "Any":
            return getattr(__import__(name, fromlist=[wanted]), wanted)(*values, **named)

        return called

    module.__getattr__ = attribute  # type: ignore[method-assign]
    return module


def is_of_the_interpreter(fromlist: "Any") -> bool:
    """Whether code in C imports (PyImport_Import). It gives an empty list, and looks into `sys.modules` afterwards."""
    return type(fromlist) is list and not fromlist


def absolute(name: str, names: "Any", level: int) -> str:
    """The whole name of what ``import`` was given (PEP 328)."""
    if level == 0:
        return name
    package: str = names.get("__package__") or names["__name__"].rpartition(".")[0]
    base = package.rsplit(".", level - 1)[0]
    return base + "." + name if name else base
