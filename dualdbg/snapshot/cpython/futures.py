"""asyncio's futures and tasks, and which task goes on when one is done.

Those in C are laid out as Modules/_asynciomodule.c of each version has them (``FutureObj_HEAD``, ``TaskObj``); 3.14
and later describe a part of that in the section ``.AsyncioDebug``. Those of Python (``asyncio.tasks._PyTask``) keep the
same in attributes. What a callback does is known by the names that it has in asyncio's own source.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors import TargetError
from ...shared.python_versions import text_of
from ...symbols.address_space import Module
from .fields import Fields
from .reader import PythonReader

_MOST_STEPS = 20  # futures between two tasks
_TASK_IN_C, _FUTURE_IN_C = "_asyncio.Task", "_asyncio.Future"
_TASK, _FUTURE = "class asyncio.tasks.Task", "class asyncio.futures.Future"
GATHERING = "class asyncio.tasks._GatheringFuture"
_WAKEUP_TYPE, _WAKEUP = "TaskWakeupMethWrapper", "task_wakeup"  # a type up to 3.9, later a method of the task
_GROUP = "TaskGroup"  # asyncio's, or anyio's
_GROUP_CLOSURE = "TaskGroup._spawn.<locals>.task_done"  # anyio's, 4.0 and later

# A function that asyncio adds as a callback: what it is part of, and its variable with the future that it completes.
_CLOSURES = {
    "gather.<locals>._done_callback": ("gather", "outer"),
    "_gather.<locals>._done_callback": ("gather", "outer"),  # 3.9
    "shield.<locals>._inner_done_callback": ("shield", "outer"),
    "_wait.<locals>._on_completion": ("wait", "waiter"),
}
_RELEASE_WAITER = "_release_waiter"
_TASKS_FILE, _GROUPS_FILE, _ANYIO_FILE = "asyncio/tasks.py", "asyncio/taskgroups.py", "_backends/_asyncio.py"


@dataclass(frozen=True)
class TaskLayout:
    """Offsets in a task in C, from its start; ``size`` is its type's ``tp_basicsize``, by which it is checked.

    ``thread_loop``: in a thread state, the loop that it runs (3.13 and later). ``interpreter_tasks``, ``thread_tasks``:
    in an interpreter state and a thread state, the heads of lists of tasks, which hang together by ``node`` (3.14 and
    later).
    """

    size: int
    state: int
    coroutine: int
    thread_loop: int = 0
    interpreter_tasks: int = 0
    thread_tasks: int = 0
    node: int = 0


# (size, state, coroutine), the head of an object left out of each; the awaited future is before the coroutine, the
# name behind it.
_KNOWN = {
    (3, 8): (128, 56, 96),
    (3, 9): (168, 64, 136),
    (3, 10): (176, 72, 144),
    (3, 11): (160, 72, 120),
    (3, 12): (160, 72, 120),
    (3, 13): (128, 80, 104),
}
_RUNNING_LOOP_3_13 = 304  # asyncio_running_loop of _PyThreadStateImpl
_DEBUG_SECTION = ".AsyncioDebug"
_DEBUG_FIELDS = 13


def task_layout(reader: PythonReader, modules: Sequence[Module]) -> TaskLayout:
    """The layout of tasks in C. Raises TargetError where it is not known."""
    layout = reader.layout
    if layout.version < (3, 14):
        size, state, coroutine = (layout.head + offset for offset in _KNOWN[layout.version])
        return TaskLayout(size, state, coroutine, _RUNNING_LOOP_3_13 if layout.version == (3, 13) else 0)
    for module in modules:
        section = module.library.elf.section(_DEBUG_SECTION) if module.library is not None else None
        if section is not None and section.size >= 8 * _DEBUG_FIELDS:
            data = reader.memory.read(section.address + module.bias, 8 * _DEBUG_FIELDS)
            size, _name, awaited_by, _, _, coroutine, node, _, heads, _, loop, _, own = struct.unpack(
                f"<{_DEBUG_FIELDS}Q", data
            )
            return TaskLayout(size, awaited_by + 8, coroutine, loop, heads, own, node)
    version = text_of(layout.version)
    raise TargetError(
        f"tasks of asyncio cannot be read: Python {version} describes them in its module _asyncio, which is not there"
    )


@dataclass(frozen=True)
class Waiter:
    """A task that goes on when a future is done. ``through``: await, gather, shield, wait, wait_for or TaskGroup.

    ``last`` is the future at which it waits now: the first one itself, or one that is completed by it. It is 0 while
    the task that has a TaskGroup does not wait for it yet.
    """

    task: int
    through: str
    last: int


class Futures:
    """Reads futures and tasks of one process. Raises what :class:`Fields` raises."""

    def __init__(self, reader: PythonReader, fields: Fields, layout: TaskLayout) -> None:
        self._reader = reader
        self._memory = reader.memory
        self._fields = fields
        self._layout = layout
        self._head = reader.layout.head
        self._checked = False

    def is_task(self, address: int) -> bool:
        """Whether the object is a task of asyncio's, in C or in Python."""
        lineage = self._fields.kind(address).lineage
        return _TASK_IN_C in lineage or _TASK in lineage

    def is_future(self, address: int) -> bool:
        """Whether it is a future of asyncio's, or a task."""
        return self._is_in_c(address) or _FUTURE in self._fields.kind(address).lineage

    def _is_in_c(self, address: int) -> bool:
        return _FUTURE_IN_C in self._fields.kind(address).lineage or self._is_task_in_c(address)

    def _is_task_in_c(self, address: int) -> bool:
        if _TASK_IN_C not in self._fields.kind(address).lineage:
            return False
        if not self._checked:
            size = self._fields.size_of_base(address, _TASK_IN_C)
            if size != self._layout.size:
                version = text_of(self._reader.layout.version)
                raise TargetError(
                    f"tasks of asyncio cannot be read: this Python {version} keeps {size} bytes of each, where "
                    f"{self._layout.size} are known"
                )
            self._checked = True
        return True

    def is_pending(self, address: int) -> bool:
        """Whether a future is not done."""
        if self._is_in_c(address):
            return self._memory.i32(address + self._layout.state) == 0
        state = self._fields.attribute(address, "_state")  # while nothing has set it the class has it
        return state is None or self._fields.text(state) == "PENDING"

    def loop(self, address: int) -> int:
        """The address of the event loop; 0 where there is none."""
        return (
            self._fields.member(address, 0) if self._is_in_c(address) else self._attribute(address, "_loop")
        )

    def awaited(self, task: int) -> int:
        """The future at which a task waits; 0 where it waits for none."""
        if self._is_task_in_c(task):
            return self._memory.u64(task + self._layout.coroutine - 8)
        found = self._attribute(task, "_fut_waiter")
        return found if found and self.is_future(found) else 0

    def coroutine(self, task: int) -> int:
        """The address of the task's coroutine."""
        if self._is_task_in_c(task):
            return self._memory.u64(task + self._layout.coroutine)
        return self._attribute(task, "_coro")

    def name(self, task: int) -> str:
        """The task's name. 3.13 and later keep a number until somebody asks for it."""
        if self._is_task_in_c(task):
            found = self._memory.u64(task + self._layout.coroutine + 8)
        else:
            found = self._attribute(task, "_name")
        if not found:
            return "?"
        text = self._fields.text(found)
        if text is not None:
            return text
        number = self._fields.integer(found)
        return f"Task-{number}" if number is not None else f"a {self._fields.kind(found).full_name}"

    def gathered(self, future: int) -> list[int]:
        """The futures whose results ``asyncio.gather`` collects in this one; none for another future."""
        if GATHERING not in self._fields.kind(future).lineage:
            return []
        return self._fields.list_items(self._attribute(future, "_children"))

    # -- what happens when a future is done ------------------------------------------------------

    def waiters(self, future: int, through: str = "await", steps: int = 0) -> Iterator[Waiter]:
        """The tasks that go on when this future is done, also those that wait for further futures."""
        if steps > _MOST_STEPS:
            return
        for callback in self._callbacks(future):
            task = self._woken(callback)
            if task:
                yield Waiter(task, through, future)
                continue
            group = self._group(callback)
            if group:
                parent = self._parent(group)
                if parent and self.is_task(parent):
                    yield Waiter(parent, _GROUP, self._future_of(group, "_on_completed_fut"))
                continue
            what, next_one = self._completed(callback)
            if next_one and self.is_future(next_one) and self.is_pending(next_one):
                yield from self.waiters(next_one, what if through == "await" else through, steps + 1)

    def _callbacks(self, future: int) -> list[int]:
        """The functions that are called when a future is done."""
        if self._is_in_c(future):
            first, pairs = self._fields.member(future, 1), self._fields.member(future, 3)
        else:
            first, pairs = 0, self._attribute(future, "_callbacks")
        found = [first] if first else []
        for pair in self._fields.list_items(pairs) if pairs else ():
            found += self._reader.tuple_items(pair)[:1]
        return found

    def _woken(self, callback: int) -> int:
        """The task whose next step a callback is; 0 for another callback."""
        fields, kind = self._fields, self._fields.kind(callback).tp_name
        if kind == _WAKEUP_TYPE:
            return fields.member(callback, 0)
        if kind == "builtin_function_or_method":
            name = self._memory.text(self._memory.u64(fields.member(callback, 0)))
            return fields.member(callback, 1) if name == _WAKEUP else 0
        if self._method(callback) == (_TASKS_FILE, "Task.__wakeup"):
            return fields.member(callback, 1)
        return 0

    def _group(self, callback: int) -> int:
        """The TaskGroup that a callback tells of a task's end; 0 for another callback."""
        if self._method(callback) == (_GROUPS_FILE, "TaskGroup._on_task_done"):
            return self._fields.member(callback, 1)
        is_function = self._fields.kind(callback).tp_name == "function"
        if is_function and self._function(callback) == (_ANYIO_FILE, _GROUP_CLOSURE):
            return self._fields.closure(callback).get("self", 0)
        return 0

    def _parent(self, group: int) -> int:
        """The task that has a TaskGroup."""
        scope = self._attribute(group, "cancel_scope")
        return self._attribute(scope, "_host_task") if scope else self._attribute(group, "_parent_task")

    def _completed(self, callback: int) -> tuple[str, int]:
        """The future that a callback completes, and what of asyncio it is part of; no future for another callback."""
        kind = self._fields.kind(callback).tp_name
        if kind == "function":
            file, name = self._function(callback)
            if file == _TASKS_FILE and name in _CLOSURES:
                what, variable = _CLOSURES[name]
                return what, self._fields.closure(callback).get(variable, 0)
        elif kind == "functools.partial":
            function, arguments = self._fields.member(callback, 0), self._fields.member(callback, 1)
            is_function = self._fields.kind(function).tp_name == "function"
            if is_function and self._function(function) == (_TASKS_FILE, _RELEASE_WAITER):
                return "wait_for", next(iter(self._reader.tuple_items(arguments)), 0)
        return "", 0

    def _method(self, callback: int) -> tuple[str, str] | None:
        if self._fields.kind(callback).tp_name != "method":
            return None
        function = self._fields.member(callback, 0)
        return self._function(function) if self._fields.kind(function).tp_name == "function" else None

    def _function(self, address: int) -> tuple[str, str]:
        """The file of a function, the last two parts of its path, and its qualified name."""
        file, name = self._fields.function(address)
        return "/".join(file.rsplit("/", 2)[-2:]), name

    def _future_of(self, owner: int, attribute: str) -> int:
        found = self._attribute(owner, attribute)
        return found if found and self.is_future(found) else 0

    def _attribute(self, address: int, name: str) -> int:
        return self._fields.attribute(address, name) or 0
