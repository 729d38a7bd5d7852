"""What a frame is to the reader: the user's own code, binding glue, or the interpreter's plumbing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import PurePath

from ..known.binding_layers import GLUE_PATTERNS, is_rust_library
from ..known.generated_code import GLUE, is_kernel_library
from ..known.gpu_calls import is_gpu_library
from ..known.python_files import is_standard_library
from ..known.runtime_functions import is_runtime_function
from ..model import Frame, NativeFrame, PythonFrame, Role
from ..shared.libraries import (
    holds_interpreter,
    is_c_library,
    is_cython_runtime,
    is_runtime,
    is_sanitizer,
    is_system,
    is_torch_python,
)

# The interpreter's evaluation loop: such a C frame stands for one or more Python frames. Compilers add suffixes
# (.cold, .lto_priv.0); tail-calling interpreters, from 3.14 on, run the bytecodes in functions of their own, which the
# loop calls and which follow each other in one frame.
_LOOP = re.compile(r"^_PyEval_EvalFrameDefault\b")
_BYTECODE = re.compile(r"^_TAIL_CALL_\w+")

# The interpreter's own code in a program that it is linked into: by its source files, or the names of its API.
_CPYTHON_SOURCE = re.compile(r"(?:^|/)(?:Include|Objects|Python|Modules|Parser|Programs)/[\w./]+\.[ch]$")
_C_API = re.compile(r"^_?Py[A-Z_]|^pymain_")

_PYTHON_HEADER = re.compile(r"/include/python3[^/]*/")

NO_CODE = "there is no code at {:#x}, and no call has led there (corrupt stack?)"  # ends a stack that was overwritten

# The functions at the bottom of a thread's stack.
BASE_FUNCTIONS = re.compile(
    r"^(_start|__libc_start_main(_impl|@@\S+)?|__libc_start_call_main|main|start_thread|(__)?clone3?|thread_start|"
    r"pythread_wrapper|thread_run|t_bootstrap)\b"
)


@dataclass(frozen=True)
class RoleRules:
    """What belongs to the interpreter and to dualdbg in this target, and the user's own patterns for glue.

    ``interpreter_libraries``: the files that hold the interpreter (its executable, libpython). ``host`` is a program of
    the user's that holds the interpreter too (libpython is linked into it); source files and names tell the two apart.
    ``hidden_files``: files and folders of dualdbg and of debugpy, never shown.
    """

    interpreter_libraries: frozenset[str] = frozenset()
    hidden_files: tuple[str, ...] = ()
    glue_patterns: tuple[str, ...] = GLUE_PATTERNS
    host: str | None = None
    _glue: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_glue", re.compile("|".join(f"(?:{p})" for p in self.glue_patterns)))

    def is_interpreter(self, frame: NativeFrame) -> bool:
        """Whether a native frame belongs to the interpreter, also where that lies in the user's own program."""
        if frame.library is None:
            return False
        if frame.library == self.host:
            known = frame.file is not None and _CPYTHON_SOURCE.search(frame.file) is not None
            return known or frame.function is None or _C_API.match(frame.function) is not None
        return frame.library in self.interpreter_libraries

    def is_hosts(self, frame: NativeFrame) -> bool:
        """Whether the frame, below all Python, is that of a program or a library which has called the interpreter."""
        if frame.function is None or self.is_interpreter(frame) or _is_runtime(frame):
            return False
        return frame.function.startswith("main") or not is_base(frame)  # main's lambdas are main::…

    def is_ours(self, file: str | None) -> bool:
        """Whether a source file belongs to dualdbg or debugpy."""
        return file is not None and any(
            file == hidden or file.startswith(hidden.rstrip("/") + "/") for hidden in self.hidden_files
        )

    def is_glue(self, frame: NativeFrame) -> bool:
        """Whether a native frame is between the user's code and Python: binding layers, standard libraries, headers."""
        if is_cython_runtime(frame.library):
            return True
        if frame.function is None:
            return is_torch_python(frame.library or "")  # a binding, in a build that was stripped
        if is_rust_library(frame.source_language, frame.function):
            return True
        if frame.file is not None and _PYTHON_HEADER.search(frame.file):
            return True  # Py_INCREF and its kind
        if frame.function in GLUE and is_kernel_library(frame.library or ""):
            return True
        return self._glue.match(frame.function) is not None


