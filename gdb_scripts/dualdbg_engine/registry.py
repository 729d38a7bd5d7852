"""Which function of this package answers a request: ``@answers(SomeRequest)`` says so of it.

The module of the function is imported when the session first sends one of its requests.
"""

from __future__ import annotations

import importlib

from dualdbg_shared.requests import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    from dualdbg_shared.requests.base import Request
    from typing_extensions import ParamSpec

    Answer = TypeVar("Answer")
    Fields = ParamSpec("Fields")

_functions: dict[str, tuple[Any, Callable[..., Any]]] = {}  # by the request's name


def answers(
    request: Callable[Fields, Request[Answer]],
) -> Callable[[Callable[Fields, Answer]], Callable[Fields, Answer]]:
    """Mark the function that answers a request: its arguments are the request's fields."""

    def mark(function: Callable[Fields, Answer]) -> Callable[Fields, Answer]:
        _functions[request.__name__] = request, function
        return function

    return mark


def answer(name: str, fields: list[Any]) -> Any:
    """Answer the request of this name. Raises KeyError for an unknown one."""
    module, _, kind = name.partition(".")
    if kind not in _functions:
        importlib.import_module("." + module, __package__)
    request, function = _functions[kind]
    return function(*codec.fields_of(request, fields))
