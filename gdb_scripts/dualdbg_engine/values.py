"""C++ values: variables, expressions, their members by handles, assignment, places in memory, completion.

A handle stands for a value until :func:`forget_values`, which the session calls before the target runs.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple, Union

import gdb
from dualdbg_helpers import cython_frames, expressions, in_time, language
from dualdbg_shared.console_text import plain
from dualdbg_shared.requests.values import (
    AllowCalls,
    Assign,
    Complete,
    Evaluate,
    FindMemoryRange,
    ForgetValues,
    ListArgumentNames,
    ListChildren,
    ListVariables,
    MemoryRange,
    NativeVariable,
)

from .calls import settings, undisturbed
from .not_yet import NOT_YET, argument_not_yet, is_not_yet
from .registry import answers
from .threads import WORD, find_frame
from .undecided import is_undecided

_Thing = Union[gdb.Value, int]  # an int is the address of a Python object


class _Kept(NamedTuple):
    """What a handle stands for, and how it was shown."""

    thing: _Thing
    language: str
    style: str  # gdb's letter of the format; empty: the usual one
    expression: Optional[str]  # what evaluates to it in the frame, where something does
    frame: Optional[gdb.Frame]


class _Part(NamedTuple):
    """A child of a value. ``is_base``: it is what an object has from a base class, not an object by itself."""

    name: str
    value: gdb.Value
    is_base: bool = False
    is_bits: bool = False  # a bit-field, which has no address
    key: Optional[str] = None  # of a map's entry: what stands in brackets for it, where something does


_kept: Dict[int, _Kept] = {}
_WORDS = re.compile(r"[\w$.\[\]>:-]+$")  # an expression that needs no brackets before a member
_numbers = itertools.count()  # no number is used twice, so a forgotten one means nothing

_TEXT: Dict[str, Any] = {"max_elements": 200, "repeat_threshold": 10, "max_depth": 2, "deref_refs": True}
_COMPOUND = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)
_REST = "..."  # the name of a row for children that are not shown
_REFERENCES = {gdb.TYPE_CODE_REF: " &", gdb.TYPE_CODE_RVALUE_REF: " &&"}
_CONSTANT = (gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_CONST_BYTES)  # variables of which only the value is left
_COMPILERS = ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__")  # static variables that nobody has written
_PLACE = re.compile(r"\[\d+\]|\(\d+, \d+\)")  # the name of an element, by which it can be asked for
_KEY = re.compile(r'-?\d+|true|false|"[^"\\]*"')  # the text of a key, by which its entry can be asked for
_MAP = re.compile(
    r"std::(?:__\w+::)?(?:unordered_)?map<"
)  # what :mod:`expressions` finds the entry of a key in
_LAST_MEMBER = re.compile(r"([\w.>\[\]:-]+?)(?:\.|->)(\w+)")
_NO_CALLS = {"may-call-functions": False}


def keep(value: _Thing, style: str = "", expression: "str | None" = None) -> int:
    """A handle for a value, or for the Python object at an address."""
    handle = next(_numbers)
    frame = gdb.selected_frame() if expression is not None else None
    _kept[handle] = _Kept(value, language.current(), style, expression, frame)
    return handle


def kept_value(handle: int) -> _Thing:
    """What a handle stands for. Raises GdbError for one that was forgotten."""
    return _kept_as(handle).thing


def _kept_as(handle: int) -> _Kept:
    if handle not in _kept:
        raise gdb.GdbError("that value belongs to an earlier stop")
    return _kept[handle]


@answers(AllowCalls)
def allow_calls(allowed: bool) -> None:
    gdb.execute("set may-call-functions %s" % ("on" if allowed else "off"))


@answers(ForgetValues)
def forget_values() -> None:
    _kept.clear()


@answers(ListVariables)
def variables(gdb_thread: int, level: int, style: str = "") -> list[NativeVariable]:
    frame = find_frame(gdb_thread, level)
    frame.select()  # values are shown in its language
    try:
        block: gdb.Block | None = frame.block()
    except RuntimeError:
        return []
    own = cython_frames.names_in(frame)
    if own:
        return [
            _value_row(name, _evaluated(expression), style=style, expression=name)
            for name, expression in own.items()
        ]
    rows: list[NativeVariable] = []
    seen: set[str] = set()
    while block is not None:
        for symbol in block:
            if symbol.name in seen or not _is_variable(symbol):
                continue
            seen.add(symbol.name)
            value = _read(symbol, frame)
            if symbol.is_argument and is_not_yet(frame, value):
                rows.append(_row_of_none(symbol.name, symbol.type, NOT_YET))
            else:
                rows.append(_checked_row(_Part(symbol.name, value), style, symbol.name))
        if block.function is not None:
            break
        block = block.superblock
    return rows


def _is_variable(symbol: gdb.Symbol) -> bool:
    """Whether a symbol of a function's block is an argument or a variable of the author's, constant or not."""
    if symbol.addr_class not in _CONSTANT:
        return symbol.is_argument or (symbol.is_variable and symbol.name not in _COMPILERS)
    type_ = symbol.type.strip_typedefs()
    is_enumerator = type_.code == gdb.TYPE_CODE_ENUM and symbol.name in [one.name for one in type_.fields()]
    return not is_enumerator


@answers(ListArgumentNames)
def argument_names(gdb_thread: int, level: int) -> "list[str] | None":
    frame = find_frame(gdb_thread, level)
    try:
        block: gdb.Block | None = frame.block()
    except RuntimeError:
        return None
    if cython_frames.names_in(frame):
        return cython_frames.argument_names_in(block)
    while block is not None and block.function is None:
        block = block.superblock
    return [symbol.name for symbol in block or () if symbol.is_argument]


@answers(Evaluate)
def evaluate(
    gdb_thread: int, level: int, expression: str, style: str = "", seconds: "float | None" = None
) -> NativeVariable:
    """As :func:`evaluation`."""
    return evaluation(gdb_thread, level, expression, style, seconds)


def evaluation(
    gdb_thread: int,
    level: int,
    expression: str,
    style: str,
    seconds: "float | None",
    stands_for: "str | None" = None,
) -> NativeVariable:
    """The value of an expression in a frame. ``style`` is as in :func:`variables`.

    ``stands_for``: what the user has written, where that is another one: it is the name then, and nothing tells how the
    value could be asked for again.

    ``seconds``: as in :func:`undisturbed`; where it is null, breakpoints hold in what it calls.
    """
    frame = find_frame(gdb_thread, level)
    frame.select()
    load_printers()
    whole: "str | None" = expression if _WORDS.match(expression) else "(%s)" % expression
    name, whole = (expression, whole) if stands_for is None else (stands_for, None)
    unset = argument_not_yet(frame, expression)
    if unset is not None:
        return _row_of_none(name, unset.type if unset.name == expression else None, NOT_YET)
    with contextlib.nullcontext() if seconds is None else undisturbed(expression, seconds):
        value = expressions.evaluate(expression)
        return _value_row(name, value, style=style, expression=whole, is_bits=_means_bits(expression))


def _means_bits(expression: str) -> bool:
    """Whether an expression that has a value is a bit-field: the last member that it names is one."""
    found = _LAST_MEMBER.fullmatch(expression)
    try:
        with settings(_NO_CALLS):
            return found is not None and _has_bits(language.evaluate_for_user(found[1]).type, found[2])
    except gdb.error:
        return False


def _has_bits(type_: gdb.Type, name: str) -> bool:
    """Whether a member of a class, or of that behind a pointer or reference, is a bit-field."""
    type_ = type_.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_PTR, *_REFERENCES):
        return _has_bits(type_.target(), name)
    fields = type_.fields() if type_.code in _COMPOUND[:2] else []
    own = [one for one in fields if one.name == name]
    within = [one.type for one in fields if one.is_base_class or not one.name]
    return any(one.bitsize for one in own) or (not own and any(_has_bits(one, name) for one in within))


@answers(ListChildren)
def children(handle: int, offset: int, limit: int, style: str = "") -> list[NativeVariable]:
    kept = _kept_as(handle)
    value, whole = kept.thing, kept.expression
    if isinstance(value, int):
        return _object_rows(value, offset, limit)
    if kept.frame is not None and kept.frame.is_valid():
        kept.frame.select()
    rows: list[NativeVariable] = []
    with language.as_of(kept.language):
        parts = itertools.islice(_parts(value), offset, offset + limit)
        style = style or kept.style
        while True:
            try:
                part, is_late = in_time.within(lambda: next(parts, None))
            except Exception as error:  # whatever a printer of the user raises
                return [*rows, _value_row(_REST, error)]
            if part is None:
                return [*rows, _row_of_none(_REST, None, in_time.TOO_LONG)] if is_late else rows
            rows.append(_checked_row(part, style, _expression_of(whole, value, part)))


def _expression_of(whole: "str | None", value: gdb.Value, part: _Part) -> "str | None":
    """What may evaluate to a child of the value of the expression ``whole``; None where gdb has no words for it."""
    if whole is None:
        return None
    is_pointer = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
    if part.is_base:
        return "(*(%s *)%s%s)" % (part.name, "" if is_pointer else "&", whole)
    place = "[%s]" % part.key if part.key is not None else part.name
    if part.key is not None or _PLACE.fullmatch(place):
        return ("(*%s)" % whole if is_pointer else whole) + place
    return whole + ("->" if is_pointer else ".") + part.name if part.name.isidentifier() else None


def _checked_row(part: _Part, style: str, expression: "str | None") -> NativeVariable:
    """The row of a child or a variable, with ``expression`` where that evaluates to it and to nothing else."""
    # The entries of a map are searched one by one for a key: these are not asked for.
    if expression is not None and part.key is None and not _means(expression, part.value):
        expression = None
    return _value_row(part.name, part.value, part.is_base, style, expression, part.is_bits)


def _means(expression: str, value: gdb.Value) -> bool:
    """Whether an expression evaluates to this value in the selected frame, without a call."""
    if is_undecided(value.type):  # gdb 13 aborts where it reads one
        return False

    def look() -> bool:
        with settings(_NO_CALLS):
            found = expressions.evaluate(expression)
        if str(found.type.unqualified()) != str(value.type.unqualified()):
            return False
        if found.address is None or value.address is None:
            return bool(found.format_string(raw=True) == value.format_string(raw=True))
        return bool(found.address == value.address)

    try:
        return bool(in_time.within(look)[0])
    except Exception:  # whatever gdb, or a printer of the user, says of it
        return False


def _object_rows(address: int, offset: int, limit: int) -> list[NativeVariable]:
    """The children of a Python object as rows of native values; empty for memory that is not an object."""
    from . import python_objects  # loads the helpers, so only when there is such a value

    try:
        found = python_objects.python_children(address, offset, limit).rows
    except gdb.GdbError:  # an uninitialised pointer: its text says so
        return []
    return [
        NativeVariable(
            row.name,
            row.type,
            row.value,
            keep(row.address) if row.total and row.address is not None else None,
            row.address,
        )
        for row in found
    ]


def _read(symbol: gdb.Symbol, frame: gdb.Frame) -> gdb.Value | Exception:
    try:
        return symbol.value(frame)
    except (gdb.error, RuntimeError) as error:
        return error


def _evaluated(expression: str) -> gdb.Value | Exception:
    try:
        return language.evaluate(expression)
    except gdb.error as error:
        return error


def load_printers() -> None:
    """``print`` and variables show PyTorch's types from now on."""
    from . import helpers  # imported late: it takes a while, and not every session looks at values

    helpers.load()


