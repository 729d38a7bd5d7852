"""Where CPython keeps its threads, frames and code objects, by version.

3.8 to 3.12: offsets printed by a C program that includes that version's own internal headers (64-bit Linux; nothing
before these fields has a size that depends on the machine). 3.13 and later describe themselves: _Py_DebugOffsets at
the start of _PyRuntime (Include/internal/pycore_runtime.h, pycore_debug_offsets.h in 3.14).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from ...errors import TargetError
from ...shared.cpython import ObjectLayout, Version
from ...shared.python_versions import NEWEST, RANGE, text_of
from ..linux.memory import Memory

COOKIE = b"xdebugpy"


@dataclass(frozen=True)
class RemoteDebugging:
    """What PEP 768 has in a thread state (3.14 and later), in bytes from its start.

    ``breaker`` is the word that makes the evaluation loop look, ``pending_call`` an int, ``script_path`` a buffer of
    ``script_path_size`` bytes. ``enabled`` is an int of the interpreter state: 0 after ``-X disable-remote-debug``.
    """

    breaker: int
    enabled: int
    pending_call: int
    script_path: int
    script_path_size: int


@dataclass(frozen=True)
class PythonLayout:
    """Offsets in bytes. A field of None is not there in that version.

    ``gil_pointer``: where the interpreter state points to its GIL; None while the runtime holds the one GIL itself,
    at ``gil``. ``cframe_frame``: 3.11 and 3.12 keep the current frame behind one more pointer, in the ``_PyCFrame``
    that each evaluation loop has on the C stack; ``cframe_previous`` leads from one to that of the loop around it, and
    is None where another fact tells the loops.
    ``instruction`` is a number of bytes (3.8, 3.9) or of instructions (3.10) in a frame object, a pointer from
    3.11 on. ``frame_namespace``: f_locals, the mapping that holds the variables of modules and class bodies.
    ``frame_stack`` tells where the value stack of a suspended frame ends: a pointer (3.8, 3.9; 3.14 and later), a
    number of values (3.10), or an index into ``frame_locals``. ``generator_frame``: a pointer to the frame up to 3.10,
    the frame itself later. ``modules`` is sys.modules in an interpreter state, ``thread_dict`` a member of a thread
    state. ``thread_attached``: the member of a thread state that is ``ATTACHED`` while the thread may run Python code;
    None where that is the holder of the GIL.
    """

    version: tuple[int, int]
    finalizing: int
    interpreters_head: int
    interpreter_next: int
    interpreter_threads: int
    gil: int
    gil_pointer: int | None
    gil_locked: int
    gil_holder: int
    thread_next: int
    thread_id: int
    native_thread_id: int | None
    current_frame: int
    cframe_frame: int | None
    cframe_previous: int | None
    frame_previous: int
    frame_code: int
    frame_instruction: int
    frame_is_entry: int | None
    frame_owner: int | None
    frame_locals: int
    frame_namespace: int
    code_filename: int
    code_name: int
    code_first_line: int
    code_flags: int
    code_lines: int
    code_start: int | None
    code_local_names: int
    code_local_kinds: int | None
    code_stack_size: int
    code_exceptions: int | None
    frame_block_count: int | None
    frame_stack: int
    generator_frame: int
    generator_state: int | None
    modules: int
    thread_dict: int
    head: int = 16
    has_gil: bool = True
    thread_attached: int | None = None
    remote: RemoteDebugging | None = None

    @cached_property
    def objects(self) -> ObjectLayout:
        """Where the members of objects lie; the helpers in gdb read by the same table."""
        return ObjectLayout(Version(*self.version, not self.has_gil))

    @property
    def code_names(self) -> int:
        """Where a code object has the names that it uses: ``co_names``."""
        return (self.code_exceptions or self.code_local_names) - 8

    @property
    def code_version(self) -> int | None:
        """Where a code object of 3.12 and later has a number that no other one has (Include/cpython/code.h)."""
        return self.code_first_line + 24 if self.version >= (3, 12) else None

    @property
    def has_frame_objects(self) -> bool:
        """True up to 3.10: a thread's frames are objects, one for each C frame of the evaluation loop."""
        return self.version < (3, 11)


_3_10 = PythonLayout(
    version=(3, 10),
    finalizing=16,
    interpreters_head=32,
    interpreter_next=0,
    interpreter_threads=8,
    gil=0,
    gil_pointer=None,
    gil_locked=368,
    gil_holder=360,
    thread_next=8,
    thread_id=176,
    native_thread_id=None,
    current_frame=24,
    cframe_frame=None,
    cframe_previous=None,
    frame_previous=24,
    frame_code=32,
    frame_instruction=96,
    frame_is_entry=None,
    frame_owner=None,
    frame_locals=352,
    frame_namespace=56,
    code_filename=104,
    code_name=112,
    code_first_line=40,
    code_flags=36,
    code_lines=120,
    code_start=None,
    code_local_names=72,
    code_local_kinds=None,
    code_stack_size=32,
    code_exceptions=None,
    frame_block_count=104,
    frame_stack=80,
    generator_frame=16,
    generator_state=None,
    modules=856,
    thread_dict=152,
)


