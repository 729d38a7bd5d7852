"""The C++ parameters of an ATen kernel, from the operator's schema: what tells overloads of one name apart.

The rules are those of ``torchgen/api/native.py`` and ``torchgen/api/cpp.py``; the types are written as the
demangler writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..names import cxx_names

_BASE = {
    "int": "long",
    "float": "double",
    "bool": "bool",
    "str": "std::basic_string_view<char, std::char_traits<char> >",
    "Generator": "at::Generator",
    "ScalarType": "c10::ScalarType",
    "Layout": "c10::Layout",
    "Device": "c10::Device",
    "DeviceIndex": "signed char",
    "MemoryFormat": "c10::MemoryFormat",
    "Dimname": "at::Dimname",
    "Storage": "c10::Storage",
    "Stream": "c10::Stream",
    "QScheme": "c10::QScheme",
    "Tensor": "at::Tensor",
    "Scalar": "c10::Scalar",
}
# In structured kernels (torchgen/api/structured.py).
_STRUCTURED = {
    "Tensor?": "at::OptionalTensorRef",
    "Tensor?[]": "c10::IListRef<at::OptionalTensorRef> const&",
    "DimVector": "c10::SmallVector<long, 5u>",
}
_BY_REFERENCE = {"Tensor", "Scalar", "Tensor?", "Scalar?", "Tensor?[]"}
# Spellings of one type: they differ by release of PyTorch and by demangler, and a debug build leaves aliases.
_SYNONYMS = (
    (re.compile(r"\bc10::(optional|string_view|basic_string_view)\b"), r"std::\1"),
    (re.compile(r"std::basic_string_view<char(?:,std::char_traits<char>)?>"), "std::string_view"),
    (re.compile(r"\bc10::(Generator|Tensor)\b"), r"at::\1"),
    (re.compile(r"std::optional<c10::ArrayRef<(long|c10::SymInt)>>"), r"c10::OptionalArrayRef<\1>"),
    (re.compile(r"std::__\w+::"), "std::"),
    # Some kernels take their outputs, and lists of tensors, in the same way as structured kernels do.
    (re.compile(r"\bat::Tensor&"), "at::Tensor const&"),
    (re.compile(r"c10::IListRef<at::Tensor>const&"), "c10::ArrayRef<at::Tensor>"),
    (re.compile(r"(\d)u?l\b"), r"\1"),
)


@dataclass(frozen=True)
class Argument:
    """One argument of a schema: its type without annotation (``Tensor[]``), and whether the call writes to it."""

    type: str
    name: str
    written: bool


class Named(Protocol):
    """Something with a demangled name, such as a symbol of a library."""

    @property
    def name(self) -> str:
        """Its demangled name."""


AnyNamed = TypeVar("AnyNamed", bound=Named)


def arguments(schema: str) -> list[Argument]:
    """The arguments of a schema (``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``)."""
    start = schema.index("(") + 1
    found = []
    for part in _split(schema[start : _closing(schema, start)]):
        if part == "*":
            continue
        typed = re.fullmatch(r"(\w+)(\(([^)]*)\))?(\[\d*\])?(\?)?(\[\d*\])?(\?)? +(\w+)(=.*)?", part)
        if typed is None:
            continue
        base, _, annotation, size, optional, outer, last, name, _ = typed.groups(default="")
        kind = base + ("[]" if size else "") + optional + ("[]" if outer else "") + last
        fixed = f"{base}[{size[1:-1]}]" if base == "bool" and size else kind
        found.append(Argument(fixed, name, "!" in annotation))
    return found


def structured_arguments(schema: str, precomputed: Sequence[tuple[str, str]]) -> list[Argument]:
    """What the structured kernel of a schema is given (torchgen/api/structured.py, ``impl_arguments``).

    ``precomputed`` as in :class:`~.native_functions.NativeFunction`.
    """
    found: list[Argument] = []
    instead = dict(precomputed)
    added = arguments(f"f({instead['']}) -> ()") if "" in instead else []
    for argument in arguments(schema):
        if argument.written:
            found += added
            added = []
        if argument.name in instead:
            found += arguments(f"f({instead[argument.name]}) -> ()")
        else:
            found.append(argument)
    return found


def structured_parameters(given: Sequence[Argument]) -> tuple[str, ...]:
    """The parameters of a structured kernel that is given these, in the spelling that is compared."""
    return tuple(
        normal(_STRUCTURED.get(argument.type) or _parameter(argument, symbolic=False)) for argument in given
    )


def returns(schema: str) -> list[tuple[str, bool]]:
    """The results of a schema: the type of each without annotation, and whether it is an argument that was written."""
    text = schema.rpartition("->")[2].strip()
    if text.startswith("("):
        text = text[1:-1]
    found = []
    for part in _split(text):
        match = re.match(r"(\w+)(\(([^)]*)\))?(\[\d*\])?(\?)?", part)
        if match is not None:
            base, _, annotation, size, optional = match.groups(default="")
            found.append((base + ("[]" if size else "") + optional, "!" in annotation))
    return found


def kernel_parameters(schema: str, kernel: str) -> tuple[str, ...]:
    """The parameters of the kernel named ``kernel`` (as native_functions.yaml writes it) for a schema."""
    symbolic = kernel.endswith("_symint") or "_symint" in kernel
    return tuple(_parameter(argument, symbolic) for argument in arguments(schema))


def matching(functions: Sequence[AnyNamed], wanted: Sequence[tuple[str, ...]]) -> list[AnyNamed]:
    """Those of the functions whose parameters are one of the ``wanted`` lists.

    All of the functions when no parameters match: a build may spell a type in its own way, and a stop too many is
    better than a stop too few.
    """
    keys = {tuple(map(normal, parameters)) for parameters in wanted}
    found = [function for function in functions if parameters_of(function.name) in keys]
    return found or list(functions)


def result_of(schema: str, symbolic: bool) -> str | None:
    """The C++ type of what a function with this schema returns, ``void`` for nothing; None where it is not known.

    ``symbolic``: the function has SymInt where the schema has; else a few have it all the same.
    """
    kinds = [_result(kind, written, symbolic) for kind, written in returns(schema)]
    if None in kinds:
        return None
    known = [kind for kind in kinds if kind is not None]
    if len(known) == 1:
        return known[0]
    return f"std::tuple<{', '.join(known)}>" if known else "void"


def _result(kind: str, written: bool, symbolic: bool) -> str | None:
    if written:
        return "at::Tensor&" if kind == "Tensor" else None
    if kind.endswith("[]"):
        inner = _result(kind[:-2], False, symbolic)
        return f"std::vector<{inner}, std::allocator<{inner}> >" if inner == "at::Tensor" else None
    if kind in ("Tensor", "Scalar", "Storage", "Generator", "bool", "float", "int", *_BY_ITSELF):
        return _type(kind, symbolic)
    return "c10::SymInt" if kind == "SymInt" and symbolic else None


_BY_ITSELF = ("ScalarType", "Layout", "Device", "MemoryFormat")


def parameter_types(demangled: str) -> list[str]:
    """The types of the parameters of a demangled function name, as they are written there."""
    text = cxx_names.parse(demangled).parameters or "()"
    return list(_split(text[1:-1]))


def parameters_of(demangled: str) -> tuple[str, ...]:
    """The parameters of a demangled function name, normalised for comparison."""
    return tuple(map(normal, parameter_types(demangled)))


def normal(type_name: str) -> str:
    """A type in the one spelling that is compared."""
    text = re.sub(r"\s*([<>,&*])\s*", r"\1", type_name.strip())
    for pattern, replacement in _SYNONYMS:
        text = pattern.sub(replacement, text)
    return text


def _parameter(argument: Argument, symbolic: bool) -> str:
    kind = argument.type
    if kind in _BY_REFERENCE:
        return f"{_type(kind, symbolic)}{'&' if argument.written else ' const&'}"
    return _type(kind, symbolic)


def _type(kind: str, symbolic: bool) -> str:
    array = re.fullmatch(r"bool\[(\d+)\]", kind)
    if array is not None:
        return f"std::array<bool, {array[1]}ul>"
    if kind == "Tensor?[]":
        return "c10::List<std::optional<at::Tensor> >"
    if kind.endswith("?"):
        inner = _type(kind[:-1], symbolic)
        if kind[:-1] in ("int[]", "SymInt[]"):
            return inner.replace("c10::ArrayRef", "c10::OptionalArrayRef", 1)
        return f"std::optional<{inner}>"
    if kind.endswith("[]"):
        return f"c10::ArrayRef<{_type(kind[:-2], symbolic)}>"
    if kind == "SymInt":
        return "c10::SymInt" if symbolic else "long"
    return _BASE.get(kind, kind)


def _closing(text: str, start: int) -> int:
    """The index at which the bracket before ``start`` is closed."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return len(text)


def _split(text: str) -> Iterator[str]:
    """The parts between commas outside of brackets."""
    depth = start = 0
    for at, letter in enumerate(text):
        if letter == ">" and text[at - 1 : at] == "-":
            continue
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()
