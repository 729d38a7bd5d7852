"""The server of the protocol: its tools, pages and prompts, over the official SDK. Every failure becomes an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from ... import __version__
from ...errors import (
    DualdbgError,
    EngineLost,
    NoSuchBreakpoint,
    NoSuchThread,
    SpecError,
    StaleHandle,
    TargetGone,
    UsageError,
    WrongState,
)
from ...model import State
from ...system.shortage import shortage
from ...system.terminal_text import visible_text
from .bounds import bounded_text, harmless
from .guidance import INSTRUCTIONS, PAGES, PROMPTS, page
from .registry import Tool, all_tools
from .sessions import Sessions
from .wording import for_tools

_RUNS = "the program runs: continue_until(session=SESSION, seconds=0, at_time='pause') stops it"
_STANDS = "it stands: stack(session=SESSION) shows where, continue_until(session=SESSION) lets it go on"
_OVER = "it is over: output(session=SESSION) has what it wrote; run or attach begins another session"
_OF_CORE = "it is a core: stack(session=SESSION) and variables read it"
_NOT_KNOWN = "run or attach(pid=…) begins a session, attach(core=…) opens a core"
# By what the session does; None: there is no such session, or none was meant.
_BY_STATE = {
    State.STARTING: _RUNS,
    State.RUNNING: _RUNS,
    State.PYTHON_STOPPED: _STANDS,
    State.NATIVE_STOPPED: _STANDS,
    State.EXITED: _OVER,
    State.DETACHED: _OVER,
    State.LOST: _OVER,
    None: _NOT_KNOWN,
}
# The errors about which what the session does says what helps.
_OF_STATE = (WrongState, StaleHandle)
# By the type of the error, whatever the session does.
_CALLS = (
    (NoSuchThread, "stacks(session=SESSION) has its threads"),
    (NoSuchBreakpoint, "break(session=SESSION) lists them"),
    (SpecError, "the resource dualdbg://docs/breakpoints.md has all specs"),
    (EngineLost, "end(session=SESSION), then run or attach again"),
    (TargetGone, "run starts a program; stacks(match=…) finds processes"),
)


def next_call(error: DualdbgError, session: object, state: State | None, of_core: bool = False) -> str:
    """The call that helps, or else the error's own hint in the words of tools. ``session`` is what the failed call was
    about, if anything, and ``state`` what it does. ``of_core``: its program is a core, which goes nowhere."""
    for kind, words in _CALLS:
        if type(error) is kind:
            return for_tools(words, session)
    if type(error) in _OF_STATE:
        own = _OF_CORE if of_core else _BY_STATE[state]
        return for_tools(own, session)
    return for_tools(error.hint or (_OF_CORE if of_core else _BY_STATE[state]), session)


_NO_READERS = ("attach", "end")  # there with --read-only, for cores, and yet more than looking

WriteReport = Callable[[], str]
"""Keeps a report of the exception that is handled now, and says where."""


def make_server(sessions: Sessions, write_report: WriteReport) -> Server[Any]:
    """A server whose clients share ``sessions``. ``write_report`` is for what nobody has foreseen."""
    protocol = _Protocol(sessions, write_report)
    return Server(
        "dualdbg",
        version=__version__,
        title="dualdbg",
        instructions=INSTRUCTIONS,
        on_list_tools=protocol.list_tools,
        on_call_tool=protocol.call_tool,
        on_list_resources=protocol.list_resources,
        on_read_resource=protocol.read_resource,
        on_list_prompts=protocol.list_prompts,
        on_get_prompt=protocol.get_prompt,
    )


class _Protocol:
    """The requests of the protocol that are answered here."""

    def __init__(self, sessions: Sessions, write_report: WriteReport) -> None:
        self._sessions = sessions
        self._write_report = write_report
        only_looks = sessions.permissions.read_only
        self._tools = {name: tool for name, tool in all_tools().items() if tool.looks or not only_looks}

    async def list_tools(self, _: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_description(tool) for tool in self._tools.values()])

    async def call_tool(self, _: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _failure(f"there is no tool {params.name!r} here", f"there are {', '.join(self._tools)}")
        given = params.arguments or {}
        try:
            reply = await tool.run(self._sessions, tool.arguments.model_validate(given))
        except ValidationError as error:
            return _failure(*_what_is_wrong(tool, error))
        except DualdbgError as error:
            session = given.get("session")
            next_ = next_call(error, session, *self._sessions.state_of(session))
            return _failure(for_tools(error.message, session), self._among_tools(next_))
        except Exception as error:
            known = shortage(error)
            if known is None:
                text = f"something went wrong that dualdbg did not foresee; the report is in {self._write_report()}"
                return _failure(text, "the session may be of use no more: end it")
            return _failure(for_tools(known.message), for_tools(known.hint))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=visible_text(reply.text))],
            structured_content=harmless(reply.answer.model_dump(mode="json", exclude_none=True)),
        )

    def _among_tools(self, next_: str) -> str:
        """The parts of a hint that name no tool which this server does not have."""
        missing = "|".join(name for name in all_tools() if name not in self._tools)
        parts = next_.split("; ")
        return "; ".join(part for part in parts if not missing or not re.search(rf"\b(?:{missing})\(", part))

    async def list_resources(self, _: object, __: object) -> types.ListResourcesResult:
        rows = [
            types.Resource(uri=one.uri, name=one.file, description=one.about, mime_type="text/markdown")
            for one in PAGES
        ]
        return types.ListResourcesResult(resources=rows)

    async def read_resource(
        self, _: object, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        found = _refusing(lambda: page(str(params.uri)))
        contents = types.TextResourceContents(uri=found.uri, mime_type="text/markdown", text=found.text())
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, _: object, __: object) -> types.ListPromptsResult:
        rows = [
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                arguments=[
                    types.PromptArgument(name=name, description=about, required=at == 0)
                    for at, (name, about) in enumerate(prompt.arguments.items())
                ],
            )
            for prompt in PROMPTS.values()
        ]
        return types.ListPromptsResult(prompts=rows)

    async def get_prompt(self, _: object, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            text = f"there is no prompt {params.name!r}: there are {', '.join(PROMPTS)}"
            raise MCPError(code=types.INVALID_PARAMS, message=text)
        text = _refusing(lambda: prompt.text(params.arguments or {}))
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


def _refusing(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except UsageError as error:
        raise MCPError(code=types.INVALID_PARAMS, message=f"{error.message}: {error.hint}") from error


def _failure(message: str, next_: str) -> types.CallToolResult:
    text = message + (f"\nnext: {next_}" if next_ else "")
    content = types.TextContent(type="text", text=visible_text(bounded_text(text)))
    return types.CallToolResult(content=[content], is_error=True)


def _what_is_wrong(tool: Tool, error: ValidationError) -> tuple[str, str]:
    """Which arguments do not fit, and those that there are."""
    wrong = [
        f"{'.'.join(map(str, one['loc'])) or 'the arguments'}: {one['msg']}" for one in error.errors()[:5]
    ]
    known = ", ".join(tool.arguments.model_fields)
    return (
        f"{tool.name} was called with something that does not fit: {'; '.join(wrong)}",
        f"its arguments are {known}",
    )


def _description(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_schema(tool.arguments, "validation"),
        output_schema=_schema(tool.answer, "serialization"),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.looks and tool.name not in _NO_READERS,
            open_world_hint=False,
        ),
    )


def _schema(model: type[BaseModel], mode: Any) -> dict[str, Any]:
    """The JSON Schema of a model, without titles, which say again what the names say."""
    schema = model.model_json_schema(mode=mode, schema_generator=_NoTitles)
    for one in (schema, *schema.get("$defs", {}).values()):
        one.pop("title", None)
        one.pop("description", None)  # the docstrings of our classes are for readers of the code
    return cast("dict[str, Any]", _lean(schema, mode == "serialization"))


class _NoTitles(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _lean(schema: Any, is_answer: bool) -> Any:
    """The same without null and empty defaults: what is not there is left out, in calls and in answers. What an answer
    has where it says nothing is of no use to who reads it."""
    if isinstance(schema, list):
        return [_lean(one, is_answer) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(kinds) == 1:
        schema = {**{name: one for name, one in schema.items() if name != "anyOf"}, **kinds[0]}
    return {
        name: _lean(one, is_answer)
        for name, one in schema.items()
        if not (name == "default" and (is_answer or one in (None, [], "", {})))
    }
