"""``torch-help``, ``dualdbg-layout``, ``torch-types``: what the helpers can do, and what they know of this process."""

from __future__ import annotations

from typing import Any

import gdb

from .. import context, inferior, language
from ..answers import Answer, Arguments
from ..errors import HelperError, LayoutMissing
from ..layout import choose, installation
from ..layout.wanted import PARTS
from ..python.interpreter import Interpreter
from ..python.version import warning_of
from .registry import COMMANDS, command

_TYPES_OFFSET = 0x10  # the address that gdb gets for the object's code: a page that no process has


@command("torch-help", "", "List the commands of the dualdbg helpers.")
def torch_help(text):
    Arguments(text, {})
    entries = sorted(COMMANDS.values(), key=lambda entry: entry.name)
    width = max(len(entry.name) for entry in entries)
    lines = [f"  {entry.name:<{width}}  {entry.summary.splitlines()[0]}" for entry in entries]
    text = "\n".join(
        [
            "PyTorch and Python values, read from memory; nothing is called in the process.",
            *lines,
            "`print` shows PyTorch's types too. Limits and sources: help set dualdbg. One command: help NAME.",
        ]
    )
    rows = [{"name": e.name, "mi": e.mi_name, "usage": e.usage, "summary": e.summary} for e in entries]
    return Answer(text, {"commands": rows})


@command(
    "dualdbg-layout",
    "",
    "Say which layouts of PyTorch's types are used in this process, and why.\n"
    "The sources, in this order: the debug info of the process; types that torch-types has compiled from the "
    "installed headers; a table for known versions. Each is checked against the running "
    "library before it is believed.\n"
    "See: set dualdbg layouts.",
)
def layout(text):
    Arguments(text, {})
    target = context.current()
    found = target.installation
    believed = [source.source for source in target.layout.layouts if source.records or source.enums]
    data: dict[str, Any] = {"pytorch": None, "sources": believed}
    lines = []
    if found is None:
        lines.append("PyTorch is not loaded in this process.")
    else:
        abi = "cxx11" if found.cxx11_abi else "before cxx11"
        lines.append(f"PyTorch {found.version or '(unknown version)'} in {found.root}, std::string ABI {abi}")
        data["pytorch"] = {"version": found.version, "root": found.root, "cxx11_abi": found.cxx11_abi}
        lines.extend(_sources(found, target))
    data["refused"] = choose.refusals()
    try:
        version = target.decoder(Interpreter).version
        kind = " without the GIL" if version.free_threaded else ""
        lines.append(f"CPython {version.major}.{version.minor}{kind}")
        warning = warning_of(version)
        if warning is not None:
            lines.append("  " + warning)
        data["python"] = f"{version.major}.{version.minor}"
    except LayoutMissing as error:
        lines.append(error.message)
    return Answer("\n".join(lines), data)


def _sources(found, target):
    for source in target.layout.layouts:
        if source.records or source.enums:
            yield f"  believed: {source.source}"
    for source, problem in choose.refusals().items():
        yield f"  refused: {source}: {problem}"
    maker = choose.types_object(found)
    problem = maker.possible()
    for part in PARTS:
        yield f"  types of the headers ({part}): {_state(maker, part, problem)}"
    if choose.table(found.version, found.build) is None:
        yield f"  no table for version {found.version}"


def _state(maker, part, problem):
    if maker.cached(part):
        return "compiled"
    if problem:
        return f"cannot be compiled: {problem}"
    return "not compiled"


@command(
    "torch-types",
    "[core|jit]",
    "Give gdb the types of PyTorch, so that `print *(c10::IValue*)$rsi` works without debug info; values of a PyTorch "
    "that no table fits are read by them too.\n"
    "They are compiled once from the installed headers; needs a C++ compiler.",
)
def torch_types(text):
    part = Arguments(text, {}).expression or "core"
    if part not in PARTS:
        raise HelperError(f"There is no part {part!r}.", "Parts: " + ", ".join(PARTS))
    found = installation.find(inferior.mappings(inferior.require_inferior()))
    if found is None:
        raise HelperError("PyTorch is not loaded in this process.")
    path = choose.types_object(found).object_file(part)
    context.renew_layouts()
    if not any(known.filename == str(path) for known in gdb.objfiles() if known.is_valid()):
        confirm = gdb.parameter("confirm")
        gdb.execute("set confirm off", to_string=True)
        try:
            with language.ours():  # the offset is an expression
                gdb.execute(f"add-symbol-file {path} -o {_TYPES_OFFSET}", to_string=True)
        finally:
            gdb.execute(f"set confirm {'on' if confirm else 'off'}", to_string=True)
    hint = "With frames that have no debug info, say `set language c++` first."
    return Answer(f"gdb knows the types of {path.name} now. {hint}", {"file": str(path)})
