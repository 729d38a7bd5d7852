"""Which library needs which, what is missing or does not fit, and facts about each library: ``dualdbg libs``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dualdbg.errors import SymbolError

from ..elf.dynamic_loader import Found, Loader
from ..elf.elf_file import ElfFile
from ..elf.symbol_versions import defined_versions, needed_versions
from ..objfile import Objfile
from .policy import Load, Policy


@dataclass(frozen=True)
class Need:
    """A DT_NEEDED entry: the name asked for, the file that it leads to (None: no file), and by which rule."""

    name: str
    path: str | None
    rule: str


@dataclass(frozen=True)
class Node:
    """A library of the graph. ``size`` is that of the file in bytes; ``problems`` are for people."""

    path: str
    name: str
    size: int = 0
    build_id: str | None = None
    has_symtab: bool = False
    has_debug_info: bool = False
    debug_file: str | None = None
    load: Load = Load.SKIP
    reason: str = ""
    needs: tuple[Need, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Libraries by path, in the order in which they were loaded or would be; ``roots`` are those asked for."""

    roots: tuple[str, ...]
    nodes: Mapping[str, Node]

    def edges(self) -> list[tuple[str, str]]:
        """Pairs (library, library that it needs), by path; a missing library has the name that was asked for."""
        return [(node.path, need.path or need.name) for node in self.nodes.values() for need in node.needs]

    def missing(self) -> list[str]:
        """The names that lead to no file."""
        needs = (need for node in self.nodes.values() for need in node.needs)
        return sorted({need.name for need in needs if need.path is None})


_Resolve = Callable[[str, ElfFile, tuple[ElfFile, ...]], tuple[str | None, str]]


def graph_of_files(
    paths: Sequence[str], environment: Mapping[str, str], policy: Policy | None = None
) -> Graph:
    """What the loader would load for ``paths`` (a program first, then what it dlopens), in its order.

    :raises SymbolError: one of ``paths`` itself cannot be read.
    """
    elves = [ElfFile.open(path) for path in paths]
    loader = Loader.of(environment, elves[0].machine)
    for path, elf in zip(paths, elves, strict=True):
        loader.loaded.setdefault(elf.soname or Path(path).name, Found(path, "asked for"))

    def resolve(name: str, needed_by: ElfFile, chain: tuple[ElfFile, ...]) -> tuple[str | None, str]:
        found = loader.find(name, needed_by, chain)
        if found is None:
            return None, "not found"
        loader.loaded.setdefault(name, found)
        return found.path, found.rule

    return _walk(paths, resolve, policy or Policy())


def graph_of_process(mapped: Iterable[str], policy: Policy | None = None) -> Graph:
    """The libraries that a process has mapped. A need leads to the mapped library of that name."""
    paths = list(mapped)
    known: dict[str, str] = {}
    for path in paths:
        known.setdefault(Path(path).name, path)
        try:
            soname = Objfile.open(path).elf.soname
        except SymbolError:  # it becomes a node that says so
            continue
        if soname is not None:
            known.setdefault(soname, path)

    def resolve(name: str, needed_by: ElfFile, chain: tuple[ElfFile, ...]) -> tuple[str | None, str]:
        path = known.get(Path(name).name)
        return (path, "in the process") if path is not None else (None, "not in the process")

    return _walk(paths, resolve, policy or Policy())


def _walk(roots: Sequence[str], resolve: _Resolve, policy: Policy) -> Graph:
    nodes: dict[str, Node] = {}
    by_file: dict[str, str] = {}  # a library that is found under two paths is one
    program: tuple[ElfFile, ...] = ()
    queue: deque[tuple[str, tuple[ElfFile, ...]]] = deque((path, ()) for path in roots)
    while queue:
        path, chain = queue.popleft()
        if path in nodes:
            continue
        by_file.setdefault(str(Path(path).resolve()), path)
        try:
            library = Objfile.open(path)
        except SymbolError as error:
            nodes[path] = Node(path, Path(path).name, problems=(error.message,))
            continue
        needs = []
        for name in library.elf.needed:
            target, rule = resolve(name, library.elf, chain or program)
            if target is not None:
                target = by_file.setdefault(str(Path(target).resolve()), target)
                queue.append((target, (library.elf, *chain)))
            needs.append(Need(name, target, rule))
        program = program or (library.elf,)
        nodes[path] = _node(library, tuple(needs), policy)
    checked = {path: _with_problems(node, nodes) for path, node in nodes.items()}
    return Graph(tuple(dict.fromkeys(roots)), checked)


def _node(library: Objfile, needs: tuple[Need, ...], policy: Policy) -> Node:
    decision = policy.decide(library, library.path)
    return Node(
        path=library.path,
        name=library.elf.soname or Path(library.path).name,
        size=library.size,
        build_id=library.build_id,
        has_symtab=library.has_symtab,
        has_debug_info=library.has_debug_info,
        debug_file=str(library.debug_file) if library.debug_file is not None else None,
        load=decision.load,
        reason=decision.reason,
        needs=needs,
    )


def _with_problems(node: Node, nodes: Mapping[str, Node]) -> Node:
    problems = [*node.problems, *(f"{need.name}: {need.rule}" for need in node.needs if need.path is None)]
    if not node.problems:
        problems += _unmet_versions(node)
    twins = [other.path for other in nodes.values() if other.name == node.name and other.path != node.path]
    problems += [f"another {node.name} is there too: {path}" for path in twins]
    return replace(node, problems=tuple(problems))


def _unmet_versions(node: Node) -> list[str]:
    """As the loader says it: version `GLIBCXX_3.4.32' not found. A library without versions meets any need."""
    paths = {need.name: need.path for need in node.needs}
    unmet = []
    for name, versions in needed_versions(Objfile.open(node.path).elf).items():
        path = paths.get(name)
        if path is None:
            continue
        try:
            defined = defined_versions(Objfile.open(path).elf)
        except SymbolError:  # said at the library itself
            continue
        if defined:
            unmet += [f"{version} not found in {path}" for version in versions if version not in defined]
    return unmet
