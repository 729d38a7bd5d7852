"""The variables pane: a tree whose branches are asked for when they are opened; what has changed is marked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from ...errors import DualdbgError
from ...known.short_names import without_template_arguments
from ...model import Frame, Language, Value
from ...session.session import Session
from ..model.changes import Memory, Path, changed
from ..model.looks import Part, fit
from ..widgets.row_view import Row, RowsView

MARK = "(watch) "  # what their names begin with, as debugpy's values of returns begin with (return)


@dataclass(frozen=True)
class Watch:
    """An expression. It was added in a frame of this language, and is evaluated in such frames."""

    expression: str
    language: Language


class Watches:
    """The list, in the order in which they were added."""

    def __init__(self) -> None:
        self._all: list[Watch] = []

    def add(self, expression: str, language: Language) -> None:
        """Add an expression at the end; nothing if it is in the list for this language."""
        watch = Watch(expression, language)
        if watch not in self._all:
            self._all.append(watch)

    def remove(self, name: str) -> bool:
        """Remove a watch by the name of its value; False when no watch has this name."""
        kept = [watch for watch in self._all if MARK + watch.expression != name]
        gone = len(kept) < len(self._all)
        self._all = kept
        return gone

    async def values(self, session: Session, tid: int, frame: Frame) -> Sequence[Value]:
        """The values of the watches in a frame. A watch that cannot be evaluated says why."""
        return [
            await self._value(session, tid, frame, watch)
            for watch in self._all
            if watch.language is frame.language
        ]

    async def _value(self, session: Session, tid: int, frame: Frame, watch: Watch) -> Value:
        name = MARK + watch.expression
        try:
            value = await session.inspector.evaluate(watch.expression, tid, frame, watch.language)
        except DualdbgError as error:
            return Value(name, "", error.message, watch.language)
        return replace(value, name=name)


_MOST = 2000  # letters of a value that a line can show

Fetch = Callable[[int], Awaitable[Sequence[Value]]]
"""Gets the children of a value by its reference."""


@dataclass
class Branch:
    """A value in the tree. ``children`` is None until they were asked for."""

    value: Value
    path: Path
    changed: bool = False
    opened: bool = False
    children: list[Branch] | None = None
    trouble: str = ""

    @property
    def can_open(self) -> bool:
        return self.value.reference != 0 or bool(self.value.children)


@dataclass
class Tree:
    """The variables of one frame."""

    scope: Hashable
    branches: list[Branch] = field(default_factory=list)

    @classmethod
    def of(cls, scope: Hashable, values: Sequence[Value], last: Mapping[Path, str]) -> Tree:
        """The variables of a frame, closed. ``last`` are the texts that they had before."""
        return cls(scope, grow((), values, last))

    def lines(self) -> list[tuple[Branch, int]]:
        """Every branch that is shown and how deep it is."""
        result: list[tuple[Branch, int]] = []

        def walk(branches: Sequence[Branch], depth: int) -> None:
            for branch in branches:
                result.append((branch, depth))
                if branch.opened:
                    walk(branch.children or (), depth + 1)

        walk(self.branches, 0)
        return result

    def texts(self) -> dict[Path, str]:
        """The texts of all that is shown, by path."""
        return {branch.path: branch.value.value for branch, _ in self.lines()}


def grow(path: Path, values: Sequence[Value], last: Mapping[Path, str]) -> list[Branch]:
    """The branches of values, closed and groups last. ``last`` are the texts that they had before."""
    return [
        Branch(value, (*path, value.name), changed(last, (*path, value.name), value.value))
        for value in sorted(values, key=_is_group)
    ]


def _is_group(value: Value) -> bool:
    """Whether the value is one of debugpy's folders of variables; they come after the variables."""
    return not value.value and not value.type


def branch_row(branch: Branch, depth: int) -> Row:
    return Row(branch.path, partial(_draw, branch, depth), branch)


