"""What holds code or stands for another object: partial functions, generators, references, descriptors.

Sources: Modules/_functoolsmodule.c, Include/cpython/genobject.h, Objects/weakrefobject.c, Objects/descrobject.c of
CPython 3.8 to 3.14.
"""

from dualdbg_shared import cpython as L

from ..errors import Implausible
from .writer import Writer, builtin_name, inherited, member, name_text, size, tuple_items


def _partial(objects, kind, address, depth):
    function, positional, named = objects.memory.words(address + objects.layout.head, 3)
    parts = [objects.text(function, depth + 1)]
    total = size(objects, positional)
    parts += [objects.text(a, depth + 1) for a in tuple_items(objects, positional, 0, objects.shown(total))]
    used = objects.tables.used(named)
    for key, value in objects.tables.items(named, 0, objects.shown(used)):
        parts.append(f"{name_text(objects, key)}={objects.text(value, depth + 1)}")
    left = total + used + 1 - len(parts)
    name = kind.full_name if objects.layout.minor >= 13 else kind.tp_name
    return "{}({}{})".format(name, ", ".join(parts), f", ... {left} more" if left else "")


def _generator(word):
    def write(objects, kind, address, depth):
        name = objects.memory.pointer(address + objects.layout.generator_qualname)
        return f"<{word} object {name_text(objects, name)} at 0x{address:x}>"

    return write


def _code(objects, kind, address, depth):
    fields = dict(objects.attributes(kind, address))
    name, file, line = (fields.get(key) for key in ("co_name", "co_filename", "co_firstlineno"))
    if not isinstance(name, int) or not isinstance(file, int) or line is None:
        raise Implausible(f"no code object at 0x{address:x}")
    return '<code object {} at 0x{:x}, file "{}", line {}>'.format(
        name_text(objects, name), address, name_text(objects, file), line.text
    )


def _weak(word):
    """The writer of weak references; of a proxy too, which has the same members."""

    def write(objects, kind, address, depth):
        target = member(objects, address, 0)
        target_kind = objects.types.of(target)
        if target_kind.is_exactly("NoneType") and (word == "weakref" or objects.layout.minor >= 13):
            return f"<{word} at 0x{address:x}; dead>"
        quotes = word == "weakref" or objects.layout.minor >= 13
        type_name = target_kind.qualified if objects.layout.minor >= 13 else target_kind.tp_name
        name = f"; to '{type_name}'" if quotes else f" to {type_name}"
        own = _own_name(objects, target) if word == "weakref" else ""
        return f"<{word} at 0x{address:x}{name} at 0x{target:x}{own}>"

    return write


def _own_name(objects, target):
    """`` (name)`` where the referent has a ``__name__``: as a function or a class has it, or by its class.

    Before 3.11.4 the object's own attribute counts too (CPython's gh-99184). A 3.11 of which the patch is not known is
    taken for a later one.
    """
    kind = objects.types.of(target)
    if kind.has(L.TYPE):
        return f" ({objects.types.read(target).name})"
    if kind.is_exactly("builtin_function_or_method"):
        return f" ({builtin_name(objects, target)})"
    place = _name_place(objects, kind, target)
    return f" ({name_text(objects, place)})" if place and objects.types.of(place).has(L.STR) else ""


def _name_place(objects, kind, target):
    layout = objects.layout
    if kind.is_exactly("function"):
        return objects.memory.pointer(target + layout.func_name)
    if kind.lineage[0] in ("generator", "coroutine", "async_generator"):
        return objects.memory.pointer(target + layout.generator_qualname - 8)
    if layout.minor < 11 or (layout.minor == 11 and layout.version.patch in (0, 1, 2, 3)):
        own = member(objects, target, 0) if kind.derives_from("module") else None
        found = objects.tables.get(own, "__name__") if own else None
        found = found or dict(objects.attributes(kind, target)).get("__name__")
        if isinstance(found, int):
            return found
    return inherited(objects, kind, "__name__")


def _descriptor(word):
    def write(objects, kind, address, depth):
        owner, name = objects.memory.words(address + objects.layout.head, 2)
        of = objects.types.read(owner).tp_name
        where = "" if of == "object" and objects.layout.minor >= 15 else f" of '{of}' objects"
        return f"<{word} '{name_text(objects, name)}'{where}>"

    return write


def _method_wrapper(objects, kind, address, depth):
    descriptor, owner = objects.memory.words(address + objects.layout.head, 2)
    name = name_text(objects, member(objects, descriptor, 8))
    return f"<method-wrapper '{name}' of {objects.types.of(owner).tp_name} object at 0x{owner:x}>"


def _wrapper(objects, kind, address, depth):
    """A ``staticmethod`` or ``classmethod``."""
    if objects.layout.minor < 10:
        return f"<{kind.full_name} object at 0x{address:x}>"
    return f"<{kind.name}({objects.text(member(objects, address, 0), depth + 1)})>"


_REFERENCE, _PROXY = Writer("reference", _weak("weakref")), Writer("reference", _weak("weakproxy"))
_SLOT = Writer("function", _descriptor("slot wrapper"))
_METHOD = Writer("function", _descriptor("method"))
_WRAPPER = Writer("function", _wrapper, container=True)
BY_NAME = {
    # name in Type.lineage: writer
    "functools.partial": Writer("function", _partial, cycle="...", container=True),
    "generator": Writer("generator", _generator("generator")),
    "coroutine": Writer("generator", _generator("coroutine")),
    "async_generator": Writer("generator", _generator("async_generator")),
    "code": Writer("code", _code),
    "weakref": _REFERENCE,
    "weakref.ReferenceType": _REFERENCE,
    "weakproxy": _PROXY,
    "weakref.ProxyType": _PROXY,
    "weakcallableproxy": _PROXY,
    "weakref.CallableProxyType": _PROXY,
    "wrapper_descriptor": _SLOT,
    "method_descriptor": _METHOD,
    "classmethod_descriptor": _METHOD,
    "member_descriptor": Writer("function", _descriptor("member")),
    "getset_descriptor": Writer("function", _descriptor("attribute")),
    "method-wrapper": Writer("function", _method_wrapper),
    "staticmethod": _WRAPPER,
    "classmethod": _WRAPPER,
}
