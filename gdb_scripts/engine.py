"""What the session asks of gdb in one round trip: ``dualdbg-engine ["name", arguments...]`` answers in JSON.

Runs inside gdb's own Python (3.8 and later). A plain gdb command, not an MI command, so that gdb 12 has it too.
"""

import importlib
import json
import os
import re
import sys
from pathlib import Path

import gdb

_FOLDER = str(Path(__file__).resolve().parent)


def version():
    """gdb's version, and whether it stops for us."""
    return {"version": gdb.VERSION}


def threads():
    """gdb's number and the OS thread id of every thread of the inferior."""
    return [
        {"number": thread.num, "tid": thread.ptid[1] or thread.ptid[0]}
        for thread in gdb.selected_inferior().threads()
        if thread.is_valid()
    ]


def frames(number, limit):
    """The frames of thread ``number``, innermost first, at most ``limit``; unwinding errors end the list."""
    selected = gdb.selected_thread()
    thread = _thread(number)
    if selected is None or selected.num != thread.num:
        thread.switch()
    rows = []
    frame = gdb.newest_frame()
    while frame is not None and len(rows) < limit:
        rows.append(_frame_row(frame))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return rows


def _frame_row(frame):
    position = frame.find_sal()
    table = position.symtab
    function = frame.function()
    return {
        "pc": frame.pc(),
        "sp": _stack_pointer(frame),
        "function": function.print_name if function is not None else frame.name(),
        "file": table.fullname() if table is not None else None,
        "line": position.line if table is not None and position.line else None,
        "inlined": frame.type() == gdb.INLINE_FRAME,
    }


def _stack_pointer(frame):
    try:
        return int(frame.read_register("sp")) & 0xFFFFFFFFFFFFFFFF
    except (gdb.error, ValueError):
        return None


def _thread(number):
    for thread in gdb.selected_inferior().threads():
        if thread.num == number:
            return thread
    raise gdb.GdbError("there is no thread %d" % number)


def function_start(address):
    """Where the body of the function at ``address`` begins, as debug info has it.

    The second line entry of a function is where its prologue ends: the rule of gdb's own
    skip_prologue_using_sal. Without line entries it is the function's first instruction.
    """
    position = gdb.find_pc_line(address)
    table = position.symtab
    if table is None:
        return {"address": address, "file": None, "line": None}
    block = gdb.block_for_pc(address)
    while block is not None and block.function is None:
        block = block.superblock
    end = block.end if block is not None else address + 1
    starts = sorted({entry.pc for entry in table.linetable() if address < entry.pc < end})
    body = starts[0] if starts else address
    return {"address": body, "file": table.fullname(), "line": gdb.find_pc_line(body).line}


def function_starts(addresses):
    """:func:`function_start` of each, addresses only."""
    return [function_start(address)["address"] for address in addresses]


def line_places(file, line):
    """Every address at which ``file:line`` begins, in the symbols that gdb has read; none is an empty list.

    On the line at which a function begins it is behind the prologue, where arguments can be read, as with gdb's own.
    """
    try:
        _, positions = gdb.decode_line("%s:%d" % (_quoted(file), line))
    except gdb.error:
        return []
    rows = []
    for position in positions or ():
        if position.symtab is None or not position.pc:
            continue
        block = gdb.block_for_pc(position.pc)
        while block is not None and block.function is None:
            block = block.superblock
        place = {"address": position.pc, "line": position.line}
        if block is not None and block.start == position.pc and block.superblock.is_static:
            place = function_start(position.pc)
        rows.append(
            {
                "address": place["address"],
                "file": position.symtab.fullname(),
                "line": place["line"] or position.line,
                "function": block.function.print_name if block is not None else None,
            }
        )
    return rows


def _quoted(file):
    return '"%s"' % file if any(character in file for character in " :,") else file


def load_library(path):
    """Read the whole symbols of one library of the process; ``path`` as the kernel names it, links resolved."""
    listed = gdb.execute("info sharedlibrary", to_string=True)
    names = [line[line.index("/") :] for line in listed.splitlines()[1:] if "/" in line]
    if path not in names:  # the dynamic linker's own name of it goes through a link
        names = [name for name in names if os.path.realpath(name) == path] or [path]
        path = names[0]
    gdb.execute("sharedlibrary ^" + re.escape(path) + "$", to_string=True)


_LONG = 1 << 10  # characters; gdb writes each by itself on its MI channel: a file is faster by far
# Requests that are not in this file, by the module that is read when one of them first comes.
_RARER = (
    "engine_leave",
    "engine_breakpoints",
    "engine_more",
    "engine_calls",
    "engine_python",
    "engine_torch",
)
# What the handles of the current stop stand for: values, and addresses of Python objects; emptied when the target runs.
_VALUES = []
_TEXT = {"max_elements": 200, "repeat_threshold": 10, "max_depth": 2, "deref_refs": True}


