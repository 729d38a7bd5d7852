"""From a Python callable to the native functions that a call of it enters, without running it.

The user's interpreter imports what the name needs and reads its own objects (``dualdbg_entries.py`` in
``target/bootstrap``); the names of the functions come from the libraries' symbols here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import SymbolError
from ...known.binding_layers import CALLER_OF_ONE_KERNEL, CASTER_OF_POINTER, FUNCTION_ARGUMENT
from ...system.environment import for_imports
from ...system.in_thread import run
from ...system.patience import patient
from ...system.resources import resource_directory
from ...system.shortage import shortage
from ..elf.elf_file import ElfFile
from ..link_time import inlined_calls
from ..objfile import Objfile, Symbol
from .resolved import (
    NativeEntry,
    PythonSource,
    Registered,
    RegisteredKernel,
    Registration,
    Resolved,
    TableRow,
)

# CPU: registered at FILE:LINE :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
# Of several kernels for a key the first is in force; the others, marked (inactive), are what it replaced.
_REGISTERED = re.compile(
    r"(?P<key>\w+(?:\[alias\])?): registered at (?P<place>.+?) :: (?P<signature>.*?) \[ (?P<calls>[\w ]*)\]"
)
_SCHEMA = re.compile(r"debug: registered at (?P<place>.+)")
# CPU: fallthrough registered at FILE:LINE [backend fallback]
_ROW = re.compile(r"(?P<key>\w+): (?P<through>fallthrough )?registered at (?P<place>.+) \[(?P<how>[\w ]+)\]")


def registered_rows(dump: str) -> tuple[str | None, tuple[Registered, ...]]:
    """Where the schema was registered, and the kernels with theirs."""
    place = None
    found = []
    for line in dump.splitlines():
        schema, kernel = _SCHEMA.fullmatch(line.strip()), _REGISTERED.fullmatch(line.strip())
        if schema is not None:
            place = schema["place"]
        elif kernel is not None:
            signature = None if kernel["signature"] == "(none)" else kernel["signature"]
            found.append(
                Registered(kernel["key"], kernel["place"], signature, tuple(kernel["calls"].split()))
            )
    return place, tuple(found)


def table_rows(table: str) -> tuple[TableRow, ...]:
    """What each dispatch key comes to; keys that come to nothing have no row."""
    matches = (_ROW.fullmatch(line.strip()) for line in table.splitlines())
    return tuple(
        TableRow(match["key"], match["place"], match["how"], match["through"] is not None)
        for match in matches
        if match is not None
    )


# What runs in the user's interpreter; read as files, because dualdbg itself does not import them.
_FOLDER = Path(__file__).resolve().parents[2] / "target" / "bootstrap"
PROBE = _FOLDER / "dualdbg_entries.py"
_BESIDE = os.pathsep.join((str(_FOLDER), str(resource_directory("gdb_scripts"))))
# What a user wants to stop at, best first; the others only lead there.
_TO_IMPORT = patient(120.0)  # seconds; PyTorch from a cold disk takes half of it
_ROLES = ("kernel", "function", "get", "set")


def find_entries(
    python: str | Path,
    names: Sequence[str],
    *,
    setup: str | None = None,
    directory: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    search_path: Sequence[str] = (),
    seconds: float = _TO_IMPORT,
) -> list[Resolved]:
    """The native entries of dotted names (``torch.randn``, ``math.sin``, ``module.Class.method``), one answer each.

    ``python`` is the interpreter that imports them, ``directory`` its working directory, ``search_path`` where it
    imports from before it looks into its own folders, ``setup`` code that runs there first, such as
    ``torch.ops.load_library(...)``. No other code of the user runs: no start-up file, and no module that has the name
    of a module that the reading needs.

    :raises SymbolError: the interpreter cannot be started, ends with an error or does not end within ``seconds``.
    """
    path = json.dumps(list(search_path))
    arguments = ["--path", path, *(["--setup", setup] if setup else []), *names]
    with os.fdopen(os.memfd_create("answers"), "w+b") as out:
        command = [str(python), "-I", "-", "--out", str(out.fileno()), "--beside", _BESIDE, *arguments]
        _run(command, out.fileno(), directory, environment, seconds)
        out.seek(0)
        answers = json.load(out)
    return [_resolved(answer) for answer in answers]


def _run(
    command: list[str],
    descriptor: int,
    directory: str | Path | None,
    environment: Mapping[str, str] | None,
    seconds: float,
) -> None:
    python = command[0]
    try:
        done = run(
            command,
            input=PROBE.read_bytes(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[descriptor],
            cwd=directory,
            env=for_imports(os.environ if environment is None else environment),
            timeout=seconds,
        )
    except OSError as error:
        known = shortage(error)
        raise SymbolError(
            f"cannot run {python}: {known.message if known else error.strerror}",
            known.hint if known else "give another interpreter with --python",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise SymbolError(
            f"{python} did not answer within {seconds:g} s",
            "does the import wait for something, such as a lock?",
        ) from error
    if done.returncode == 0:
        return
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    how = (
        f"ended with status {done.returncode}"
        if done.returncode > 0
        else f"died of signal {-done.returncode}"
    )
    raise SymbolError(
        f"{python} {how}: {said[-1] if said else 'it said nothing'}", "try the import in that interpreter"
    )


def _resolved(answer: dict[str, Any]) -> Resolved:
    place = answer["python"]
    entries = _in_order(answer["entries"])
    return Resolved(
        name=answer["name"],
        kind=answer["kind"],
        entries=entries,
        operator=answer["operator"],
        overloads=tuple(answer["overloads"]),
        python=_source(place) if place else None,
        error=answer["error"],
        binds=answer["binds"] or any(CALLER_OF_ONE_KERNEL.match(entry.function or "") for entry in entries),
        registrations=tuple(map(_registration, answer["registrations"])),
        near=None if answer["near"] is None else tuple(answer["near"]),
    )


def _source(place: dict[str, Any]) -> PythonSource:
    return PythonSource(place["file"], place["line"], place["name"], place.get("role"))


def _registration(raw: dict[str, Any]) -> Registration:
    kernels = (
        RegisteredKernel(tuple(one["keys"]), _in_order(one["entries"]), tuple(map(_source, one["python"])))
        for one in raw["kernels"]
    )
    place, registered = registered_rows(raw["dump"])
    return Registration(
        raw["name"], raw["schema"], place, registered, table_rows(raw["table"]), tuple(kernels)
    )


def _in_order(raw: list[dict[str, Any]]) -> tuple[NativeEntry, ...]:
    """The entries, each place once, in the order of what a user wants to stop at."""
    known: dict[tuple[str, int], NativeEntry] = {}
    for entry in sorted(_believed([entry for one in raw for entry in _entries(one)]), key=_rank):
        known.setdefault((entry.library, entry.address), entry)
    return tuple(known.values())


def _believed(entries: list[NativeEntry]) -> list[NativeEntry]:
    """The entries. A captured one stays only when its caster says that it takes a pointer."""
    kept = []
    for at, entry in enumerate(entries):
        if not entry.role.endswith("captured"):
            kept.append(entry)
        elif at + 1 < len(entries) and CASTER_OF_POINTER.search(entries[at + 1].function or ""):
            kept.append(replace(entry, role=entry.role.replace("captured", "function")))
    return kept


def _rank(entry: NativeEntry) -> int:
    words = entry.role.split()
    return next((at for at, role in enumerate(_ROLES) if words[-1] == role), len(_ROLES))


def _entries(raw: dict[str, Any]) -> list[NativeEntry]:
    """The entry, and before it the function that its template argument names."""
    if raw["library"] is None:
        return []  # made at run time, for example by libffi: no file has it
    library = Objfile.open(raw["library"])
    address = _link_time_address(library.elf, raw["offset"])
    symbol = library.symbol_at(address)
    entry = NativeEntry(
        raw["role"],
        raw["library"],
        address,
        symbol.name if symbol else None,
        # A caster is one of thousands of instances of a template: its name means all of them.
        _place(library, address) if raw["role"].endswith("caster") else _spec(library, address, symbol),
        raw["signature"],
        inlined_calls(library),
    )
    return [*_named_in_template(library, symbol, entry), entry]


def _link_time_address(elf: ElfFile, offset: int) -> int:
    for segment in elf.loads():
        if segment.offset <= offset < segment.offset + segment.file_size:
            return offset - segment.offset + segment.address
    raise SymbolError(f"{elf.path} has changed since it was loaded", "try again")


def _named_in_template(library: Objfile, symbol: Symbol | None, entry: NativeEntry) -> list[NativeEntry]:
    if not entry.role.endswith("caster"):
        return []
    return [
        replace(
            entry,
            role=entry.role.replace("caster", "kernel"),
            address=function.address,
            function=function.name,
            spec=_spec(library, function.address, function),
        )
        for function in functions_in_template(library, symbol)
    ]


def functions_in_template(library: Objfile, symbol: Symbol | None) -> list[Symbol]:
    """The functions among the template arguments of ``symbol``, an instance of a template of c10 or pybind11."""
    match = FUNCTION_ARGUMENT.search(symbol.name) if symbol is not None else None
    return library.find_functions(f"::{match[1]}") if match is not None else []


def _place(library: Objfile, address: int) -> str:
    return f"{Path(library.path).name}+{address:#x}"


def _spec(library: Objfile, address: int, symbol: Symbol | None) -> str:
    """The function's name where only this function has it, else the place in the library."""
    place = _place(library, address)
    if symbol is None or symbol.address != address:
        return place
    for name in (symbol.short_name, symbol.name):
        plain = not any(part in name for part in ("{lambda", "[clone", "<"))
        if plain and [one.address for one in library.find_functions(name)] == [address]:
            return name
    return place
