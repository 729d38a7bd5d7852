"""What the lives of the races are chosen from, and how long they are."""

from __future__ import annotations

from typing import Any

from dualdbg.system.patience import patient
from tests.session.fakes.world import FILE, LINE, MAIN, WORKER

STEPS_OF_A_LIFE = 60
LONG = patient(60.0)  # seconds of virtual time after which a command should have ended
STEPS = ("next", "step", "finish", "until", "stepi", "nexti", "goto")
ENDS = ("exits", "is killed", "gdb dies", "debugpy dies", "detach", "kill")
PYTHON_LINE = f"{FILE}:{LINE}"
PLACES = (
    *("*0x100", "*0x100", "*0x140 if x", "data:0x500:8:write"),
    *(PYTHON_LINE, PYTHON_LINE, f"{PYTHON_LINE} if x"),
)
SIGINTS = {"Ctrl-C": "terminal", "SIGINT of another process": "other"}
LIVES_BEGIN = ("launched", "first line", "attached", "forked")
# What each parameter of a rule is chosen from.
CHOICES: dict[str, tuple[Any, ...]] = {
    "event": (
        *SIGINTS,
        *("the user's breakpoint", "the user's breakpoint", "another breakpoint", "breakpoint of a step"),
        *("breakpoint of a step", "end of gdb's step", "libraries", "exec", "fork", "signal"),
    ),
    "exception": (False, False, True),
    "end": ENDS,
    "kind": ("continue", "continue", *STEPS),
    "chosen": (None, None, 3),
    "ours": (None, None, None, None, None, False, True),
    "place": PLACES,
    "how": ("set", "set", "set once", "delete", "disable", "enable"),
    "number": (MAIN, WORKER),
    "frozen": (False, True),
    "halted": (0.0, 0.002, 0.05),
    "what": ("expression", "stack", "call"),
    "seconds": (0.0, 0.001, 0.01, 0.1, 2.0),
    "life": LIVES_BEGIN,
    "seed": tuple(range(100_000)),
}
OFTEN = {"goes_on": 4, "stops_in_python": 3, "happens": 2, "breakpoints": 2}  # in a walk; other rules once
ANSWERED = ("call", "stack", "freeze")
KEPT = ("call", "kill")  # are not given up
LOOKS = ("evaluate", "stack")  # leave the program as it is: what is known may be told after the end too
LATE_COMMANDS = 3  # that are given to a session which is over
MOST_BREAKPOINTS = 6
