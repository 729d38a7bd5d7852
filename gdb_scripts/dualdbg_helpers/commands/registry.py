"""The table of commands, and how each becomes a gdb command, an MI command and JSON."""

import json
import traceback
from pathlib import Path

import gdb

from .. import settings
from ..answers import plain, printable
from ..errors import HelperError, Implausible, OutOfTime, Unreadable
from ..inferior import host_encoding

COMMANDS = {}


class Command:
    """One command: ``run(text)`` gives an Answer, or raises :class:`HelperError`."""

    def __init__(self, name, mi_name, run, usage, summary):
        self.name = name
        self.mi_name = mi_name
        self.run = run
        self.usage = usage
        self.summary = summary


def command(name, usage, summary, mi_name=None):
    """Decorates a function from an argument text to an Answer; makes it a command called ``name``."""

    def register(run):
        COMMANDS[name] = Command(name, mi_name or "-dualdbg-" + name, run, usage, summary)
        return run

    return register


class Failure(gdb.GdbError):
    """A command that has no answer: why, and what to type next (``hint``, may be empty)."""

    def __init__(self, message, hint=""):
        message = printable(message, host_encoding())
        super().__init__(f"{message}\n  {hint}" if hint else message)
        self.message = message
        self.hint = hint


def answer(entry, text):
    """Runs a command; every failure is a :class:`Failure`, which gdb prints without a traceback."""
    try:
        return entry.run(text)
    except HelperError as error:
        raise Failure(error.message, printable(error.hint, host_encoding())) from None
    except Unreadable as error:
        raise Failure(f"Memory at 0x{error.address:x} cannot be read.") from None
    except Implausible as error:
        raise Failure(f"Not what was expected: {error}.") from None
    except OutOfTime as error:
        hint = f"Raise it with `{settings.VERB} dualdbg time-limit`, or ask for less."
        raise Failure(f"Stopped after {error}.", hint) from None
    except gdb.error as error:
        raise Failure(f"gdb: {error}") from None
    except RecursionError:
        raise Failure("Nested too deep.", f"Lower it with `{settings.VERB} dualdbg max-depth`.") from None
    except KeyboardInterrupt:
        raise
    except Exception as error:
        # A defect of the helpers: named with its place, so that it can be reported.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        raise Failure(f"Defect in {entry.name}: {type(error).__name__}: {error} ({where})") from None


class _Cli(gdb.Command):
    def __init__(self, entry):
        self._entry = entry
        self.__doc__ = f"{entry.summary}\nUsage: {entry.name} {entry.usage}".rstrip()
        super().__init__(entry.name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        text = printable(answer(self._entry, argument).text, host_encoding())
        gdb.write(text if text.endswith("\n") else text + "\n")


class _Json(gdb.Command):
    """Run a command of the helpers and print its answer as one line of JSON.
    Usage: dualdbg-json COMMAND [ARGUMENTS]"""

    def __init__(self):
        super().__init__("dualdbg-json", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        name, _, rest = argument.strip().partition(" ")
        if name not in COMMANDS:
            raise gdb.GdbError(f"There is no command {name!r}; see torch-help.")
        gdb.write(json.dumps(answer(COMMANDS[name], rest).data) + "\n")


def register():
    """Makes every command in the table known to gdb; MI commands where gdb has them (13 and later)."""
    for entry in COMMANDS.values():
        _Cli(entry)
        if hasattr(gdb, "MICommand"):
            _register_mi(entry)
    _Json()


def _register_mi(entry):
    class Mi(gdb.MICommand):
        def invoke(self, argv):
            as_json = "--json" in argv
            data = answer(entry, " ".join(a for a in argv if a != "--json")).data
            return {"json": json.dumps(data)} if as_json else plain(data, host_encoding())

    Mi(entry.mi_name)