def _value_row(
    name: str,
    value: gdb.Value | Exception,
    is_base: bool = False,
    style: str = "",
    expression: "str | None" = None,
    is_bits: bool = False,
) -> NativeVariable:
    """``expression`` evaluates to it; ``is_base`` and ``is_bits`` are as in :class:`_Part`, ``style`` as in
    :func:`variables`.
    """
    if isinstance(value, Exception):
        return NativeVariable(name, "", "<%s>" % value, None, None)
    if value.is_optimized_out:  # printers would read memory that holds no value
        return _row_of_none(name, value.type, "<optimized out>")
    from dualdbg_helpers.actual import actual

    declared = value.type
    value, text = _shown(value, is_base, style)
    address = None if is_bits else _address_of(value)
    handle = None
    try:
        if in_time.within(lambda: _expands(value))[0]:
            thing = int(value) if _is_python_object(value.type) else value
            handle = keep(thing, style, _as_shown(expression, declared, value.type))
            if is_base and str(actual(value)[0].type) != str(value.type):
                expression = None  # it evaluates to the whole object
    except Exception:  # what it leads to cannot be read: the text says so
        pass
    type_ = type_name(value.type) + _reference_to(value.type, declared)
    return NativeVariable(name, type_, text, handle, address, expression)


def _address_of(value: gdb.Value) -> "int | None":
    """Where an editor looks at the memory of a value: what a pointer points to, not the pointer itself."""
    try:
        place = _pointer_to(value)
        return None if place is None else int(place) & WORD
    except (gdb.error, RuntimeError):
        return None


