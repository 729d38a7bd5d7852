"""What a terminal sends for a key: Textual's names to xterm's sequences (ctlseqs, "PC-Style Function Keys")."""

from __future__ import annotations


def sequence(key: str, character: str | None, application_cursor: bool) -> str | None:
    """The text that a program reads for a key; None for a key that no terminal sends."""
    *modifiers, name = key.split("+") if key != "+" else ["+"]
    if name in _PLAIN and not modifiers:
        return _PLAIN[name]
    code = 1 + sum(_MODIFIERS.get(modifier, 0) for modifier in modifiers)
    if name in _CURSOR:
        if code > 1:
            return f"\x1b[1;{code}{_CURSOR[name]}"
        return f"\x1b{'O' if application_cursor else '['}{_CURSOR[name]}"
    if name in _NUMBERED:
        return f"\x1b[{_NUMBERED[name]}~" if code == 1 else f"\x1b[{_NUMBERED[name]};{code}~"
    if name in _FUNCTION:
        return f"\x1bO{_FUNCTION[name]}" if code == 1 else f"\x1b[1;{code}{_FUNCTION[name]}"
    if key == "shift+tab":
        return "\x1b[Z"
    if modifiers == ["ctrl"]:
        return _control(name)
    if modifiers == ["alt"] and len(name) == 1:
        return f"\x1b{name}"
    if modifiers == ["alt"] and name in NAMED:
        return f"\x1b{NAMED[name]}"
    return character


def _control(name: str) -> str | None:
    if len(name) == 1 and name.isalpha():
        return chr(ord(name.lower()) & 0x1F)
    return _CONTROL.get(name)


_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}

_PLAIN = {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "backspace": "\x7f",
    "space": " ",
}

_CONTROL = {
    "at": "\x00",
    "space": "\x00",
    "left_square_bracket": "\x1b",
    "backslash": "\x1c",
    "right_square_bracket": "\x1d",
    "circumflex_accent": "\x1e",
    "underscore": "\x1f",
}

NAMED = {"minus": "-", "equals_sign": "="}

_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H"}

_NUMBERED = {
    "insert": 2, "delete": 3, "pageup": 5, "pagedown": 6, "f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20,
    "f10": 21, "f11": 23, "f12": 24,
}  # fmt: skip

_FUNCTION = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
