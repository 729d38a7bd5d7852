"""What one module takes from another says, in a docstring, what it is for: functions, classes and their methods.

A function or class is used by a module that imports it, or names it behind the name of its module. A method or property
is used by a module that has its name behind a dot, and what stands before the dot can be taken for its class: no other
class of the package has that name, or the module itself names the class. A name that Python's own types have (``read``,
``close``) tells only by the class. What overrides a method is explained by what it overrides.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import gc
import importlib
import io
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath
from subprocess import Popen

import pytest

from tests.support import ROOT

# The schema of the Debug Adapter Protocol says what these are for; scripts/dap_types.py makes them from it.
GENERATED = "protocol/dap_types.py"
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
# Names behind a dot that say nothing of whose they are.
_COMMON = {
    name
    for type_ in (
        *(
            str,
            bytes,
            int,
            list,
            dict,
            set,
            tuple,
            io.FileIO,
            io.TextIOWrapper,
            io.StringIO,
            PurePath,
            Path,
            Popen,
        ),
        *(
            asyncio.Task,
            asyncio.Event,
            asyncio.Lock,
            asyncio.Queue,
            asyncio.StreamReader,
            asyncio.StreamWriter,
        ),
    )
    for name in dir(type_)
}


@dataclass
class Module:
    """A module of the package, and what it takes from others."""

    name: str
    path: Path
    tree: ast.Module
    imported: set[tuple[str, str]] = field(default_factory=set)  # (module, name)
    attributes: set[str] = field(default_factory=set)  # names behind a dot
    through: set[tuple[str, str]] = field(default_factory=set)  # (module, name) of `module.name`

    def __post_init__(self) -> None:
        nodes = list(ast.walk(self.tree))
        modules: dict[str, str] = {}  # what the names stand for that imports bind; those of others do no harm
        for node in nodes:
            if isinstance(node, ast.Import):
                modules.update({one.asname: one.name for one in node.names if one.asname})
            elif isinstance(node, ast.ImportFrom):
                pairs = list(imported_by(self.name, node, is_package=self.path.name == "__init__.py"))
                self.imported.update(pairs)
                for one, (source, name) in zip(node.names, pairs, strict=True):
                    modules[one.asname or one.name] = f"{source}.{name}" if source else name
        for node in nodes:
            if isinstance(node, ast.Attribute):
                self.attributes.add(node.attr)
                if isinstance(node.value, ast.Name) and node.value.id in modules:
                    self.through.add((modules[node.value.id], node.attr))

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.tree.body if isinstance(node, ast.ClassDef))

    def names(self, owner: str, class_: str) -> bool:
        """Whether it takes a class from its module ``owner``, or from a package that hands it on."""
        return any(
            name == class_ and (owner == source or owner.startswith(f"{source}."))
            for source, name in self.imported | self.through
        )


def imported_by(module: str, node: ast.ImportFrom, is_package: bool) -> Iterator[tuple[str, str]]:
    """The (module, name) pairs that ``module`` imports with this statement."""
    source = node.module or ""
    if node.level:
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + is_package]
        source = ".".join([*kept, source] if source else kept)
    for alias in node.names:
        yield source, alias.name


def read(package: Path) -> list[Module]:
    """The modules below a folder; they are named from the folder's own name on."""
    found = []
    gc.disable()  # which would look at a million nodes again and again
    for path in sorted(package.rglob("*.py")):
        if path.match(GENERATED):
            continue
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path, ast.parse(path.read_text(encoding="utf-8"))))
    gc.enable()
    return found


def undocumented(package: Path) -> list[str]:
    """What another module of ``package`` uses and no docstring explains."""
    modules = read(package)
    found = [
        *((module, node, node.name) for module, node in _functions_and_classes(modules)),
        *((module, node, f"{class_.name}.{node.name}") for module, class_, node in _methods(modules)),
    ]
    return [f"{one.path.relative_to(package.parent)}:{node.lineno}: {name}" for one, node, name in found]


def _functions_and_classes(modules: list[Module]) -> Iterator[tuple[Module, Definition]]:
    used = {pair for module in modules for pair in module.imported | module.through}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, Definition) and _is_bare(node) and (module.name, node.name) in used:
                yield module, node