def _pointer_to(value: gdb.Value) -> "gdb.Value | None":
    """A pointer itself; to any other value one, where it is in memory."""
    return value if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR else value.address


def _as_shown(expression: "str | None", declared: gdb.Type, shown: gdb.Type) -> "str | None":
    """An expression for an object as it is shown: of its own class, where it was declared as one of a base."""
    plain_type = declared.strip_typedefs()
    if plain_type.code in _REFERENCES:
        declared = plain_type.target()
    if expression is None or str(declared.unqualified()) == str(shown.unqualified()):
        return expression
    is_pointer = shown.strip_typedefs().code == gdb.TYPE_CODE_PTR
    return ("((%s)%s)" if is_pointer else "(*(%s *)&%s)") % (shown, expression)


def _row_of_none(name: str, type_: "gdb.Type | None", why: str) -> NativeVariable:
    """The row of a variable that has no value."""
    type_text = "" if type_ is None else type_name(type_)
    return NativeVariable(name, type_text, why, None, None)


def shown_text(value: gdb.Value) -> str:
    """The text of a value, as that of a variable."""
    return _shown(value, False, "")[1]


def _shown(value: gdb.Value, is_base: bool, style: str) -> Tuple[gdb.Value, str]:
    """The value as the object that it really is, and its text."""
    load_printers()
    from dualdbg_helpers.actual import actual

    note, text = None, ""

    def write() -> None:
        nonlocal value, note, text
        if not is_base:
            value, note = actual(value)
        text = value.format_string(**_TEXT, **({"format": style} if style else {}))
        printer = None if text else gdb.default_visualizer(value)
        if printer is not None and hasattr(printer, "to_string"):
            printer.to_string()  # gdb has told nobody what it raises

    try:
        if in_time.within(write)[1]:
            text = ("%s %s" % (text, in_time.TOO_LONG)).lstrip()
    except gdb.error as error:
        text = "<%s>" % error
    except Exception as error:  # whatever a printer of the user raises
        text = "<%s: %s>" % (type(error).__name__, error)
    return value, text if note is None else "<%s> %s" % (note, text)


