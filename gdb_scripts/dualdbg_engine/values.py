"""C++ values: variables, expressions, their members by handles, assignment, places in memory, completion.

A handle stands for a value until :func:`forget_values`, which the session calls before the target runs.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from typing import Any, Dict, Iterator, Tuple, Union

import gdb
from dualdbg_helpers import cython_frames, in_time, language
from dualdbg_shared.console_text import plain
from dualdbg_shared.not_yet import NOT_YET
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

from .calls import undisturbed
from .not_yet import is_not_yet, is_of_argument
from .registry import answers
from .threads import WORD, find_frame
from .undecided import is_undecided

_Kept = Union[gdb.Value, int]  # an int is the address of a Python object

_kept: Dict[int, _Kept] = {}
_languages: Dict[int, str] = {}  # in which the value of a handle was shown
_styles: Dict[int, str] = {}  # gdb's letter of the format in which it was shown; empty: the usual one
_expressions: Dict[int, str] = {}  # what evaluates to the value of a handle, where something does
_WORDS = re.compile(r"[\w$.\[\]>:-]+$")  # an expression that needs no brackets before a member
_numbers = itertools.count()  # no number is used twice, so a forgotten one means nothing

_TEXT: Dict[str, Any] = {"max_elements": 200, "repeat_threshold": 10, "max_depth": 2, "deref_refs": True}
_COMPOUND = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)
_REST = "..."  # the name of a row for children that are not shown
_REFERENCES = {gdb.TYPE_CODE_REF: " &", gdb.TYPE_CODE_RVALUE_REF: " &&"}


def keep(value: _Kept, style: str = "", expression: "str | None" = None) -> int:
    """A handle for a value, or for the Python object at an address."""
    handle = next(_numbers)
    _kept[handle] = value
    _languages[handle] = language.current()
    _styles[handle] = style
    if expression is not None:
        _expressions[handle] = expression
    return handle


def kept_value(handle: int) -> _Kept:
    """What a handle stands for. Raises GdbError for one that was forgotten."""
    if handle not in _kept:
        raise gdb.GdbError("that value belongs to an earlier stop")
    return _kept[handle]


@answers(AllowCalls)
def allow_calls(allowed: bool) -> None:
    gdb.execute("set may-call-functions %s" % ("on" if allowed else "off"))


@answers(ForgetValues)
def forget_values() -> None:
    _kept.clear()
    _languages.clear()
    _styles.clear()
    _expressions.clear()


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
            if symbol.name in seen or not (symbol.is_argument or symbol.is_variable):
                continue
            has_none = symbol.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT  # which is worth knowing
            if symbol.needs_frame or symbol.is_argument or has_none:
                seen.add(symbol.name)
                value = _read(symbol, frame)
                if symbol.is_argument and is_not_yet(frame, value):
                    rows.append(_row_of_none(symbol.name, symbol.type, NOT_YET))
                else:
                    rows.append(_value_row(symbol.name, value, style=style, expression=symbol.name))
        if block.function is not None:
            break
        block = block.superblock
    return rows


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
    from dualdbg_helpers import chains

    whole: "str | None" = expression if _WORDS.match(expression) else "(%s)" % expression
    name, whole = (expression, whole) if stands_for is None else (stands_for, None)
    with contextlib.nullcontext() if seconds is None else undisturbed(expression, seconds):
        value = chains.evaluate(expression)
        if is_of_argument(frame, expression) and is_not_yet(frame, value):
            return _row_of_none(name, value.type, NOT_YET)
        return _value_row(name, value, style=style, expression=whole)


@answers(ListChildren)
def children(handle: int, offset: int, limit: int, style: str = "") -> list[NativeVariable]:
    value = kept_value(handle)
    if isinstance(value, int):
        return _object_rows(value, offset, limit)
    rows: list[NativeVariable] = []
    with language.as_of(_languages[handle]):
        members = itertools.islice(_parts(value), offset, offset + limit)
        style = style or _styles[handle]
        whole = _expressions.get(handle)
        while True:
            try:
                found, is_late = in_time.within(lambda: next(members, None))
            except Exception as error:  # whatever a printer of the user raises
                return [*rows, _value_row(_REST, error)]
            if found is None:
                return [*rows, _row_of_none(_REST, None, in_time.TOO_LONG)] if is_late else rows
            name, member, is_part = found
            rows.append(_value_row(name, member, is_part, style, _part_of(whole, value, name, is_part)))


def _part_of(whole: "str | None", value: gdb.Value, name: str, is_part: bool) -> "str | None":
    """What evaluates to a child of the value of the expression ``whole``; None where gdb has no words for it."""
    if whole is None:
        return None
    type_ = value.type.strip_typedefs()
    is_pointer = type_.code == gdb.TYPE_CODE_PTR
    if is_part:  # from a base class
        return "(*(%s *)%s%s)" % (name, "" if is_pointer else "&", whole)
    if name.startswith("["):
        return ("(*%s)" % whole if is_pointer else whole) + name
    if not name.isidentifier() or _has_children_of_a_printer(value):
        return None
    return whole + ("->" if is_pointer else ".") + name


def _has_children_of_a_printer(value: gdb.Value) -> bool:
    return hasattr(gdb.default_visualizer(value), "children")


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
    is_part: bool = False,
    style: str = "",
    expression: "str | None" = None,
) -> NativeVariable:
    """``is_part``: it is the part of an object that comes from a base class, not an object by itself.

    ``expression`` evaluates to it; ``style`` is as in :func:`variables`.
    """
    if isinstance(value, Exception):
        return NativeVariable(name, "", "<%s>" % value, None, None)
    if value.is_optimized_out:  # printers would read memory that holds no value
        return _row_of_none(name, value.type, "<optimized out>")
    declared = value.type
    value, text = _shown(value, is_part, style)
    try:
        address = int(value.address) if value.address is not None else None
    except (gdb.error, RuntimeError):
        address = None
    handle = None
    try:
        if in_time.within(lambda: _expands(value))[0]:
            handle = keep(int(value) if _is_python_object(value.type) else value, style, expression)
    except Exception:  # what it leads to cannot be read: the text says so
        pass
    type_ = type_name(value.type) + _reference_to(value.type, declared)
    return NativeVariable(name, type_, text, handle, address, expression)


def _row_of_none(name: str, type_: "gdb.Type | None", why: str) -> NativeVariable:
    """The row of a variable that has no value."""
    type_text = "" if type_ is None else type_name(type_)
    return NativeVariable(name, type_text, why, None, None)


def shown_text(value: gdb.Value) -> str:
    """The text of a value, as that of a variable."""
    return _shown(value, False, "")[1]


def _shown(value: gdb.Value, is_part: bool, style: str) -> Tuple[gdb.Value, str]:
    """The value as the object that it really is, and its text."""
    load_printers()
    from dualdbg_helpers.actual import actual

    note, text = None, ""

    def write() -> None:
        nonlocal value, note, text
        if not is_part:
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


def _members(value: gdb.Value) -> Iterator[Tuple[str, gdb.Value]]:
    for name, member, _ in _parts(value):
        yield name, member


def _parts(value: gdb.Value) -> Iterator[Tuple[str, gdb.Value, bool]]:
    """What is inside of a value, by name; and whether that is what the object has from a base class."""
    printer = gdb.default_visualizer(value)
    if printer is not None and hasattr(printer, "children"):
        for name, child in printer.children():
            yield name, child if isinstance(child, gdb.Value) else gdb.Value(child), False
        return
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_PTR):
        value = value.referenced_value()
        type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_ARRAY:
        low, high = type_.range()
        for index in range(low, high + 1):
            yield "[%d]" % index, value[index], False
        return
    for field in type_.fields():
        if hasattr(field, "bitpos"):
            yield field.name or "<anonymous>", value[field], field.is_base_class


def _member(handle: int, name: str) -> gdb.Value:
    """The child ``name`` of a value. Raises GdbError when it has none of that name."""
    value = kept_value(handle)
    found = None if isinstance(value, int) else next((m for key, m in _members(value) if key == name), None)
    if found is None:
        raise gdb.GdbError("there is no %s in that value" % name)
    return found


@answers(Assign)
def assign(
    gdb_thread: int, level: int, parent: int | None, name: str, text: str, seconds: float
) -> NativeVariable:
    frame = find_frame(gdb_thread, level)
    frame.select()
    target = _local(frame, name) if parent is None else _member(parent, name)
    with undisturbed(text, seconds):
        value = language.evaluate_for_user(text)
        gdb.set_convenience_variable("dualdbg_value", value)
        if target.address is None:
            if parent is not None:
                raise gdb.GdbError("%s has no address, so it cannot be set" % name)
            c_name = cython_frames.names_in(frame).get(name, name)
            language.evaluate("%s = $dualdbg_value" % c_name)  # it lives in a register
            return _value_row(name, _local(frame, name))
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
        value = language.evaluate_for_user(expression)
    else:
        value = _local(frame, name) if parent is None else _member(parent, name)
    if value.address is None:
        raise gdb.GdbError("%s is not in memory" % (expression or name))
    return MemoryRange(int(value.address) & WORD, value.type.sizeof)


@answers(Complete)
def completions(gdb_thread: int, level: int, text: str) -> list[str]:
    find_frame(gdb_thread, level).select()
    lines = plain(gdb.execute("complete print %s" % text, to_string=True)).splitlines()
    return [line[len("print ") :] for line in lines if line.startswith("print ")]
