"""The arguments of a function without debug info, by the types in its mangled name: where they are, and their texts.

Sources: System V ABI for AMD64, 3.2.3 (classes, registers, the stack); Itanium C++ ABI, 3.1.2.3 (an object whose copy
or destructor is not trivial is passed by its address) and 3.1.3 (a result of that kind is made where a hidden first
argument points to; then comes ``this``). That a class is trivial and how large it is, is known of the classes below
alone; tests/gdb_scripts/test_passed.py asks the compiler.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, Union

from .errors import Implausible
from .number_texts import bool_text, complex_text, double_text, float_text, half_text, number_text, x87_text
from .python.objects import Objects
from .torch.dispatch import DispatchKeys
from .torch.ivalue import BriefIValues, IValues
from .torch.scalars import Scalars
from .torch.schema import Operators
from .torch.symint import SymInts
from .torch.tensor import Tensors
from .torch.tensor_text import TensorText

_NAME = re.compile(r"\w+(?:::\w+)*<")
EXPRESSION = re.compile(r"\bdecltype ?\((?!nullptr\))|[{}]|->")  # its type is not read


def template(kind: str) -> Optional[Tuple[str, str]]:
    """The name and the arguments of a type that is an instance of a template, and nothing within one: what
    ``C::value_type`` is (a number, a reference, a class) no name tells.
    """
    match = _NAME.match(kind)
    if match is None or EXPRESSION.search(kind):
        return None
    depth, nested = 0, 0
    for at, letter in enumerate(kind):
        nested += (letter in "([") - (letter in ")]")
        depth += 0 if nested else (letter == "<") - (letter == ">")
        if letter == ">" and not depth and not nested:
            return (kind[: match.end() - 1], kind[match.end() : at]) if at + 1 == len(kind) else None
    return None


INTEGER, SSE = "integer", "sse"
_STACK = "stack"  # a word that never is in a register
INTEGERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
FLOATS = 8  # xmm0 to xmm7

MOST_ELEMENTS = 20
MOST_TEXT = 200  # characters of a string


class Value(NamedTuple):
    """A type that is passed by value: its size, its alignment, the class of each word, and how bytes become text."""

    size: int
    align: int
    words: Tuple[str, ...]
    text: Callable[[Any, bytes], str]

    @property
    def in_memory(self) -> bool:
        """Whether it is passed on the stack: what has more than two words is."""
        return len(self.words) > 2


class Object(NamedTuple):
    """A class that is passed by address. ``size`` is that of an element of an array; None where it is not known."""

    size: Optional[int]
    text: Callable[[Any, int], str]
    align: int = 8


class Registers(NamedTuple):
    """An argument in registers: for each of its words the name of a general one, or the number of a vector register.

    ``piece``: how many bytes of it each has.
    """

    words: Tuple[Union[str, int], ...]
    piece: int = 8


class OnStack(NamedTuple):
    """An argument on the stack, this many bytes above the stack pointer of the caller at the call."""

    offset: int


class Copied(NamedTuple):
    """An argument in memory, whose address is here."""

    where: Union[Registers, OnStack]


Place = Union[Registers, OnStack, Copied]


# -- types ------------------------------------------------------------------------------------------


def _enum(name: str) -> Callable[[Any, bytes], str]:
    def text(target: Any, data: bytes) -> str:
        found = str(target.decoder(Scalars).enumerator(name, int.from_bytes(data, "little")))
        return found[len("torch.") :] if found.startswith("torch.") else found

    return text


def _device(target: Any, data: bytes) -> str:
    kind, index = struct.unpack("<bb", data)
    name = str(target.decoder(Scalars).enumerator("c10::DeviceType", kind))
    return name if index < 0 else "%s:%d" % (name, index)


def _tensor(target: Any, address: int) -> str:
    return str(
        target.decoder(TensorText).summary(target.decoder(Tensors).read(target.memory.pointer(address)))
    )


def _tensor_if_any(target: Any, address: int) -> str:
    found = target.decoder(Tensors).read(target.memory.pointer(address))
    return _tensor(target, address) if found.defined else _NOTHING


def _operator(target: Any, address: int) -> str:
    operators = target.decoder(Operators)
    definition = operators.of_handle(address)
    return str(operators.schema(definition) or operators.name(definition))


def _generator(target: Any, address: int) -> str:
    pointer = target.memory.pointer(address)
    if not pointer:
        return "null"
    found = target.decoder(IValues).payload("Generator", address)
    return "%s 0x%x %s" % (found.type, pointer, found.data["device"])


def _storage(target: Any, address: int) -> str:
    pointer = target.memory.pointer(address)
    if not pointer:
        return "null"
    found = target.decoder(Tensors).read_storage(pointer)
    size = "?" if found.nbytes is None else found.nbytes
    return "0x%x of %s bytes at 0x%x on %s" % (pointer, size, found.data, found.device)


_NUMBERS = {
    "char": "<b", "signed char": "<b", "unsigned char": "<B", "short": "<h", "unsigned short": "<H", "int": "<i",
    "wchar_t": "<i", "char8_t": "<B", "char16_t": "<H", "char32_t": "<I",
    "unsigned int": "<I", "long": "<q", "unsigned long": "<Q", "long long": "<q", "unsigned long long": "<Q",
}  # fmt: skip
# Of PyTorch, with their sizes (c10/core, ATen/core/jit_type_base.h, torch/csrc/autograd/variable.h).
_ENUMS = {
    "c10::ScalarType": 1, "c10::Layout": 1, "c10::MemoryFormat": 1, "c10::DeviceType": 1, "c10::QScheme": 1,
    "c10::BackendComponent": 1, "c10::DispatchKey": 2, "c10::TypeKind": 4, "torch::autograd::CreationMeta": 1,
}  # fmt: skip
_VALUES: Dict[str, Value] = {
    "bool": Value(1, 1, (INTEGER,), bool_text),
    "float": Value(4, 4, (SSE,), float_text),
    "double": Value(8, 8, (SSE,), double_text),
    "_Float16": Value(2, 2, (SSE,), half_text),
    "long double": Value(16, 16, (_STACK,) * 3, x87_text),  # class X87: on the stack
    "float _Complex": Value(8, 4, (SSE,), complex_text(4)),
    "double _Complex": Value(16, 8, (SSE, SSE), complex_text(8)),
    "decltype(nullptr)": Value(8, 8, (INTEGER,), lambda target, data: "nullptr"),
    "c10::Half": Value(2, 2, (INTEGER,), half_text),
    "c10::complex<float>": Value(8, 8, (SSE,), complex_text(4)),
    "c10::complex<double>": Value(16, 16, (SSE, SSE), complex_text(8)),
    "std::complex<float>": Value(8, 4, (SSE,), complex_text(4)),
    "std::complex<double>": Value(16, 8, (SSE, SSE), complex_text(8)),
    "c10::Device": Value(2, 1, (INTEGER,), _device),
    "c10::DispatchKeySet": Value(
        8,
        8,
        (INTEGER,),
        lambda target, data: target.decoder(DispatchKeys).text(int.from_bytes(data, "little")),
    ),
    **{
        name: Value(struct.calcsize(code), struct.calcsize(code), (INTEGER,), number_text(code))
        for name, code in _NUMBERS.items()
    },
    **{name: Value(size, size, (INTEGER,), _enum(name)) for name, size in _ENUMS.items()},
}
_OBJECTS: Dict[str, Object] = {
    "at::Tensor": Object(8, _tensor),
    "at::TensorBase": Object(8, _tensor),
    "c10::Scalar": Object(32, lambda target, address: target.decoder(Scalars).text(address), 16),
    "at::OptionalTensorRef": Object(8, _tensor_if_any),
    "c10::SymInt": Object(8, lambda target, address: str(target.decoder(SymInts).read(address))),
    "c10::IValue": Object(16, lambda target, address: target.decoder(BriefIValues).read(address).text),
    "at::Generator": Object(8, _generator),
    "c10::Storage": Object(8, _storage),
    "c10::OperatorHandle": Object(16, _operator),
    "_object": Object(None, lambda target, address: target.decoder(Objects).text(address)),
}
_NOTHING = "nullopt"
_STRING = re.compile(r"std::(?:__\w+::)?basic_string_view<char, std::char_traits<char> ?>$")
_ALLOCATED = (
    (
        re.compile(
            r"\bstd::(?:__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>"
        ),
        "std::string",
    ),
    (re.compile(r"\bstd::vector<([^<>]*), std::allocator<\1 ?> ?>"), r"std::vector<\1>"),
)
# Classes of libstdc++ and of PyTorch whose copy or destructor is not trivial, whatever is in them.
_BY_ADDRESS = re.compile(
    r"std::(?:__\w+::)?(?:basic_string|vector|list|deque|map|multimap|set|multiset|unordered_map|unordered_multimap"
    r"|unordered_set|unordered_multiset|function|shared_ptr|weak_ptr|unique_ptr|basic_ostream|basic_istream"
    r"|basic_\w*stringstream|forward_list)$|c10::(?:intrusive_ptr|weak_intrusive_ptr|SmallVector|List|Dict)$"
)
_CLASSES_BY_ADDRESS = ("std::any", "std::exception_ptr", "std::thread")
_STD_STRING = re.compile(
    r"std::(__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>$"
)
_VECTOR = re.compile(r"std::vector<(.*), std::allocator<\1 ?> ?>$")
_ADDRESSES = ("__gnu_cxx::__normal_iterator", "std::reference_wrapper")
_ALIASES = (
    (re.compile(r"\bstd::(?:__\w+::)?basic_string_view<char, std::char_traits<char> ?>"), "string_view"),
    (re.compile(r"\bc10::ArrayRef<long>"), "IntArrayRef"),
    (re.compile(r"\bc10::ArrayRef<c10::SymInt>"), "SymIntArrayRef"),
    (re.compile(r"\bc10::ArrayRef<at::Tensor>"), "TensorList"),
    (re.compile(r"\bc10::IListRef<at::Tensor>"), "ITensorListRef"),
    (re.compile(r"\bc10::OptionalArrayRef<long>"), "OptionalIntArrayRef"),
    (re.compile(r"\bc10::OptionalArrayRef<c10::SymInt>"), "OptionalSymIntArrayRef"),
    (re.compile(r"\b_object\b"), "PyObject"),
    (re.compile(r"\bstd::vector<c10::IValue, std::allocator<c10::IValue> ?>"), "Stack"),
    *_ALLOCATED,
    (re.compile(r"\b(?:c10|at|std)::"), ""),
    (re.compile(r" const&$"), ""),
    (re.compile(r" >"), ">"),
)


def type_text(kind: str) -> str:
    """A type as PyTorch's sources write it: ``Tensor``, ``optional<ScalarType>``, ``IntArrayRef``."""
    for pattern, word in _ALIASES:
        kind = pattern.sub(word, kind)
    return kind