def _like(base: PythonLayout, **changes: object) -> PythonLayout:
    return PythonLayout(**{**base.__dict__, **changes})


_3_9 = _like(
    _3_10, version=(3, 9), frame_instruction=104, frame_block_count=112, frame_locals=360, frame_stack=72
)
_3_8 = _like(_3_9, version=(3, 8), gil_locked=1168, gil_holder=1160, modules=56)
_3_11 = PythonLayout(
    version=(3, 11),
    finalizing=24,
    interpreters_head=40,
    interpreter_next=0,
    interpreter_threads=16,
    gil=0,
    gil_pointer=None,
    gil_locked=376,
    gil_holder=368,
    thread_next=8,
    thread_id=152,
    native_thread_id=160,
    current_frame=56,
    cframe_frame=8,
    cframe_previous=16,
    frame_previous=48,
    frame_code=32,
    frame_instruction=56,
    frame_is_entry=68,
    frame_owner=None,
    frame_locals=72,
    frame_namespace=24,
    code_filename=112,
    code_name=128,
    code_first_line=72,
    code_flags=48,
    code_lines=136,
    code_start=184,
    code_local_names=96,
    code_local_kinds=104,
    code_stack_size=68,
    code_exceptions=40,
    frame_block_count=None,
    frame_stack=64,
    generator_frame=80,
    generator_state=75,
    modules=888,
    thread_dict=128,
)
_3_12 = _like(
    _3_11,
    version=(3, 12),
    interpreter_threads=72,
    gil_pointer=384,
    gil_locked=16,
    gil_holder=8,
    thread_id=136,
    native_thread_id=144,
    cframe_frame=0,
    cframe_previous=None,
    frame_previous=8,
    frame_code=0,
    frame_is_entry=None,
    frame_owner=70,
    frame_namespace=40,
    code_first_line=68,
    code_start=192,
    code_stack_size=64,
    generator_frame=72,
    generator_state=67,
    modules=944,
    thread_dict=112,
)
_TABLES = {layout.version: layout for layout in (_3_8, _3_9, _3_10, _3_11, _3_12)}

# The fields of _Py_DebugOffsets up to the last one that is needed, in order; "size" begins each group that is
# checked.
_GROUPS_3_13 = (
    ("runtime", "size finalizing interpreters_head"),
    (
        "interpreter",
        "size id next threads_head gc imports_modules sysdict builtins ceval_gil gil gil_enabled gil_locked gil_holder",
    ),
    ("thread", "size prev next interp current_frame thread_id native_thread_id datastack_chunk status"),
    ("frame", "size previous executable instr_ptr localsplus owner"),
    (
        "code",
        "size filename name qualname linetable firstlineno argcount localsplusnames localspluskinds co_code_adaptive",
    ),
)
_LARGEST_STRUCTURE = 1 << 24  # bytes; the interpreter state of 3.14 takes some hundred thousand
# The groups of objects, of which ObjectLayout has what is needed, by the number of their fields.
_OBJECTS_3_14 = (
    *(
        ("pyobject", 2),
        ("type", 4),
        ("tuple", 3),
        ("list", 3),
        ("set", 4),
        ("dict", 3),
        ("float", 2),
        ("int", 3),
    ),
    *(("bytes", 3), ("str", 4), ("collector", 2), ("generator", 4), ("node", 2)),
)
_OBJECTS_3_15 = (
    *(("pyobject", 2), ("type", 6), ("heap type", 2), ("tuple", 3), ("list", 3), ("set", 4), ("dict", 3)),
    *(("float", 2), ("int", 3), ("bytes", 3), ("str", 5), ("collector", 5), ("generator", 4), ("node", 2)),
)
_DEBUGGING = "eval_breaker support enabled pending_call script_path script_path_size"
_GROUPS_3_14 = (
    _GROUPS_3_13[0],
    (
        "interpreter",
        "size id next threads_head threads_main gc imports_modules sysdict builtins ceval_gil gil gil_enabled "
        "gil_locked gil_holder code_object_generation tlbc_generation",
    ),
    _GROUPS_3_13[2],
    ("frame", "size previous executable instr_ptr localsplus owner stackpointer tlbc_index"),
    ("code", f"{_GROUPS_3_13[4][1]} co_tlbc"),
    *((name, " ".join(map(str, range(count)))) for name, count in _OBJECTS_3_14),
    ("debugging", _DEBUGGING),
)
_GROUPS_3_15 = (
    *_GROUPS_3_14[:2],
    (
        "thread",
        "size prev next interp current_frame base_frame last_profiled_frame last_profiled_frame_seq thread_id "
        "native_thread_id datastack_chunk status holds_gil gil_requested current_exception exc_state",
    ),
    ("exception", "value"),
    *_GROUPS_3_14[3:5],
    *((name, " ".join(map(str, range(count)))) for name, count in _OBJECTS_3_15),
    ("debugging", _DEBUGGING),
)
_GROUPS = {(3, 13): _GROUPS_3_13, (3, 14): _GROUPS_3_14, (3, 15): _GROUPS_3_15}
_CHECKED = ("runtime", "interpreter", "thread", "frame", "code")


