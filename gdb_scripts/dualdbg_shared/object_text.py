"""The text of Python objects, composed of what a reader knows: in the target of live objects, elsewhere of memory.

What a reader hands out is opaque here: an object itself, or the address of one. CPython 3.8 and later.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Protocol, Tuple

    class Reader(Protocol):
        """Reads objects without running code of the program. ``minor`` is the version of the program's Python."""

        minor: int

        def text(self, one: Any, level: int = 0) -> str:
            """The text of an object that lies ``level`` deep in the one that is asked for."""

        def plain_text(self, one: Any) -> str:
            """The text that an object has by its class and its address alone."""

        def fields(self, one: Any) -> Iterable[Tuple[str, Any]]:
            """The attributes of the object itself."""

        def entries(self, one: Any) -> Iterable[Tuple[Any, Any]]:
            """Keys and values of a dict; nothing of another object."""

        def class_entry(self, one: Any, name: str) -> Any:
            """What the classes of an object have under a name; None where they have nothing."""

        def class_names(self, one: Any) -> Tuple[Optional[str], str]:
            """Module and name of a class, or of the class of another object."""

        def string(self, one: Any) -> Optional[str]:
            """The string that an object is; None of another object."""

        def integer(self, one: Any) -> Optional[int]:
            """The number that an ``int`` is; None of another object."""

        def is_none(self, one: Any) -> bool:
            """Return whether an object is ``None``."""

        def dataclass_of(self, member: Any, value: Any) -> Optional[str]:
            """The qualified name of the value's class, if that is a dataclass and a base of the member's class."""


# -- modules: _module_repr and _module_repr_from_spec of Lib/importlib/_bootstrap.py -----------------------------

_LOADERS = {
    # the name of a loader of importlib, or of its class: how it has made a module
    "BuiltinImporter": "built-in",
    "FrozenImporter": "frozen",
    "NamespaceLoader": "namespace",
    "_NamespaceLoader": "namespace",
}


def module_text(reader: Reader, names: Dict[str, Any], level: int) -> str:
    """The text of the module whose namespace has these ``names``."""
    loader = _given(reader, names.get("__loader__"))
    how = _made_by(reader, loader)
    spec = _given(reader, names.get("__spec__"))
    text = "<module " + (reader.text(names["__name__"], level + 1) if "__name__" in names else "'?'")
    if how is not None and reader.minor < 10:
        return "%s (%s)>" % (text, how)
    if spec is not None:
        return _text_by_spec(reader, dict(reader.fields(spec)), level)
    if "__file__" in names:
        return "%s from %s>" % (text, reader.text(names["__file__"], level + 1))
    return text + (">" if loader is None else " (%s)>" % reader.text(loader, level + 1))


def _text_by_spec(reader: Reader, spec: Dict[str, Any], level: int) -> str:
    """The text of a module whose ``ModuleSpec`` has these attributes."""
    name, origin, loader = (_given(reader, spec.get(key)) for key in ("name", "origin", "loader"))
    text = "<module " + ("'?'" if name is None else reader.text(name, level + 1))
    if origin is not None:
        has_location = "_set_fileattr" in spec and reader.text(spec["_set_fileattr"], level + 1) == "True"
        shown = None if has_location else reader.string(origin)
        shown = reader.text(origin, level + 1) if shown is None else shown
        return ("%s from %s>" if has_location else "%s (%s)>") % (text, shown)
    if loader is None:
        return text + ">"
    if reader.minor >= 12 and _made_by(reader, loader) == "namespace":
        path = dict(reader.fields(loader)).get("_path")
        folders = None if path is None else dict(reader.fields(path)).get("_path")
        return "%s (namespace) from %s>" % (
            text,
            "..." if folders is None else reader.text(folders, level + 1),
        )
    return "%s (%s)>" % (text, reader.text(loader, level + 1))


def _given(reader: Reader, one: Any) -> Any:
    return None if one is None or reader.is_none(one) else one


def _made_by(reader: Reader, loader: Any) -> Optional[str]:
    """How a loader has made a module, if ``importlib`` has a word for it."""
    module, name = (None, "") if loader is None else reader.class_names(loader)
    return _LOADERS.get(name) if (module or "").startswith(("_frozen_importlib", "importlib")) else None


# -- enums -------------------------------------------------------------------------------------------------------


def enum_text(reader: Reader, member: Any, class_name: str, level: int) -> str:
    """The text of a member of an enum, or of a combination of flags."""
    fields = dict(reader.fields(member))
    if "_name_" not in fields or "_value_" not in fields:
        return reader.plain_text(member)  # while its class is made
    value, name = fields["_value_"], reader.string(fields["_name_"])
    shown = reader.text(value, level + 1)
    mixed = reader.dataclass_of(member, value) if reader.minor >= 12 else None
    if mixed is not None:  # of such a value an enum shows the fields alone
        shown = shown[len(mixed) + 1 : -1]
    number = reader.integer(value)
    if name is None and reader.minor < 11 and number is not None:
        name = "|".join(_flags(reader, member, number))
    return "<%s: %s>" % (class_name if name is None else "%s.%s" % (class_name, name), shown)


def _flags(reader: Reader, member: Any, number: int) -> List[str]:
    """The members that a combination of flags is made of, as ``enum._decompose`` before 3.11 finds them."""
    table = reader.class_entry(member, "_value2member_map_")
    members: Dict[int, Optional[str]] = {}
    for key, one in () if table is None else reader.entries(table):
        value = reader.integer(key)
        if value is not None:
            name = dict(reader.fields(one)).get("_name_")
            members[value] = None if name is None else reader.string(name)
    found = [
        each
        for each, name in members.items()
        if each and each & number == each and (name is not None or (number >= 0 and each & (each - 1) == 0))
    ]
    if not found and number in members:
        found = [number]
    found.sort(reverse=True)
    if len(found) > 1 and found[0] == number:
        found.pop(0)
    return [members[each] or str(each) for each in found]


def class_text(
    module: Optional[str], name: str, qualname: str, is_enum: bool, is_flag: bool, minor: int
) -> str:
    """The text of a class."""
    if is_enum:
        return "<%s %r>" % ("flag" if is_flag and minor >= 11 else "enum", name)
    return "<class '%s'>" % (qualname if module in ("builtins", None) else "%s.%s" % (module, qualname))