def _draw(branch: Branch, depth: int, room: int) -> Sequence[Part]:
    value = branch.value
    fold = ("▾" if branch.opened else "▸") if branch.can_open else " "
    mark = "*" if branch.changed else " "
    start = f"{mark}{'  ' * depth}{fold}"
    type_name = without_template_arguments(value.type) if value.type != "register" else ""
    name = fit(value.name, max(room // 2, 8))
    room -= len(start) + cell_len(name) + 3
    most = max(room * 2 // 5, 6)
    if cell_len(type_name) > most:
        type_name = fit(type_name, most)
    text = branch.trouble or value.value[:_MOST].replace("\n", " ")
    shown = fit(text, max(room - cell_len(type_name) - 1, 4))
    look = "error" if branch.trouble else "changed" if branch.changed else ""
    if not text and not type_name:  # a group
        return (start, "number"), (name, "dim")
    return (
        (start, "changed" if branch.changed else "number"),
        (name, "name"),
        (" = ", "dim"),
        (shown, look),
        (f" {type_name}", "type"),
    )


class VariablesView(RowsView):
    """Right and left open and close a value, space both; enter shows the whole of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "open", "Open", show=False, id="variables.open"),
        Binding("left,h", "close", "Close", show=False, id="variables.close"),
        Binding("space", "turn", "Open/close", id="variables.toggle"),
        Binding("w", "watch", "Watch", id="variables.watch"),
        Binding("x,delete", "unwatch", "Remove a watch", show=False, id="variables.unwatch"),
    ]

    class Watched(Message):
        """The user wants to watch an expression, or, with the name of a value, to watch it no more."""

        def __init__(self, remove: str = "") -> None:
            super().__init__()
            self.remove = remove

    def __init__(self, fetch: Fetch, *, id: str | None = None) -> None:
        super().__init__("No variables.", id=id)
        self._fetch = fetch
        self._memory = Memory()
        self._opened: dict[Hashable, set[Path]] = {}
        self.values: Tree | None = None
        self.watches = Watches()

    def new_stop(self) -> None:
        """Values are compared with what was shown until now."""
        self._memory.turn()

    async def show_values(self, scope: Hashable, values: Sequence[Value], nothing: str) -> None:
        """The variables of a frame; what was open there at the last stop is opened again."""
        last = self._memory.last(scope)
        tree = self.values = Tree.of(scope, values, last)
        self.nothing = nothing
        self._show(tree)
        for path in sorted(self._opened.get(scope, ()), key=len):
            branch = next((branch for branch, _ in tree.lines() if branch.path == path), None)
            if branch is not None and self.values is tree:
                await self._open(tree, branch)
        if self.values is tree:
            self._memory.keep(scope, tree.texts())

    def clear(self, why: str) -> None:
        """Show why there are no values."""
        self.values, self.nothing = None, why
        self.show_rows(())

    def _show(self, tree: Tree) -> None:
        self.show_rows([branch_row(branch, depth) for branch, depth in tree.lines()])

    async def _open(self, tree: Tree, branch: Branch) -> None:
        if branch.children is None and branch.can_open:
            try:
                values = branch.value.children or await self._fetch(branch.value.reference)
            except DualdbgError as error:
                branch.trouble = error.message
                values = ()
            branch.children = grow(branch.path, values, self._memory.last(tree.scope))
        branch.opened = branch.can_open
        self._opened.setdefault(tree.scope, set()).add(branch.path)
        if self.values is tree:
            self._show(tree)

    def _close(self, tree: Tree, branch: Branch) -> None:
        branch.opened = False
        self._opened.get(tree.scope, set()).discard(branch.path)
        self._show(tree)

    @property
    def branch(self) -> Branch | None:
        row = self.current
        return row.thing if row is not None else None

    def action_watch(self) -> None:
        self.post_message(self.Watched())

    def action_unwatch(self) -> None:
        if self.branch is not None:
            self.post_message(self.Watched(self.branch.path[0]))

    def action_open(self) -> None:
        branch, tree = self.branch, self.values
        if branch is None or tree is None:
            return
        if branch.opened or not branch.can_open:
            self.cursor += 1
        else:
            self.run_worker(self._open_here(tree, branch))

    async def _open_here(self, tree: Tree, branch: Branch) -> None:
        await self._open(tree, branch)
        if self.values is tree:
            self._memory.keep(tree.scope, tree.texts())

    def action_close(self) -> None:
        branch, tree = self.branch, self.values
        if branch is None or tree is None:
            return
        if branch.opened:
            self._close(tree, branch)
            return
        parent = branch.path[:-1]
        for line, row in enumerate(self.rows):
            if row.key == parent:
                self.cursor = line

    def action_turn(self) -> None:
        if self.branch is not None and self.branch.opened:
            self.action_close()
        else:
            self.action_open()

    def clicked(self, line: int, x: int) -> bool:
        branch = self.rows[line].thing
        depth = len(branch.path) - 1
        if x <= 1 + 2 * depth and branch.can_open:
            self.action_turn()
            return True
        return False