def rules_of(
    files: Iterable[str],
    holder: str | None,
    hidden: tuple[str, ...] = (),
    glue_patterns: tuple[str, ...] = GLUE_PATTERNS,
) -> RoleRules:
    """The rules for a process with these mapped files, of which ``holder`` has the interpreter's state."""
    interpreters = frozenset(path for path in files if holds_interpreter(path))
    return RoleRules(interpreters, hidden, glue_patterns, holder if holder not in interpreters else None)


def up_to_no_code(frames: Sequence[NativeFrame], is_code: Callable[[int], bool]) -> Sequence[NativeFrame]:
    """Return the frames up to the first return address that is none: the stack was overwritten there.

    A bad pointer that was called is no return address: its caller follows.
    """
    for at, frame in enumerate(frames):
        if at and frame.is_call and not is_code(frame.pc):
            return frames[: at if not is_code(frames[at - 1].pc) else at + 1]
    return frames


def is_c_api(function: str | None) -> bool:
    """Whether a function is one of the interpreter's API, by its name."""
    return function is not None and _C_API.match(function) is not None


def is_evaluation_loop(frame: NativeFrame) -> bool:
    """Whether the frame is the interpreter's evaluation loop, which runs Python frames."""
    if frame.evaluates is not None:
        return frame.evaluates
    return is_loop_function(frame) or is_bytecode(frame)


def is_loop_function(frame: NativeFrame) -> bool:
    """Whether the function has the name of the evaluation loop."""
    return frame.function is not None and _LOOP.match(frame.function) is not None


def is_bytecode(frame: NativeFrame) -> bool:
    """Whether the function has the name of a bytecode of a tail-calling interpreter."""
    return frame.function is not None and _BYTECODE.match(frame.function) is not None


def is_base(frame: NativeFrame) -> bool:
    """Whether the frame's function is one that runs at the bottom of a thread."""
    return frame.function is not None and BASE_FUNCTIONS.match(frame.function) is not None


def first_of_user(frames: Sequence[Frame]) -> int:
    """The number of the first frame that is the user's own, where the innermost one is of a run-time library; else 0.

    ``frames`` are the visible ones, the innermost first.
    """
    if not frames or not _is_runtime(frames[0]):
        return 0
    own = (at for at, frame in enumerate(frames) if not _is_runtime(frame) and frame.role is Role.USER)
    return next(own, 0)


def _is_runtime(frame: Frame) -> bool:
    if isinstance(frame, PythonFrame):
        return False
    library = frame.library or ""
    if is_rust_library(frame.source_language, frame.function):
        return True  # it is linked into the extension
    if frame.inlined and (frame.file or "").startswith("/usr/include/"):
        return True  # the C library's atoi is in its header
    return is_system(library) or is_runtime(library) or is_runtime_function(frame.function, frame.file)


class _Hiding(Enum):
    """Why the frames that are called from here are folded away."""

    START = "the interpreter's own start"
    OURS = "debugpy's work or ours"


