"""A scripted agent: it finds bugs by a fixed policy that reads nothing but the answers of ``dualdbg mcp``."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

Row = dict[str, Any]

# C's types, as buffers name them.
_NUMBERS = {"double": "d", "float": "f", "int": "i", "long": "l", "char": "c", "short": "h"}
_NULL = re.compile(r"0x0\b")
_GRAVE = ("deadlock", "fork-with-lock", "collective", "lock")
_PATIENCE = 60  # answers to a question that is asked again and again


@dataclass(frozen=True)
class Symptom:
    """What a user says. ``kind``: crashes, hangs, number or grows.

    ``program`` is the script, ``env`` its environment, ``pid`` a job that hangs already. ``name`` is what holds the
    wrong number, or the object whose references grow; ``function`` is the Python function in which they do.
    """

    kind: str
    program: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    pid: int | None = None
    name: str = ""
    function: str = ""


@dataclass(frozen=True)
class Verdict:
    """The place of the bug, and what shows it."""

    function: str
    file: str
    line: int
    because: str


class Unsolved(Exception):
    """The policy has come to its end without an answer."""


@dataclass
class Call:
    """One call and its answer. ``size``: bytes of the answer as it came over the wire."""

    tool: str
    arguments: Row
    text: str
    data: Row
    failed: bool
    size: int


class Agent:
    """Calls tools and keeps what was said."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls: list[Call] = []

    @property
    def size(self) -> int:
        """Bytes of all answers."""
        return sum(call.size for call in self.calls)

    async def ask(self, tool: str, **arguments: Any) -> Row:
        """The structured answer. Raises Unsolved for a refusal."""
        call = await self.try_to(tool, **arguments)
        if call.failed:
            raise Unsolved(f"{tool} {arguments}: {call.text}")
        return call.data

    async def try_to(self, tool: str, **arguments: Any) -> Call:
        """The call with its answer, which may be a refusal."""
        answer = await self._client.call_tool(tool, arguments)
        size = len(answer.model_dump_json(by_alias=True, exclude_none=True).encode())
        text = "".join(part.text for part in answer.content if part.type == "text")
        call = Call(tool, arguments, text, answer.structured_content or {}, answer.is_error, size)
        self.calls.append(call)
        return call