def written_text(kind: str) -> str:
    """A type as it is written in C++, but for what nobody writes: allocators, traits."""
    for pattern, word in _ALLOCATED:
        kind = pattern.sub(word, kind)
    return kind


def value_of(kind: str) -> Optional[Value]:
    """How a type is passed by value; None where it is an object, or not known."""
    kind = _plain(kind)
    known = _VALUES.get(kind)
    if known is not None:
        return known
    if EXPRESSION.search(kind) and not kind.endswith(("*", "&")):
        return None
    if kind.endswith((")", "]", "::*")):
        return None  # pointers and references to functions, arrays and members
    if kind.endswith(("*", "&")):
        return Value(
            8, 8, (INTEGER,), lambda target, data: _pointed(target, kind, int.from_bytes(data, "little"))
        )
    if _STRING.match(kind):
        return Value(16, 8, (INTEGER, INTEGER), _string)
    instance = template(kind)
    if instance is None:
        return None
    outer, inner = instance
    if outer in _ADDRESSES:
        return Value(8, 8, (INTEGER,), _address)
    if outer in ("c10::ArrayRef", "std::initializer_list"):
        return Value(16, 8, (INTEGER, INTEGER), lambda target, data: _array(target, inner, data))
    if outer == "c10::IListRef" and inner == "at::Tensor":
        return Value(24, 8, (INTEGER,) * 3, _list_ref)
    if outer == "c10::OptionalArrayRef":
        return _optional(value_of("c10::ArrayRef<%s>" % inner))
    if outer == "std::optional":
        return _optional(value_of(inner))
    if outer == "std::array" and re.match(r"bool, \d+ul$", inner):
        return _flags(int(inner[len("bool, ") : -len("ul")]))
    return None


