"""Rarer requests of the session, read by engine.py when one of them comes: code, registers, memory, assignment."""

import gdb

import __main__ as engine

WORD = 0xFFFFFFFFFFFFFFFF


def disassemble(start, count):
    """``count`` instructions from ``start`` on, fewer where memory ends, each with its source line if known."""
    architecture = gdb.selected_inferior().architecture()
    rows = []
    address = start
    while len(rows) < count:
        try:
            found = architecture.disassemble(address, count=min(count - len(rows), 64))
        except gdb.error:
            found = []
        if not found:
            break
        rows += [_instruction(row) for row in found]
        address = found[-1]["addr"] + found[-1]["length"]
    return rows


def disassemble_until(start, end):
    """The instructions that begin in [``start``, ``end``)."""
    try:
        found = gdb.selected_inferior().architecture().disassemble(start, end_pc=end - 1)
    except gdb.error:
        return []
    return [_instruction(row) for row in found]


def _instruction(row):
    position = gdb.find_pc_line(row["addr"])
    table = position.symtab
    memory = gdb.selected_inferior().read_memory(row["addr"], row["length"])
    return {
        "address": row["addr"],
        "text": row["asm"],
        "bytes": memory.tobytes().hex(),
        "file": table.fullname() if table is not None else None,
        "line": position.line if table is not None and position.line else None,
    }


def frame_registers(number, level, group):
    """The registers of a frame as gdb prints them; ``group`` is gdb's name of a register group (general, vector)."""
    frame = engine._frame(number, level)
    rows = []
    for register in frame.architecture().registers(group):
        try:
            rows.append({"name": register.name, "value": _register_text(frame.read_register(register))})
        except (gdb.error, ValueError) as error:
            rows.append({"name": register.name, "value": "<%s>" % error})
    return rows


def _register_text(value):
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR) and value.type.sizeof <= 8:
        return hex(int(value) & WORD)
    return value.format_string(max_elements=16)


def assign(number, level, handle, name, text):
    """Set a local (``handle`` is null) or a child of a value to the value of the expression ``text``; the new row."""
    frame = engine._frame(number, level)
    frame.select()
    if handle is None:
        target = _local(frame, name)
    else:
        target = next((value for key, value in engine._members(engine._VALUES[handle]) if key == name), None)
        if target is None:
            raise gdb.GdbError("there is no %s in that value" % name)
    if target.address is None:
        if handle is not None:
            raise gdb.GdbError("%s has no address, so it cannot be set" % name)
        gdb.parse_and_eval("%s = (%s)" % (name, text))  # it lives in a register
        return engine._value_row(name, _local(frame, name))
    gdb.set_convenience_variable("dualdbg_target", target.address)
    gdb.parse_and_eval("*$dualdbg_target = (%s)" % text)
    return engine._value_row(name, gdb.parse_and_eval("*$dualdbg_target"))


def _local(frame, name):
    try:
        return frame.read_var(name)
    except ValueError as error:
        raise gdb.GdbError(str(error)) from None


def write_memory(address, data):
    """Write bytes, given as a hexadecimal string; how many were written."""
    content = bytes.fromhex(data)
    gdb.selected_inferior().write_memory(address, content)
    return len(content)


def readable_memory(address, length):
    """As much of [``address``, ``address + length``) as can be read from its beginning, hexadecimal."""
    inferior = gdb.selected_inferior()
    try:
        return inferior.read_memory(address, length).tobytes().hex()
    except gdb.error:
        pass
    page = 4096
    pieces = []
    while length > 0:
        piece = min(length, page - address % page)
        try:
            pieces.append(inferior.read_memory(address, piece).tobytes().hex())
        except gdb.error:
            break
        address += piece
        length -= piece
    return "".join(pieces)


def place(number, level, handle, name, expression):
    """Address and size in bytes of a child, a local or an expression; for a watch of that memory."""
    frame = engine._frame(number, level)
    frame.select()
    if expression is not None:
        value = gdb.parse_and_eval(expression)
    elif handle is None:
        value = _local(frame, name)
    else:
        value = next((value for key, value in engine._members(engine._VALUES[handle]) if key == name), None)
        if value is None:
            raise gdb.GdbError("there is no %s in that value" % name)
    if value.address is None:
        raise gdb.GdbError("%s is not in memory" % (expression or name))
    return {"address": int(value.address) & WORD, "size": value.type.sizeof, "type": str(value.type)}


def complete(number, level, text):
    """What gdb would complete ``print TEXT`` to, without the command."""
    engine._frame(number, level).select()
    lines = gdb.execute("complete print %s" % text, to_string=True).splitlines()
    return [line[len("print ") :] for line in lines if line.startswith("print ")]


_PARKED = {}  # gdb's number of a thread -> the registers that it is to have again
_PPOLL = 271  # asm/unistd_64.h
_RED_ZONE = 128  # bytes below the stack pointer that a function may use, System V AMD64 ABI
_GENERAL = ("rax", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "rip")


def park(numbers, instruction):
    """Let these threads wait in ppoll, every signal blocked, from the syscall instruction at this address on.

    ppoll(NULL, 0, NULL, mask, sizeof mask): it never ends by itself, and a tracer's stop restarts it.
    """
    inferior = gdb.selected_inferior()
    selected = gdb.selected_thread()
    for number in numbers:
        if number in _PARKED:
            continue
        engine._thread(number).switch()
        frame = gdb.newest_frame()
        frame.select()
        saved = {name: int(frame.read_register(name)) & WORD for name in (*_GENERAL, "orig_rax")}
        mask = ((int(frame.read_register("rsp")) & WORD) - _RED_ZONE - 16) & ~7
        inferior.write_memory(mask, b"\xff" * 8)
        _PARKED[number] = saved
        wanted = {"rdi": 0, "rsi": 0, "rdx": 0, "r10": mask, "r8": 8, "rax": _PPOLL, "rip": instruction}
        _set_registers({**wanted, "orig_rax": WORD})
    _select_again(selected)


def unpark():
    """Every parked thread has its own registers again; the kernel goes on with the system call it was in."""
    selected = gdb.selected_thread()
    for number in list(_PARKED):
        saved = _PARKED.pop(number)
        engine._thread(number).switch()
        gdb.newest_frame().select()
        _set_registers(saved)
    _select_again(selected)


def _select_again(thread):
    if thread is not None and thread.is_valid():
        thread.switch()


def _set_registers(values):
    for name, value in values.items():
        gdb.execute("set $%s = %d" % (name, value - (1 << 64) if value >> 63 else value), to_string=True)


COMMANDS = {
    "park": park,
    "unpark": unpark,
    "disassemble": disassemble,
    "disassemble-until": disassemble_until,
    "frame-registers": frame_registers,
    "assign": assign,
    "write-memory": write_memory,
    "readable-memory": readable_memory,
    "place": place,
    "complete": complete,
}
