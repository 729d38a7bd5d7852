"""What stands in the way of a session on this machine, found without starting one; each finding is one line."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from dualdbg.errors import DualdbgError, SymbolError, TargetError
from dualdbg.shared.python_versions import warning_of
from dualdbg.system.environment import for_gdb, for_questions
from dualdbg.system.gdb_versions import NEWEST, OLDEST

from ..shared.libraries import C10, TORCH_CPU, TORCH_PYTHON
from ..system.in_thread import run
from ..system.patience import patient
from ..system.shortage import shortage
from . import interpreter as interpreters
from . import permission, ptrace, whole_state
from .interpreter import Interpreter
from .launcher import debugpy_package, naming_us_as_tracer
from .preload import COMPILERS

GDB_PYTHON_OLDEST = (3, 8)  # what gdb_scripts are written for
CACHE_ROOM = 200_000_000  # bytes: the unwind tables and indexes of one PyTorch take about half of that
SECONDS = patient(20.0)  # for gdb or the dynamic loader to answer
_NOT_RUN = (OSError, subprocess.TimeoutExpired, TargetError)

FIRST_TORCH = (2, 6)
"""The oldest PyTorch whose types in C++ are known (``dualdbg_helpers/layout/tables``)."""

SectionNames = Callable[[str], Collection[str]]
"""The names of the sections of an ELF file; raises SymbolError when it cannot be read."""


class Status(str, Enum):
    """How well it is with one thing that was looked at."""

    OK = "ok"
    WARNING = "warning"  # works, with a limit that the text names
    ERROR = "error"  # a session cannot start, or shows nothing


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ``text`` says what was found, ``fix`` what to type when it is not well."""

    area: str
    status: Status
    text: str
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        """The row of ``doctor --json``."""
        return {**asdict(self), "status": self.status.value}


def examine(python: str | None, gdb: str | None, cache: Path, section_names: SectionNames) -> list[Finding]:
    """Every finding, in the order of a session: gdb, permission, interpreter, debugpy, PyTorch, disk.

    ``python`` and ``gdb`` are the user's choices. Takes about half a second.
    """
    findings = [*check_gdb(gdb), *check_ptrace()]
    try:
        interpreter = interpreters.inspect(interpreters.find(python), cache=cache)
    except DualdbgError as error:
        findings.append(Finding("python", Status.ERROR, error.message, error.hint))
    else:
        findings += check_interpreter(interpreter, section_names)
        findings += check_debugpy(interpreter)
        findings += check_torch(interpreter, section_names)
    return [*findings, *check_disk(cache)]


def _not_run(path: str, error: Exception, other: str) -> tuple[str, str]:
    """Why a program gave no answer, and what mends that; ``other`` where it is the program's fault."""
    if isinstance(error, subprocess.TimeoutExpired):
        return (
            f"{path} did not answer within {SECONDS:g} s",
            "on a slow machine, DUALDBG_PATIENCE=5 dualdbg doctor waits five times as long",
        )
    if isinstance(error, DualdbgError):
        return f"{path} does not run: {error.message}", error.hint or other
    known = shortage(error)
    if known is not None:
        return f"{path} does not run: {known.message}", known.hint
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{path} does not run: {reason or error}", other


def check_gdb(chosen: str | None) -> list[Finding]:
    """gdb: whether it is there, has a version that is known, and can run our scripts."""
    path = shutil.which(chosen or "gdb")
    if path is None:
        return [Finding("gdb", Status.ERROR, f"{chosen or 'gdb'} was not found", "apt-get install gdb")]
    try:
        shown = _output([path, "--version", "-nx", "-nh"])
        script = "import gdb, sys; print('dualdbg', *sys.version_info[:2])"
        scripted = _output([path, "-nx", "-nh", "-batch", "-ex", f"python {script}"])
    except _NOT_RUN as error:
        other = "apt-get install --reinstall gdb, or name another with --gdb PATH"
        return [Finding("gdb", Status.ERROR, *_not_run(path, error, other))]
    version = re.search(r"^GNU gdb.* ((\d+)\.\d+\S*)$", shown.partition("\n")[0])
    python = re.search(r"^dualdbg (\d+) (\d+)$", scripted, re.MULTILINE)
    other = f"install gdb {OLDEST} or later, or name one with --gdb PATH"
    if version is None:
        return [Finding("gdb", Status.ERROR, f"{path} is not gdb", other)]
    name = f"{path}, version {version[1]}"
    if int(version[2]) < OLDEST:
        return [Finding("gdb", Status.ERROR, f"{name}: older than {OLDEST}", other)]
    if python is None:
        return [Finding("gdb", Status.ERROR, f"{name}: built without Python", other)]
    if (int(python[1]), int(python[2])) < GDB_PYTHON_OLDEST:
        return [
            Finding("gdb", Status.ERROR, f"{name}: its Python is {python[1]}.{python[2]}, too old", other)
        ]
    if int(version[2]) > NEWEST:
        return [Finding("gdb", Status.WARNING, f"{name}: newer than any that dualdbg was tried with")]
    compiler = any(map(shutil.which, COMPILERS))
    if int(version[2]) < whole_state.FIXED and whole_state.needed() and not compiler:
        text = f"{name}: cannot write the vector registers of this processor, so it calls nothing in programs"
        return [
            Finding("gdb", Status.WARNING, text, f"apt-get install gcc, or {whole_state.WHOLE_STATE.without}")
        ]
    return [Finding("gdb", Status.OK, f"{name}, with Python {python[1]}.{python[2]}")]


