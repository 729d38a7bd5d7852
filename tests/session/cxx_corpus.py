"""A C++ library of random functions, and what each of them is given."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

# A value as C++, and how it is shown: a text, or the symbol whose address it is. None: any text is right.
Given = tuple[str, "str | Symbolic | None"]


@dataclass(frozen=True)
class Symbolic:
    """The address of something in the library."""

    name: str


@dataclass(frozen=True)
class Kind:
    """A type of a parameter: what is passed, how a body may use it, and whether its layout is known to us."""

    group: str
    make: Callable[[random.Random], Given]
    use: str


def _number(low: int, high: int) -> Callable[[random.Random], Given]:
    def make(chance: random.Random) -> Given:
        number = chance.randint(low, high)
        return f"({number}l)", str(number)

    return make


def _real(chance: random.Random) -> Given:
    number = chance.randrange(-64, 64) / 4
    return repr(number), repr(number)


def _bool(chance: random.Random) -> Given:
    word = chance.choice(("true", "false"))
    return word, word


def _word(chance: random.Random) -> str:
    return "".join(chance.choice("abcd ") for _ in range(chance.randrange(30)))


def _string(chance: random.Random) -> Given:
    word = _word(chance)
    return f'std::string("{word}")', f'"{word}"'


def _vector(chance: random.Random) -> Given:
    numbers = [str(chance.randrange(99)) for _ in range(chance.randrange(4))]
    return f"std::vector<long>{{{', '.join(numbers)}}}", f"[{', '.join(numbers)}]"


def _characters(chance: random.Random) -> Given:
    word = _word(chance)
    return f'"{word}"', f'"{word}"'


def _view(chance: random.Random) -> Given:
    word = _word(chance)
    return f'std::string_view("{word}")', f'"{word}"'


def _of(*values: Given) -> Callable[[random.Random], Given]:
    return lambda chance: chance.choice(values)


GLOBAL = Symbolic("corpus_number")
KINDS: dict[str, Kind] = {
    "bool": Kind("scalar", _bool, "total += {x};"),
    "signed char": Kind("scalar", _number(-128, 127), "total += {x};"),
    "unsigned short": Kind("scalar", _number(0, 65535), "total += {x};"),
    "int": Kind("scalar", _number(-(1 << 31) + 1, (1 << 31) - 1), "if ({x} > 3) total ^= corpus_leaf({x});"),
    "unsigned int": Kind("scalar", _number(0, (1 << 32) - 1), "total += {x};"),
    "long": Kind("scalar", _number(-(1 << 60), 1 << 60), "total += corpus_leaf(total) * {x};"),
    "unsigned long": Kind("scalar", _number(0, 1 << 60), "total ^= {x} >> 3;"),
    "float": Kind("scalar", _real, "total += (long){x};"),
    "double": Kind("scalar", _real, "if ({x} < 2.5) total += corpus_leaf((long){x});"),
    "long double": Kind("scalar", _real, "total += (long){x};"),
    "int*": Kind("pointer", _of(("&corpus_number", GLOBAL), ("nullptr", "null")), "if ({x}) total += *{x};"),
    "const char*": Kind("pointer", _characters, "total += {x}[0];"),
    "const long&": Kind("reference", _number(-9, 9), "total += {x};"),
    "double&": Kind("reference", _of(("corpus_real", "2.5")), "total += (long){x};"),
    "void (*)(int)": Kind(
        "pointer", _of(("&corpus_handler", Symbolic("corpus_handler"))), "if (total == 77) {x}(3);"
    ),
    "int (&)[3]": Kind("reference", _of(("corpus_array", Symbolic("corpus_array"))), "total += {x}[1];"),
    "int Pair::*": Kind(
        "pointer", _of(("&Pair::b", "offset 4"), ("nullptr", "null")), "total += {x} != nullptr;"
    ),
    "void (Counted::*)(int)": Kind("pointer", _of(("nullptr", "null")), "total += {x} != nullptr;"),
    "const std::string&": Kind("class", _string, "total += {x}.size();"),
    "std::string": Kind("class", _string, "total += {x}.size();"),
    "std::string_view": Kind("class", _view, "total += {x}.size();"),
    "const std::vector<long>&": Kind("class", _vector, "for (long one : {x}) total += one;"),
    "std::shared_ptr<int>": Kind("class", _of(("std::make_shared<int>(3)", None)), "total += *{x};"),
    "Counted": Kind("class", _of(("Counted(7)", None)), "total += {x}.n;"),
    "const Counted&": Kind(
        "reference", _of(("corpus_counted", Symbolic("corpus_counted"))), "total += {x}.n;"
    ),
    "Pair": Kind("unknown", _of(("Pair{1, 2}", None)), "total += {x}.b;"),
    "Mixed": Kind("unknown", _of(("Mixed{0.5, 2}", None)), "total += {x}.n;"),
    "Points": Kind("unknown", _of(("Points{0.5, 2}", None)), "total += (long){x}.y;"),
    "Big": Kind("unknown", _of(("Big{1, 2, 3}", None)), "total += {x}.b;"),
    "Colour": Kind("unknown", _of(("Colour::green", None)), "total += (long){x};"),
}
UNKNOWN = [name for name, kind in KINDS.items() if kind.group == "unknown"]
RESULTS = {
    "void": "", "int": "return (int)total;", "long": "return total;", "double": "return total * 0.5;",
    "bool": "return total > 5;", "int*": "return total ? &corpus_number : nullptr;",
    "std::string": 'return std::string(total & 15, \'x\') + "y";', "Pair": "return Pair{1, (int)total};",
    "Big": "return Big{1, total, 3};", "Counted": "return Counted(total);", "const char*": 'return "text";',
    "Points": "return Points{1, (double)total};",
}  # fmt: skip
HEAD = """\
#include <memory>
#include <string>
#include <string_view>
#include <vector>
struct Pair { int a, b; };
struct Mixed { double d; long n; };
struct Points { double x, y; };
struct Big { long a, b, c; };
enum class Colour : int { red, green };
struct Counted { long n; Counted(long n); Counted(const Counted&); ~Counted(); };
Counted::Counted(long n) : n(n) {}
Counted::Counted(const Counted& other) : n(other.n) {}
Counted::~Counted() {}
struct Root { long root = 1; virtual ~Root() {} };
extern "C" {
volatile long corpus_sink;
int corpus_number = 5, corpus_array[3] = {1, 2, 3};
double corpus_real = 2.5;
Counted corpus_counted(9);
__attribute__((noinline)) long corpus_leaf(long n) { corpus_sink = n; return n & 7; }
void corpus_handler(int n) { corpus_sink = n; }
}
#define CORPUS __attribute__((noinline, used))
namespace corpus { namespace { int only_here(int n) { return n + 1; } } int (*keeps)(int) = only_here; }
"""


@dataclass
class Function:
    """What is known of a function: its name, what it is, and what it is given (group, text)."""

    name: str
    form: str
    given: list[tuple[str, str | Symbolic | None]] = field(default_factory=list)
    this: str | None = None  # the symbol of its object
    result: str = "void"


FORMS = (
    "free",
    "global",
    "template",
    "method",
    "const method",
    "virtual",
    "static",
    "constructor",
    "operator",
    "class template",
    "sub",
)


def library(chance: random.Random, count: int, used: float) -> tuple[str, list[Function]]:
    """The source of the library, whose function ``corpus_run`` calls each function once, and the functions.

    ``used``: the share of the parameters that bodies use.
    """
    text, calls, found = [HEAD], [], []
    for number in range(count):
        one, code, call = _function(chance, number, used)
        text.append(code)
        text.append(f"__attribute__((noinline)) static void call_{number}() {{ {call} }}")
        calls.append(f"  call_{number}();")
        found.append(one)
    return "\n".join([*text, 'extern "C" void corpus_run() {', *calls, "}", ""]), found


def _function(chance: random.Random, number: int, used: float) -> tuple[Function, str, str]:
    form, name = chance.choice(FORMS), f"probe_{number}"
    common = [kind for kind in KINDS if kind not in UNKNOWN]
    kinds = [
        chance.choice(UNKNOWN if chance.random() < 0.06 else common) for _ in range(chance.randint(0, 7))
    ]
    if form == "operator":
        kinds = [chance.choice(common)]
    result = chance.choice(list(RESULTS)) if form != "constructor" else ""
    values = [KINDS[kind].make(chance) for kind in kinds]
    list_ = ", ".join(_declared(kind, f"a{at}") for at, kind in enumerate(kinds))
    uses = [KINDS[kind].use.format(x=f"a{at}") for at, kind in enumerate(kinds) if chance.random() < used]
    own = form not in ("free", "global", "template", "static")
    if own and chance.random() < used:
        uses.insert(chance.randrange(len(uses) + 1), "total += this->field;")
        if form not in ("const method", "operator", "class template") and chance.random() < 0.5:
            uses.append("this->field = total;")
    body = f"{{ long total = 3; {' '.join(uses)} corpus_sink = total; {RESULTS.get(result, '')} }}"
    given = ", ".join(code for code, _ in values)
    function = Function(
        name,
        form,
        [(KINDS[kind].group, text) for kind, (_, text) in zip(kinds, values, strict=True)],
        None,
        result,
    )
    owner, object_ = f"Owner{number}", f"object_{number}"
    if own:
        function.this = object_
    head = f"struct {owner}"
    after = f'extern "C" {{ {owner} {object_}; }}'
    if form == "global":
        return function, f"CORPUS {result} {name}({list_}) {body}", f"{name}({given});"
    if form == "free":
        return (
            function,
            f"namespace corpus {{ CORPUS {result} {name}({list_}) {body} }}",
            f"corpus::{name}({given});",
        )
    if form == "template":
        code = f"namespace corpus {{ template <class T> CORPUS {result} {name}({list_}) {body} }}"
        return function, code, f"corpus::{name}<short>({given});"
    if form == "constructor":
        base = " : virtual Root" if chance.random() < 0.3 else ""
        code = f"struct {name}{base} {{ long field = 2; CORPUS {name}({list_}); }}; {name}::{name}({list_}) {body}"
        function.this = None
        return function, code, f"{name} made{{{given}}};" if kinds else f"{name} made;"
    words = {"static": "static ", "virtual": "virtual "}.get(form, "")
    const = " const" if form == "const method" else ""
    if form == "operator":
        name = "operator+"
        function.name = f"{owner}pl"
    if form == "class template":
        code = (
            f"template <class T> struct {owner} {{ long field = 4; CORPUS {result} {name}({list_}) {body} }};"
        )
        return function, f'{code} extern "C" {{ {owner}<int> {object_}; }}', f"{object_}.{name}({given});"
    if form == "sub":
        code = (
            f"namespace corpus {{ struct {owner} {{ {owner}(); long field = 4; {result} {name}({list_}); }}; "
        )
        code += f"{owner}::{owner}() {{}} CORPUS {result} {owner}::{name}({list_}) {body} }}"
        return function, f'{code} extern "C" {{ corpus::{owner} {object_}; }}', f"{object_}.{name}({given});"
    code = f"{head} {{ long field = 4; {words}{result} {name}({list_}){const}; }}; "
    code += f"CORPUS {result} {owner}::{name}({list_}){const} {body}"
    return function, f"{code} {after}", f"{object_}.{name}({given});"


def _declared(kind: str, name: str) -> str:
    for mark in ("(*)", "(&)", "::*)"):
        if mark in kind:
            return kind.replace(mark, mark[:-1] + name + ")")
    return f"{kind} {name}"
