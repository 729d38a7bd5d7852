"""One reader of callables, for a step's probe and for ``dualdbg resolve``: in every interpreter, and fooled by none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.shared import python_versions
from dualdbg.target.launcher import BOOTSTRAP
from tests import support

HERE = "{}.{}".format(*sys.version_info)
VERSIONS = [HERE, *(version for version in python_versions.NAMES if version != HERE)]

# The probe as the target has it, watching for whatever is executable.
LOAD = """
import ctypes, functools, json, sys
from importlib import util
spec = util.spec_from_file_location("dualdbg_probe", sys.argv[1] + "/dualdbg_probe.py")
probe = util.module_from_spec(spec)
spec.loader.exec_module(probe)
callables = probe.beside("dualdbg_callables")
code = [(start, end) for start, end, mode, _, _ in callables.mappings() if "x" in mode]
probe._watch = probe.Watch(sys._getframe(), code)
is_code = probe._watch.covers
"""

NAMESAKES = """
names = {*callables.READERS, *callables.HOLDERS, callables.CYTHON_FUNCTION, "nb_func", "nb_method", "nb_bound_method"}
found = {}
for name in sorted(names):
    for module in ("__main__", "nanobind", "builtins"):
        cls = type(name, (), {"__call__": lambda self: 1, "__module__": module})
        value = cls()
        reader, held = callables.reader_of(value), callables.held_function(value)
        found[name + " of " + module] = [
            reader is None and held is None,
            set(probe.entries_of(value)) == {callables.slot(cls, "call"), 0} - {0},
        ]
print(json.dumps(found))
"""

READ = """
def rows(value):
    native = callables.native_of(value, is_code)
    return native.kind, [entry.role for entry in native.entries], [entry.address for entry in native.entries]

values = {
    "len": len, "str.join": str.join, "fromkeys": dict.__dict__["fromkeys"], "real": int.real,
    "__add__": int.__add__, "bound __add__": (1).__add__, "partial": functools.partial(len),
}
print(json.dumps({
    name: [*rows(value), probe.entries_of(value), all(map(is_code, rows(value)[2]))] for name, value in values.items()
}))
"""

CAPSULE = """
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCFunction_NewEx.restype = ctypes.py_object
api.PyCFunction_NewEx.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
definition = callables.word(id(len) + callables.HEAD)  # any PyMethodDef will do: the function is never called
found = {}
for name in (None, b"another library"):
    capsule = api.PyCapsule_New(8, name, None)
    function = api.PyCFunction_NewEx(definition, capsule, None)
    same = probe.entries_of(function) == probe.entries_of(len)
    found[str(name)] = [callables.native_of(function, is_code).kind, same]
print(json.dumps(found))
"""

EXTENSIONS = """
import sample_capi, sample_pybind
vector = sample_pybind.Vec2(1.0, 2.0)
values = [sample_capi.add, sample_pybind.add, sample_pybind.Vec2.length, vector.length]
found = [[callables.native_of(callables.held_function(v) or v, is_code).kind, probe.entries_of(v)] for v in values]
part = sample_pybind.Vec2.__dict__["x"]
both = [address for f in (part.fget, part.fset) for address in probe.entries_of(f)]
print(json.dumps([found, both, sorted(probe.entries_of_type(sample_pybind.Vec2, {"x"}))]))
"""


def read(version: str, program: str, *folders: Path) -> Any:
    python = sys.executable if version == HERE else support.other_interpreter(version)
    paths = f"import sys; sys.path[:0] = {[str(folder) for folder in folders]!r}"
    command = [str(python), "-c", "\n".join((paths, LOAD, program)), str(BOOTSTRAP)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"ended with status {done.returncode}"
    return json.loads(done.stdout)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_class_of_the_program_may_have_any_name(version: str) -> None:
    wrong = {name: said for name, said in read(version, NAMESAKES).items() if said != [True, True]}
    assert wrong == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_interpreters_own_callables(version: str) -> None:
    found = read(version, READ)
    for name, (kind, roles, addresses, entered, are_code) in found.items():
        assert addresses and are_code, name
        assert entered == addresses, name
        assert roles[0] == {"real": "get"}.get(name, roles[0]), kind
    assert found["len"][0] == "built-in function"
    assert found["__add__"][1] == ["__add__"]
    assert found["__add__"][2] == found["bound __add__"][2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capsule_of_another_library(version: str) -> None:
    """Up to pybind11 2.10 a capsule without a name may be its own: what it points to may then be no memory at all."""
    found = read(version, CAPSULE)
    assert found == {str(name): ["built-in function", True] for name in (None, b"another library")}


def test_extensions(native_samples: Path) -> None:
    functions, parts, of_class = read(HERE, EXTENSIONS, native_samples)
    assert [kind for kind, _ in functions] == ["built-in function", *["pybind11 function"] * 3]
    assert all(len(entries) == 1 for _, entries in functions)
    assert functions[2] == functions[3]
    assert len(parts) == 2 and set(parts) <= set(of_class)  # what reads an attribute, and what sets it


MAILBOX = """
import types
sys.modules["pydevd"] = types.SimpleNamespace(PYDEVD_USE_SYS_MONITORING=False)  # nothing traces here
address = probe.mailbox()
head = ctypes.string_at(address, 80)
place = address + head.index(probe.MARK) + len(probe.MARK) + probe.ROOM_OF_EXCEPTION
size = ctypes.pythonapi.PyObject_Size
size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_ssize_t
probe.__dict__["add_one"] = lambda text: int(text) + 1
found = []
for text in (b"add_one\\0" b"41\\0", b"add_one\\0" b"6\\0", b"mailbox\\0" b"\\0"):
    ctypes.memmove(place, text, len(text))
    found.append(size(address))
told = int.from_bytes(head[head.index(probe.MARK) - 16 : head.index(probe.MARK) - 8], "little")
print(json.dumps([found[:2], found[2] == address, told == len(bytes.__getitem__(probe.MAILBOX, slice(None)))]))
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_the_mailbox_calls_what_was_written_there(version: str) -> None:
    """As gdb_scripts/dualdbg_engine/inferior_evaluation.py does it."""
    assert read(version, MAILBOX) == [[42, 7], True, True]
