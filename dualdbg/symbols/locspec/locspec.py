"""The places of the breakpoint spec language: an operator, a function, a line, an address, an event.

PLACE = NAME ["@" LAYER]          an operator: randn, add.Tensor, aten::mm, mylib::myop.out, randn@binding;
                                  as Python has it: torch.ops.mylib.myop
      | ["::"] FUNCTION           C or C++: THPModule_initExtension, at::native::randn, Foo<int>::f, *_kernel
      | FILE ":" LINE             the file's suffix tells the language; a FILE may stand in double quotes
      | FILE ":" LINE "@kernel"   the kernels that torch.compile makes of a line of Python
      | "py:" FUNCTION            a Python function: py:torch.nn.functional.linear
      | "py:" FILE ":" LINE       a Python file whose name does not end in .py
      | ["*"] "0x" HEX            an absolute address
      | LIBRARY "+0x" HEX         an address in a library, as nm and objdump print it
      | "data:" ADDRESS ":" SIZE ":" ("read" | "write" | "readWrite")   memory: SIZE bytes that change or are read
      | ("watch" | "rwatch" | "awatch") ":" EXPRESSION   a native value that changes, is read, or either
      | "watch:py:" EXPRESSION       a value of Python that changes
      | "preset:" NAME | "throw" [":" TYPE] | "catch" [":" TYPE] | "raise" [":" TYPE] | "uncaught"
      | "signal:" SIGNAL | SIGNAL
"""

from __future__ import annotations

import difflib
import re
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace

from ...known.file_endings import ALSO_NAMES, NATIVE_ENDINGS, PYTHON_ENDINGS
from ...model import BreakpointKind, BreakpointSpec, Layer
from .function_names import SUFFIXES, Problem, check_function_name

IsOperator = Callable[[str], bool]

# gdb's words (gdb, "Set Watchpoints"), and the accesses at which each stops.
WATCH_WORDS = {"watch": "write", "rwatch": "read", "awatch": "readWrite"}

# Namespaces of the operator registry that are not C++ namespaces.
_REGISTRY_NAMESPACES = frozenset({"aten", "prim", "prims"})

_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)", re.DOTALL)
_QUOTED_LINE = re.compile(r'"(?P<file>(?:[^"\\]|\\.)+)":(?P<line>\d+)', re.DOTALL)
_KERNEL_OF_LINE = re.compile(r"(?P<place>.+:\d+)@(?P<layer>\w*)", re.DOTALL)
_ADDRESS = re.compile(r"\*?0[xX](?P<hex>[0-9a-fA-F]+)")
_LIBRARY_ADDRESS = re.compile(r"(?P<library>.*[^\s+]\.so[^+]*|[\w./-]+)\+0[xX](?P<hex>[0-9a-fA-F]+)")
_OPERATOR = re.compile(
    r"(?:(?P<namespace>[A-Za-z_]\w*)::)?(?P<name>[A-Za-z_]\w*)(?:\.(?P<overload>[A-Za-z_]\w*))?(?:@(?P<layer>\w*))?"
)
_PYTHON_OPERATOR = re.compile(r"\Atorch\.ops\.(\w+)\.(?=\w)")
_BROKEN_ADDRESS = re.compile(r"\*?0[xX]\w*|.*\.so[\d.]*\+.*")
_CLONE = re.compile(r".+\.(?:cold|constprop|isra|part|lto_priv|llvm)(?:\.\d+)*")
_PREFIXED = re.compile(r"(?P<prefix>[A-Za-z-]+):(?!:)(?P<rest>.*)", re.DOTALL)
_WATCHED = re.compile(
    r"0[xX](?P<hex>[0-9a-fA-F]{1,16}):(?P<size>[1-9]\d{0,3}):(?P<access>read|write|readWrite)"
)
_OF_PYTHON = re.compile(r"py:(?!:)\s*(?P<expression>.*)", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z_][\w.:]*(?:<.*>)?(?:::[\w:]+)*")


