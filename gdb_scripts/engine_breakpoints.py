"""What breakpoints ask of gdb: log points that print without a stop, conditions and log texts, what is thrown.

Runs inside gdb's own Python (3.8 and later). Nothing here changes the target.
"""

import json
import re

import gdb

import __main__ as engine

_COMPOUND = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_REF)
_LOG_MARK = "dualdbg-log:"  # begins a line on gdb's log stream: [breakpoint, text]
_PAGE = 4096
_LONGEST = 4096  # bytes of a what()
_MOST_BASES = 16

# Registers of the first two arguments: System V AMD64 ABI, figure 3.4; AAPCS64, 6.8.2.
_ARGUMENTS = {"i386:x86-64": ("rdi", "rsi"), "aarch64": ("x0", "x1")}
# libstdc++ keeps their text as a pointer to characters behind the vtable pointer (std::__cow_string, <stdexcept>).
_WITH_TEXT_POINTER = ("St13runtime_error", "St11logic_error")
# c10/util/Exception.h: its first member is std::string msg_, whose first word points to the characters.
_WITH_STRING = ("N3c105ErrorE",)
_MANGLED = re.compile(r"\*?[A-Z0-9][A-Za-z0-9_]*$")


class _NoCalls:
    """While it is entered, no expression calls a function of the target. (That none assigns, dualdbg has checked:
    gdb's own may-write-memory would also keep gdb from taking its breakpoints out.)
    """

    def __enter__(self):
        self._allowed = gdb.parameter("may-call-functions")
        if self._allowed:
            gdb.execute("set may-call-functions off", to_string=True)

    def __exit__(self, *exception):
        if self._allowed:
            gdb.execute("set may-call-functions on", to_string=True)


class LogPoint(gdb.Breakpoint):
    """Prints and lets the thread go on, without a stop that dualdbg would have to hear of.

    It stops only when its condition cannot be evaluated: that is for dualdbg to tell.
    """

    def __init__(self, address, texts, expressions, condition, tid):
        super().__init__("*%d" % address)
        self._texts = texts
        self._expressions = expressions
        self._condition = condition
        self._tid = tid

    def stop(self):
        if self._tid and _tid(gdb.selected_thread()) != self._tid:
            return False
        # Calls and assignments were refused when it was set. (may-call-functions would be a message each time.)
        if self._condition is not None:
            try:
                if not bool(gdb.parse_and_eval(self._condition)):
                    return False
            except gdb.error:
                return True
        line = json.dumps([self.number, _text(self._texts, self._expressions)])
        gdb.write("%s%s\n" % (_LOG_MARK, line), gdb.STDLOG)
        return False


def _tid(thread):
    return thread.ptid[1] or thread.ptid[0]


def insert_log(address, texts, expressions, condition, tid):
    """A log point that prints ``texts`` with the values of ``expressions`` between; returns gdb's number."""
    return LogPoint(address, texts, expressions, condition, tid).number


def log_text(number, texts, expressions):
    """The text of a log point for thread ``number``."""
    _select(number)
    with _NoCalls():
        return _text(texts, expressions)


def _text(texts, expressions):
    parts = [texts[0]]
    for expression, text in zip(expressions, texts[1:]):
        try:
            value = gdb.parse_and_eval(expression)
            if value.type.strip_typedefs().code in _COMPOUND:
                engine.load_printers()
            parts.append(value.format_string(max_elements=20))
        except (gdb.error, RuntimeError, UnicodeError) as error:
            parts.append("<%s>" % error)
        parts.append(text)
    return "".join(parts)


def condition_holds(number, condition):
    """Whether a condition is true in the innermost frame of thread ``number``; an error says why it has no value."""
    _select(number)
    with _NoCalls():
        return bool(gdb.parse_and_eval(condition))


def _select(number):
    for thread in gdb.selected_inferior().threads():
        if thread.num == number:
            thread.switch()
            gdb.newest_frame().select()
            return
    raise gdb.GdbError("there is no thread %d" % number)


def throw_info(number):
    """At the entry of __cxa_throw(object, type, destructor): the mangled names of the type and its first bases.

    ``text`` is what() where the type is known to keep it in memory, else None.
    """
    _select(number)
    frame = gdb.newest_frame()
    names = _ARGUMENTS.get(frame.architecture().name())
    if names is None:
        return {"types": [], "text": None}
    thrown, type_ = (int(frame.read_register(name)) & 0xFFFFFFFFFFFFFFFF for name in names)
    types = _types(type_)
    text = None
    if any(name in _WITH_TEXT_POINTER + _WITH_STRING for name in types):
        text = _string_at(_word(thrown + 8))
    return {"types": types, "text": text}


def _types(type_):
    """The name of a std::type_info and of those of its bases that lie at the beginning of the object.

    Itanium C++ ABI, 2.9.5: __si_class_type_info has its base behind the name; __vmi_class_type_info has flags, the
    number of bases, and for each the type_info and an offset in the upper bits of a word.
    """
    types = []
    while type_ and len(types) < _MOST_BASES:
        name = _string_at(_word(type_ + 8))
        if name is None or not _MANGLED.match(name):
            break
        types.append(name.lstrip("*"))
        if _is_type_info(_word(type_ + 16)):
            type_ = _word(type_ + 16)
        elif _is_type_info(_word(type_ + 24)) and (_word(type_ + 32) or 0) >> 8 == 0:
            type_ = _word(type_ + 24)
        else:
            break
    return types


def _is_type_info(address):
    if not address or address % 8:
        return False
    name = _string_at(_word(address + 8))
    return name is not None and _MANGLED.match(name) is not None and _word(_word(address)) is not None


def _word(address):
    """The eight bytes at an address as a number; None where nothing can be read."""
    if not address:
        return None
    try:
        return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")
    except gdb.error:
        return None


def _string_at(address):
    """The zero-terminated text at an address; None where nothing can be read."""
    if not address:
        return None
    data = b""
    inferior = gdb.selected_inferior()
    while len(data) < _LONGEST:
        at = address + len(data)
        try:
            data += inferior.read_memory(at, _PAGE - at % _PAGE).tobytes()
        except gdb.error:
            return None
        if b"\0" in data:
            break
    return data.partition(b"\0")[0][:_LONGEST].decode("utf-8", "replace")


COMMANDS = {
    "insert-log": insert_log,
    "log-text": log_text,
    "condition-holds": condition_holds,
    "throw-info": throw_info,
}
