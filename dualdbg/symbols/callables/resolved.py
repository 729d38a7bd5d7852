"""What is known of a Python callable's native functions: plain data. ``native_entries.py`` finds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NativeEntry:
    """One native function behind a callable.

    ``role``: ``function`` (the code itself), ``kernel`` (of an operator), ``caster`` (unpacks the arguments for
    one overload), ``dispatcher`` (shared by many callables; of torch.ops ``packet dispatcher``
    and ``overload dispatcher``), ``get``, ``set``, or the name of a type slot.
    ``address`` is the link-time address in ``library``; ``function`` its demangled name, where the library tells;
    ``spec`` is what to type to stop there. ``note``: what calls that breakpoint may miss.
    """

    role: str
    library: str
    address: int
    function: str | None
    spec: str
    signature: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class PythonSource:
    """Where a callable, or a part of it, is written in Python; ``name`` is the one for a ``py:`` spec.

    ``role``: what it is of a registered operator, by the name under which torch.library keeps it.
    """

    file: str
    line: int
    name: str
    role: str | None = None


@dataclass(frozen=True)
class Registered:
    """A kernel that was registered: for which dispatch key, where that is written, and how it may be called.

    An alias such as ``Autograd[alias]`` stands for many keys. ``signature`` and ``calls`` are the dispatcher's texts.
    """

    key: str
    place: str
    signature: str | None
    calls: tuple[str, ...]


@dataclass(frozen=True)
class TableRow:
    """What a call with a dispatch key comes to: the place of the registration, and why that one.

    ``how`` is the dispatcher's word: ``kernel``, ``backend fallback``. ``falls_through``: the key is passed over.
    """

    key: str
    place: str
    how: str
    falls_through: bool


@dataclass(frozen=True)
class RegisteredKernel:
    """A kernel with the dispatch keys that lead to it: native functions, or Python ones, the called one first."""

    keys: tuple[str, ...]
    entries: tuple[NativeEntry, ...]
    python: tuple[PythonSource, ...]


@dataclass(frozen=True)
class Registration:
    """An overload, as PyTorch's dispatcher has it: its schema and the place that registered it, what was registered
    for which key, and what each key comes to.
    """

    name: str
    schema: str
    place: str | None
    registered: tuple[Registered, ...]
    table: tuple[TableRow, ...]
    kernels: tuple[RegisteredKernel, ...]


@dataclass(frozen=True)
class Resolved:
    """The answer for one name. ``error`` says why there is none.

    ``entries`` are ordered by what a user wants to stop at. ``operator`` is the PyTorch operator that the callable
    stands for (``aten::mm``), whose own kernels ``operators.py`` names; ``overloads`` are its schemas; ``binds``
    says whether a breakpoint on its name finds its kernels. Of one that PyTorch's tables do not have, ``registrations``
    are what the dispatcher knows, by overload. ``near``: where there is no such operator, those of its namespace with a
    name like it; None where the namespace has none at all.
    """

    name: str
    kind: str | None
    entries: tuple[NativeEntry, ...]
    operator: str | None
    overloads: tuple[str, ...]
    python: PythonSource | None
    error: str | None
    binds: bool = False
    registrations: tuple[Registration, ...] = ()
    near: tuple[str, ...] | None = None