def parse_locspec(text: str, is_operator: IsOperator) -> BreakpointSpec:
    """The place alone, without suffixes.

    :raises Problem: the text is not a place; its position counts from the start of ``text``.
    """
    for pattern, read in _FORMS:
        match = pattern.fullmatch(text)
        if match is not None:
            return read(text, match)
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed is not None and prefixed["prefix"] in _PREFIXES:
        return _PREFIXES[prefixed["prefix"]](text, prefixed["rest"], len(prefixed["prefix"]) + 1)
    _check_file(text)
    line = _LINE.fullmatch(text)
    if line is not None:
        return _line(text, line)
    broken = _BROKEN_ADDRESS.fullmatch(text)
    if broken is not None:
        raise Problem(
            "an address is 0x and hexadecimal digits", 0, "for example *0x7ffff7a41120 or libm.so.6+0x1120"
        )
    if prefixed is not None:
        raise _unknown_prefix(text, prefixed["prefix"], prefixed["rest"])
    return _name(text, is_operator)


def locspec_text(spec: BreakpointSpec) -> str:
    """The place of a spec in its normal form."""
    return _WRITERS[spec.kind](spec)


# Reading


def _event(kind: BreakpointKind) -> Callable[[str, re.Match[str]], BreakpointSpec]:
    def read(text: str, _match: re.Match[str]) -> BreakpointSpec:
        return BreakpointSpec(text, kind, "")

    return read


def _address(text: str, match: re.Match[str]) -> BreakpointSpec:
    number = int(match["hex"], 16)
    if number >= 1 << 64:
        raise Problem("the address has more than 64 bits", match.start("hex"), "")
    return BreakpointSpec(text, BreakpointKind.ADDRESS, hex(number))


def _library_address(text: str, match: re.Match[str]) -> BreakpointSpec:
    number = int(match["hex"], 16)
    return BreakpointSpec(text, BreakpointKind.ADDRESS, f"{match['library']}+{hex(number)}")


def _signal(text: str, match: re.Match[str]) -> BreakpointSpec:
    return BreakpointSpec(text, BreakpointKind.SIGNAL, _signal_name(match[0], 0))


def _quoted_line(text: str, match: re.Match[str]) -> BreakpointSpec:
    return _line_of(text, re.sub(r"\\(.)", r"\1", match["file"]), match["line"], match.start("line"))


def _kernel_of_line(text: str, match: re.Match[str]) -> BreakpointSpec:
    spec = parse_locspec(match["place"], lambda _name: False)
    if spec.kind is not BreakpointKind.PYTHON_LINE:
        raise Problem(
            "only a line of Python has kernels", match.start("layer") - 1, "for example model.py:12@kernel"
        )
    if match["layer"] != Layer.KERNEL.value:
        raise Problem(
            f"a line has no layer {match['layer']!r}", match.start("layer"), f"type {match['place']}@kernel"
        )
    return replace(spec, text=text, kind=BreakpointKind.COMPILED_LINE)


def _line(text: str, match: re.Match[str]) -> BreakpointSpec:
    if match["file"].startswith('"'):
        raise Problem("the quote is not closed", 0, 'a path in quotes: "a path.py":12')
    return _line_of(text, match["file"], match["line"], match.start("line"))


def _line_of(text: str, file: str, line: str, position: int) -> BreakpointSpec:
    if int(line) < 1:
        raise Problem("lines count from 1", position, f"type {file}:1")
    ending = _ending(file)
    if ending in PYTHON_ENDINGS:
        return BreakpointSpec(text, BreakpointKind.PYTHON_LINE, file, line=int(line))
    if ending in NATIVE_ENDINGS:
        return BreakpointSpec(text, BreakpointKind.NATIVE_LINE, file, line=int(line))
    what = f"the suffix .{ending}" if ending else "a file without a suffix"
    raise Problem(
        f"{what} does not tell whether {file} is Python or native",
        0,
        f"a Python file: py:{file}:{line}; a native one ends in .c, .cpp, .cu, .h, .pyx and the like",
    )