def check_ptrace() -> list[Finding]:
    """Whether gdb may trace a program that we start; tried on a child that names us as its tracer, like a target."""
    scope = permission.yama_scope()
    where = "no Yama" if scope is None else f"ptrace_scope {scope}"
    if permission.in_container():
        where += ", in a container"
    child = subprocess.Popen(
        ["/bin/sh", "-c", "read _"], stdin=subprocess.PIPE, preexec_fn=naming_us_as_tracer()
    )
    try:
        ptrace.check(child.pid)
    except DualdbgError as error:
        hint = permission.LOWER_FOR_RUN if isinstance(error, permission.ScopeRefused) else error.hint
        return [Finding("ptrace", Status.ERROR, f"{error.message} ({where})", hint)]
    finally:
        child.kill()
        child.communicate()
    us = permission.look(os.getpid())
    if scope == 1 and us is not None and not us.capable:
        text = f"{where}: programs that dualdbg starts can be traced; others need --fix-ptrace or root"
        return [Finding("ptrace", Status.OK, text)]
    return [Finding("ptrace", Status.OK, f"{where}: allowed")]


def check_interpreter(interpreter: Interpreter, section_names: SectionNames) -> list[Finding]:
    """The interpreter: version, and how much gdb will know about its own C code."""
    kinds = [
        *(["debug build"] if interpreter.debug_build else []),
        *(["free-threaded"] if interpreter.free_threaded else []),
    ]
    binary = interpreter.libpython or interpreter.executable
    text = f"CPython {interpreter.version_text}{''.join(f', {kind}' for kind in kinds)}, {interpreter.path}"
    try:
        names = section_names(binary)
    except SymbolError as error:
        return [Finding("python", Status.ERROR, f"{text}: {error.message}", error.hint)]
    text = f"{text}; {Path(binary).name} has {_symbols(names)}"
    if warning := warning_of(interpreter.version_text):
        return [Finding("python", Status.WARNING, f"{text}. {warning[0]}", warning[1])]
    return [Finding("python", Status.OK, text)]


def check_debugpy(interpreter: Interpreter) -> list[Finding]:
    """The debugpy that dualdbg brings along: its tracer is compiled for one version of Python, and slow in others."""
    try:
        package = debugpy_package()
    except DualdbgError as error:
        return [Finding("debugpy", Status.ERROR, error.message, error.hint)]
    found = re.search(r'"version": "([^"]+)"', (package / "_version.py").read_text())
    version = found[1] if found else "of unknown version"
    pydevd = package / "_vendored" / "pydevd"
    name = (
        "_pydevd_sys_monitoring/_pydevd_sys_monitoring_cython"
        if interpreter.version >= (3, 12)
        else "_pydevd_bundle/pydevd_cython"
    )
    if (pydevd / (name + interpreter.extension_suffix)).exists():
        return [Finding("debugpy", Status.OK, f"{version}, compiled for this Python")]
    series = ".".join(map(str, interpreter.version[:2]))
    text = f"{version}, not compiled for Python {series}: a program with breakpoints runs slower"
    return [Finding("debugpy", Status.WARNING, text, f"install dualdbg with a Python {series}")]