def variables(number, level):
    """Arguments and locals of a frame, from debug info; without it, an empty list."""
    frame = _frame(number, level)
    try:
        block = frame.block()
    except RuntimeError:
        return []
    rows, seen = [], set()
    while block is not None:
        for symbol in block:
            if symbol.name in seen or not (symbol.is_argument or symbol.is_variable):
                continue
            if symbol.needs_frame or symbol.is_argument:
                seen.add(symbol.name)
                rows.append(_value_row(symbol.name, _read(symbol, frame)))
        if block.function is not None:
            break
        block = block.superblock
    return rows


def evaluate(number, level, expression):
    """The value of an expression in a frame; nothing in the target is called."""
    _frame(number, level).select()
    return _value_row(expression, gdb.parse_and_eval(expression))


def children(handle, offset, limit):
    """The members of a value that :func:`variables` or :func:`evaluate` returned."""
    rows = []
    if isinstance(_VALUES[handle], int):
        return _command("python-rows")(_VALUES[handle], offset, limit)
    for index, (name, value) in enumerate(_members(_VALUES[handle])):
        if index >= offset + limit:
            break
        if index >= offset:
            rows.append(_value_row(name, value))
    return rows


def forget_values():
    """Every handle is void."""
    del _VALUES[:]


def _read(symbol, frame):
    try:
        return symbol.value(frame)
    except (gdb.error, RuntimeError) as error:
        return error


def load_printers():
    """``print`` and variables show PyTorch's types from now on."""
    if "load-helpers" not in _COMMANDS:
        _command("load-helpers")


def _value_row(name, value):
    load_printers()
    if isinstance(value, Exception):
        return {"name": name, "type": "", "value": "<%s>" % value, "handle": None, "address": None}
    try:
        text = value.format_string(**_TEXT)
    except (gdb.error, RuntimeError, UnicodeError) as error:
        text = "<%s>" % error
    try:
        address = int(value.address) if value.address is not None else None
    except (gdb.error, RuntimeError):
        address = None
    handle = None
    if _expands(value):
        _VALUES.append(int(value) if _is_python_object(value.type) else value)
        handle = len(_VALUES) - 1
    return {"name": name, "type": _type_name(value.type), "value": text, "handle": handle, "address": address}


def _type_name(type_):
    return _command("type-name")(type_)


_COMPOUND = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


def _is_python_object(type_):
    """Whether this is the type of a pointer to a PyObject."""
    type_ = type_.strip_typedefs()
    return type_.code == gdb.TYPE_CODE_PTR and type_.target().strip_typedefs().unqualified().name == "_object"


def _expands(value):
    if _is_python_object(value.type):
        return int(value) != 0
    printer = gdb.default_visualizer(value)
    if printer is not None and hasattr(printer, "children"):
        return True
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return _expands(value.referenced_value())
    if type_.code == gdb.TYPE_CODE_PTR:
        return type_.target().strip_typedefs().code in _COMPOUND
    return type_.code in _COMPOUND


def _members(value):
    if isinstance(value, int):
        return
    printer = gdb.default_visualizer(value)
    if printer is not None and hasattr(printer, "children"):
        for name, child in printer.children():
            yield name, child if isinstance(child, gdb.Value) else gdb.Value(child)
        return
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_PTR):
        value = value.referenced_value()
        type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_ARRAY:
        low, high = type_.range()
        for index in range(low, high + 1):
            yield "[%d]" % index, value[index]
        return
    for field in type_.fields():
        if hasattr(field, "bitpos"):
            yield field.name or "<anonymous>", value[field]


def _frame(number, level):
    _thread(number).switch()
    frame = gdb.newest_frame()
    for _ in range(level):
        frame = frame.older()
        if frame is None:
            raise gdb.GdbError("there is no frame %d" % level)
    return frame


def read_memory(address, length):
    """``length`` bytes at ``address``, as a hexadecimal string."""
    return gdb.selected_inferior().read_memory(address, length).tobytes().hex()


def registers(number, names):
    """The named registers of the innermost frame of thread ``number``, as numbers."""
    thread = _thread(number)
    thread.switch()
    frame = gdb.newest_frame()
    return {name: int(frame.read_register(name)) & 0xFFFFFFFFFFFFFFFF for name in names}


def insert_many(number, addresses):
    """Breakpoints at these addresses for one thread; returns gdb's numbers of them."""
    numbers = []
    for address in addresses:
        point = gdb.Breakpoint("*%d" % address, internal=True)  # gdb talks of them to nobody
        point.thread = number
        numbers.append(point.number)
    return numbers


def delete_many(numbers):
    """Delete breakpoints by number; those that are gone already are no error."""
    wanted = set(numbers)
    for point in gdb.breakpoints():
        if point.number in wanted:
            point.delete()


