"""Tells from the code of a test whether it leads to the start of a process.

The code of a test and of its fixtures is followed through every function and class of ``tests`` and ``dualdbg`` that
it names. A class is followed as a whole: which object a method is called of is not known before the test runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType

_STARTING_MODULES = ("subprocess", "pexpect", "pty", "multiprocessing")
_STARTING_CALLS = ("create_subprocess_exec", "create_subprocess_shell", "fork", "forkpty", "posix_spawn")


def starts_processes(roots: Iterable[object]) -> bool:
    """Whether the code of ``roots``, functions or classes, can lead to the start of a process."""
    return any(_starts_one(function) for function in _reachable(roots))


def _reachable(roots: Iterable[object]) -> Iterator[FunctionType]:
    waiting = [function for root in roots for function in _plain(root)]
    seen: set[FunctionType] = set()
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen.add(function)
            yield function
            waiting += _next_functions(function)


@functools.cache
def _next_functions(function: FunctionType) -> list[FunctionType]:
    return [found for named in _named_objects(function) for found in _followed(named)]


@functools.cache
def _named_objects(function: FunctionType) -> list[object]:
    """What the names in the code mean: globals, and attributes of modules of ours that are globals."""
    names = _names(function)
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [vars(one) for one in found if isinstance(one, ModuleType) and _is_ours(one.__name__)]
    return found + [module[name] for module in modules for name in names if name in module]


@functools.cache
def _names(function: FunctionType) -> frozenset[str]:
    return frozenset(name for code in _codes(function.__code__) for name in code.co_names)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _followed(named: object) -> list[FunctionType]:
    """The functions to follow for an object: the function that it is or wraps, or those of a class."""
    if isinstance(named, type):
        ours = (base for base in named.__mro__ if _is_ours(base.__module__))
        return [one for base in ours for member in vars(base).values() for one in _plain(member)]
    return [one for one in _plain(named) if _is_ours(one.__module__ or "")]


def _plain(member: object) -> list[FunctionType]:
    """The functions behind a function, a method, a property or a decorator's result."""
    if isinstance(member, property):
        return [one for part in (member.fget, member.fset) for one in _plain(part)]
    if isinstance(member, functools.cached_property):
        return _plain(member.func)
    if isinstance(member, staticmethod | classmethod):
        return _plain(member.__func__)
    if callable(member):
        member = inspect.unwrap(member)
    member = getattr(member, "__func__", member)
    return [member] if isinstance(member, FunctionType) else []


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("tests", "dualdbg")


@functools.cache
def _starts_one(function: FunctionType) -> bool:
    named = _named_objects(function)
    modules = {
        one.__name__ if isinstance(one, ModuleType) else getattr(one, "__module__", None) for one in named
    }
    return not (_names(function) | modules).isdisjoint({*_STARTING_MODULES, *_STARTING_CALLS})