def check_torch(interpreter: Interpreter, section_names: SectionNames) -> list[Finding]:
    """PyTorch: version, kind of build, ABI, symbols, and the libraries that the dynamic loader would not find."""
    if interpreter.torch is None:
        return [
            Finding(
                "torch", Status.OK, f"not installed for {interpreter.path}: operators have no short names"
            )
        ]
    folder = Path(interpreter.torch)
    facts = _assignments(folder / "version.py")
    extension = folder / f"_C{interpreter.extension_suffix}"
    python = folder / "lib" / f"{TORCH_PYTHON}.so"
    cpu = folder / "lib" / f"{TORCH_CPU}.so"
    text = f"{facts.get('__version__', 'of unknown version')}, {'debug' if facts.get('debug') else 'release'} build"
    if not extension.exists():
        built_for = ", ".join(sorted(path.name for path in folder.glob("_C.*.so"))) or "nothing"
        fix = f"{interpreter.path} -m pip install --force-reinstall torch"
        return [Finding("torch", Status.ERROR, f"{text}: built for another Python ({built_for})", fix)]
    findings = []
    try:
        names = set(section_names(str(cpu))) & set(section_names(str(python)))
        abi = "new" if b"__cxx11" in (folder / "lib" / f"{C10}.so").read_bytes() else "old"
    except (SymbolError, OSError) as error:
        return [Finding("torch", Status.ERROR, f"{text}: {error}", "reinstall PyTorch")]
    text += f", {abi} C++ ABI, {_symbols(names)}, {folder}"
    release = re.match(r"(\d+)\.(\d+)", str(facts.get("__version__", "")))
    if release and (int(release[1]), int(release[2])) < FIRST_TORCH:
        first = ".".join(map(str, FIRST_TORCH))
        old = f"{facts['__version__']} is older than {first}: no values of tensors and arguments at native stops"
        fix = f"breakpoints, steps and stacks work; a PyTorch from {first} on has values too"
        findings.append(Finding("torch", Status.WARNING, old, fix))
    if ".symtab" in names:
        findings.append(Finding("torch", Status.OK, text))
    else:
        # Kernels and the dispatcher's entries are exported (TORCH_API): a library that is stripped keeps their names.
        text += (
            ": operators are found by name; functions that are not exported, such as the bindings, have none"
        )
        fix = "a wheel has all names; dualdbg resolve torch.randn has the address of a binding"
        findings.append(Finding("torch", Status.WARNING, text, fix))
    try:
        missing = missing_libraries(interpreter, extension)
    except _NOT_RUN as error:
        other = "name another interpreter with --python PATH"
        return [*findings, Finding("torch", Status.ERROR, *_not_run(interpreter.executable, error, other))]
    return findings + [Finding("torch", Status.ERROR, line, _remedy(line)) for line in missing]


def missing_libraries(interpreter: Interpreter, extension: Path) -> list[str]:
    """What the dynamic loader does not find when the interpreter loads ``extension``, in the loader's words.

    The loader itself is asked, as by ldd(1), but in the interpreter's process, because the interpreter's RPATH counts
    too. Raises OSError or subprocess.TimeoutExpired where the interpreter gives no answer.
    """
    env = {
        **for_questions(os.environ),
        "LD_TRACE_LOADED_OBJECTS": "1",
        "LD_WARN": "1",
        "LD_PRELOAD": f"./{extension.name}",
    }
    done = run(
        [interpreter.executable, "-I", "-c", ""],  # for a loader that runs the program all the same
        cwd=extension.parent,  # the names in LD_PRELOAD end at a space or a colon: paths may have those
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    lines = (" ".join(line.split()) for line in said.splitlines())
    return list(dict.fromkeys(line for line in lines if "not found" in line or "cannot be preloaded" in line))


def check_disk(cache: Path) -> list[Finding]:
    """The cache folder: whether we may write there, and whether there is room."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        probe = cache / f".write-test-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        text = f"{cache} cannot be written ({error.strerror}): every session reads all symbols again"
        return [
            Finding("cache", Status.WARNING, text, "set XDG_CACHE_HOME to a folder that you may write to")
        ]
    free = shutil.disk_usage(cache).free
    if free < CACHE_ROOM:
        text = f"{cache}: {_megabytes(free)} free, less than the {_megabytes(CACHE_ROOM)} that PyTorch's tables need"
        return [Finding("cache", Status.WARNING, text, "make room, or set XDG_CACHE_HOME to another disk")]
    return [Finding("cache", Status.OK, f"{cache}, {_megabytes(free)} free")]


def _output(command: list[str]) -> str:
    """What gdb prints, started as a session starts it."""
    done = run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        env=for_gdb(os.environ),
    )
    return done.stdout.decode(errors="replace")


def _symbols(names: Iterable[str]) -> str:
    if ".debug_info" in names or ".zdebug_info" in names:
        return "symbols and debug info"
    return "symbols, no debug info" if ".symtab" in names else "no symbols"


def _assignments(path: Path) -> dict[str, object]:
    """The plain assignments of a Python file, without running it."""
    found: dict[str, object] = {}
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return found
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
            found[target.id] = value.value
    return found


def _remedy(line: str) -> str:
    """What to type about one complaint of the dynamic loader."""
    if "GLIBCXX" in line or "CXXABI" in line:
        return "a newer libstdc++: apt-get install libstdc++6, or conda install -c conda-forge libstdcxx-ng"
    if "GLIBC_" in line:
        return "a PyTorch built for this system, or a newer system: the C library cannot be exchanged"
    if "libgomp" in line:
        return "apt-get install libgomp1"
    return "install the package that has it, or set LD_LIBRARY_PATH to its folder"


def _megabytes(size: int) -> str:
    return f"{size // 1_000_000:,} MB"
