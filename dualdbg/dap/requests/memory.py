"""readMemory, writeMemory and disassemble."""

from __future__ import annotations

import base64
from pathlib import PurePath

from ...errors import UsageError
from ...protocol import dap_types as dap
from ...session.inspect.disassembly import Instruction
from ...session.inspect.memory import MAXIMUM
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..registry import request

_MOST_INSTRUCTIONS = 5000


@request("readMemory", looks=True, capabilities=("supportsReadMemoryRequest",))
async def read_memory(adapter: Adapter, arguments: Arguments) -> dap.ReadMemoryResponseBody:
    address = arguments.address("memoryReference") + arguments.number("offset", 0)
    count = arguments.number("count")
    if count < 0:
        raise UsageError(f"readMemory: count is {count}")
    data = await adapter.debuggee.memory.read(address, count) if count else b""
    body: dap.ReadMemoryResponseBody = {"address": f"{address:#x}"}
    if data:
        body["data"] = base64.b64encode(data).decode("ascii")
    if len(data) < min(count, MAXIMUM):
        body["unreadableBytes"] = min(count, MAXIMUM) - len(data)
    return body


@request("writeMemory", capabilities=("supportsWriteMemoryRequest",))
async def write_memory(adapter: Adapter, arguments: Arguments) -> dap.WriteMemoryResponseBody:
    address = arguments.address("memoryReference") + arguments.number("offset", 0)
    try:
        data = base64.b64decode(arguments.text("data"), validate=True)
    except ValueError:  # wrong length, or a character that is not ASCII
        raise UsageError("writeMemory: data is not base64") from None
    partly = arguments.flag("allowPartial")
    return {"bytesWritten": await adapter.debuggee.memory.write(address, data, partly) if data else 0}


@request("disassemble", looks=True, capabilities=("supportsDisassembleRequest",))
async def disassemble(adapter: Adapter, arguments: Arguments) -> dap.DisassembleResponseBody:
    """Exactly as many rows as were asked for: where there is no code, rows that say so."""
    address = arguments.address("memoryReference") + arguments.number("offset", 0)
    first = arguments.number("instructionOffset", 0)
    count = arguments.number("instructionCount")
    if not 0 < count <= _MOST_INSTRUCTIONS or abs(first) > _MOST_INSTRUCTIONS:
        raise UsageError(f"disassemble: {count} instructions from number {first} on are too many or too few")
    found = await adapter.debuggee.code.around(address, max(-first, 0), max(first + count, 0))
    at = next((index for index, row in enumerate(found) if row.address >= address), len(found))
    first_address = found[0].address if found else address
    end = found[-1].address + len(found[-1].bytes) // 2 if found else address
    rows: list[dap.DisassembledInstruction] = []
    for number in range(at + first, at + first + count):
        if 0 <= number < len(found):
            rows.append(_row(adapter, found[number]))
        else:
            # Before the first and after the last: addresses that stay different and in order.
            edge = first_address + number if number < 0 else end + number - len(found)
            rows.append(
                {"address": f"{max(edge, 0):#x}", "instruction": "(no code)", "presentationHint": "invalid"}
            )
    return {"instructions": rows}


def _row(adapter: Adapter, row: Instruction) -> dap.DisassembledInstruction:
    body: dap.DisassembledInstruction = {
        "address": f"{row.address:#x}",
        "instruction": row.text,
        "instructionBytes": " ".join(row.bytes[i : i + 2] for i in range(0, len(row.bytes), 2)),
    }
    if row.function is not None:
        body["symbol"] = f"{row.function}+{row.offset}" if row.offset else row.function
    if row.file is not None and row.line is not None:
        body["location"] = {
            "name": PurePath(row.file).name,
            "path": adapter.sources.of_file(row.file)["path"],
        }
        body["line"] = adapter.client.line(row.line)
    return body
