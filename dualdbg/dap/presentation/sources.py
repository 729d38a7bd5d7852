"""Sources for the client: files by their path, everything else by a number with which it asks for the text."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ...errors import UsageError
from ...model import Frame, NativeFrame, PythonFrame
from ...protocol.dap_types import Source
from ...system.in_thread import in_thread
from ...system.source_files import source_text
from ..client.conventions import Client
from ..debuggee import Debuggee

Text = Callable[[], Awaitable[str]]

LINES_BEFORE = 40  # the frame's instruction always stands on this line of a disassembly
INSTRUCTIONS_AFTER = 200


@dataclass(frozen=True)
class Cell:
    """Lines of a file that stand for code that is compiled under another name, as a notebook's cells are.

    The lines from ``line`` to ``end`` of ``file`` are those from ``runtime_line`` on of ``runtime_file``.
    """

    file: str
    line: int
    end: int
    runtime_file: str
    runtime_line: int

    def holds(self, file: str | None, line: int) -> bool:
        """Whether the line of the running code is one of the cell's."""
        return file == self.runtime_file and 0 <= line - self.runtime_line <= self.end - self.line

    def line_of(self, line: int) -> int:
        """The line of the file for one of the running code."""
        return line - self.runtime_line + self.line


class SourceBook:
    """The numbers of one client's sources; a number means the same text as long as the client is there."""

    def __init__(self, client: Client, debuggee: Debuggee) -> None:
        self._client = client
        self._debuggee = debuggee
        self._given: dict[str, str] = {}  # a file's real path -> the path by which the client named it
        self._texts: dict[int, Text] = {}
        self._numbers: dict[object, int] = {}
        self._exists: dict[str, bool] = {}
        self._cells: list[Cell] = []

    def remember(self, path: str) -> str:
        """The target's path of a file that the client named. The client will get the file under its own name."""
        theirs = self._client.paths.to_target(path)
        self._given[os.path.realpath(theirs)] = path
        return theirs

    def of_file(self, file: str) -> Source:
        """A file of the target; with a number for its text where the client may not have the file."""
        given = self._given.get(os.path.realpath(file))
        lacks = given is None and self._client.paths.lacks(file)
        return {
            "name": PurePath(file).name,
            "path": given or self._client.paths.to_client(file),
            "sourceReference": self.number(("file", file), lambda: self._file_text(file)) if lacks else 0,
        }

    def of_frame(self, frame: Frame, reference: int | None = None) -> tuple[Source | None, int | None]:
        """A frame's source and line; ``reference`` is debugpy's own number for code without a file."""
        if isinstance(frame, PythonFrame):
            cell = self._cell_of(frame)
            if cell is not None:
                return self.of_file(cell.file), cell.line_of(frame.line or 0)
            return self._of_python(frame, reference), frame.line
        if frame.file is not None and self.is_file(frame.file):
            return self.of_file(frame.file), frame.line
        return self._disassembly(frame), LINES_BEFORE

    def set_cells(self, file: str, cells: Sequence[Cell]) -> None:
        """What lines of ``file`` stand for, from now on."""
        self._cells = [*(cell for cell in self._cells if cell.file != file), *cells]

    def _cell_of(self, frame: PythonFrame) -> Cell | None:
        return next((cell for cell in self._cells if cell.holds(frame.file, frame.line or 0)), None)

    def _of_python(self, frame: PythonFrame, reference: int | None) -> Source | None:
        if frame.file is None:
            return None
        if reference:
            number = self.number(("python", reference), lambda: self._python_text(reference, frame.file))
            return {"name": PurePath(frame.file).name, "path": frame.file, "sourceReference": number}
        if frame.file.startswith("<"):
            return {"name": frame.file, "presentationHint": "deemphasize"}
        return self.of_file(frame.file)

    def is_file(self, file: str | None) -> bool:
        """Whether the client probably has the file: the file is on this machine, or a mapping leads to it."""
        if file is None:
            return False
        if file not in self._exists:
            mapped = self._client.paths.to_client(file) != file
            self._exists[file] = mapped or Path(file).exists()
        return self._exists[file]

    def _disassembly(self, frame: NativeFrame) -> Source:
        """Native code without source: its instructions, so that a click on the frame shows something.

        De-emphasized, so that an editor goes to the first frame with real source by itself.
        """
        name = frame.label
        number = self.number(("native", frame.pc, name), lambda: self._disassembly_text(frame))
        where = PurePath(frame.library).name if frame.library else "no library"
        return {
            "name": f"{name} ({where})",
            "sourceReference": number,
            "presentationHint": "deemphasize",
            "origin": "disassembly",
        }

    def number(self, key: object, text: Text) -> int:
        """The number of a text that is made when it is asked for; the same key has the same number."""
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
        self._texts[self._numbers[key]] = text
        return self._numbers[key]

    async def text(self, number: int) -> str:
        """Raises UsageError for a number that was never given."""
        if number not in self._texts:
            raise UsageError(
                f"there is no source {number}", "the numbers of sources are those of the latest stackTrace"
            )
        return await self._texts[number]()

    async def _file_text(self, file: str) -> str:
        inside = Path(f"/proc/{self._debuggee.session.pid}/root", file.lstrip("/"))
        text = await in_thread(source_text, inside)
        if text is None:
            raise UsageError(f"{file} cannot be read", "pathMappings says which folder of yours it is in")
        return text

    async def _python_text(self, reference: int, file: str | None) -> str:
        answer = await self._debuggee.session.inspector.relay(
            "source", {"sourceReference": reference, "source": {"path": file, "sourceReference": reference}}
        )
        return str(answer.get("content", ""))

    async def _disassembly_text(self, frame: NativeFrame) -> str:
        rows = await self._debuggee.code.around(frame.pc, LINES_BEFORE - 4, INSTRUCTIONS_AFTER)
        before = [row for row in rows if row.address < frame.pc]
        after = [row for row in rows if row.address >= frame.pc]
        head = [f"{frame.function or 'code'} in {frame.library or 'memory that belongs to no file'}"]
        if frame.file is not None:
            head.append(f"compiled from {frame.file}:{frame.line}, which is not on this machine")
        head.append("")
        shown = [f"   {row.address:#x} <+{row.offset}>\t{row.text}" for row in before]
        padding = [""] * (LINES_BEFORE - 1 - len(head) - len(shown))
        shown += [
            f"{'=> ' if row.address == frame.pc else '   '}{row.address:#x} <+{row.offset}>\t{row.text}"
            for row in after
        ]
        return "\n".join([*padding, *head, *shown]) + "\n"
