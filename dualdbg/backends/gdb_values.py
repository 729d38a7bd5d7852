"""What gdb's own commands print of values and code."""

from __future__ import annotations

import re

from ..errors import CommandError
from .gdb_client import GdbClient

_ADDRESS = re.compile(r"0x[0-9a-f]+")


class GdbValues(GdbClient):
    """Runs these commands."""

    async def allow_calls(self, allowed: bool) -> None:
        """Whether expressions may call functions of the program; a refusal is gdb's own then."""
        await self._process.console(f"set may-call-functions {'on' if allowed else 'off'}")

    async def printed(self, expression: str, style: str) -> str:
        """A value in the selected frame as gdb prints it; ``style`` is one of its formats (``x``, ``4xb``)."""
        return await self._process.console(f"output/{style} {expression}")

    async def examined(self, address: str, style: str) -> str:
        """What lies at the value of an expression, in the same way (``i`` for instructions)."""
        return await self._process.console(f"x/{style} {address}")

    async def address(self, expression: str) -> int:
        """The value of an expression as an address. Raises CommandError where it is none."""
        text = (await self.printed(f"(unsigned long)({expression})", "x")).strip()
        if not _ADDRESS.fullmatch(text):
            raise CommandError(f"{expression} is no address: {text}")
        return int(text, 16)

    async def code_of_line(self, location: str) -> str:
        """gdb's words for where the code of a line or function is, or which line an address belongs to."""
        return await self._process.console(f"info line {location}")