def _reference_to(shown: gdb.Type, declared: gdb.Type) -> str:
    """What the type of a variable has behind that of the object that is shown for it."""
    if shown.strip_typedefs().code in _REFERENCES:
        return ""  # it says so itself
    return _REFERENCES.get(declared.strip_typedefs().code, "")


def type_name(type_: gdb.Type) -> str:
    """A type as it is shown."""
    from . import helpers

    return helpers.type_name(type_)


def _is_python_object(type_: gdb.Type) -> bool:
    """Whether this is the type of a pointer to a PyObject."""
    type_ = type_.strip_typedefs()
    if type_.code != gdb.TYPE_CODE_PTR:
        return False
    name: "str | None" = type_.target().strip_typedefs().unqualified().name
    return name == "_object"


def _expands(value: gdb.Value) -> bool:
    if _is_python_object(value.type):
        return int(value) != 0
    printer = gdb.default_visualizer(value)
    if printer is not None and hasattr(printer, "children"):
        return True
    type_ = value.type.strip_typedefs()
    if is_undecided(type_):
        return False
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return _expands(value.referenced_value())
    if type_.code == gdb.TYPE_CODE_PTR:
        return type_.target().strip_typedefs().code in _COMPOUND
    return type_.code in _COMPOUND


def _parts(value: gdb.Value) -> Iterator[_Part]:
    """What is inside of a value, by name."""
    printer = gdb.default_visualizer(value)
    if printer is not None and hasattr(printer, "children"):
        is_map = hasattr(printer, "display_hint") and printer.display_hint() == "map"
        found = iter(printer.children())
        has_keys = _MAP.match(value.type.strip_typedefs().unqualified().name or "") is not None
        parts = (_Part(name, gdb.Value(child)) for name, child in found)
        yield from _entries(found, has_keys) if is_map else parts
        return
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_PTR):
        value = value.referenced_value()
        type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_ARRAY:
        low, high = type_.range()
        for index in range(low, high + 1):
            yield _Part("[%d]" % index, value[index])
        return
    for field in type_.fields():
        if hasattr(field, "bitpos"):
            is_bits = bool(field.bitsize) and not field.is_base_class
            yield _Part(field.name or "<anonymous>", value[field], field.is_base_class, is_bits)


