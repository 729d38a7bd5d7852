"""The spec language: what each form means, and that every spec can be written down and read again."""

from __future__ import annotations

import dataclasses
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.known.file_endings import NATIVE_ENDINGS, PYTHON_ENDINGS
from dualdbg.model import BreakpointKind, BreakpointSpec, Language, Layer, NativeFrame, PythonFrame
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec, same_place, spec_text, specs_in
from dualdbg.symbols.locspec.outermost import calls_on

OPERATORS = {"randn", "add", "mm", "add_", "_softmax", "aten::mm", "mylib::myop"}

K = BreakpointKind
MEANINGS = [
    ("randn", K.OPERATOR, "randn", {}),
    ("  randn  ", K.OPERATOR, "randn", {}),
    ("randn@binding", K.OPERATOR, "randn", {"layer": Layer.BINDING}),
    ("randn@all", K.OPERATOR, "randn", {"layer": Layer.ALL}),
    ("add.Tensor", K.OPERATOR, "add", {"overload": "Tensor"}),
    ("add.Tensor@dispatch", K.OPERATOR, "add", {"overload": "Tensor", "layer": Layer.DISPATCH}),
    ("aten::mm", K.OPERATOR, "mm", {"namespace": "aten"}),
    ("aten::no_such_thing", K.OPERATOR, "no_such_thing", {"namespace": "aten"}),
    ("mylib::myop", K.OPERATOR, "myop", {"namespace": "mylib"}),
    ("other::myop", K.FUNCTION, "other::myop", {}),
    ("other::myop@kernel", K.OPERATOR, "myop", {"namespace": "other", "layer": Layer.KERNEL}),
    ("other::myop.out", K.OPERATOR, "myop", {"namespace": "other", "overload": "out"}),
    ("torch.ops.other.myop", K.OPERATOR, "myop", {"namespace": "other", "layer": Layer.KERNEL}),
    ("torch.ops.other.myop.out", K.OPERATOR, "myop", {"namespace": "other", "overload": "out"}),
    ("torch.ops.aten.mm", K.OPERATOR, "mm", {"namespace": "aten"}),
    ("add_", K.OPERATOR, "add_", {}),
    ("THPModule_initExtension", K.FUNCTION, "THPModule_initExtension", {}),
    ("::randn", K.FUNCTION, "::randn", {}),
    ("at::native::randn", K.FUNCTION, "at::native::randn", {}),
    ("MyClass::method", K.FUNCTION, "MyClass::method", {}),
    ("Foo::~Foo", K.FUNCTION, "Foo::~Foo", {}),
    ("f(int, char const*) const", K.FUNCTION, "f(int, char const*) const", {}),
    ("A::operator<<", K.FUNCTION, "A::operator<<", {}),
    ("A::operator()", K.FUNCTION, "A::operator()", {}),
    ("operator new[]", K.FUNCTION, "operator new[]", {}),
    ("A::operator unsigned long if x", K.FUNCTION, "A::operator unsigned long", {"condition": "x"}),
    ("A::operator const B<int *> *() const", K.FUNCTION, "A::operator const B<int *> *() const", {}),
    ('operator""_km hits 2', K.FUNCTION, 'operator""_km', {"hits": 2}),
    ("A<int, B<2> >::f", K.FUNCTION, "A<int, B<2> >::f", {}),
    ("(anonymous namespace)::f", K.FUNCTION, "(anonymous namespace)::f", {}),
    ("f(int)::{lambda(int)#1}::operator()(int) const", K.FUNCTION, None, {}),
    ("std::string::substr[abi:cxx11](unsigned long)", K.FUNCTION, None, {}),
    ("*_kernel", K.FUNCTION, "*_kernel", {}),
    ("at::native::*::sin_kernel", K.FUNCTION, "at::native::*::sin_kernel", {}),
    ("f.constprop.0", K.FUNCTION, "f.constprop.0", {}),
    ("f(int if) hits 3", K.FUNCTION, "f(int if)", {"hits": 3}),
    ("foo.cpp:12", K.NATIVE_LINE, "foo.cpp", {"line": 12}),
    ("src/add.cu:7", K.NATIVE_LINE, "src/add.cu", {"line": 7}),
    ("gen/parser.y:102", K.NATIVE_LINE, "gen/parser.y", {"line": 102}),
    ("solver.F90:7", K.NATIVE_LINE, "solver.F90", {"line": 7}),
    ("Point.y", K.FUNCTION, "Point.y", {}),
    ("fast.pyx:7", K.NATIVE_LINE, "fast.pyx", {"line": 7}),
    ("train.py:3", K.PYTHON_LINE, "train.py", {"line": 3}),
    ("/a dir/träin ü.py:3", K.PYTHON_LINE, "/a dir/träin ü.py", {"line": 3}),
    ("/a:12/b.cc:9", K.NATIVE_LINE, "/a:12/b.cc", {"line": 9}),
    ("/what if/a.py:3 if x", K.PYTHON_LINE, "/what if/a.py", {"line": 3, "condition": "x"}),
    ("/a hits 3/b.py:4", K.PYTHON_LINE, "/a hits 3/b.py", {"line": 4}),
    ('"my if a.py":3', K.PYTHON_LINE, "my if a.py", {"line": 3}),
    ("py:bin/tool:12", K.PYTHON_LINE, "bin/tool", {"line": 12}),
    ("train.py:3@kernel", K.COMPILED_LINE, "train.py", {"line": 3}),
    ("py:bin/tool:12@kernel hits 2", K.COMPILED_LINE, "bin/tool", {"line": 12, "hits": 2}),
    ('"my if a.py":3@kernel', K.COMPILED_LINE, "my if a.py", {"line": 3}),
    ("py:torch.nn.functional.linear", K.PYTHON_FUNCTION, "torch.nn.functional.linear", {}),
    ("py:MyModel.forward", K.PYTHON_FUNCTION, "MyModel.forward", {}),
    ("py:f.<locals>.g", K.PYTHON_FUNCTION, "f.<locals>.g", {}),
    ("*0x7F00", K.ADDRESS, "0x7f00", {}),
    ("0x7f00", K.ADDRESS, "0x7f00", {}),
    ("libtorch_cpu.so+0x2125fc0", K.ADDRESS, "libtorch_cpu.so+0x2125fc0", {}),
    ("preset:jit-run", K.PRESET, "jit-run", {}),
    ("throw", K.THROW, "", {}),
    ("throw:std::runtime_error", K.THROW, "std::runtime_error", {}),
    ("catch", K.CATCH, "", {}),
    ("catch:std::runtime_error", K.CATCH, "std::runtime_error", {}),
    ("raise", K.RAISE, "", {}),
    ("raise:torch.OutOfMemoryError", K.RAISE, "torch.OutOfMemoryError", {}),
    ("uncaught", K.UNCAUGHT, "", {}),
    ("SIGUSR1", K.SIGNAL, "SIGUSR1", {}),
    ("signal:USR1", K.SIGNAL, "SIGUSR1", {}),
    ("signal:11", K.SIGNAL, "SIGSEGV", {}),
    ("SIGRTMIN+3", K.SIGNAL, "SIG37", {}),
    ("randn if x > 3", K.OPERATOR, "randn", {"condition": "x > 3"}),
    ("randn if x > 3 hits 5 thread 7", K.OPERATOR, "randn", {"condition": "x > 3", "hits": 5, "thread": "7"}),
    ('randn if s == "a hits 3"', K.OPERATOR, "randn", {"condition": 's == "a hits 3"'}),
    ("randn if s == 'a hits 3'", K.OPERATOR, "randn", {"condition": "s == 'a hits 3'"}),
    ('randn if s == "a\\" hits 3"', K.OPERATOR, "randn", {"condition": 's == "a\\" hits 3"'}),
    ("randn if f(a hits 3) hits 4", K.OPERATOR, "randn", {"condition": "f(a hits 3)", "hits": 4}),
    ("randn if a if thread else b", K.OPERATOR, "randn", {"condition": "a if thread else b"}),
    ("randn if not temporary", K.OPERATOR, "randn", {"condition": "not temporary"}),
    ('a.py:3 log "x is {x!r}"', K.PYTHON_LINE, "a.py", {"line": 3, "log": "x is {x!r}"}),
    (r'a.py:3 log "say \"{x}\"\n"', K.PYTHON_LINE, "a.py", {"line": 3, "log": 'say "{x}"\n'}),
    ("randn tbreak", K.OPERATOR, "randn", {"temporary": True}),
    ("randn temporary hits 2", K.OPERATOR, "randn", {"temporary": True, "hits": 2}),
    ("randn outermost a.b.f if x", K.OPERATOR, "randn", {"outermost": "a.b.f", "condition": "x"}),
    ("ns::f outermost ns::f hits 2", K.FUNCTION, "ns::f", {"outermost": "ns::f", "hits": 2}),
    ("randn if x outermost f", K.OPERATOR, "randn", {"condition": "x", "outermost": "f"}),
    ('randn thread "worker 1"', K.OPERATOR, "randn", {"thread": "worker 1"}),
    ("throw if x", K.THROW, "", {"condition": "x"}),
]