def _check_file(text: str) -> None:
    """Nothing, unless the text begins with a source file and its line cannot be read."""
    match = re.match(r"\"?(?P<file>[^\"]+?\.(?P<suffix>\w+))\"?:(?!:)(?P<rest>.*)", text, re.DOTALL)
    if match is None or match["suffix"] not in PYTHON_ENDINGS | NATIVE_ENDINGS or match["rest"].isdigit():
        return
    file, rest, at = match["file"], match["rest"], match.start("rest")
    line = re.match(r"\d+", rest)
    if line is None and rest.isidentifier() and match["suffix"] in NATIVE_ENDINGS:
        raise Problem("a line's number belongs here", at, f"a function is named without its file: {rest}")
    if line is None:
        raise Problem("a line's number belongs here", at, f"for example {file}:12")
    after = rest[line.end() :]
    if after[:1].isspace():
        at += line.end() + len(after) - len(after.lstrip())
        hint = f"a condition follows 'if': {file}:{line[0]} if {after.strip()}; other suffixes: {SUFFIXES}"
        raise Problem(f"{after.strip()!r} is not understood after {file}:{line[0]}", at, hint)
    if re.fullmatch(r":\d+", after):
        raise Problem("a line has no columns here", at + line.end(), f"type {file}:{line[0]}")


def _ending(file: str) -> str:
    stem, dot, suffix = file.rpartition("/")[2].rpartition(".")
    return suffix if dot and stem else ""


def _python(text: str, rest: str, at: int) -> BreakpointSpec:
    line = _QUOTED_LINE.fullmatch(rest) or _LINE.fullmatch(rest)
    if line is not None:
        if int(line["line"]) < 1:
            raise Problem("lines count from 1", at + line.start("line"), f"type py:{line['file']}:1")
        file = re.sub(r"\\(.)", r"\1", line["file"]) if rest.startswith('"') else line["file"]
        return BreakpointSpec(text, BreakpointKind.PYTHON_LINE, file, line=int(line["line"]))
    if not rest:
        raise Problem(
            "'py:' wants a Python function", at, "py:torch.nn.functional.linear or py:MyModel.forward"
        )
    position = at
    for part in rest.split("."):
        if not part.isidentifier() and part not in ("<locals>", "<lambda>"):
            raise Problem(
                f"{part!r} is no Python name" if part else "a name is missing between the dots",
                position,
                "py:package.module.function or py:Class.method, without parentheses",
            )
        position += len(part) + 1
    return BreakpointSpec(text, BreakpointKind.PYTHON_FUNCTION, rest)


def _preset(text: str, rest: str, at: int) -> BreakpointSpec:
    if not re.fullmatch(r"[\w.-]+", rest):
        raise Problem("'preset:' wants a name", at, "for example preset:jit-run")
    return BreakpointSpec(text, BreakpointKind.PRESET, rest)


def _cxx_event(kind: BreakpointKind) -> Callable[[str, str, int], BreakpointSpec]:
    word = kind.value

    def read(text: str, rest: str, at: int) -> BreakpointSpec:
        if not _TYPE.fullmatch(rest):
            hint = f"{word}:std::runtime_error, or {word} for every type"
            raise Problem(f"'{word}:' wants a C++ type", at, hint)
        return BreakpointSpec(text, kind, rest)

    return read


def _raise(text: str, rest: str, at: int) -> BreakpointSpec:
    if not rest or not all(part.isidentifier() for part in rest.split(".")):
        raise Problem(
            "'raise:' wants a Python exception type", at, "raise:ValueError, or raise for every type"
        )
    return BreakpointSpec(text, BreakpointKind.RAISE, rest)


def _data(text: str, rest: str, at: int) -> BreakpointSpec:
    match = _WATCHED.fullmatch(rest)
    if match is None:
        raise Problem(
            "'data:' wants an address, a number of bytes and an access",
            at,
            "for example data:0x7ffd10:8:write",
        )
    subject = f"{int(match['hex'], 16):#x}:{match['size']}:{match['access']}"
    return BreakpointSpec(text, BreakpointKind.DATA, subject)


def _watch(word: str, access: str) -> Callable[[str, str, int], BreakpointSpec]:
    def read(text: str, rest: str, at: int) -> BreakpointSpec:
        python = _OF_PYTHON.fullmatch(rest)
        if python is not None:
            return _python_watch(text, word, python["expression"].strip(), at)
        expression = re.sub(r"^\s*-l(?:ocation)?\s+", "-location ", rest).strip()
        if not expression or expression == "-location":
            raise Problem(f"'{word}:' wants a native expression", at, f"for example {word}:counter")
        return BreakpointSpec(text, BreakpointKind.WATCH, expression, access=access)

    return read