def assign_roles(frames: list[Frame], rules: RoleRules) -> list[Frame]:
    """The same frames with their roles; ``frames`` is innermost first.

    Plumbing is what lies between two of the user's frames: frames of the interpreter's own file, what starts a thread
    or the interpreter below the outermost Python frame, and what debugpy does in the user's thread. So is what a call
    of CUDA does within the driver, which has no names there, what a sanitizer does to report an error, and the code
    with which ``-X perf`` calls each function.
    """
    hiding = _Hiding.START if any(isinstance(frame, PythonFrame) for frame in frames) else None
    interpreter_shown = hiding is None
    in_gpu_call = False
    caller: Frame | None = None
    result: list[Frame] = []
    for frame, callee in zip(reversed(frames), [*reversed(frames), None][1:], strict=True):
        in_gpu_call = _stays_in_gpu_call(frame, in_gpu_call)
        if isinstance(frame, PythonFrame):
            hiding = _hiding_of_python(frame, hiding, rules)
            role = Role.PLUMBING if hiding or _is_import_machinery(frame) else frame.role
        elif rules.is_ours(frame.library) or _is_our_trace_function(frame, caller, rules):
            hiding, role = _Hiding.OURS, Role.PLUMBING
        elif (
            hiding is _Hiding.OURS
            or (hiding is _Hiding.START and not rules.is_hosts(frame))
            or (rules.is_interpreter(frame) and not interpreter_shown)
            or (isinstance(callee, PythonFrame) and callee.entry and _is_nameless(frame))
            or (isinstance(caller, NativeFrame) and is_sanitizer(caller.library) and _is_runtime(frame))
            or (in_gpu_call and (frame.function is None or is_c_library(frame.library)))
        ):
            role = Role.PLUMBING
        else:
            role = Role.GLUE if rules.is_glue(frame) or is_stub(frame) else Role.USER
        result.append(frame if frame.role is role else replace(frame, role=role))
        caller = frame
    result.reverse()
    return result


def _is_nameless(frame: NativeFrame) -> bool:
    return frame.function is None and frame.library is None


def _stays_in_gpu_call(frame: Frame, is_in_one: bool) -> bool:
    """Whether a frame is in a call of CUDA: where that begins, and what it calls there."""
    if not isinstance(frame, NativeFrame):
        return False
    if is_gpu_library(frame.library):
        return is_in_one or frame.function is not None
    return is_in_one and is_c_library(frame.library)


def is_stub(frame: NativeFrame) -> bool:
    """Whether this is the linker's: where a call of a function of another library passes through."""
    return (frame.function or "").endswith("@plt")


def is_our_call(frames: list[Frame], rules: RoleRules) -> bool:
    """Whether the innermost frame runs for debugpy or for us: in one of their threads, or below their tracing."""
    hiding: _Hiding | None = None
    caller: Frame | None = None
    for frame in reversed(frames):
        if isinstance(frame, PythonFrame):
            hiding = _hiding_of_python(frame, hiding, rules)
        elif rules.is_ours(frame.library) or _is_our_trace_function(frame, caller, rules):
            hiding = _Hiding.OURS
        caller = frame
    return hiding is _Hiding.OURS


def _is_our_trace_function(frame: NativeFrame, caller: Frame | None, rules: RoleRules) -> bool:
    """Whether the interpreter calls a callback of ctypes itself: dualdbg_traced.py traces so. Libraries call others."""
    is_callback = PurePath(frame.library or "").name.startswith("libffi") or (
        frame.function or ""
    ).startswith(("ffi_closure", "closure_fcn"))
    return is_callback and (
        isinstance(caller, PythonFrame) or (caller is not None and rules.is_interpreter(caller))
    )


def _hiding_of_python(frame: PythonFrame, hiding: _Hiding | None, rules: RoleRules) -> _Hiding | None:
    if rules.is_ours(frame.file) and _is_thread_start(frame):
        return _Hiding.START
    if rules.is_ours(frame.file) or (hiding is _Hiding.OURS and _is_standard_library(frame)):
        return _Hiding.OURS
    if hiding is _Hiding.START and _is_runner(frame):
        return hiding
    return None


def _is_import_machinery(frame: PythonFrame) -> bool:
    """The frames that CPython itself leaves out of an import's traceback (remove_importlib_frames)."""
    return frame.file is not None and frame.file.startswith("<frozen importlib.")


def _is_standard_library(frame: PythonFrame) -> bool:
    return frame.file is None or is_standard_library(frame.file)


def _is_thread_start(frame: PythonFrame) -> bool:
    """pydevd starts the program's threads (pydev_monkey._NewThreadStartupWithTrace): its frame is the outermost."""
    return PurePath(frame.file or "").name == "pydev_monkey.py"


def _is_runner(frame: PythonFrame) -> bool:
    """``python -m`` runs the program from runpy, whose frames lie between our bootstrap and the user's module."""
    name = PurePath(frame.file or "").name
    return name in {"runpy.py", "<frozen runpy>"}
