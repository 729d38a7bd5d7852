"""Dates, decimal numbers, paths and other values of the standard library, written as ``repr`` writes them.

Sources: Include/datetime.h, Modules/_decimal/_decimal.c and libmpdec/mpdecimal.h, Modules/_sre/sre.c,
Modules/_zoneinfo.c, Lib/fractions.py, Lib/uuid.py, Lib/pathlib, Lib/ipaddress.py of CPython 3.8 to 3.14.
"""

import datetime
import decimal
import ipaddress
import pathlib
import uuid

from dualdbg_shared import cpython as L

from ..errors import Implausible
from .writer import Writer, member, name_text, size

# -- datetime --------------------------------------------------------------------------------------

_HASTZ, _DATA = 8, 9  # behind the hash: whether there is a time zone, and the packed numbers


def _fields(objects, address, count):
    head = address + objects.layout.head
    raw = objects.memory.read(head + _DATA, count)
    return raw, bool(objects.memory.u8(head + _HASTZ))


def _day(raw):
    return raw[0] << 8 | raw[1], raw[2], raw[3]


def _clock(raw):
    """Hour and minute, then second and microsecond as far as they are not 0."""
    hour, minute, second, micro = raw[0], raw[1], raw[2], raw[3] << 16 | raw[4] << 8 | raw[5]
    if hour > 23 or minute > 59 or second > 59 or micro > 999999:
        raise Implausible("no time of day")
    return (hour, minute, second, micro) if micro else (hour, minute, second) if second else (hour, minute)


def _date(objects, kind, address, depth):
    return "{}({}, {}, {})".format(kind.tp_name, *_checked(_day(_fields(objects, address, 4)[0])))


def _checked(day):
    if not (1 <= day[0] <= 9999 and 1 <= day[1] <= 12 and 1 <= day[2] <= 31):
        raise Implausible("no date")
    return day


def _datetime(objects, kind, address, depth):
    raw, aware = _fields(objects, address, 11)
    numbers = (*_checked(_day(raw)), *_clock(raw[4:10]))
    zone = _zone(objects, member(objects, address, 24) if aware else 0, depth)
    return _call(kind, [*map(str, numbers), *_fold(raw[10]), *zone])


def _time(objects, kind, address, depth):
    raw, aware = _fields(objects, address, 7)
    zone = _zone(objects, member(objects, address, 16) if aware else 0, depth)
    return _call(kind, [*map(str, _clock(raw[:6])), *zone, *_fold(raw[6])])


def _fold(fold):
    return ["fold=1"] if fold else []


def _zone(objects, zone, depth):
    return ["tzinfo=" + objects.text(zone, depth + 1)] if zone else []


def _call(kind, parts):
    return "{}({})".format(kind.tp_name, ", ".join(parts))


def _difference(objects, address):
    head = address + objects.layout.head
    days, seconds, micro = (objects.memory.i32(head + 8 + 4 * i) for i in range(3))
    if not (abs(days) < 10**9 and 0 <= seconds < 86400 and 0 <= micro < 10**6):
        raise Implausible(f"no timedelta at 0x{address:x}")
    return datetime.timedelta(days, seconds, micro)


def _timedelta(objects, kind, address, depth):
    return kind.tp_name + repr(_difference(objects, address))[len("datetime.timedelta") :]


def _timezone(objects, kind, address, depth):
    offset, name = objects.memory.words(address + objects.layout.head, 2)
    if not name and not _difference(objects, offset):
        return "datetime.timezone.utc"
    parts = [objects.text(part, depth + 1) for part in (offset, name) if part]
    return "{}({})".format(kind.tp_name, ", ".join(parts))


def _zone_info(objects, kind, address, depth):
    key = _attributes(objects, kind, address).get("key")
    if not isinstance(key, int) or not objects.types.of(key).has(L.STR):
        return f"<{kind.full_name} object at 0x{address:x}>"
    return f"{kind.full_name}(key={objects.text(key, depth + 1)})"


