"""The dashboard's keys as a table: what each does, and its name in the user's own table of keys."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True)
class Key:
    """``name`` is what the user's table calls the action; ``footer`` the short word at the bottom ("" for none).

    ``other_names`` are those of other debuggers, by which the palette finds it.
    """

    name: str
    keys: str
    action: str
    about: str
    footer: str = ""
    priority: bool = False
    other_names: tuple[str, ...] = ()


KEYS = (
    Key(
        "continue",
        "f5,c",
        "run('continue')",
        "Run on until the next stop",
        "Continue",
        other_names=("resume",),
    ),
    Key(
        "next", "f10,n", "run('next')", "Go to the next line, over calls", "Next", other_names=("step over",)
    ),
    Key(
        "step", "f11,s", "run('step')", "Go to the next line, into calls", "Step", other_names=("step into",)
    ),
    Key(
        "finish",
        "shift+f11,f23,f",
        "run('finish')",
        "Run until the function returns",
        "Finish",
        other_names=("step out",),
    ),
    Key("until", "ctrl+f10,t", "until", "Run to the line of the cursor"),
    Key("pause", "f6", "pause", "Stop the program where it is", "Pause"),
    Key(
        "interrupt",
        "ctrl+c",
        "interrupt",
        "Pause the program; give up what takes long; copy where text is selected",
        priority=True,
    ),
    Key("breakpoint", "f9,b", "breakpoint", "Set or clear a breakpoint on the line of the cursor", "Break"),
    Key("up", "u", "frame(1)", "Select the caller of the selected frame"),
    Key("down", "d", "frame(-1)", "Select the frame that the selected one called"),
    Key("next-process", "p", "process(1)", "The next process of the run"),
    Key("previous-process", "P", "process(-1)", "The process before"),
    Key("prompt", "colon", "pane('prompt')", "Go to the prompt", "Prompt"),
    Key("palette", "f1,ctrl+p,question_mark", "command_palette", "Everything that can be done", "Palette"),
    Key("search", "slash", "search", "Search the pane", "Search"),
    Key("found-next", "f3", "found(1)", "The next place that was found"),
    Key("found-before", "shift+f3,f15", "found(-1)", "The place found before"),
    Key("go", "g", "go", "Go to a file, a function, a line or an address", "Go to"),
    Key("next-pane", "f7,tab", "pane_by(1)", "The next pane", "Next pane"),
    Key("previous-pane", "shift+f7,f19,shift+tab", "pane_by(-1)", "The pane before"),
    Key("zoom", "z,f4", "zoom", "Give the pane all the room, or take it back", "Zoom"),
    Key("layout", "f2", "layout", "The next layout"),
    Key(
        "automatic-layout",
        "shift+f2,f14",
        "automatic_layout",
        "The layout follows the size of the terminal again",
    ),
    Key("wider", "ctrl+right", "grow('columns', 3)", "Make the pane wider"),
    Key("narrower", "ctrl+left", "grow('columns', -3)", "Make the pane narrower"),
    Key("taller", "ctrl+down", "grow('rows', 1)", "Make the pane taller"),
    Key("flatter", "ctrl+up", "grow('rows', -1)", "Make the pane flatter"),
    Key("here", "full_stop", "here", "Back to the line of the selected frame"),
    Key("assembly", "m", "assembly", "Machine code of the frame, or its source again"),
    Key("quit", "ctrl+q,q", "quit", "Leave", "Quit"),
    *(
        Key(f"pane-{number}", f"{number},alt+{number}", f"pane_number({number})", f"Pane {number}")
        for number in range(1, 10)
    ),
)

NAMES = {key.name: key.keys for key in KEYS}
"""The name of every action whose keys the user can change, and its keys."""

ONLY_STOPPED = ("continue", "next", "step", "finish")
ONLY_RUNNING = ("pause",)
"""Actions that mean nothing in other states, in which their keys are not shown."""

LEAVING = ("pause", "next-pane", "previous-pane")
"""Actions whose function keys lead out of the program's pane while the program gets all other keys."""


def first(own: dict[str, str]) -> frozenset[str]:
    """Keys that are heeded at once, whatever the keys before them have begun; ``own`` is what the user has changed."""
    keys = [one for key in KEYS if key.priority for one in own.get(key.name, key.keys).split(",")]
    return frozenset(map(str.strip, keys))


def bindings() -> list[Binding]:
    """The keys of all actions as Textual wants them. The ``id`` of each is the name of its action."""
    return [
        Binding(key.keys, key.action, key.footer or key.about, bool(key.footer), id=key.name, tooltip=key.about,
                priority=key.priority)
        for key in KEYS
    ]  # fmt: skip


def shown_key(key: str) -> str:
    """A key as it stands on a keyboard: F5, ⇧F11, ^C, /."""
    *modifiers, name = key.split("+")
    name = _SIGNS.get(name, name.upper() if name[:1] == "f" and name[1:].isdecimal() else name)
    for modifier in reversed(modifiers):
        name = _MODIFIERS.get(modifier, f"{modifier}+") + (name.upper() if modifier == "ctrl" else name)
    return name


_SIGNS = {"slash": "/", "full_stop": ".", "colon": ":", "question_mark": "?", "plus": "+", "left_square_bracket": "[",
          "right_square_bracket": "]", "pageup": "PgUp", "pagedown": "PgDn"}  # fmt: skip
_MODIFIERS = {"ctrl": "^", "shift": "⇧"}


def leaving(own: dict[str, str]) -> frozenset[str]:
    """The keys that the program never gets: the keys of LEAVING without tab, which programs need."""
    keys = {key for name in LEAVING for key in own.get(name, NAMES[name]).split(",")}
    return frozenset(key.strip() for key in keys if key.strip() not in ("tab", "shift+tab"))