@pytest.mark.parametrize(("text", "kind", "subject", "rest"), MEANINGS, ids=[m[0] for m in MEANINGS])
def test_meaning(text: str, kind: BreakpointKind, subject: str | None, rest: dict[str, object]) -> None:
    spec = parse_spec(text, OPERATORS.__contains__)
    assert spec.kind is kind
    assert spec.subject == (text if subject is None else subject)
    plain = BreakpointSpec(spec.text, kind, spec.subject)
    assert spec == dataclasses.replace(plain, **rest)
    again = parse_spec(spec_text(spec), OPERATORS.__contains__)
    assert dataclasses.replace(again, text=spec.text) == spec


def test_the_text_is_the_place_as_typed() -> None:
    assert parse_spec(" f( int ) if x").text == "f( int )"


def test_without_an_operator_table_names_are_functions() -> None:
    assert parse_spec("randn").kind is K.FUNCTION
    assert parse_spec("mylib::myop").kind is K.FUNCTION
    assert parse_spec("aten::mm").kind is K.OPERATOR
    assert parse_spec("randn@kernel").kind is K.OPERATOR


def test_language() -> None:
    assert parse_spec("a.py:3").language is Language.PYTHON
    assert parse_spec("raise").language is Language.PYTHON
    assert parse_spec("a.pyx:3").language is Language.NATIVE
    assert parse_spec("throw").language is Language.NATIVE