@asynccontextmanager
async def agent(*options: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Agent]:
    """An agent with a server of its own, over standard input and output."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "dualdbg", "mcp", *options], env={**os.environ, **(env or {})}
    )
    with open(os.devnull, "w") as nowhere:
        async with Client(stdio_client(server, errlog=nowhere)) as client:
            yield Agent(client)


async def hunt(agent: Agent, symptom: Symptom) -> Verdict:
    """Find the bug behind a symptom. Raises Unsolved."""
    return await _POLICIES[symptom.kind](agent, symptom)


# -- it crashes ----------------------------------------------------------------------------------


async def _crashes(agent: Agent, symptom: Symptom) -> Verdict:
    crash, _ = await _to_the_crash(agent, symptom, [])
    session, frame = crash["session"], crash["stop"]["frame"]
    stack = await agent.ask("stack", session=session)
    names = [row.get("function") or "" for row in stack["frames"]]
    if any("terminate" in name for name in names):
        return await _before_the_crash(
            agent, symptom, session, "throw", "a C++ exception that nobody catches"
        )
    values = (await agent.ask("variables", session=session, frame=frame["number"]))["variables"]
    nulls = [row for row in values if _NULL.match(row["value"])]
    if any("PyObject" in row["type"] for row in nulls):
        why = f"its exception is not looked at, and {nulls[0]['name']} is null"
        return await _before_the_crash(agent, symptom, session, "raise", why)
    shown = ", ".join(f"{row['name']} = {row['value'][:60]}" for row in nulls or values)
    source = await agent.ask("source", session=session, frame=frame["number"], limit=5)
    await agent.ask("end", session=session)
    code = source["lines"][frame["line"] - source["first"]].strip()
    return _verdict(frame, f"{crash['stop']['description']} at `{code}`, {shown}")


async def _to_the_crash(agent: Agent, symptom: Symptom, breakpoints: Sequence[str]) -> tuple[Row, Row | None]:
    """The answer with the crash, and the last stop before it."""
    now = await agent.ask(
        "run", program=symptom.program, env=dict(symptom.env), breakpoints=list(breakpoints)
    )
    last = None
    for _ in range(_PATIENCE):
        stop = now.get("stop")
        if stop is not None and stop["reason"] == "signal":
            return now, last
        if now["state"] in ("exited", "lost"):
            raise Unsolved(f"it ended without a crash: {now}")
        last = stop or last
        now = await agent.ask("continue_until", session=now["session"])
    raise Unsolved("it did not crash")


async def _before_the_crash(agent: Agent, symptom: Symptom, session: str, spec: str, why: str) -> Verdict:
    """Run it once more, up to the crash: the last stop before that is where the trouble began."""
    await agent.ask("end", session=session)
    crash, last = await _to_the_crash(agent, symptom, [spec])
    await agent.ask("end", session=crash["session"])
    if last is None:
        raise Unsolved(f"nothing stopped at {spec} before the crash")
    return _verdict(last["frame"], f"{last.get('description') or spec}: {why}")


# -- it hangs ------------------------------------------------------------------------------------


async def _hangs(agent: Agent, symptom: Symptom) -> Verdict:
    if symptom.pid is not None:
        return await _job(agent, symptom.pid)
    now = await agent.ask("run", program=symptom.program, env=dict(symptom.env), seconds=3)
    session = now["session"]
    for _ in range(_PATIENCE):
        findings = (await agent.ask("diagnose", session=session))["findings"]
        grave = [row for row in findings if row["kind"] in _GRAVE]
        if grave:
            break
        await agent.ask("continue_until", session=session, seconds=1)
    else:
        raise Unsolved("nothing that hangs was seen")
    await agent.ask("continue_until", session=session, seconds=0, at_time="pause")
    for thread in grave[0]["threads"]:
        frames = (await agent.ask("stack", session=session, thread=thread["tid"]))["frames"]
        own = [row for row in frames if row.get("language") == "native" and row.get("line") and _is_own(row)]
        if own and thread.get("waits_for_gil"):
            await agent.ask("end", session=session)
            return _verdict(own[0], grave[0]["text"])
    raise Unsolved("no thread of the deadlock is in code with debug info")


async def _job(agent: Agent, pid: int) -> Verdict:
    """The process that is not where the other ranks are."""
    findings = (await agent.ask("diagnose", tree=pid))["findings"]
    answer = await agent.ask("stacks", tree=pid)
    labels = {row["pid"]: row.get("label") for row in answer["processes"]}
    ranks = [group for group in answer["groups"] if all(labels[one["pid"]] for one in group["threads"])]
    if len(ranks) < 2:
        raise Unsolved("all ranks are at the same place")
    odd = ranks[0]  # the rarest comes first
    frame = next(row for row in odd["frames"] if row.get("language") == "python")
    where = ", ".join(str(labels[one["pid"]]) for one in odd["threads"])
    told = [
        row["text"]
        for row in findings
        if any(one["pid"] == odd["threads"][0]["pid"] for one in row["threads"])
    ]
    return _verdict(frame, f"{where} is alone there, {odd['threads'][0]['activity']}; {'; '.join(told)}")


# -- a number is wrong ---------------------------------------------------------------------------


async def _number(agent: Agent, symptom: Symptom) -> Verdict:
    """The Python line that computes it, then the buffers that the line gives away, then the native variable."""
    now = await agent.ask("run", program=symptom.program, env=dict(symptom.env), stop_on_entry=True)
    session = now["session"]
    source = await agent.ask("source", session=session, limit=100)
    assigned = re.compile(rf"\s*{symptom.name}\s*=")
    line = next(
        (at for at, text in enumerate(source["lines"], source["first"]) if assigned.match(text)), None
    )
    if line is None:
        return await _memory(agent, symptom, session)
    await agent.ask("break", session=session, add=[f"{source['file']}:{line}"])
    await agent.ask("continue_until", session=session)
    values = (await agent.ask("variables", session=session))["variables"]
    views = [row["name"] for row in values if row["type"] == "memoryview"]
    said = {}
    for name in views:
        words = f"({name}.format, {name}.itemsize, {name}.strides[0])"
        value = await agent.ask("evaluate", session=session, expression=words, run_code=True)
        said[name] = re.findall(r"\w+", value["value"]["value"])
    name, pointer, now = await _step_to_pointer(agent, session, source["lines"][line - source["first"]], said)
    format_, _, stride = said[name]
    kind = _NUMBERS[_pointed_at(pointer["type"])]
    frame = now["stop"]["frame"]
    if kind != format_:
        await agent.ask("end", session=session)
        return _verdict(
            frame, f"{pointer['type']} {pointer['name']} reads {name}, whose format is {format_!r}"
        )
    begun = int(pointer["value"].split()[0], 16)
    for _ in range(8):
        now = await agent.ask("step", session=session, kind="next")
        rows = (await agent.ask("variables", session=session))["variables"]
        at = next(int(row["value"].split()[0], 16) for row in rows if row["name"] == pointer["name"])
        if at != begun:
            break
    await agent.ask("end", session=session)
    if at - begun == int(stride):
        raise Unsolved("the pointer moves as the buffer says")
    return _verdict(frame, f"{pointer['name']} moves by {at - begun} bytes, the stride of {name} is {stride}")


async def _step_to_pointer(
    agent: Agent, session: str, code: str, said: Mapping[str, Sequence[str]]
) -> tuple[str, Row, Row]:
    """Step until a native frame has a pointer to numbers: which buffer that is, the pointer, where it was."""
    for _ in range(12):
        now = await agent.ask("step", session=session)
        frame = now["stop"]["frame"]
        if frame["language"] != "native" or not frame.get("line"):
            continue
        rows = (await agent.ask("variables", session=session))["variables"]
        pointers = [
            row
            for row in rows
            if row["type"].replace("const", "").strip(" *") in _NUMBERS and "*" in row["type"]
        ]
        used = [name for name in said if name in code]
        if pointers and used:
            return used[0], pointers[0], now
    raise Unsolved("no native function takes a pointer to numbers")


def _pointed_at(kind: str) -> str:
    """``double`` for ``const double *``."""
    return kind.replace("const", "").strip(" *")


async def _memory(agent: Agent, symptom: Symptom, session: str) -> Verdict:
    """A native variable: every access to it is a stop. Two threads that go on from the same value lose one."""
    await agent.ask("break", session=session, add=[f"awatch:{symptom.name}"])
    seen: list[tuple[int, str, Row]] = []
    for _ in range(8):
        now = await agent.ask("continue_until", session=session)
        stop = now.get("stop")
        if stop is None:
            break
        seen.append((stop["thread"], stop.get("description") or "", stop["frame"]))
        if len(seen) > 1 and seen[-1][0] != seen[-2][0] and seen[-1][1] == seen[-2][1]:
            first, second = seen[-2:]
            stacks = await agent.ask("stacks", session=session, limit=4, depth=6)
            there = sum(
                group["thread_count"] for group in stacks["groups"] if _is_in(group, second[2]["function"])
            )
            await agent.ask("end", session=session)
            why = f"threads {first[0]} and {second[0]} both go on from {second[1]}, {there} threads are there at once"
            return _verdict(second[2], why)
    raise Unsolved(f"no two threads went on from the same {symptom.name}: {seen}")


def _is_in(group: Row, function: str) -> bool:
    return any(row.get("function") == function for row in group["frames"])


# -- references grow -------------------------------------------------------------------------------


async def _grows(agent: Agent, symptom: Symptom) -> Verdict:
    """The line after which an object has one reference more, and the native function that the line calls."""
    now = await agent.ask(
        "run", program=symptom.program, env=dict(symptom.env), breakpoints=[f"py:{symptom.function}"]
    )
    session = now["session"]
    count = await _references(agent, session, symptom.name)
    for _ in range(20):
        line = now["stop"]["frame"]["line"]
        now = await agent.ask("step", session=session, kind="next")
        if (now["stop"]["frame"]["function"] or "").rpartition(".")[2] != symptom.function:
            break
        more = await _references(agent, session, symptom.name)
        if more > count:
            file = now["stop"]["frame"]["file"]
            await agent.ask("break", session=session, add=[f"{file}:{line}"], remove=[1])
            await agent.ask("continue_until", session=session)
            now = await agent.ask("step", session=session)
            await agent.ask("end", session=session)
            why = (
                f"line {line} of {PurePath(file).name} leaves {more - count} reference more to {symptom.name}"
            )
            return _verdict(now["stop"]["frame"], why)
        count = more
    raise Unsolved(f"no line of {symptom.function} leaves a reference")


async def _references(agent: Agent, session: str, name: str) -> int:
    words = f"__import__('sys').getrefcount({name})"
    answer = await agent.ask("evaluate", session=session, expression=words, language="python", run_code=True)
    return int(answer["value"]["value"])


_POLICIES: dict[str, Callable[[Agent, Symptom], Any]] = {
    "crashes": _crashes,
    "hangs": _hangs,
    "number": _number,
    "grows": _grows,
}


def _is_own(row: Row) -> bool:
    """Whether a frame is neither the C++ library's nor the system's: those were built elsewhere."""
    file = str(row.get("file") or "")
    return file.startswith("/") and not file.startswith("/usr/")


def _verdict(frame: Row, because: str) -> Verdict:
    return Verdict(
        frame.get("function") or "??",
        PurePath(frame.get("file") or "??").name,
        frame.get("line") or 0,
        because,
    )


def transcript(calls: Sequence[Call]) -> str:
    """What was asked and answered, in the words for people."""
    text = ""
    for call in calls:
        words = ", ".join(f"{name}={json.dumps(value)}" for name, value in call.arguments.items())
        text += f"> {call.tool}({words})\n{call.text}\n"
    return text
