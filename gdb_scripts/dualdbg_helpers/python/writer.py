"""How a type of Python is written: what each module of writers has for its types, and what they share."""

from ..errors import Implausible
from .names import MAX_NAME


class Writer:
    """``text(objects, kind, address, depth)`` writes an object; ``elements`` names its children, if it has any.

    ``cycle`` is the text for a container inside itself, or a function of ``(objects, kind, address)`` that writes it;
    ``container`` is false for objects that cannot nest.
    """

    __slots__ = ("category", "container", "cycle", "elements", "text")

    def __init__(self, category, text, elements=None, cycle="...", container=False):
        self.category = category
        self.text = text
        self.elements = elements
        self.cycle = cycle
        self.container = container or elements is not None

    def cycle_text(self, objects, kind, address):
        """The text for the container at ``address`` inside itself."""
        return self.cycle if isinstance(self.cycle, str) else self.cycle(objects, kind, address)


def quoted(text, length):
    """``repr`` of a string of which ``text`` was read; a mark when it is longer."""
    return repr(text) + (f"... {length - len(text)} more" if length > len(text) else "")


def size(objects, address):
    """``ob_size`` of the object at ``address``, for types that keep their length there."""
    found = objects.memory.i64(address + objects.layout.head)
    if found < 0:
        raise Implausible(f"a negative length at 0x{address:x}")
    return found


def index_child(objects):
    """Names the elements of a sequence, which are addresses of objects."""
    return lambda index, address: (f"[{index}]", objects.leaf(address))


def tuple_items(objects, address, start, count):
    """The addresses of ``count`` elements of a tuple from number ``start`` on."""
    return objects.memory.words(address + objects.layout.tuple_items + 8 * start, count)


def member(objects, address, offset):
    """The object whose address lies ``offset`` bytes behind the head of the one at ``address``; 0 for none."""
    return objects.memory.pointer(address + objects.layout.head + offset)


def class_entry(objects, kind, name):
    """The address of what the class ``kind`` itself has under ``name``; None without."""
    table = objects.memory.pointer(kind.address + objects.layout.tp_dict)
    return objects.tables.get(table, name) if table else None


def inherited(objects, kind, name):
    """The address of what the class ``kind`` or the first of its bases has under ``name``; None without."""
    found = (class_entry(objects, base, name) for base in objects.types.mro(kind))
    return next((place for place in found if place is not None), None)


def name_text(objects, address):
    """The ``str`` at ``address`` as a name in a text, cut where it is absurdly long."""
    return objects.strings.text(address, MAX_NAME)


def builtin_name(objects, address):
    """The ``__name__`` of the built-in function or method at ``address``."""
    definition = objects.memory.pointer(address + objects.layout.head)
    return objects.memory.c_string(objects.memory.pointer(definition), MAX_NAME).decode("utf-8", "replace")