def call_probe(number, functions, method, argument, keep=None):
    """Call ``pydevd.dualdbg_probe.METHOD(ARGUMENT)`` in thread ``number``, which holds the GIL.

    ``functions`` maps the names of the C functions that this needs to their addresses. An exception that is on its
    way in the thread, and errno, are the same afterwards. Returns whether the call returned a true value; ``keep``
    is called with the result itself.
    """
    _thread(number).switch()
    gdb.newest_frame().select()

    def call(name, *arguments):
        words = ",".join("(long)%d" % word for word in arguments)
        return int(gdb.parse_and_eval("((long(*)())%d)(%s)" % (functions[name], words)))

    stopping = [point for point in gdb.breakpoints() if point.enabled]
    for point in stopping:  # what the probe runs is none of the user's business
        point.enabled = False
    try:
        with _command("calling")():
            return _call_probe(call, method, argument, keep)
    finally:
        for point in stopping:
            point.enabled = True


def _call_probe(call, method, argument, keep):
    inferior = gdb.selected_inferior()
    texts = [text.encode() + b"\0" for text in ("pydevd", "dualdbg_probe", method, "s", argument)]
    size = 32 + sum(map(len, texts))
    errno = call("__errno_location")
    saved_errno = inferior.read_memory(errno, 4).tobytes()
    block = call("PyMem_RawMalloc", size)
    if not block:
        raise gdb.GdbError("the target has no memory left")
    places = []
    at = block + 32
    for text in texts:
        inferior.write_memory(at, text)
        places.append(at)
        at += len(text)
    call("PyErr_Fetch", block, block + 8, block + 16)
    module = call("PyImport_AddModule", places[0])
    probe = call("PyObject_GetAttrString", module, places[1]) if module else 0
    result = call("PyObject_CallMethod", probe, places[2], places[3], places[4]) if probe else 0
    done = result != 0 and call("PyObject_IsTrue", result) == 1
    if result and keep is not None:
        keep(call, result)
    for owned in (result, probe):
        if owned:
            call("Py_DecRef", owned)
    saved = inferior.read_memory(block, 24).tobytes()
    call("PyErr_Restore", *(int.from_bytes(saved[at : at + 8], "little") for at in (0, 8, 16)))
    call("PyMem_RawFree", block)
    inferior.write_memory(errno, saved_errno)
    return done


def architecture():
    """gdb's name of the architecture of the inferior."""
    return gdb.selected_inferior().architecture().name()


_COMMANDS = {
    "version": version,
    "threads": threads,
    "frames": frames,
    "function-start": function_start,
    "function-starts": function_starts,
    "line-places": line_places,
    "load-library": load_library,
    "variables": variables,
    "evaluate": evaluate,
    "children": children,
    "forget-values": forget_values,
    "read-memory": read_memory,
    "registers": registers,
    "architecture": architecture,
    "insert-many": insert_many,
    "delete-many": delete_many,
    "call-probe": call_probe,
}


def _command(name):
    for module in _RARER:
        if name in _COMMANDS:
            break
        sys.path.insert(0, _FOLDER)
        try:
            _COMMANDS.update(importlib.import_module(module).COMMANDS)
        finally:
            sys.path.remove(_FOLDER)
    return _COMMANDS[name]


class EngineCommand(gdb.Command):
    """The one command; it answers a line of JSON: {"result": ...}, {"error": text}, or where either is (_aside)."""

    def __init__(self):
        super().__init__("dualdbg-engine", gdb.COMMAND_SUPPORT)

    def invoke(self, argument, from_tty):
        try:
            name, *arguments = json.loads(argument)
            answer = {"result": _command(name)(*arguments)}
        except (gdb.error, gdb.GdbError, ValueError, KeyError) as error:
            answer = {"error": "%s" % error}
        text = json.dumps(answer)
        if len(text) > _LONG:
            try:
                text = json.dumps(_aside(text))
            except OSError:
                pass  # no folder for it, or a full disk: the slow way
        gdb.write("dualdbg-answer:" + text + "\n")
        gdb.flush()


_MEMORY = []  # the descriptor of the last long answer


def _aside(text):
    """Where a long answer is: ``memory``, a path that ends with the next answer, or ``file``, one to be deleted."""
    # /proc/PID belongs to root when others may not look into the process (prctl(2), PR_SET_DUMPABLE).
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").stat().st_uid == os.geteuid():
        if _MEMORY:
            os.close(_MEMORY.pop())
        _MEMORY.append(os.memfd_create("dualdbg-answer"))
        with open(_MEMORY[0], "w", encoding="ascii", closefd=False) as file:
            file.write(text)
        return {"memory": "/proc/%d/fd/%d" % (os.getpid(), _MEMORY[0])}
    # Not by tempfile, whose import takes longer than all the answers of a short session.
    name = "dualdbg-answer-%d-%s" % (os.getpid(), os.urandom(8).hex())
    path = str(Path(os.environ.get("TMPDIR") or "/tmp") / name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)
    return {"file": path}


EngineCommand()