def _python_watch(text: str, word: str, expression: str, at: int) -> BreakpointSpec:
    if word != "watch":
        raise Problem(f"'{word}:' is for native values: who reads one of Python is not seen", 0, "type watch")
    if re.match(r"-l(?:ocation)?\b", expression):
        raise Problem("-l watches native memory", at, "for example watch self.count, without -l")
    if not expression:
        raise Problem("'watch:py:' wants an expression of Python", at, "for example watch:py:self.count")
    return BreakpointSpec(text, BreakpointKind.PYTHON_WATCH, expression, access="write")


def _signal_prefixed(text: str, rest: str, at: int) -> BreakpointSpec:
    return BreakpointSpec(text, BreakpointKind.SIGNAL, _signal_name(rest, at))


def _signal_name(name: str, at: int) -> str:
    known = {member.name: member.value for member in signal.Signals}
    real_time = re.fullmatch(r"SIGRTMIN\+(\d+)", name)
    if real_time is not None:
        name = str(int(signal.SIGRTMIN) + int(real_time[1]))
    if name.isdigit():
        if not 1 <= int(name) <= int(signal.SIGRTMAX):
            raise Problem(f"there is no signal {name}", at, f"signals go from 1 to {int(signal.SIGRTMAX)}")
        by_number = {value: label for label, value in known.items()}
        name = by_number.get(int(name), f"SIG{name}")
    elif f"SIG{name}" in known:
        name = f"SIG{name}"
    if name in ("SIGKILL", "SIGSTOP"):
        raise Problem(
            f"{name} cannot be stopped at", at, "the kernel delivers it without telling a debugger first"
        )
    if name not in known and not re.fullmatch(r"SIG\d+", name):
        raise Problem(f"there is no signal {name!r}", at, _nearest(name, known, "for example signal:SIGUSR1"))
    return name


def _unknown_prefix(text: str, prefix: str, rest: str) -> Problem:
    if prefix == "uncaught":
        return Problem(
            "'uncaught' takes no type", len(prefix), f"raise:{rest} stops where one type is raised"
        )
    near = difflib.get_close_matches(prefix, _PREFIXES, 1, 0.5)
    if near:
        return Problem(f"there is no '{prefix}:'", 0, f"did you mean {near[0]}:{rest}?")
    return Problem(
        f"{prefix!r} is followed by one colon",
        len(prefix),
        f"FILE:LINE wants a number; C++ names take {prefix}::{rest}",
    )


def _name(text: str, is_operator: IsOperator) -> BreakpointSpec:
    match = _OPERATOR.fullmatch(_PYTHON_OPERATOR.sub(r"\1::", text))
    if match is not None and match.string != text:
        spec = _operator(text, match)
        known = spec.layer or spec.overload or spec.namespace in _REGISTRY_NAMESPACES
        return spec if known else replace(spec, layer=Layer.KERNEL)  # other::myop alone may be a function
    if match is not None and not _CLONE.fullmatch(text) and _is_operator(text, match, is_operator):
        return _operator(text, match)
    if "@" in text and match is None and "(" not in text:
        raise Problem(
            "only an operator has layers", text.index("@"), "for example randn@binding or add.Tensor@dispatch"
        )
    check_function_name(text)
    return BreakpointSpec(text, BreakpointKind.FUNCTION, text)


def _operator(text: str, match: re.Match[str]) -> BreakpointSpec:
    return BreakpointSpec(
        text,
        BreakpointKind.OPERATOR,
        match["name"],
        namespace=match["namespace"],
        overload=match["overload"],
        layer=_layer(match),
    )


def _is_operator(text: str, match: re.Match[str], is_operator: IsOperator) -> bool:
    if match["layer"] is not None or match["namespace"] in _REGISTRY_NAMESPACES:
        return True
    name = match["name"] if match["namespace"] is None else f"{match['namespace']}::{match['name']}"
    if is_operator(name):
        return True
    if match["overload"] is None:
        return False
    if _ending(text) in (PYTHON_ENDINGS | NATIVE_ENDINGS) - ALSO_NAMES:
        hint = f"for example {text}:12; a function of Cython that is called so: {match['overload']}"
        raise Problem("the line is missing", len(text), hint)
    if match["namespace"] is not None:
        return True  # an extension's: C++ names have no dots
    if match["name"] == "torch" and is_operator(match["overload"]):
        hint = f"the operator: {match['overload']}; a Python function: py:{text}"
    else:
        return False  # a function of Cython
    raise Problem(f"{name!r} is no operator, and C++ names have no dots", len(name), hint)


