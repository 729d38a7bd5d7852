"""Where arguments are passed, and what they are: against the compiler."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.support import require

SEED = 20260802

# C++ type: a value of it as C++ and as it is shown, for a random number.
Maker = Callable[[random.Random], tuple[str, str]]


def integer(low: int, high: int) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        number = chance.randint(low, high)
        return (f"({number})" if number > -(1 << 63) else "LONG_MIN"), str(number)

    return make


def optional(inner: Maker) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        code, text = inner(chance)
        return (code, text) if chance.random() < 0.7 else ("std::nullopt", "nullopt")

    return make


def flags(count: int) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        words = [chance.choice(("true", "false")) for _ in range(count)]
        return f"std::array<bool, {count}>{{{', '.join(words)}}}", f"[{', '.join(words)}]"

    return make


def boolean(chance: random.Random) -> tuple[str, str]:
    word = chance.choice(("true", "false"))
    return word, word


def real(chance: random.Random) -> tuple[str, str]:
    number = chance.randrange(-64, 64) / 4
    return f"{number!r}", f"{number!r}"


def complex_of(kind: str) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        (one, _), (other, _) = real(chance), real(chance)
        return f"std::complex<{kind}>({one}, {other})", f"{one} + {other}i"

    return make


def view(chance: random.Random) -> tuple[str, str]:
    word = "".join(chance.choice("abc é") for _ in range(chance.randrange(6)))
    return f'std::string_view("{word}")', f'"{word}"'


def pointer(chance: random.Random) -> tuple[str, str]:
    number = chance.randrange(1, 1 << 40)
    return f"(void*){number}ul", hex(number)


VIEW = "std::basic_string_view<char, std::char_traits<char> >"
TYPES: dict[str, Maker] = {
    "bool": boolean,
    "char": integer(-128, 127)
    if platform.machine() == "x86_64"
    else integer(0, 255),  # AArch64's has no sign
    "signed char": integer(-128, 127),
    "unsigned char": integer(0, 255),
    "short": integer(-(1 << 15), (1 << 15) - 1),
    "unsigned short": integer(0, (1 << 16) - 1),
    "int": integer(-(1 << 31) + 1, (1 << 31) - 1),
    "unsigned int": integer(0, (1 << 31) - 1),
    "long": integer(-(1 << 62), 1 << 62),
    "unsigned long": integer(0, 1 << 62),
    "float": real,
    "double": real,
    "std::complex<float>": complex_of("float"),
    "std::complex<double>": complex_of("double"),
    "void*": pointer,
    "long const&": integer(-5, 5),
    VIEW: view,
    "std::optional<bool>": optional(boolean),
    "std::optional<short>": optional(integer(-5, 5)),
    "std::optional<int>": optional(integer(-5, 5)),
    "std::optional<long>": optional(integer(-5, 5)),
    "std::optional<float>": optional(real),
    "std::optional<double>": optional(real),
    f"std::optional<{VIEW} >": optional(view),
    "std::array<bool, 2ul>": flags(2),
    "std::array<bool, 8ul>": flags(8),
    "std::array<bool, 11ul>": flags(11),
    "std::array<bool, 17ul>": flags(17),
}
HEAD = """\
#include <array>
#include <climits>
#include <complex>
#include <optional>
#include <string>
#include <string_view>
"""


def program(chance: random.Random, count: int) -> tuple[str, list[Any], list[list[tuple[str, str]]]]:
    """The source, what is known of each function, and what each is to be given."""
    declared, called, known, wanted = [HEAD], [], [], []
    for number in range(count):
        names = [f"a{i}" for i in range(chance.randint(1, 12))]
        kinds = [chance.choice(list(TYPES)) for _ in names]
        values = [TYPES[kind](chance) for kind in kinds]
        hidden, member = chance.random() < 0.4, chance.random() < 0.3
        result = "std::string" if hidden else chance.choice(("void", "double", "long"))
        body = "" if result == "void" else "return {};"
        list_ = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, names, strict=True))
        label = f'__asm__("probe_{number}")'
        if member:
            declared.append(f"struct S{number} {{ {result} f({list_}) {label}; }};")
        else:
            declared.append(f"{result} f{number}({list_}) {label};")
        scope = f"S{number}::f" if member else f"f{number}"
        declared.append(f'__attribute__((noipa)) {result} {scope}({list_}) {{ asm(""); {body} }}')
        arguments = ", ".join(code for code, _ in values)
        called.append(f"  {f'S{number}().f' if member else f'f{number}'}({arguments});")
        known.append(([[name, kind] for name, kind in zip(names, kinds, strict=True)], hidden, member))
        wanted.append([(name, text) for name, (_, text) in zip(names, values, strict=True)])
    source = "\n".join([*declared, "int main() {", *called, "}", ""])
    return source, known, wanted


@pytest.mark.slow
@pytest.mark.parametrize("level", rows.some(["-O2", "-O0"], 1))
@pytest.mark.parametrize("count", [150, pytest.param(500, marks=pytest.mark.exhaustive)])
def test_arguments_of_functions_without_debug_info(tmp_path: Path, count: int, level: str) -> None:
    """Each is shown, and right, where names, types and the kind of the result are known."""
    source, known, wanted = program(random.Random(SEED), count)
    (tmp_path / "program.cpp").write_text(source)
    compiler, gdb = require(shutil.which("g++"), "a C++ compiler"), require(shutil.which("gdb"), "gdb")
    command = [compiler, "-std=c++17", level, "-no-pie", "program.cpp", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    settings = ("set debuginfod enabled off", "set auto-load off", "set startup-with-shell off")
    words = [word for setting in settings for word in ("-iex", setting)]
    script = HERE / "targets" / "look_at_arguments.py"
    env = {
        **os.environ,
        "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent),
        "DUALDBG_TEST_FUNCTIONS": json.dumps(known),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", *words, "-x", script, tmp_path / "program"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(300), env=env,
    )  # fmt: skip
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(answers[0].removeprefix("answer: "))
    wrong = [
        (known[number][0][i], known[number][1:], got, want)
        for number, (row, expected) in enumerate(zip(found, wanted, strict=True))
        for i, (got, want) in enumerate(zip(row, expected, strict=True))
        if tuple(got) != want
    ]
    assert wrong == []


@pytest.fixture(scope="module")
def passed() -> Any:
    """The module as far as it needs no gdb."""
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_helpers import passed
    finally:
        sys.path.remove(str(ENTRY.parent))
    return passed


BY_VALUE = (
    "c10::ArrayRef<long>", "c10::ArrayRef<c10::SymInt>", "c10::ArrayRef<at::Tensor>", "c10::Device",
    "c10::DispatchKeySet", "c10::ScalarType", "c10::Layout", "c10::MemoryFormat", "c10::DeviceType",
    "c10::QScheme", "c10::BackendComponent", "c10::DispatchKey", "c10::TypeKind", "torch::autograd::CreationMeta",
    "std::optional<c10::ScalarType>", "std::optional<c10::Layout>", "std::optional<c10::Device>",
    "std::optional<bool>", "std::optional<c10::MemoryFormat>", "std::optional<long>", "std::optional<double>",
    "c10::OptionalArrayRef<long>", "c10::OptionalArrayRef<c10::SymInt>", "std::optional<std::string_view>",
    "std::string_view", "std::optional<c10::ArrayRef<double>>", "std::array<bool, 2>", "std::array<bool, 3>",
    "c10::IListRef<at::Tensor>",
)  # fmt: skip
BY_ADDRESS = (
    "at::Tensor", "c10::Scalar", "c10::SymInt", "at::Generator", "c10::Storage", "c10::IValue",
    "std::optional<c10::Scalar>", "std::optional<at::Tensor>", "std::optional<at::Generator>",
    "std::optional<c10::SymInt>", "c10::List<std::optional<at::Tensor>>", "at::OptionalTensorRef",
    "c10::OperatorHandle",
)  # fmt: skip
ASKED = """\
#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/variable.h>
#include <cstdio>
template <class T> void say(const char* name) {
  bool trivial = std::is_trivially_copy_constructible_v<T> && std::is_trivially_move_constructible_v<T> &&
    std::is_trivially_destructible_v<T>;
  printf("%zu %zu %d\\n", sizeof(T), alignof(T), trivial);
}
"""


@pytest.mark.torch
@pytest.mark.exhaustive
def test_what_is_known_of_pytorchs_classes(passed: Any, tmp_path: Path) -> None:
    spec = require(importlib.util.find_spec("torch"), "PyTorch")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    rows = "".join(f'  say<{name}>("");\n' for name in (*BY_VALUE, *BY_ADDRESS))
    (tmp_path / "ask.cpp").write_text(f"{ASKED}int main() {{\n{rows}}}\n")
    include, lib = folder / "include", folder / "lib"
    command = [
        "g++",
        "-std=c++20",
        f"-I{include}",
        "ask.cpp",
        "-o",
        "ask",
        f"-L{lib}",
        "-ltorch_cpu",
        "-lc10",
    ]
    subprocess.run([*command, f"-Wl,-rpath,{lib}"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "ask"], capture_output=True, text=True, check=True).stdout
    answers = [tuple(map(int, line.split())) for line in told.splitlines()]
    spelled = [_as_demangled(name) for name in (*BY_VALUE, *BY_ADDRESS)]
    for name, (size, align, trivial) in zip(spelled, answers, strict=True):
        value = passed.value_of(name)
        if trivial:
            assert value is not None and (value.size, value.align) == (size, align), name
        else:
            found = passed.object_of(name)
            assert value is None and found is not None and found.size == size, name


def _as_demangled(name: str) -> str:
    name = name.replace("std::string_view", VIEW).replace(">>", "> >")
    return name.replace("bool, 2>", "bool, 2ul>").replace("bool, 3>", "bool, 3ul>")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("at::Tensor const&", "Tensor"),
        ("c10::ArrayRef<long>", "IntArrayRef"),
        ("std::optional<c10::ArrayRef<c10::SymInt> >", "optional<SymIntArrayRef>"),
        (f"std::optional<{VIEW} >", "optional<string_view>"),
        ("c10::ArrayRef<at::Tensor>", "TensorList"),
        ("_object*", "PyObject*"),
    ],
)
def test_types_are_written_as_pytorch_writes_them(passed: Any, kind: str, text: str) -> None:
    assert passed.type_text(kind) == text


VECTOR = "std::vector<double, std::allocator<double> >"
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"


@pytest.mark.pure
@pytest.mark.parametrize(
    "kind",
    [
        f"{VECTOR}::value_type",
        f"{VECTOR}::reference",
        f"{STRING}::__sv_wrapper",
        "std::map<int, int, std::less<int>, std::allocator<std::pair<int const, int> > >::value_compare",
        "std::function<int (int)>::result_type",
        "std::optional<int>::rebind<double>",
        "__gnu_cxx::__normal_iterator<char*, int>::value_type",
        "decltype (*{parm#2})",
        "decltype ((*{parm#2})(1))",
    ],
)
def test_of_what_is_in_a_class_nothing_is_known(passed: Any, kind: str) -> None:
    assert passed.value_of(kind) is None
    assert passed.object_of(kind) is None
    assert passed.value_of(f"{kind}&") is not None


@pytest.mark.pure
def test_types_that_are_known(passed: Any) -> None:
    for kind in (VECTOR, STRING, f"std::shared_ptr<{VECTOR}>", "std::function<bool (int)>", "std::any"):
        assert passed.value_of(kind) is None and passed.object_of(kind) is not None, kind
    for kind in ("decltype(nullptr)", "__gnu_cxx::__normal_iterator<char*, int>"):
        assert passed.value_of(kind) is not None, kind


def test_sizes_of_optional_objects(passed: Any, tmp_path: Path) -> None:
    """The compiler is asked."""
    known = {"std::string": STRING, "std::vector<double>": VECTOR}
    for _ in range(2):
        known.update({f"std::optional<{name}>": f"std::optional<{kind} >" for name, kind in [*known.items()]})
    rows = "".join(f'  printf("%zu\\n", sizeof({name}));\n' for name in known)
    text = f"#include <cstdio>\n#include <optional>\n#include <string>\n#include <vector>\nint main() {{\n{rows}}}\n"
    (tmp_path / "ask.cpp").write_text(text)
    subprocess.run(["g++", "-std=c++17", "ask.cpp", "-o", "ask"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "ask"], capture_output=True, text=True, check=True).stdout
    assert [passed.object_of(kind).size for kind in known.values()] == [int(line) for line in told.split()]