SAME = [
    ("randn", "aten::randn"),
    ("randn", "randn@kernel hits 3"),
    ("a.py:3", "./a.py:3 if x"),
    ("a.py:3", "/w/a.py:3"),
    ("b/../a.py:3", "a.py:3"),
    ("../a.py:3", "/a.py:3"),
    ("f(int,char)", "::f( int, char )"),
    ("0xAB", "*0xab"),
    ("SIGUSR1", "signal:10"),
]
DIFFERENT = [
    ("randn", "add"),
    ("randn", "randn@binding"),
    ("randn", "randn.generator"),
    ("randn", "::randn"),
    ("a.py:3", "a.py:4"),
    ("a.py:3", "b/a.py:3"),
    ("a.py:3", "a.c:3"),
    ("throw", "throw:A"),
    ("throw", "raise"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_same_place(first: str, second: str) -> None:
    assert _same(first, second) and _same(second, first)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_places(first: str, second: str) -> None:
    assert not _same(first, second) and not _same(second, first)


def _same(first: str, second: str) -> bool:
    known = {"randn", "add"}.__contains__
    return same_place(parse_spec(first, known), parse_spec(second, known), directory="/w")


# -- every spec can be written and read ----------------------------------------------------------

identifiers = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("throw", "catch", "raise", "uncaught", "operator")
)
scopes = st.lists(identifiers, min_size=1, max_size=3).map("::".join)
arguments = st.sampled_from(
    ["", "()", "(int)", "(char const*, A<int, B> const&)", "<int>", "<A<B> >(int) const"]
)
files = st.text(
    alphabet=string.ascii_letters + string.digits + " _-:/.()[]{}\"'\\äß漢if hits", min_size=1, max_size=20
).filter(lambda name: name == name.strip() and not name.endswith("/"))


@st.composite
def places(draw: st.DrawFn) -> BreakpointSpec:
    kind = draw(st.sampled_from(list(K)))
    maker = {
        K.OPERATOR: lambda: BreakpointSpec(
            "",
            kind,
            draw(identifiers),
            namespace=draw(st.none() | identifiers),
            overload=draw(st.none() | identifiers.filter(lambda n: n not in PYTHON_ENDINGS | NATIVE_ENDINGS)),
            layer=draw(st.sampled_from(list(Layer))),
        ),
        K.FUNCTION: lambda: BreakpointSpec("", kind, draw(scopes) + draw(arguments)),
        K.NATIVE_LINE: lambda: BreakpointSpec(
            "", kind, draw(files) + "." + draw(st.sampled_from(sorted(NATIVE_ENDINGS))), line=draw(lines)
        ),
        K.PYTHON_LINE: lambda: BreakpointSpec(
            "", kind, draw(files) + draw(st.sampled_from([".py", ".pyw", "", ".cfg"])), line=draw(lines)
        ),
        K.COMPILED_LINE: lambda: BreakpointSpec(
            "", kind, draw(files) + draw(st.sampled_from([".py", ".pyw", "", ".cfg"])), line=draw(lines)
        ),
        K.PYTHON_FUNCTION: lambda: BreakpointSpec(
            "", kind, ".".join(draw(st.lists(identifiers, min_size=1, max_size=4)))
        ),
        K.ADDRESS: lambda: BreakpointSpec("", kind, hex(draw(st.integers(0, 2**64 - 1)))),
        K.DATA: lambda: BreakpointSpec("", kind, draw(watched)),
        K.WATCH: lambda: BreakpointSpec(
            "",
            kind,
            draw(st.sampled_from(["", "-location "])) + draw(scopes),
            access=draw(st.sampled_from(["read", "write", "readWrite"])),
        ),
        K.PYTHON_WATCH: lambda: BreakpointSpec("", kind, draw(watched_in_python), access="write"),
        K.PRESET: lambda: BreakpointSpec("", kind, draw(identifiers)),
        K.THROW: lambda: BreakpointSpec("", kind, draw(st.just("") | scopes)),
        K.CATCH: lambda: BreakpointSpec("", kind, draw(st.just("") | scopes)),
        K.RAISE: lambda: BreakpointSpec("", kind, draw(st.just("") | identifiers)),
        K.UNCAUGHT: lambda: BreakpointSpec("", kind, ""),
        K.SIGNAL: lambda: BreakpointSpec("", kind, draw(st.sampled_from(["SIGINT", "SIGUSR1", "SIG40"]))),
    }
    return maker[kind]()


lines = st.integers(1, 10**6)
watched = st.builds(
    "{:#x}:{}:{}".format,
    st.integers(0, 2**64 - 1),
    st.integers(1, 64),
    st.sampled_from(["read", "write", "readWrite"]),
)
watched_in_python = st.sampled_from(
    ["total", "self.count", "rows[0]", "table['a b'].x", 'self.rows[1]["if"]']
)
texts = st.text(min_size=1, max_size=20).filter(lambda text: "{" not in text and "}" not in text)
conditions = st.sampled_from(
    [
        "x > 3",
        "a and b",
        "f(x, 'hits 3')",
        's == "if log"',
        "x in (1, 2)",
        "p->next != 0",
        "a if b else c",
        "not log",
    ]
)


@given(
    place=places(),
    temporary=st.booleans(),
    counts=st.sampled_from(
        [{}, {"hits": 1}, {"hits": 10**9}, {"hit_condition": "== 5"}, {"hit_condition": "% 3"}]
    ),
    thread=st.none() | st.from_regex(r"[\w. -]*\w", fullmatch=True) | texts,
    outermost=st.none() | st.from_regex(r"[a-eg-hj-km-su-z]\w*(\.[a-z]\w*)?", fullmatch=True),
    log=st.none() | texts | texts.map(lambda text: f"{text}{{x[1]}}{{{{"),
    condition=st.none() | conditions,
)
def test_round_trip(place: BreakpointSpec, counts: dict[str, object], **suffixes: object) -> None:
    spec = dataclasses.replace(place, **counts, **suffixes)
    written = spec_text(spec)
    read = parse_spec(written)
    assert dataclasses.replace(read, text="") == spec
    assert spec_text(read) == written


@pytest.mark.parametrize(
    ("text", "suffixes"),
    [
        ("f count", {"counts": True}),
        ("f trace", {"counts": True, "records": True}),
        ("f count time", {"counts": True, "times": True}),
        ("f time trace", {"counts": True, "records": True, "times": True}),
        ("f trace thread 7 if n > 3", {"counts": True, "records": True, "thread": "7", "condition": "n > 3"}),
        ("f if trace > time", {"condition": "trace > time"}),
    ],
)  # fmt: skip
def test_what_counts_and_what_is_taken_down(text: str, suffixes: dict[str, Any]) -> None:
    spec = parse_spec(text)
    assert spec == BreakpointSpec("f", K.FUNCTION, "f", **suffixes)
    assert parse_spec(spec_text(spec)) == spec


@pytest.mark.parametrize(
    ("line", "specs"),
    [
        ("", []),
        ("  malloc  ", ["malloc"]),
        ("malloc free", ["malloc", "free"]),
        ("a::f(int, char const*) g", ["a::f(int, char const*)", "g"]),
        ("malloc if $rdi > 4096", ["malloc if $rdi > 4096"]),
        ("free malloc   if $rdi > 4096 || x == 'y'", ["free", "malloc if $rdi > 4096 || x == 'y'"]),
        ("'malloc if $rdi > 4096' free", ["malloc if $rdi > 4096", "free"]),
        ('"operator new" free thread 7', ["operator new", "free thread 7"]),
    ],
)
def test_a_line_of_specs(line: str, specs: list[str]) -> None:
    assert specs_in(line) == specs


def test_a_quote_that_is_not_closed() -> None:
    from dualdbg.errors import SpecError

    with pytest.raises(SpecError, match="the quote is not closed"):
        specs_in("malloc 'free if x")


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    from dualdbg.errors import SpecError

    try:
        spec = parse_spec(text, OPERATORS.__contains__)
    except SpecError:
        return
    assert dataclasses.replace(parse_spec(spec_text(spec), OPERATORS.__contains__), text=spec.text) == spec


def test_calls_of_a_function_on_a_stack() -> None:
    stack = [
        NativeFrame(0, 0x10, "scope::f(int)"),
        PythonFrame("Class.f", "/a/package/module.py", 3),
        PythonFrame("f", "/a/package/module/__init__.py", 3),
        PythonFrame("f", "/a/module.py", 3),
        NativeFrame(1, 0x20, "scope::f(int)"),
        NativeFrame(2, 0x30, "f"),
        PythonFrame("g", None, None),
    ]
    names = ("package.module.f", "module.f", "f", "scope::f", "g", "package.module.g")
    assert {name: calls_on(stack, name) for name in names} == {
        "package.module.f": 2,
        "module.f": 3,
        "f": 4,
        "scope::f": 2,
        "g": 1,
        "package.module.g": 0,
    }
