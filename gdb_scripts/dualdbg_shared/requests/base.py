"""What a request to gdb is: a named tuple that has the type of its answer."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, Tuple, TypeVar

Answer = TypeVar("Answer", covariant=True)

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda base: base


@dataclass_transform(frozen_default=True)
class Request(Tuple[Any, ...], Generic[Answer]):
    """A request whose fields are the annotations of its class. ``typing.NamedTuple`` is generic from Python 3.11 on.

    ``module`` is the module of ``dualdbg_engine`` that answers; gdb imports it at the first request. ``takes_long``:
    the answer may need the debug info of large libraries. ``is_constant``: it stays the same until the process runs
    another program.
    """

    # Without annotations: those would be fields.
    module = ""
    takes_long = False
    is_constant = False
    _fields = ()  # type: Tuple[str, ...]
    _defaults = {}  # type: Any
    answer_type = None  # type: Any

    def __init_subclass__(cls, module: str, **marks: bool) -> None:
        super().__init_subclass__()
        cls.module = module
        cls.answer_type = cls.__orig_bases__[0].__args__[0]  # type: ignore[attr-defined]
        for mark, value in marks.items():
            setattr(cls, mark, value)
        cls._fields = tuple(getattr(cls, "__annotations__", ()))
        cls._defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}
        for at, name in enumerate(cls._fields):
            setattr(cls, name, property(itemgetter(at)))

    @property
    def undone(self) -> bool:
        """Whether gdb undoes a call of a function of the target in which the target stops."""
        return False

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __new__(cls, *given, **named):
            values = {**cls._defaults, **dict(zip(cls._fields, given)), **named}
            if len(given) + len(named) > len(cls._fields) or values.keys() != set(cls._fields):
                raise TypeError("%s has the fields %s" % (cls.__name__, ", ".join(cls._fields)))
            return tuple.__new__(cls, (values[name] for name in cls._fields))

    def __repr__(self) -> str:
        pairs = ("%s=%r" % pair for pair in zip(self._fields, self))
        return "%s(%s)" % (type(self).__name__, ", ".join(pairs))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__