def _methods(modules: list[Module]) -> Iterator[tuple[Module, ast.ClassDef, Function]]:
    """The methods and properties of public classes."""
    bases = _Bases(modules)
    holders: dict[str, set[int]] = defaultdict(
        set
    )  # the classes that have an attribute of a name and inherit none
    for module in modules:
        for class_ in module.classes:
            for name in _attributes(class_):
                if not bases.have(module, class_, name):
                    holders[name].add(id(class_))
    for module in modules:
        for class_ in module.classes:
            for node in class_.body:
                if class_.name.startswith("_") or not isinstance(node, Function) or not _is_bare(node):
                    continue
                alone = node.name not in _COMMON and len(holders[node.name]) == 1
                users = [other for other in modules if other is not module and node.name in other.attributes]
                used = any(alone or other.names(module.name, class_.name) for other in users)
                if used and id(class_) in holders[node.name]:
                    yield module, class_, node


def _is_bare(node: Definition) -> bool:
    """Whether it is public and has no docstring; a property explains its setter, a function its overloads."""
    by = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
    return (
        not node.name.startswith("_") and not by & {"setter", "overload"} and ast.get_docstring(node) is None
    )


@cache
def _attributes(class_: ast.ClassDef) -> frozenset[str]:
    """The names of methods, fields and what ``self`` is given."""
    return frozenset(_names_of_attributes(class_))


def _names_of_attributes(class_: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(class_):
        if isinstance(node, Function):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


class _Bases:
    """What classes inherit: those of the package by their names, those of others by importing them."""

    def __init__(self, modules: list[Module]) -> None:
        self._own = {class_.name: (module, class_) for module in modules for class_ in module.classes}

    def have(self, module: Module, class_: ast.ClassDef, name: str) -> bool:
        """Whether a base has the attribute. A base that cannot be found may have it."""
        for expression in class_.bases:
            base = expression.value if isinstance(expression, ast.Subscript) else expression
            text = ast.unparse(base)
            owner, own = self._own.get(text, (module, class_))
            if own is not class_:
                inherited = name in _attributes(own) or self.have(owner, own, name)
            else:
                inherited = self._of_others(module, text, name)
            if inherited:
                return True
        return False

    @staticmethod
    def _of_others(module: Module, text: str, name: str) -> bool:
        for source, imported in module.imported:
            if imported == text.split(".")[0]:
                with suppress(ImportError, AttributeError):
                    base = getattr(importlib.import_module(source), imported)
                    return hasattr(base, name)
        return not hasattr(builtins, text)


@pytest.mark.parametrize("package", ["dualdbg", "gdb_scripts/dualdbg_engine", "gdb_scripts/dualdbg_helpers"])
def test_what_another_module_uses_has_a_docstring(package: str) -> None:
    assert undocumented(ROOT / package) == []


def test_the_search_finds_what_is_used_and_only_that(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "q").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(
        "def bare(): ...\ndef told():\n    'Says it.'\ndef alone(): ...\nclass Kind: ...\ndef _own(): ...\n"
        "def dotted(): ...\n"
    )
    (package / "q" / "__init__.py").write_text("from .b import deep\n")
    (package / "q" / "b.py").write_text("from ..a import bare, told, _own\nasync def deep(): ...\n")
    (package / "c.py").write_text(
        "def late():\n    from p.a import Kind\n    from p import a\n    a.dotted()\n"
    )
    assert undocumented(package) == [
        "p/a.py:1: bare",
        "p/a.py:5: Kind",
        "p/a.py:7: dotted",
        "p/q/b.py:2: deep",
    ]


def test_the_search_finds_the_methods_that_are_used_and_only_those(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "a.py").write_text(
        "from enum import Enum\n"
        "class One:\n    'Says it.'\n"
        "    def only(self): ...\n    def both(self): ...\n    def close(self): ...\n    def unused(self): ...\n"
        "    def told(self):\n        'Says it.'\n"
        "    @property\n    def given(self): ...\n    @given.setter\n    def given(self, value): ...\n"
        "class Two(One):\n    'Says it.'\n"
        "    def only(self): ...\n    def both(self): ...\n"
        "class Three(Enum):\n    'Says it.'\n"
        "    def name(self): ...\n    def both(self): ...\n"
        "class _Own:\n    def hidden(self): ...\n"
    )
    (package / "b.py").write_text(
        "def go(x):\n    x.only()\n    x.both()\n    x.close()\n    x.told()\n    x.given = 1\n"
        "    x.name\n    x.hidden()\n"
    )
    # One and Three have a ``both``, and ``close`` is everybody's: nothing in b.py says whose they are.
    assert undocumented(package) == ["p/a.py:4: One.only", "p/a.py:11: One.given"]
    (package / "c.py").write_text("from .a import One\ndef go(x: One):\n    x.both()\n    x.close()\n")
    assert undocumented(package) == [
        "p/a.py:4: One.only",
        "p/a.py:5: One.both",
        "p/a.py:6: One.close",
        "p/a.py:11: One.given",
    ]