def _attributes(objects, kind, address):
    return dict(objects.attributes(kind, address))


# -- numbers ---------------------------------------------------------------------------------------

_MAX_WORDS = 4000  # of a Decimal that is read whole; each has 19 digits
_NEGATIVE, _INFINITE, _NAN, _SIGNALLING = 1, 2, 4, 8  # mpd_t.flags


def _decimal(objects, kind, address, depth):
    memory, place = objects.memory, address + objects.layout.head + 8
    flags = memory.u8(place)
    exponent, digits, length, _, data = memory.signed_words(place + 8, 5)
    sign = flags & _NEGATIVE
    if flags & _INFINITE:
        return "Decimal('{}')".format("-Infinity" if sign else "Infinity")
    if digits < 0 or not 0 <= length <= _MAX_WORDS:
        raise Implausible(f"a Decimal of {digits} digits at 0x{address:x}")
    words = memory.words(data, length)
    if any(word >= 10**19 for word in words):
        raise Implausible(f"no Decimal at 0x{address:x}")
    text = "".join(f"{word:019d}" for word in reversed(words)).lstrip("0")
    if flags & (_NAN | _SIGNALLING):
        exponent = "n" if flags & _NAN else "N"
    elif not text:
        text = "0"
    value = decimal.Decimal((sign, tuple(map(int, text)), exponent))
    return f"Decimal('{value}')"


def _python_decimal(objects, kind, address, depth):
    """A number of Lib/_pydecimal.py, which stands for the C module where there was no libmpdec."""
    found = _attributes(objects, kind, address)
    sign, digits, exponent = (_leaf(objects, found.get(name)) for name in ("_sign", "_int", "_exp"))
    if sign not in (0, 1) or not isinstance(digits, str) or not (digits.isdecimal() or not digits):
        raise Implausible(f"no {kind.full_name} at 0x{address:x}")
    if not isinstance(exponent, int) and exponent not in ("F", "n", "N"):
        raise Implausible(f"no {kind.full_name} at 0x{address:x}")
    return f"Decimal('{decimal.Decimal((sign, tuple(map(int, digits)), exponent))}')"


def _leaf(objects, place):
    """The ``int`` or ``str`` at ``place``; None for anything else."""
    kind = objects.types.of(place) if isinstance(place, int) else None
    if kind is not None and kind.has(L.INT):
        return objects.strings.integer(place)
    return name_text(objects, place) if kind is not None and kind.has(L.STR) else None


def _slots(*names):
    """A reader of attributes that must all be ``int``; the rest of the class is Python code that is not run."""

    def read(objects, kind, address):
        found = _attributes(objects, kind, address)
        places = [found.get(name) for name in names]
        for place in places:
            if not isinstance(place, int) or not objects.types.of(place).has(L.INT):
                raise Implausible(f"no {kind.full_name} at 0x{address:x}")
        return [objects.strings.integer(place) for place in places]

    return read


def _fraction(objects, kind, address, depth):
    return "{}({}, {})".format(kind.name, *_slots("_numerator", "_denominator")(objects, kind, address))


def _uuid(objects, kind, address, depth):
    (number,) = _slots("int")(objects, kind, address)
    if not 0 <= number < 1 << 128:
        raise Implausible(f"no UUID at 0x{address:x}")
    return f"{kind.name}('{uuid.UUID(int=number)}')"


def _ip_text(objects, kind, address, type_, bits):
    (number,) = _slots("_ip")(objects, kind, address)
    if not 0 <= number < 1 << bits:
        raise Implausible(f"no {kind.full_name} at 0x{address:x}")
    scope = _attributes(objects, kind, address).get("_scope_id")
    named = isinstance(scope, int) and objects.types.of(scope).has(L.STR)
    zone = "%" + name_text(objects, scope) if named else ""
    text = _mapped(objects, number) if type_ is ipaddress.IPv6Address else None
    return f"{text or type_(number)}{zone}"


def _ip_address(*family):
    def write(objects, kind, address, depth):
        return f"{kind.name}('{_ip_text(objects, kind, address, *family)}')"

    return write


