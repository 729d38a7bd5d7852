"""The table of tools: what each is called with, what it answers, and whether it only looks."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator

from .answers import Answer, Reply
from .sessions import Sessions


class Arguments(BaseModel):
    """The base of what tools are called with. An argument that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nul(cls, given: Any) -> Any:
        """No path, word or variable of the environment of a process can have one."""
        if _has_nul(given):
            raise ValueError("a text has the character NUL in it")
        return given

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, given: Any, about: ValidationInfo) -> Any:
        """``true`` would be taken for process 1."""
        if isinstance(given, bool) and cls.model_fields[str(about.field_name)].annotation is not bool:
            raise ValueError(f"{'true' if given else 'false'} does not fit here")
        return given


def _has_nul(data: Any) -> bool:
    if isinstance(data, dict):
        return any(map(_has_nul, [*data, *data.values()]))
    return any(map(_has_nul, data)) if isinstance(data, list) else isinstance(data, str) and "\0" in data


A = TypeVar("A", bound=Arguments)
Handler = Callable[[Sessions, Any], Awaitable[Reply]]


@dataclass(frozen=True)
class Tool:
    """One tool. ``looks``: it changes nothing of any program, and is there with ``--read-only`` too."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[Answer]
    run: Handler
    looks: bool


_AREAS = ("snapshots", "beginning", "breakpoints", "running", "looking", "operators", "tracing", "ending")
_TOOLS: dict[str, Tool] = {}


def tool(
    name: str, title: str, arguments: type[A], answer: type[Answer], *, looks: bool = False
) -> Callable[[Callable[[Sessions, A], Awaitable[Reply]]], Callable[[Sessions, A], Awaitable[Reply]]]:
    """Register a handler; its docstring is what clients are told of the tool."""

    def register(
        handler: Callable[[Sessions, A], Awaitable[Reply]],
    ) -> Callable[[Sessions, A], Awaitable[Reply]]:
        words = " ".join((handler.__doc__ or "").split())
        _TOOLS[name] = Tool(name, title, words, arguments, answer, handler, looks)
        return handler

    return register


def all_tools() -> dict[str, Tool]:
    """Every tool by its name, in the order in which clients are shown them."""
    for area in _AREAS:
        importlib.import_module(f"{__package__}.tools.{area}")
    return _TOOLS
