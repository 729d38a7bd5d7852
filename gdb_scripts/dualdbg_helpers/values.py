"""A decoded value: text for people, structure for front ends."""


class Value:
    """One value that was read.

    ``kind`` is its kind in PyTorch's or Python's words ("Tensor", "Int", "dict"). ``text`` is the whole of it for
    people, ``data`` its structure in plain JSON types. ``children`` is a list of ``(name, Value)``, None for what is
    no container. ``total`` is how many children it has; ``children`` may have fewer.
    """

    __slots__ = ("address", "children", "data", "kind", "text", "total", "type")

    def __init__(self, kind, text, data=None, children=None, total=None, address=None, type=None):
        self.kind = kind
        self.text = text
        self.data = data
        self.children = children
        self.total = total
        self.address = address
        self.type = type

    @classmethod
    def unreadable(cls, address):
        """What stands for a value whose memory cannot be read."""
        return cls("unreadable", f"<unreadable 0x{address:x}>", address=address)

    @classmethod
    def invalid(cls, why, address=None):
        """The value of a place that does not hold what was expected; ``why`` gives the reason."""
        return cls("invalid", f"<{why}>", address=address)

    def structure(self):
        """The value as nested dicts and lists of plain JSON types; members without a value are left out."""
        found = {"kind": self.kind, "text": self.text}
        if self.type is not None:
            found["type"] = self.type
        if self.address is not None:
            found["address"] = f"0x{self.address:x}"
        if self.data is not None:
            found["data"] = self.data
        if self.children is not None:
            found["children"] = [dict(child.structure(), name=name) for name, child in self.children]
            found["total"] = len(self.children) if self.total is None else self.total
        return found


def join(parts, shown, total, opening, closing, single=""):
    """``opening`` + parts + ``closing``, with a mark when only ``shown`` of ``total`` elements are there."""
    text = ", ".join(parts)
    if shown < total:
        text += "{}... {} more".format(", " if parts else "", total - shown)
    elif total == 1:
        text += single
    return opening + text + closing