def _ip_interface(*family):
    def write(objects, kind, address, depth):
        (length,) = _slots("_prefixlen")(objects, kind, address)
        return f"{kind.name}('{_ip_text(objects, kind, address, *family)}/{length}')"

    return write


def _ip_network(*family):
    def write(objects, kind, address, depth):
        (length,) = _slots("_prefixlen")(objects, kind, address)
        first = _attributes(objects, kind, address).get("network_address")
        if not isinstance(first, int):
            raise Implausible(f"no {kind.full_name} at 0x{address:x}")
        text = _ip_text(objects, objects.types.of(first), first, *family)
        return f"{kind.name}('{text}/{length}')"

    return write


def _mapped(objects, number):
    """An IPv4 address in the form of IPv6, as the program's version writes it; None for another address.

    Our own interpreter may have another version than the program: 3.13 and later write the four numbers.
    """
    if number >> 32 != 0xFFFF:
        return None
    low = number & 0xFFFFFFFF
    if objects.layout.version.minor >= 13:
        return f"::ffff:{ipaddress.IPv4Address(low)}"
    return f"::ffff:{low >> 16:x}:{low & 0xFFFF:x}"


# -- paths -----------------------------------------------------------------------------------------

_MAX_PARTS = 10000


def _path(pure):
    """The writer of paths of a flavour, whose rules are those of ``pure``, a class of our own interpreter."""

    separator = str(pure("a", "b"))[1]

    def write(objects, kind, address, depth):
        fields = _attributes(objects, kind, address)
        text = _path_text(objects, fields, separator)
        if text is None:
            text = _joined(pure, _texts(objects, fields.get("_raw_paths")))
        if text is None:
            raise Implausible(f"no path at 0x{address:x}")
        return "{}({!r})".format(kind.name, text.replace(separator, "/"))

    return write


def _path_text(objects, fields, separator):
    """The text of a path, where the object has it or its drive, root and parts; as _format_parsed_parts of pathlib."""
    whole = fields.get("_str")
    if isinstance(whole, int) and objects.types.of(whole).has(L.STR):
        return objects.strings.text(whole, 0)
    heads = [fields.get(name) for name in ("_drv", "_root")]
    head = "".join(objects.strings.text(at, 0) for at in heads if isinstance(at, int))
    parts = _texts(objects, fields.get("_parts"))  # before 3.12; drive and root are the first part
    tail = parts[bool(head) :] if parts is not None else _texts(objects, fields.get("_tail_cached"))
    return None if tail is None else (head + separator.join(tail)) or "."


def _joined(pure, texts):
    """The text of a path that is made of these texts, given to its class; None where versions differ in that."""
    if texts is None:
        return None
    if pure is pathlib.PureWindowsPath:
        # Which backslashes begin a share, and which colons end a drive, changed in 3.12 and 3.13 (ntpath.splitroot).
        odd = any("\\\\" in text.replace("/", "\\") or ":" in text[2:] for text in texts)
        if odd or any(text[:1] in "/\\" or text[1:2] == ":" for text in texts[1:]):
            return None
    return str(pure(*texts))


def _texts(objects, address):
    """The texts in the list at ``address``; None for anything else."""
    if not isinstance(address, int) or objects.types.of(address).tp_name != "list":
        return None
    count = size(objects, address)
    if count > _MAX_PARTS:
        raise Implausible(f"a path of {count} parts")
    first = objects.memory.pointer(address + objects.layout.list_items)
    return [objects.strings.text(at, 0) for at in (objects.memory.words(first, count) if count else ())]


# -- regular expressions ---------------------------------------------------------------------------

_FLAGS = (
    (1, "TEMPLATE"),
    (2, "IGNORECASE"),
    (4, "LOCALE"),
    (8, "MULTILINE"),
    (16, "DOTALL"),
    (32, "UNICODE"),
    (64, "VERBOSE"),
    (128, "DEBUG"),
    (256, "ASCII"),
)
_UNICODE, _CHARACTERS = 32, 4 | 32 | 256
_LONGEST_PATTERN = 200


