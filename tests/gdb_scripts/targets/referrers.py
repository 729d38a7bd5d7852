"""An object to which containers of every kind refer, with its reference count."""

import collections
import gc
import sys

from publishing import publish, stop


class Plain:
    pass


class Slotted:
    __slots__ = ("held",)


wanted = Plain()
holders = {
    "list": [1, wanted],
    "tuple": (wanted, 2),
    "dict": {"key": wanted},
    "key": {wanted: 1},
    "set": {wanted},
    "deque": collections.deque([0] * 100 + [wanted]),
    "instance": Plain(),
    "slots": Slotted(),
    "cell": (lambda kept: lambda: kept)(wanted).__closure__[0],
}
holders["instance"].held = wanted
holders["slots"].held = wanted
alone = [Plain()]
many = [[number] for number in range(500_000 if len(sys.argv) > 1 else 0)]
more = {
    "found": sorted(
        id(one) for one in gc.get_referrers(wanted) if not isinstance(one, type(sys._getframe()))
    ),
    "refcount": sys.getrefcount(wanted) - 1,
    "alone": sys.getrefcount(alone[0]) - 1,
    "main": id(globals()),
}
publish(
    more,
    wanted=id(wanted),
    alone=id(alone[0]),
    none=id(None),
    **{f"in_{k}": id(v) for k, v in holders.items()},
)
stop()
