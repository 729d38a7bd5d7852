"""What a user does in VS Code's window, in its own words."""

from __future__ import annotations

import re
from pathlib import Path

from dualdbg.system.patience import patient

from .browser import Browser

_STACK = ".debug-call-stack .monaco-list-row"
_VARIABLES = ".debug-variables .monaco-list-row"
_BREAKPOINTS = ".debug-breakpoints .monaco-list-row"
_SESSION = ".debug-toolbar:not([aria-hidden=true])"
_QUICK_INPUT = ".quick-input-widget .quick-input-box"


class Workbench:
    """The window of one folder. ``pictures`` gets a screenshot of each ``look``."""

    def __init__(self, browser: Browser, url: str, folder: Path, pictures: Path) -> None:
        self._browser = browser
        self._pictures = pictures
        browser.do("goto", url=f"{url}/?folder={folder}")
        browser.wait(".monaco-workbench .part.editor")

    def open(self, name: str) -> None:
        self._browser.wait(".explorer-folders-view .monaco-list-row", f"^{name}$")
        self._browser.click(".explorer-folders-view .monaco-list-row", f"^{name}$", count=2)
        self._browser.wait(".tabs-container .tab.active", name)
        self._browser.wait(".editor-instance .view-lines", ".")

    def open_debug_view(self, configuration: str) -> None:
        """Ends when VS Code knows the configurations, and with them the debuggers."""
        self._browser.press("Control", "Shift", "KeyD")
        self._browser.wait(".start-debug-action-item", re.escape(configuration))

    def start_selected(self) -> None:
        """F5 in the editor, until a session is there.

        Just after an extension was installed VS Code may show its configurations before its keys know of a debugger.
        """
        self._browser.click(".editor-instance .view-lines")
        self._browser.wait(".editor-instance .monaco-editor.focused")
        for _ in range(3):
            self._browser.press("F5")
            if self._browser.comes(_SESSION, seconds=patient(20)):
                return
        self._browser.wait(_SESSION)

    def start(self, configuration: str) -> None:
        """Start what is not the selected configuration.

        The list of configurations is that of the moment when their name is typed. On a busy machine the Debug view
        shows them before that list has them.
        """
        row, name = ".quick-input-list .monaco-list-row.focused", re.escape(configuration)
        for _ in range(3):
            self._browser.press("Control", "KeyP")
            self._browser.wait(_QUICK_INPUT)
            self._browser.type(f"debug {configuration}")
            if self._browser.comes(row, name, seconds=patient(20)):
                break
            self._browser.press("Escape")
        self._browser.wait(row, name)
        self._browser.press("Enter")

    def toggle_breakpoint(self, file: str, line: int) -> None:
        """In the active editor, which shows ``file``.

        F9 does nothing before VS Code knows of a debugger for the file's language.
        """
        self._browser.wait(".tabs-container .tab.active", file)
        self._browser.click(".editor-instance .view-lines")
        self._browser.press("Control", "KeyG")
        self._browser.wait(_QUICK_INPUT)
        self._browser.type(str(line))
        self._browser.press("Enter")
        # The line is shown while it is typed; the editor has the keys again when it has the focus.
        self._browser.wait(".editor-instance .monaco-editor.focused")
        self._browser.wait(".statusbar-item", f"Ln {line},")
        row = f"{file}\\s[^]*\\b{line}$"
        for _ in range(3):
            self._browser.press("F9")
            if self._browser.comes(_BREAKPOINTS, row, seconds=patient(20)):
                return
        self._browser.wait(_BREAKPOINTS, row)

    def press(self, *keys: str) -> None:
        self._browser.press(*keys)

    def stopped_at(self, *rows: str, seconds: float = patient(60)) -> None:
        """Wait until the Call Stack view shows these rows, each a pattern, below the first thread.

        The only thread of a program has no row.

        A frame's row is ``function file line:column``; what VS Code folds has a row too.
        """
        self._browser.wait_rows(_STACK, "^([^\n]* PAUSED[^\n]*\n)?" + "\n".join(rows) + "(\n|$)", seconds)

    def has_frames(self, *rows: str, seconds: float = patient(60)) -> None:
        """Wait until the Call Stack view, of several sessions, has these rows one below the other somewhere."""
        self._browser.wait_rows(_STACK, "(^|\n)" + "\n".join(rows) + "(\n|$)", seconds)

    def has_variables(self, *rows: str) -> None:
        """Wait until the Variables view has each of these rows."""
        for row in rows:
            self._browser.wait_rows(_VARIABLES, f"(^|\n){row}(\n|$)")

    def ended(self) -> None:
        """Wait until no session is there."""
        self._browser.gone(_STACK)
        self._browser.gone(_SESSION)

    def tasks_ended(self) -> None:
        """Wait until the status bar counts no running task."""
        self._browser.gone('.statusbar-item[id="status.runningTasks"]', ".")

    def look(self, name: str) -> None:
        """Keep a picture of the window."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        self._browser.screenshot(self._pictures / f"{name}.png")
