"""Dictionaries, and what stands for one: their kinds in ``collections``, proxies, views of keys and values."""

from ..errors import Implausible
from .writer import Writer, member

MAX_SORTED = 20000
"""Entries of a Counter that are read to put the most frequent first; one with more is shown as it is kept."""


def _body(objects, pairs, total, depth):
    parts = [f"{objects.text(key, depth + 1)}: {objects.text(value, depth + 1)}" for key, value in pairs]
    # Entries may be added or removed while the table is half built, so the entries that were read are counted.
    return "{" + _with_rest(parts, total) + "}"


def _with_rest(parts, total):
    left = total - len(parts)
    return ", ".join(parts) + ("{}... {} more".format(", " if parts else "", left) if left > 0 else "")


def _pairs(objects, address):
    """``(pairs that are shown, how many there are)``."""
    total = objects.tables.used(address)
    return objects.tables.items(address, 0, objects.shown(total)), total


def _dict(objects, kind, address, depth):
    pairs, total = _pairs(objects, address)
    return _body(objects, pairs, total, depth)


def _dict_elements(objects, kind, address):
    return (
        _pair_child(objects),
        lambda s, n: objects.tables.items(address, s, n),
        objects.tables.used(address),
    )


def _pair_child(objects):
    def child(index, pair):
        key, value = pair
        return objects.text(key), objects.leaf(value)

    return child


def _defaultdict(objects, kind, address, depth):
    return _with_factory(objects, kind, address, _dict(objects, kind, address, depth), depth)


def _with_factory(objects, kind, address, body, depth=0):
    factory = member(objects, address, 32)  # behind the dict: its use, version, keys and values
    return "{}({}, {})".format(kind.name, objects.text(factory, depth + 1) if factory else "None", body)


def _defaultdict_again(objects, kind, address):
    return _with_factory(objects, kind, address, "{...}")


def _counter(objects, kind, address, depth):
    total = objects.tables.used(address)
    if not total:
        return f"{kind.name}()"
    pairs = list(objects.tables.items(address, 0, min(total, MAX_SORTED)))
    if total <= MAX_SORTED:
        try:
            pairs.sort(key=lambda pair: _comparable(objects, pair[1]), reverse=True)
        except (Implausible, TypeError):
            pass  # values that have no order: repr leaves that of the dictionary too
    return f"{kind.name}({_body(objects, pairs[: objects.shown(total)], total, depth)})"


def _comparable(objects, address):
    kind = objects.types.of(address)
    if kind.is_exactly("int") or kind.is_exactly("bool"):
        return objects.strings.integer(address)
    if kind.is_exactly("float"):
        return objects.strings.number(address)
    if kind.is_exactly("str"):
        return objects.strings.text(address, 0)
    raise Implausible(f"no number at 0x{address:x}")


# -- OrderedDict: an order of its own, in a list of nodes (Objects/odictobject.c) -------------------------------

_FIRST = 32  # od_first: behind the dict's use, version, keys and values


def _ordered_items(objects, address, start, count):
    """``count`` pairs from the ``start``-th on, in the order of the list. Raises Implausible where it is broken."""
    memory, node, keys = objects.memory, member(objects, address, _FIRST), []
    total = objects.tables.used(address)
    for index in range(min(total, start + count)):
        objects.target.budget.tick()
        if not node:
            raise Implausible(f"the order of the OrderedDict at 0x{address:x} cannot be read")
        key, _, following = memory.words(node, 3)
        if index >= start:
            keys.append(key)
        node = following
    values, missing = {}, set(keys)
    for key, value in objects.tables.items(address, 0, total):
        if not missing:
            break
        if key in missing:
            missing.discard(key)
            values[key] = value
    if missing:
        raise Implausible(f"the order of the OrderedDict at 0x{address:x} cannot be read")
    return [(key, values[key]) for key in keys]


def _ordered(objects, kind, address, depth):
    total = objects.tables.used(address)
    if not total:
        return f"{kind.name}()"
    pairs = _ordered_items(objects, address, 0, objects.shown(total))
    if objects.layout.minor >= 12:
        return f"{kind.name}({_body(objects, pairs, total, depth)})"
    parts = [f"({objects.text(key, depth + 1)}, {objects.text(value, depth + 1)})" for key, value in pairs]
    return f"{kind.name}([{_with_rest(parts, total)}])"


def _ordered_elements(objects, kind, address):
    return (
        _pair_child(objects),
        lambda s, n: _ordered_items(objects, address, s, n),
        objects.tables.used(address),
    )


# -- what stands for a dictionary ------------------------------------------------------------------


def _proxy(objects, kind, address, depth):
    return f"mappingproxy({objects.text(member(objects, address, 0), depth + 1)})"


def _view(part):
    """The writer of a view: ``part`` is 0 for keys, 1 for values, None for items."""

    def items(objects, address, start, count):
        table = member(objects, address, 0)
        ordered = objects.types.of(table).derives_from("collections.OrderedDict")
        if ordered:
            return _ordered_items(objects, table, start, count)
        return objects.tables.items(table, start, count)

    def total_of(objects, address):
        return objects.tables.used(member(objects, address, 0))

    def write(objects, kind, address, depth):
        total = total_of(objects, address)
        texts = []
        for pair in items(objects, address, 0, objects.shown(total)):
            words = [
                objects.text(one, depth + 1) for one in (pair if part is None else pair[part : part + 1])
            ]
            texts.append("({}, {})".format(*words) if part is None else words[0])
        return f"{kind.name}([{_with_rest(texts, total)}])"

    def elements(objects, kind, address):
        def child(index, pair):
            if part is None:
                return objects.text(pair[0]), objects.leaf(pair[1])
            return f"[{index}]", objects.leaf(pair[part])

        return child, lambda s, n: items(objects, address, s, n), total_of(objects, address)

    return Writer("view", write, elements)


def _chain(objects, kind, address, depth):
    maps = dict(objects.attributes(kind, address)).get("maps")
    if not isinstance(maps, int) or objects.types.of(maps).tp_name != "list":
        raise Implausible(f"no ChainMap at 0x{address:x}")
    text = objects.text(maps, depth)
    return f"{kind.name}({text[1:-1]})"


def _data(objects, kind, address, depth):
    data = dict(objects.attributes(kind, address)).get("data")
    return objects.text(data, depth + 1) if isinstance(data, int) else "<no data>"


DICT = Writer("dict", _dict, _dict_elements, cycle="{...}")
_ORDERED = Writer("dict", _ordered, _ordered_elements, cycle="...")
_VIEWS = (("keys", _view(0)), ("values", _view(1)), ("items", _view(None)))
BY_NAME = {
    # name in Type.lineage: writer
    "collections.OrderedDict": _ORDERED,
    "collections.defaultdict": Writer("dict", _defaultdict, _dict_elements, cycle=_defaultdict_again),
    "class collections.Counter": Writer("dict", _counter, _dict_elements),
    "class collections.ChainMap": Writer("object", _chain, container=True),
    "class collections.UserDict": Writer("object", _data, cycle="{...}", container=True),
    "class collections.UserList": Writer("object", _data, cycle="[...]", container=True),
    "class collections.UserString": Writer("object", _data, container=True),
    "mappingproxy": Writer("dict", _proxy, container=True),
    **{prefix + name: writer for prefix in ("dict_", "odict_") for name, writer in _VIEWS},
}