def _pattern(objects, kind, address, depth):
    fields = _attributes(objects, kind, address)
    pattern, flags = fields.get("pattern"), int(fields["flags"].text)
    if not isinstance(pattern, int):
        raise Implausible(f"no pattern at 0x{address:x}")
    if objects.types.of(pattern).has(L.STR) and flags & _CHARACTERS == _UNICODE:
        flags &= ~_UNICODE  # every pattern that is text has it
    if objects.types.of(pattern).has(L.STR):
        text = repr(objects.strings.part(pattern, _LONGEST_PATTERN)[0])
    elif objects.types.of(pattern).has(L.BYTES):
        text = repr(objects.strings.bytes_part(pattern, _LONGEST_PATTERN)[0])
    else:
        text = objects.text(pattern, depth + 1)
    words = ["re." + name for bit, name in _FLAGS if flags & bit]
    rest = flags & ~sum(bit for bit, _ in _FLAGS)
    if rest:
        words.append(f"0x{rest:x}")
    return "re.compile({}{})".format(text[:_LONGEST_PATTERN], ", " + "|".join(words) if words else "")


def _match(objects, kind, address, depth):
    """``<re.Match object; span=(0, 1), match='a'>`` (Modules/_sre/sre.c, MatchObject)."""
    memory, head = objects.memory, address + objects.layout.var_head
    text = memory.pointer(head)
    start, end = memory.signed_words(head + _MATCH_MARKS, 2)
    if not 0 <= start <= end:
        raise Implausible(f"no match at 0x{address:x}")
    kind_of, strings = objects.types.of(text), objects.strings
    read = next((getattr(strings, part) for is_it, part in _SEARCHED if is_it(kind_of)), None)
    shown = repr(read(text, end)[0][start:end]) if read else "..."  # another buffer
    return f"<{kind.tp_name} object; span=({start}, {end}), match={shown[:50]}>"


_SEARCHED = (
    # what a match was found in, and how that is read
    (lambda kind: kind.has(L.STR), "part"),
    (lambda kind: kind.has(L.BYTES), "bytes_part"),
    (lambda kind: kind.derives_from("bytearray"), "bytearray_part"),
)


_MATCH_MARKS = 56  # string, regs, pattern, pos, endpos, lastindex, groups

_POSIX, _WINDOWS = (
    Writer("path", _path(pathlib.PurePosixPath)),
    Writer("path", _path(pathlib.PureWindowsPath)),
)
BY_NAME = {
    # name in Type.lineage: writer
    "datetime.date": Writer("date", _date),
    "datetime.datetime": Writer("date", _datetime, container=True),
    "datetime.time": Writer("date", _time, container=True),
    "datetime.timedelta": Writer("date", _timedelta),
    "datetime.timezone": Writer("date", _timezone, container=True),
    "zoneinfo.ZoneInfo": Writer("date", _zone_info),
    "decimal.Decimal": Writer("number", _decimal),
    "class decimal.Decimal": Writer("number", _python_decimal),
    "class fractions.Fraction": Writer("number", _fraction),
    "class uuid.UUID": Writer("uuid", _uuid),
    **{
        f"class ipaddress.IPv{version}{what}": Writer("address", writer(*family))
        for version, *family in ((4, ipaddress.IPv4Address, 32), (6, ipaddress.IPv6Address, 128))
        for what, writer in (
            ("Address", _ip_address),
            ("Interface", _ip_interface),
            ("Network", _ip_network),
        )
    },
    **{f"class {module}.PurePosixPath": _POSIX for module in ("pathlib", "pathlib._local")},
    **{f"class {module}.PosixPath": _POSIX for module in ("pathlib", "pathlib._local")},
    **{f"class {module}.PureWindowsPath": _WINDOWS for module in ("pathlib", "pathlib._local")},
    "re.Pattern": Writer("pattern", _pattern),
    "re.Match": Writer("match", _match),
}