def layout_of(memory: Memory, runtime: int, version: tuple[int, int] | None) -> PythonLayout:
    """The layout of the interpreter whose _PyRuntime is at ``runtime``.

    ``version`` is what its files say; from 3.13 on the interpreter says it itself. Raises TargetError for a version
    that is not known.
    """
    if memory.read(runtime, 8) == COOKIE:
        return _from_debug_offsets(memory, runtime)
    if version is None:
        raise TargetError("the version of the Python interpreter in the process is not known")
    layout = _TABLES.get(version)
    if layout is None:
        raise TargetError(
            f"Python {version[0]}.{version[1]} keeps its frames in a way that dualdbg does not know",
            f"{RANGE} can be read",
        )
    return layout


ATTACHED = 1  # _Py_THREAD_ATTACHED in Include/internal/pycore_pystate.h
# From _status to state in PyThreadState (Include/cpython/pystate.h): 3.14 has holds_gil in between, 3.15 another one.
_STATE_BEHIND_STATUS = {(3, 13): 8, (3, 14): 12}


def _from_debug_offsets(memory: Memory, runtime: int) -> PythonLayout:
    hexadecimal, free_threaded = struct.unpack("<QQ", memory.read(runtime + 8, 16))
    version = (hexadecimal >> 24, hexadecimal >> 16 & 0xFF)
    offsets: dict[str, int] = {}
    at = runtime + 24
    for group, names in _GROUPS.get(version, _GROUPS_3_15):
        for name in names.split():
            offsets[f"{group}.{name}"] = memory.u64(at)
            at += 8
    if version > NEWEST and not _is_plausible(offsets):
        raise TargetError(
            f"Python {text_of(version)} is newer than this dualdbg, and its frames are kept in another way",
            f"{RANGE} can be read; look for a newer dualdbg",
        )
    head = 32 if free_threaded else 16
    return PythonLayout(
        version=version,
        finalizing=offsets["runtime.finalizing"],
        interpreters_head=offsets["runtime.interpreters_head"],
        interpreter_next=offsets["interpreter.next"],
        interpreter_threads=offsets["interpreter.threads_head"],
        gil=0,
        gil_pointer=offsets["interpreter.ceval_gil"],
        gil_locked=offsets["interpreter.gil_locked"] - offsets["interpreter.gil"],
        gil_holder=offsets["interpreter.gil_holder"] - offsets["interpreter.gil"],
        thread_next=offsets["thread.next"],
        thread_id=offsets["thread.thread_id"],
        native_thread_id=offsets["thread.native_thread_id"],
        current_frame=offsets["thread.current_frame"],
        cframe_frame=None,
        cframe_previous=None,
        frame_previous=offsets["frame.previous"],
        frame_code=offsets["frame.executable"],
        frame_instruction=offsets["frame.instr_ptr"],
        frame_is_entry=None,
        frame_owner=offsets["frame.owner"],
        frame_locals=offsets["frame.localsplus"],
        frame_namespace=offsets["frame.previous"] + 32,  # f_funcobj, f_globals and f_builtins are in between
        code_filename=offsets["code.filename"],
        code_name=offsets["code.qualname"],
        code_first_line=offsets["code.firstlineno"],
        code_flags=32 + head,
        code_lines=offsets["code.linetable"],
        code_start=offsets["code.co_code_adaptive"],
        code_local_names=offsets["code.localsplusnames"],
        code_local_kinds=offsets["code.localspluskinds"],
        code_stack_size=offsets["code.firstlineno"] - 4,
        code_exceptions=24 + head,
        frame_block_count=None,
        # 3.13 does not describe these three; in 3.14 and later a thread state needs no dict to tell its loop.
        frame_stack=offsets.get("frame.stackpointer", 64),
        generator_frame=offsets.get("generator.2", 56 + head),
        generator_state=offsets.get("generator.3", 51 + head),
        modules=offsets["interpreter.imports_modules"],
        thread_dict=128,
        head=head,
        has_gil=not free_threaded,
        thread_attached=offsets["thread.status"] + _STATE_BEHIND_STATUS.get(version, 16)
        if free_threaded
        else None,
        remote=_remote_of(offsets) if "debugging.enabled" in offsets else None,
    )


def _remote_of(offsets: dict[str, int]) -> RemoteDebugging:
    support = offsets["debugging.support"]
    return RemoteDebugging(
        breaker=offsets["debugging.eval_breaker"],
        enabled=offsets["debugging.enabled"],
        pending_call=support + offsets["debugging.pending_call"],
        script_path=support + offsets["debugging.script_path"],
        script_path_size=offsets["debugging.script_path_size"],
    )


def _is_plausible(offsets: dict[str, int]) -> bool:
    """Whether each member lies within its structure. If not, the groups of fields are not those of 3.15."""
    for group in _CHECKED:
        size = offsets[f"{group}.size"]
        members = [
            at for name, at in offsets.items() if name.startswith(f"{group}.") and name != f"{group}.size"
        ]
        if not 0 < size < _LARGEST_STRUCTURE or max(members) >= size:
            return False
    return True
