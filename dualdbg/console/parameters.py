"""The parameter names, and the lines, of the Python function that a frame runs, read from its source. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def parameter_names(source: str, function: str, line: int) -> list[str]:
    """The parameters of the innermost function called ``function`` (its last part counts) around ``line``.

    Empty where no such function is found: in a module, a class body, or source that does not match what runs.
    """
    found = _innermost(source, function, line)
    return [argument.arg for argument in _parameters(found.args)] if found is not None else []


def function_span(source: str, function: str, line: int) -> tuple[int, int] | None:
    """The first and the last line of that function, decorators included; None where no such function is found."""
    found = _innermost(source, function, line)
    return (_first(found), _last(found)) if found is not None else None


def _innermost(source: str, function: str, line: int) -> _Function | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    name = function.rpartition(".")[2]
    around = [
        node for node in _functions(tree) if _name(node) == name and _first(node) <= line <= _last(node)
    ]
    return max(around, key=_first) if around else None


def _functions(tree: ast.AST) -> Iterator[_Function]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node


def _name(node: _Function) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _first(node: _Function) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last(node: _Function) -> int:
    return node.end_lineno or node.lineno


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from arguments.posonlyargs
    yield from arguments.args
    if arguments.vararg is not None:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg is not None:
        yield arguments.kwarg
