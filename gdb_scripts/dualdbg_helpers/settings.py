"""The settings of the helpers: ``set dualdbg ...`` and ``show dualdbg ...``."""

import gdb
from dualdbg_shared.patience import factor

from .limits import Limits

AUTO = "auto"
SOURCES = ["auto", "debug-info", "types-object", "table"]

VERB = "set"
"""How the user reaches gdb's ``set``, for hints."""


class _Prefix(gdb.Command):
    """Settings of the dualdbg helpers: limits of what is read, and where layouts come from."""

    def __init__(self, verb):
        super().__init__(verb + " dualdbg", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument, from_tty):
        for name in _settings:
            gdb.execute("show dualdbg " + name)


class _Setting(gdb.Parameter):
    """One setting. gdb takes its documentation from the attributes of the class."""

    def __init__(self, name, kind, default, summary, details, choices=None):
        self.set_doc = "Set " + summary
        self.show_doc = "Show " + summary
        self.__doc__ = details
        self._name = name
        if choices is None:
            super().__init__("dualdbg " + name, gdb.COMMAND_DATA, kind)
        else:
            super().__init__("dualdbg " + name, gdb.COMMAND_DATA, kind, choices)
        self.value = default

    def get_set_string(self):
        for tell in _listeners:
            tell()
        return ""

    def get_show_string(self, shown):
        return f"{self._name} is {shown}."


_ROWS = (
    # (name, kind, default, summary, details)
    ("max-depth", gdb.PARAM_ZUINTEGER, 20, "how deep nested values are shown.", "Levels of nesting."),
    (
        "max-length",
        gdb.PARAM_ZUINTEGER,
        200,
        "how many elements of a container are shown.",
        "Elements of a list, tuple, dict, set or stack; 0 for all of them.",
    ),
    (
        "max-string",
        gdb.PARAM_ZUINTEGER,
        2000,
        "how much of a string is shown.",
        "Characters (or bytes) of a string; 0 for all of it.",
    ),
    (
        "time-limit",
        gdb.PARAM_ZUINTEGER,
        round(10 * (factor() or 1.0)),
        "how many seconds one command may read memory.",
        "Seconds; what was read until then is shown with a mark. 0 for no limit.",
    ),
    (
        "python-version",
        gdb.PARAM_STRING,
        "",
        "the version of the inferior's CPython.",
        "Such as 3.9, or 3.13t for a free-threaded build; empty to tell it from the process.",
    ),
    (
        "compiler",
        gdb.PARAM_STRING,
        "g++",
        "the C++ compiler for the types of PyTorch.",
        "A program's name or path; `torch-types` has it compile the installed PyTorch headers, once.",
    ),
)
_CHOICES = (
    (
        "layouts",
        AUTO,
        "where the layouts of PyTorch's types come from.",
        "auto: debug info, else types that torch-types has compiled, else the table of a known version. "
        "Another value asks that source only. See `help dualdbg-layout`.",
        SOURCES,
    ),
)

_settings = {}
_listeners = []


def when_changed(tell):
    """Has ``tell()`` called whenever the user has changed a setting."""
    _listeners.append(tell)


def register():
    """Makes the settings known to gdb."""
    for verb in ("set", "show"):
        _Prefix(verb)
    for name, kind, default, summary, details in _ROWS:
        _settings[name] = _Setting(name, kind, default, summary, details)
    for name, default, summary, details, choices in _CHOICES:
        _settings[name] = _Setting(name, gdb.PARAM_ENUM, default, summary, details, choices)


def value(name):
    """What the user has set, or the default, by the setting's name."""
    return _settings[name].value


def limits(max_length=None):
    """The :class:`Limits` that the user has set."""
    return Limits(
        max_depth=value("max-depth"),
        max_length=value("max-length") if max_length is None else max_length,
        max_string=value("max-string"),
        seconds=float(value("time-limit")),
        python_version=value("python-version") or None,
    )
