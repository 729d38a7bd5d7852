"""Where a Python function is written, found in the source without importing anything."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from ...known.python_files import is_of_a_library
from ...system.source_files import read_regular

_MOST_HOPS = 8  # modules through which a name may be imported, one from the other
_MOST_FILES = 300  # of the program's own are read in search of a bare name

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class FunctionDefinition:
    """``name`` and ``line`` are those of its code object: the line of ``def``, or of the first decorator.

    ``entry`` is the line of the first statement of a coroutine or generator, whose call runs nothing of it; else None.
    """

    file: str
    line: int
    name: str
    entry: int | None = None


@dataclass(frozen=True)
class NoFunction:
    """``module`` is the file in which the name should be, or the name of a module within the interpreter (None: there
    is no such module); ``why`` is for people.

    ``elsewhere`` is a file of the program's own in which a function of this bare name is written, as a method or in
    another function. ``suspends``: that one is a coroutine or generator.
    """

    module: str | None
    why: str
    elsewhere: str | None = None
    suspends: bool = False


def find_function(
    name: str, script: Path | None, search_path: Sequence[str], built_in: Collection[str] = ()
) -> FunctionDefinition | NoFunction:
    """``package.module.Class.function``, or ``Class.function`` of the script.

    ``search_path`` is the program's ``sys.path``, ``built_in`` names the modules within its interpreter. Names that
    modules import from each other are followed. What is only made at run time is not found.
    """
    parts = tuple(name.split("."))
    if script is not None:
        parts = parts[1:] if parts[0] == "__main__" and len(parts) > 1 else parts
        place = _in_file(script, parts, "", search_path, _MOST_HOPS)
        if place is not None:
            return place
    if len(parts) > 1 and parts[0] in built_in:  # no folder's file of that name is imported
        return NoFunction(
            parts[0], f"{parts[0]} is a module of the interpreter itself, which has no Python code"
        )
    for count in range(len(parts) - 1, 0, -1):
        module = parts[:count]
        file = _module_file(module, search_path)
        if file is None:
            continue
        place = _in_file(file, parts[count:], ".".join(module), search_path, _MOST_HOPS)
        if place is not None:
            return place
        return NoFunction(str(file), f"{file} defines no function {'.'.join(parts[count:])}")
    where = f"{script} has no such function, and " if script is not None else ""
    why = f"{where}there is no module {parts[0]} on the program's path"
    found = _bare_name(name, script, search_path) if len(parts) == 1 and script is not None else None
    if found is None:
        return NoFunction(None, why)
    file, definition = found
    return NoFunction(None, why, str(file), _suspends(definition))


def _bare_name(name: str, script: Path, search_path: Sequence[str]) -> tuple[Path, _Definition] | None:
    """A function of this name at any depth of the script, or else of a module of its own that is imported.

    Imports are followed as they are written, relative ones not.
    """
    waiting, seen = [script], {script}
    while waiting and len(seen) <= _MOST_FILES:
        file = waiting.pop(0)
        tree = _tree(file)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, _Definition) and node.name == name:
                return file, node
        for module in _modules_imported(tree):
            target = _module_file(module.split("."), search_path)
            if target is not None and target not in seen and not is_of_a_library(str(target)):
                seen.add(target)
                waiting.append(target)
    return None


def _modules_imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module_file(module: Sequence[str], search_path: Sequence[str]) -> Path | None:
    """The file of a module, which may be something else than source; None when the module has no file."""
    path: list[str] = list(search_path)
    for at, part in enumerate(module):
        spec = PathFinder.find_spec(part, path)
        if spec is None:
            return None
        if at + 1 == len(module):
            origin = spec.origin
            return Path(origin) if origin is not None and spec.has_location else None
        path = list(spec.submodule_search_locations or ())
    return None


def _in_file(
    file: Path, names: Sequence[str], module: str, search_path: Sequence[str], hops: int
) -> FunctionDefinition | None:
    """The function in a module's source, or in the modules from which it imports the name."""
    tree = _tree(file)
    if tree is None:
        return None
    found = _defined(tree, names)
    if found is not None:
        first = min([found.lineno, *(one.lineno for one in found.decorator_list)])
        return FunctionDefinition(str(file.resolve()), first, found.name, _entry(found))
    if hops == 0:
        return None
    is_package = file.name == "__init__.py"
    for source, wanted in _imported(tree, names, module, is_package):
        target = _module_file(source.split("."), search_path)
        if target is not None and target != file:
            place = _in_file(target, wanted, source, search_path, hops - 1)
            if place is not None:
                return place
    return None


def _tree(file: Path) -> ast.Module | None:
    """What a file says; None where it is no source, or unreadable for us: nothing is found in it then."""
    if file.suffix == ".so":
        return None
    try:
        return ast.parse(read_regular(file))
    except (OSError, SyntaxError, ValueError):
        return None


def _defined(node: ast.AST, names: Sequence[str]) -> _Definition | None:
    """The definition of ``Class.method`` or ``outer.inner`` under a node. Of several definitions it is the last."""
    found: _Definition | None = None
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Definition | ast.ClassDef):
            if child.name != names[0]:
                continue
            if len(names) > 1:
                found = _defined(child, names[1:]) or found
            elif isinstance(child, _Definition):
                found = child
        elif isinstance(child, ast.stmt | ast.ExceptHandler):  # if, try, with around a definition
            found = _defined(child, names) or found
    return found


def _entry(definition: _Definition) -> int | None:
    """The line of the first statement of a coroutine or generator; None of another function."""
    if not _suspends(definition):
        return None
    body = definition.body
    begins_with_text = len(body) > 1 and ast.get_docstring(definition, clean=False) is not None
    return body[1 if begins_with_text else 0].lineno


def _suspends(definition: _Definition) -> bool:
    """Whether it is a coroutine or a generator."""
    if isinstance(definition, ast.AsyncFunctionDef):
        return True
    waiting: list[ast.AST] = list(definition.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _Definition | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _imported(
    tree: ast.Module, names: Sequence[str], module: str, is_package: bool
) -> Iterator[tuple[str, Sequence[str]]]:
    """(module, names in it) for the imports of a module that bring the first of the names."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        package = module.split(".") if is_package else module.split(".")[:-1]
        base = package[: len(package) - (node.level - 1)] if node.level else []
        source = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name == "*":
                yield source, names
            elif (alias.asname or alias.name) == names[0]:
                yield source, (alias.name, *names[1:])
                if len(names) > 1:  # the name may be a module of the package
                    yield f"{source}.{alias.name}", names[1:]