def _entries(found: "Iterator[Tuple[str, Any]]", has_keys: bool) -> Iterator[_Part]:
    """The entries of a map by their keys; its printer tells keys and values in turn.

    ``has_keys``: an entry can be asked for by its key.
    """
    before, times = None, 0
    for (name, key), entry in itertools.zip_longest(found, found):
        if entry is None:
            yield _Part(name, gdb.Value(key))  # an optional has the hint of the map in it, and one child
            return
        text = key if isinstance(key, str) else gdb.Value(key).format_string(**_TEXT)
        times = times + 1 if text == before else 1
        before = text
        if times == 1:
            key = text if has_keys and _KEY.fullmatch(text) else None
            yield _Part("[%s]" % text, gdb.Value(entry[1]), key=key)
        else:  # a multimap has several under one key
            yield _Part("[%s] #%d" % (text, times), gdb.Value(entry[1]))


def _part(handle: int, name: str) -> _Part:
    """The child ``name`` of a value. Raises GdbError when it has none of that name."""
    value = kept_value(handle)
    found = None if isinstance(value, int) else next((one for one in _parts(value) if one.name == name), None)
    if found is None:
        raise gdb.GdbError("there is no %s in that value" % name)
    return found


@answers(Assign)
def assign(
    gdb_thread: int, level: int, parent: int | None, name: str, text: str, seconds: float
) -> NativeVariable:
    frame = find_frame(gdb_thread, level)
    frame.select()
    part = _Part(name, _local(frame, name)) if parent is None else _part(parent, name)
    target = part.value
    with undisturbed(text, seconds):
        value = expressions.evaluate(text)
        gdb.set_convenience_variable("dualdbg_value", value)
        if target.address is None:
            if parent is not None:
                raise gdb.GdbError("%s has no address, so it cannot be set" % name)
            c_name = cython_frames.names_in(frame).get(name, name)
            language.evaluate("%s = $dualdbg_value" % c_name)  # it lives in a register
            return _value_row(name, _local(frame, name))
        if part.is_bits and parent is not None:  # its neighbours are in the same bytes
            gdb.set_convenience_variable("dualdbg_target", _pointer_to(kept_value(parent)))
            set_to = language.evaluate("$dualdbg_target->%s = $dualdbg_value" % name)
            return _value_row(name, set_to, is_bits=True)
        gdb.set_convenience_variable("dualdbg_target", target.address)
        if target.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
            _assign_elements(target, value)
            return _value_row(name, language.evaluate("*$dualdbg_target"))
        return _value_row(name, language.evaluate("*$dualdbg_target = $dualdbg_value"))


def _assign_elements(target: gdb.Value, value: gdb.Value) -> None:
    """Set an array one by one: as a whole, gdb would put a text into the target and write its address."""
    type_ = value.type.strip_typedefs()
    has = target.type.strip_typedefs().range()[1] + 1
    if type_.code != gdb.TYPE_CODE_ARRAY or not 0 < type_.range()[1] + 1 <= has:
        raise gdb.GdbError(
            "an array of %d is set to a text or an array that is no longer, not to %s" % (has, type_)
        )
    for index in range(type_.range()[1] + 1):
        language.evaluate("(*$dualdbg_target)[%d] = $dualdbg_value[%d]" % (index, index))


def _local(frame: gdb.Frame, name: str) -> gdb.Value:
    expression = cython_frames.names_in(frame).get(name)
    if expression is not None:
        return language.evaluate(expression)
    try:
        return frame.read_var(name)
    except ValueError as error:
        raise gdb.GdbError(str(error)) from None


@answers(FindMemoryRange)
def memory_place(
    gdb_thread: int, level: int, parent: int | None, name: str, expression: str | None
) -> MemoryRange:
    frame = find_frame(gdb_thread, level)
    frame.select()
    if expression is not None:
        value = expressions.evaluate(expression)
    else:
        value = _local(frame, name) if parent is None else _part(parent, name).value
    if value.address is None:
        raise gdb.GdbError("%s is not in memory" % (expression or name))
    return MemoryRange(int(value.address) & WORD, value.type.sizeof)


@answers(Complete)
def completions(gdb_thread: int, level: int, text: str) -> list[str]:
    find_frame(gdb_thread, level).select()
    lines = plain(gdb.execute("complete print %s" % text, to_string=True)).splitlines()
    return [line[len("print ") :] for line in lines if line.startswith("print ")]
