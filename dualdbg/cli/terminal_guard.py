"""Gives the user's terminal back as it was when we are killed and cannot do it ourselves."""

from __future__ import annotations

import subprocess
import termios

from ..target.guard import Guard

# What Textual's driver has switched on: the keyboard protocol, the other screen, the hidden cursor, focus and mouse
# reports, bracketed paste, no line wrap, resize reports; and the colours of whatever was being written.
LEAVE_DASHBOARD = (
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?2026l\x1b[0m"
)
# The same of prompt_toolkit's line editor.
LEAVE_PROMPT = "\x1b[?25h\x1b[?2004l\x1b[0m\r\n"


def guard_terminal(descriptor: int, sequences: str = "") -> Guard:
    """The guard restores the modes that the terminal has now, and writes ``sequences``, unless it is released.

    It uses the descriptor, because another terminal may have got the name of one that is gone.
    """
    try:
        stty = subprocess.run(["stty", "-g"], stdin=descriptor, capture_output=True, text=True, check=False)
        restore = f"stty {stty.stdout.strip()} <&1"
    except FileNotFoundError:  # a bare container: the sequences are all that can be done
        restore = ":"
    text = sequences.replace("\x1b", "\\033").replace("\r\n", "\\r\\n")
    return Guard(f"read released && exit 0; {restore}; printf '{text}'", descriptor)


def is_gone(descriptor: int) -> bool:
    """Whether the terminal has hung up: every request to it fails then."""
    try:
        termios.tcgetattr(descriptor)
    except termios.error:
        return True
    return False
