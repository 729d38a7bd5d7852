#!/usr/bin/env python3
"""Writes dualdbg/protocol/dap_types.py: dap_types.py SCHEMA > FILE. Python 3.10 is all that it needs.

SCHEMA is debugAdapterProtocol.json, which https://microsoft.github.io/debug-adapter-protocol/ offers. Only what an
adapter sends becomes a type: the bodies of its answers and events, and the arguments of the requests that it makes.
What a client sends is checked when it comes (dualdbg/dap/client/arguments.py), and needs no types.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

HEAD = '''\
"""What an adapter sends, as types: the bodies of answers and events, and the arguments of its own requests.

Made by scripts/dap_types.py from the schema of the Debug Adapter Protocol. Change the script, not this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, overload

# In typing only from Python 3.11 on; nothing reads these annotations while the program runs.
if TYPE_CHECKING:
    from typing_extensions import NotRequired

'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
LINE = 110  # characters, as pyproject.toml has it
FROM_ADAPTER = ("RunInTerminalRequest", "StartDebuggingRequest")


class Types:
    """The classes and aliases that were needed so far, by their names."""

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions
        self.texts: dict[str, str] = {}

    def of(self, schema: Schema, name: str) -> str:
        """The type of ``schema`` as an annotation; ``name`` is that of the class, where it needs one."""
        if "$ref" in schema:
            target = schema["$ref"].rpartition("/")[2]
            return self._named(target, self._definitions[target])
        if "oneOf" in schema:
            return " | ".join(dict.fromkeys(self.of(one, name) for one in schema["oneOf"]))
        if "enum" in schema:
            return _literal(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            if set(kind) >= {"array", "object"}:
                return "Any"  # every type is listed
            return " | ".join(PLAIN[one] for one in kind)
        if kind == "array":
            return f"Sequence[{self.of(schema['items'], f'{name}Item')}]"
        if kind == "object" and schema.get("properties"):
            return self._named(name, schema)
        if kind == "object":
            more = schema.get("additionalProperties")
            return f"Mapping[str, {self.of(more, name) if isinstance(more, dict) else 'Any'}]"
        return PLAIN[kind] if kind else "Any"

    def _named(self, name: str, schema: Schema) -> str:
        if name in self.texts:
            return name
        if schema.get("type") != "object":
            closed = self.of(schema, name)
            if closed == "str":
                return closed
            self.texts[name] = _alias(name, schema["enum"])
            return name
        self.texts[name] = ""  # listed before its fields are read: a Source has Sources
        required = set(schema.get("required", ()))
        fields = []
        for key, value in schema.get("properties", {}).items():
            one = self.of(value, name + key[0].upper() + key[1:])
            fields.append(f"    {key}: {one if key in required else f'NotRequired[{one}]'}\n")
        self.texts[name] = f"class {name}(TypedDict):\n{''.join(fields)}"
        return name


def _literal(words: list[str]) -> str:
    return f"Literal[{', '.join(json.dumps(word) for word in words)}]"


def _alias(name: str, words: list[str]) -> str:
    line = f"{name} = {_literal(words)}\n"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name} = Literal[", *(f"    {json.dumps(word)}," for word in words), "]\n"])


def main(schema: Path) -> None:
    definitions: Schema = json.loads(schema.read_text(encoding="utf-8"))["definitions"]
    types = Types(definitions)
    events = {
        own["properties"]["event"]["enum"][0]: _body(types, name, own)
        for name, own in _messages(definitions, "Event")
    }
    answers = {
        _command(definitions[f"{name.removesuffix('Response')}Request"]): _body(types, name, own)
        for name, own in _messages(definitions, "Response")
        if name != "ErrorResponse" and f"{name.removesuffix('Response')}Request" not in FROM_ADAPTER
    }
    asked = {}
    for name in FROM_ADAPTER:
        arguments = definitions[name]["allOf"][1]["properties"]["arguments"]
        asked[_command(definitions[name])] = types.of(arguments, f"{name}Arguments")
    aliases = [text for text in types.texts.values() if not text.startswith("class")]
    classes = [text for text in types.texts.values() if text.startswith("class")]
    rows = [f'    "{command}": "{" | ".join(body)}",' for command, body in answers.items()]
    table = "\n".join(["ANSWERS = {", *rows, "}"])
    says = '"""The type of the body of the answer to each command; "None" where it has none."""\n'
    sys.stdout.write(
        "\n\n".join([HEAD + "".join(aliases), *classes, _sender(events, asked), table]) + "\n" + says
    )


def _messages(definitions: Schema, base: str) -> Iterator[tuple[str, Schema]]:
    """The definitions that extend ``base``, with what they add to it."""
    for name, definition in definitions.items():
        extended, *own = definition.get("allOf", ({},))
        if extended.get("$ref") == f"#/definitions/{base}":
            yield name, own[0]


def _body(types: Types, name: str, own: Schema) -> tuple[str, ...]:
    """The type of a message's body; beside it ``None`` where it may be left out; ``None`` alone without one."""
    body = own.get("properties", {}).get("body", {})
    if not body.get("properties") and "$ref" not in body:
        return ("None",)
    found = types.of(body, f"{name}Body")
    return (found,) if "body" in own.get("required", ()) else (found, "None")


def _command(request: Schema) -> str:
    return str(request["allOf"][1]["properties"]["command"]["enum"][0])


def _sender(events: dict[str, tuple[str, ...]], asked: dict[str, str]) -> str:
    lines = [
        "class Sender(Protocol):",
        '    """The way to a client: mypy lets only what the protocol knows be sent."""',
        "",
    ]
    for event, body in events.items():
        optional = " = ..." if "None" in body else ""
        lines += [
            "    @overload",
            f'    def event(self, name: Literal["{event}"], body: {" | ".join(body)}{optional}) -> None: ...',
        ]
    lines.append("")
    for command, arguments in asked.items():
        lines += [
            "    @overload",
            "    async def ask(",
            f'        self, command: Literal["{command}"], arguments: {arguments}, deadline: float',
            "    ) -> Mapping[str, Any]: ...",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: dap_types.py SCHEMA > dualdbg/protocol/dap_types.py")
    main(Path(sys.argv[1]))