def object_of(kind: str) -> Optional[Object]:
    """How an object is read whose address is passed; None for any other type."""
    kind = _plain(kind)
    if kind in _OBJECTS:
        return _OBJECTS[kind]
    if kind in _CLASSES_BY_ADDRESS:
        return Object(None, _address_text)
    instance = template(kind)
    if instance is None:
        return None
    outer, inner = instance
    string, vector = _STD_STRING.match(kind), _VECTOR.match(kind)
    if string is not None and string.group(1):
        return Object(32, _std_string)
    if vector is not None and vector.group(1) != "bool" and _reader(vector.group(1)) is not None:
        part = vector.group(1)
        return Object(24, lambda target, address: _std_vector(target, part, address))
    held = object_of(inner) if outer == "std::optional" else None
    if held is not None and held.size is None:
        return Object(None, _address_text)
    if held is not None and held.size is not None:
        size, read = held.size, held.text

        def text(target: Any, address: int) -> str:
            return read(target, address) if _engaged(target.memory.u8(address + size)) else _NOTHING

        return Object(-(-(size + 1) // held.align) * held.align, text, held.align)
    if outer == "c10::SmallVector":
        part = inner.rpartition(",")[0]
        return Object(None, lambda target, address: _small_vector(target, part, address))
    if outer in ("c10::List", "c10::Dict"):
        tag = "GenericList" if outer == "c10::List" else "GenericDict"
        return Object(8, lambda target, address: target.decoder(IValues).payload(tag, address).text)
    return Object(None, _address_text) if _BY_ADDRESS.match(outer) else None


def _address(_target: Any, data: bytes) -> str:
    number = int.from_bytes(data, "little")
    return "0x%x" % number if number else "null"


def _address_text(_target: Any, address: int) -> str:
    return "0x%x" % address


def _plain(kind: str) -> str:
    kind = kind.strip()
    return kind[: -len(" const")] if kind.endswith(" const") else kind


def _reader(kind: str) -> Optional[Tuple[int, Callable[[Any, int], str]]]:
    """The size of an element, and how the one at an address becomes text."""
    value = value_of(kind)
    if value is not None:
        size, text = value.size, value.text
        return size, lambda target, address: text(target, target.memory.read(address, size))
    found = object_of(kind)
    return (found.size, found.text) if found is not None and found.size is not None else None


def _engaged(byte: int) -> bool:
    if byte > 1:
        raise Implausible("no optional: %d" % byte)
    return byte == 1


def _optional(inner: Optional[Value]) -> Optional[Value]:
    """libstdc++'s: the value, then a bool."""
    if inner is None:
        return None
    size, text = inner.size, inner.text
    whole = -(-(size + 1) // inner.align) * inner.align
    words = list(inner.words)
    if whole > 8 * len(words):
        words.append(INTEGER)
    elif size % 8:
        words[-1] = INTEGER  # the bool shares the last word

    def read(target: Any, data: bytes) -> str:
        return text(target, data[:size]) if _engaged(data[size]) else _NOTHING

    return Value(whole, inner.align, tuple(words), read)


def _flags(count: int) -> Value:
    def read(target: Any, data: bytes) -> str:
        return "[%s]" % ", ".join(bool_text(target, data[i : i + 1]) for i in range(count))

    return Value(count, 1, (INTEGER,) * -(-count // 8), read)


def _array(target: Any, inner: str, data: bytes) -> str:
    first, count = struct.unpack("<QQ", data)
    if count > 1 << 40:
        raise Implausible("no array: %d elements" % count)
    return _elements(target, inner, first, count)


def _list_ref(target: Any, data: bytes) -> str:
    """ATen/core/IListRef.h: an array, or the address of a list or of a vector of references; then which of them."""
    (address,), tag = struct.unpack("<Q", data[:8]), int.from_bytes(data[16:20], "little")
    if tag == 0:
        return _array(target, "at::Tensor", data[:16])
    if tag == 1:
        return str(target.decoder(IValues).payload("GenericList", address).text)
    if tag == 2:
        return _std_vector(target, "at::Tensor&", address)
    raise Implausible("no IListRef: %d" % tag)


def _elements(target: Any, inner: str, first: int, count: int) -> str:
    found = _reader(inner)
    if found is None:
        return "%d elements at 0x%x" % (count, first)
    size, read = found
    shown = [read(target, first + i * size) for i in range(min(count, MOST_ELEMENTS))]
    more = ["... %d in all" % count] if count > MOST_ELEMENTS else []
    return "[%s]" % ", ".join(shown + more)


def _std_vector(target: Any, inner: str, address: int) -> str:
    first, end = struct.unpack("<QQ", target.memory.read(address, 16))
    size, _ = _reader(inner) or (1, None)
    count, odd = divmod(end - first, size)
    if end < first or odd or count > 1 << 40:
        raise Implausible("no vector at 0x%x" % address)
    return _elements(target, inner, first, count)


def _small_vector(target: Any, inner: str, address: int) -> str:
    size, _ = _reader(inner) or (1, None)
    return _elements(target, inner, *target.cxx.small_vector(address, size))


def _std_string(target: Any, address: int) -> str:
    first, length = struct.unpack("<QQ", target.memory.read(address, 16))
    return _characters(target, first, length)


def _string(target: Any, data: bytes) -> str:
    length, first = struct.unpack("<QQ", data)
    return _characters(target, first, length)


def _characters(target: Any, first: int, length: int) -> str:
    if length > 1 << 40:
        raise Implausible("no string: %d characters" % length)
    text = target.memory.read(first, min(length, MOST_TEXT)).decode("utf-8", "backslashreplace")
    return '"%s"%s' % (text, "... %d in all" % length if length > MOST_TEXT else "")


def _pointed(target: Any, kind: str, address: int) -> str:
    """The text of what a reference or pointer leads to, where its class is known; else the address."""
    inner = _plain(kind[:-2] if kind.endswith("&&") else kind[:-1])
    if not address:
        return "null"
    if inner == "char" and kind.endswith("*"):
        if not target.memory.readable(address):
            return "0x%x" % address
        return '"%s"' % target.memory.c_string(address, MOST_TEXT).decode("utf-8", "backslashreplace")
    found = object_of(inner)
    if found is not None:
        return found.text(target, address)
    value = value_of(inner) if kind.endswith("&") else None
    if value is not None:
        return value.text(target, target.memory.read(address, value.size))
    return "0x%x" % address


# -- texts -----------------------------------------------------------------------------------------


def text_of(target: Any, kind: str, data: bytes) -> str:
    """The text of an argument: ``data`` are its bytes, or those of the address of an object."""
    value = value_of(kind)
    if value is not None:
        return value.text(target, data[: value.size])
    found, address = object_of(kind), int.from_bytes(data[:8], "little")
    return found.text(target, address) if found is not None else _address_text(target, address)


def size_of(kind: str) -> int:
    """How many bytes of an argument there are in its place."""
    value = value_of(kind)
    return value.size if value is not None else 8