def _layer(match: re.Match[str]) -> Layer | None:
    written = match["layer"]
    if written is None:
        return None
    try:
        return Layer(written)
    except ValueError:
        names = [layer.value for layer in Layer]
        hint = _nearest(written, names, "layers: " + ", ".join(names))
        raise Problem(f"an operator has no layer {written!r}", match.start("layer"), hint) from None


def _nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    near = difflib.get_close_matches(name, list(known), 3, 0.6)
    return f"nearest: {', '.join(near)}" if near else otherwise


_FORMS: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], BreakpointSpec]], ...] = (
    (re.compile("throw"), _event(BreakpointKind.THROW)),
    (re.compile("catch"), _event(BreakpointKind.CATCH)),
    (re.compile("raise"), _event(BreakpointKind.RAISE)),
    (re.compile("uncaught"), _event(BreakpointKind.UNCAUGHT)),
    (_ADDRESS, _address),
    (_LIBRARY_ADDRESS, _library_address),
    (re.compile(r"SIG[A-Z0-9]+(?:\+\d+)?"), _signal),
    (_QUOTED_LINE, _quoted_line),
    (_KERNEL_OF_LINE, _kernel_of_line),
)
_PREFIXES: dict[str, Callable[[str, str, int], BreakpointSpec]] = {
    "py": _python,
    "preset": _preset,
    "throw": _cxx_event(BreakpointKind.THROW),
    "catch": _cxx_event(BreakpointKind.CATCH),
    "raise": _raise,
    "data": _data,
    **{word: _watch(word, access) for word, access in WATCH_WORDS.items()},
    "signal": _signal_prefixed,
}


# Writing


def _write_operator(spec: BreakpointSpec) -> str:
    namespace = f"{spec.namespace}::" if spec.namespace else ""
    overload = f".{spec.overload}" if spec.overload else ""
    layer = f"@{spec.layer.value}" if spec.layer else ""
    return f"{namespace}{spec.subject}{overload}{layer}"


def _write_line(spec: BreakpointSpec) -> str:
    file = spec.subject
    is_native = spec.kind is BreakpointKind.NATIVE_LINE
    prefix = "" if is_native or _ending(file) in PYTHON_ENDINGS else "py:"
    if re.search(r'[\s":()\[\]{}\\]', file):
        escaped = file.replace("\\", "\\\\").replace('"', '\\"')
        file = f'"{escaped}"'
    kernel = "@kernel" if spec.kind is BreakpointKind.COMPILED_LINE else ""
    return f"{prefix}{file}:{spec.line}{kernel}"


def _write_event(word: str) -> Callable[[BreakpointSpec], str]:
    return lambda spec: f"{word}:{spec.subject}" if spec.subject else word


def _write_address(spec: BreakpointSpec) -> str:
    return spec.subject if "+" in spec.subject else f"*{spec.subject}"


def _write_watch(spec: BreakpointSpec) -> str:
    word = next(word for word, access in WATCH_WORDS.items() if access == spec.access)
    return f"{word}:{spec.subject}"


_WRITERS: dict[BreakpointKind, Callable[[BreakpointSpec], str]] = {
    BreakpointKind.OPERATOR: _write_operator,
    BreakpointKind.FUNCTION: lambda spec: spec.subject,
    BreakpointKind.NATIVE_LINE: _write_line,
    BreakpointKind.PYTHON_LINE: _write_line,
    BreakpointKind.COMPILED_LINE: _write_line,
    BreakpointKind.PYTHON_FUNCTION: lambda spec: f"py:{spec.subject}",
    BreakpointKind.ADDRESS: _write_address,
    BreakpointKind.DATA: lambda spec: f"data:{spec.subject}",
    BreakpointKind.WATCH: _write_watch,
    BreakpointKind.PYTHON_WATCH: lambda spec: f"watch:py:{spec.subject}",
    BreakpointKind.PRESET: lambda spec: f"preset:{spec.subject}",
    BreakpointKind.THROW: _write_event("throw"),
    BreakpointKind.CATCH: _write_event("catch"),
    BreakpointKind.RAISE: _write_event("raise"),
    BreakpointKind.UNCAUGHT: _write_event("uncaught"),
    BreakpointKind.SIGNAL: lambda spec: f"signal:{spec.subject}",
}
