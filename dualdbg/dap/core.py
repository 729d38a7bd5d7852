"""A core file as a client looks at it: its threads, their stacks, what is known of values, and its memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UnreadableMemory
from ..model import Frame
from ..snapshot.assemble import Assembler
from ..snapshot.capture import Captured, Wanted
from ..snapshot.core_file import capture_core
from ..snapshot.memory import PAGE
from ..snapshot.registers import debugger_names
from ..snapshot.report import ProcessReport, ThreadReport

Pair = tuple[str, str]


@dataclass(frozen=True)
class CoreView:
    """``report`` is what is shown, ``captured`` the memory and the registers behind it."""

    report: ProcessReport
    captured: Captured

    @classmethod
    def open(cls, path: str, program: str | None) -> CoreView:
        """``program`` stands in for the program's file where that has moved. Raises TargetError or SymbolError."""
        there = program if program is not None and not program.endswith(".py") else None
        captured, notes = capture_core(str(Path(path).expanduser()), Wanted(locals=True), there)
        report = Assembler(captured).report()
        return cls(replace(report, notes=(*notes, *report.notes)), captured)

    def thread(self, tid: int) -> ThreadReport | None:
        return next((row for row in self.report.threads if row.thread.tid == tid), None)

    def locals(self, tid: int, frame: Frame) -> tuple[Pair, ...]:
        """Names and texts of a Python frame of this core."""
        row = self.thread(tid)
        if row is None:
            return ()
        position = next(index for index, one in enumerate(row.stack.frames) if one is frame)
        return row.locals.get(position, ())

    def registers(self, tid: int) -> tuple[Pair, ...]:
        """The registers of a thread's innermost frame."""
        known = self.captured.registers.get(tid)
        if known is None:
            return ()
        names = debugger_names(known.architecture)
        return tuple(
            (name, f"{value:#x}")
            for name, value in zip(names, known.values, strict=False)
            if value is not None
        )

    def read(self, address: int, count: int) -> bytes:
        """As many of ``count`` bytes as are there in one piece."""
        data = b""
        while len(data) < count:
            at = address + len(data)
            try:
                data += self.captured.memory.read(at, min(count - len(data), PAGE - at % PAGE))
            except UnreadableMemory:
                break
        return data
