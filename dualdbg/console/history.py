"""The history of the prompt: a file under the user's state folder, in prompt_toolkit's format."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ..system.folders import state_folder
from ..system.private_files import open_to_append

_MOST = 2000  # lines that are read back


def history_path() -> Path:
    """Where it is (XDG Base Directory Specification); a path at which nothing can be where others could change it."""
    return state_folder() / "history"


def read_history(path: Path) -> list[str]:
    """The commands, oldest first; empty when there is no file that can be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    commands: list[str] = []
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("+"):
            lines.append(line[1:])
        elif lines:
            commands.append("\n".join(lines))
            lines = []
    return commands[-_MOST:]


def add_to_history(path: Path, command: str) -> None:
    """Append a command. Where the file cannot be written, the history lasts only as long as the session."""
    entry = "".join(f"+{line}\n" for line in command.split("\n"))
    try:
        with open(open_to_append(path), "a", encoding="utf-8") as file:
            file.write(f"\n# {datetime.now()}\n{entry}")
    except OSError:
        pass
