"""What debugpy's own adapter does, done here as well: breakpoints, values, exceptions, completions, goto, sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .client import Client, Message, Refused
from .conftest import clean_adapter

Write = Callable[..., Path]

LOOP = """\
def work(number):
    squared = number * number
    return squared

total = 0
for i in range(10):
    total += work(i)
print("total", total)
"""


STILL = """\
import os, threading
class C:
    def __init__(self):
        self.field = [1, 2]
def inner(x):
    return 1 / x
def outer(x):
    return inner(x)
c, n, value = C(), 5, 1
text = 'x' * 1000
words = ['one', 'two']
done = threading.Event()
threading.Thread(target=done.wait, name='the worker', daemon=True).start()
print(outer(1))
"""


class Still(NamedTuple):
    """A session that stands in the last line of STILL, and the frame."""

    client: Client
    path: Path
    frame: Message


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Still]:
    """For all tests that do not let it go on."""
    folder = tmp_path_factory.mktemp("still")
    path = folder / "still.py"
    path.write_text(STILL)
    with clean_adapter(folder / "log") as adapter:
        client = adapter.client
        client.start({"program": str(path)}, lines={path: [14]})
        yield Still(client, path, client.stack(client.stopped()["threadId"])[0])


def ended(client: Client) -> None:
    assert client.event("exited") == {"exitCode": 0}
    client.event("terminated")


# What is asked of a breakpoint, and the rounds of ten in which it stops. debugpy passes over the hitCondition of a
# function.
LINE_ROWS: list[tuple[dict[str, str], list[int]]] = [
    ({"condition": "number == 4"}, [4]),
    ({"hitCondition": "3"}, [2]),
    ({"hitCondition": ">= 9"}, [8, 9]),
    ({"hitCondition": "% 5"}, [4, 9]),
    ({"hitCondition": "> 8"}, [8, 9]),
    ({"logMessage": "number is {number}"}, []),
    ({"hitCondition": "sometimes"}, []),
]
FUNCTION_ROWS = [("2", [1]), (">= 9", [8, 9]), ("% 5", [4, 9])]


def test_conditions_counts_of_hits_and_log_messages(client: Client, program: Write) -> None:
    names = [f"line_{n}" for n in range(len(LINE_ROWS))] + [
        f"function_{n}" for n in range(len(FUNCTION_ROWS))
    ]
    text = "".join(f"def {name}(number):\n    return number\n" for name in names)
    path = program(text + "".join(f"for i in range(10): {name}(i)\n" for name in names))
    lines = [{"line": 2 * n + 2, **row} for n, (row, _) in enumerate(LINE_ROWS)]
    functions = [
        {"name": f"function_{n}", "hitCondition": count} for n, (count, _) in enumerate(FUNCTION_ROWS)
    ]
    answers = client.start({"program": str(path)}, lines={path: lines}, functions=functions)[str(path)]
    assert [answer["verified"] for answer in answers] == [True] * (len(LINE_ROWS) - 1) + [False]
    assert "'sometimes'" in answers[-1]["message"]
    stops = []
    while (event := client.next_event("stopped", "exited"))["event"] == "stopped":
        thread = event["body"]["threadId"]
        frame = client.stack(thread)[0]
        stops.append((event["body"]["reason"], frame["name"], int(client.scope(frame)["number"]["value"])))
        client.go("continue", thread)
    tables = (("breakpoint", "line", LINE_ROWS), ("function breakpoint", "function", FUNCTION_ROWS))
    assert stops == [
        (reason, f"{kind}_{n}", value)
        for reason, kind, table in tables
        for n, (_, values) in enumerate(table)
        for value in values
    ]
    assert event["body"] == {"exitCode": 0}
    assert client.output.count("number is ") == 10 and "number is 9\n" in client.output


def test_a_line_without_code_moves(client: Client, program: Write) -> None:
    path = program("x = 1\n\n# nothing\n\ny = 2\n")
    answer = client.start({"program": str(path)}, lines={path: [3]})[str(path)]
    stop = client.stopped()
    line = client.stack(stop["threadId"])[0]["line"]
    told = [answer[0], *(body["breakpoint"] for body in client.events("breakpoint"))]
    assert told[-1]["verified"] and told[-1]["line"] == line


def test_a_file_that_is_not_there_is_not_verified(client: Client, program: Write, tmp_path: Path) -> None:
    missing = tmp_path / "missing.py"
    answer = client.start({"program": str(program("pass"))}, lines={missing: [1]})[str(missing)]
    assert not answer[0]["verified"] and "there is no file" in answer[0]["message"]
    ended(client)


def test_breakpoints_stay_and_go_while_it_is_stopped(client: Client, program: Write) -> None:
    path = program(LOOP)
    first = client.start({"program": str(path)}, lines={path: [5, 8]})[str(path)]
    thread = client.stopped()["threadId"]
    second = client.set_lines(path, [7, 8])
    assert second[1]["id"] == first[1]["id"], "the one that stays keeps its number"
    client.go("continue", thread)
    client.stopped(hitBreakpointIds=[second[0]["id"]])
    assert client.set_lines(path, []) == []
    client.go("continue", thread)
    ended(client)


def test_breakpoints_are_set_while_it_runs(client: Client, program: Write) -> None:
    path = program(
        "import time\nprint('running', flush=True)\nwhile True:\n    time.sleep(0.01)\n    x = 1\n"
    )
    client.start({"program": str(path)})
    client.wait_output("running")
    answer = client.set_lines(path, [5])
    assert answer[0]["verified"]
    client.stopped(reason="breakpoint", hitBreakpointIds=[answer[0]["id"]])


def test_a_python_function_as_a_breakpoint(client: Client, program: Write) -> None:
    path = program(LOOP)
    client.start({"program": str(path)}, functions=["py:work"])
    thread = client.stopped(reason="function breakpoint")["threadId"]
    assert client.stack(thread)[0]["name"] == "work"


def test_steps(client: Client, program: Write) -> None:
    path = program(LOOP)
    client.start({"program": str(path)}, lines={path: [7]})
    thread = client.stopped()["threadId"]
    client.set_lines(path, [])

    def where() -> tuple[str, int]:
        client.stopped(reason="step")
        frame = client.stack(thread)[0]
        return frame["name"], frame["line"]

    client.go("stepIn", thread)
    assert where() == ("work", 2)
    client.go("next", thread)
    assert where() == ("work", 3)
    client.go("stepOut", thread)
    assert where() == ("<module>", 7)
    client.go("next", thread)
    assert where() == ("<module>", 6)
    told = client.events("continued")
    assert len(told) == 4 and all(one["allThreadsContinued"] for one in told), "one for each step"
    client.go("continue", thread)
    client.event("exited")
    assert len(client.events("continued")) == 4, "the answer to continue tells it"


def test_step_in_targets(client: Client, program: Write) -> None:
    path = program("def a(x):\n    return x\n\ndef b(x):\n    return x\n\nprint(a(b(1)))\n")
    client.start({"program": str(path)}, lines={path: [7]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    targets = client.request("stepInTargets", {"frameId": frame["id"]})["targets"]
    outer = next(target for target in targets if target["label"].startswith("a"))
    client.go("stepIn", thread, targetId=outer["id"])
    client.stopped()
    assert client.stack(thread)[0]["name"] == "a"


def test_goto_moves_the_point_of_execution(client: Client, program: Write) -> None:
    path = program("def f():\n    x = 1\n    x = 2\n    x = 3\n    return x\n\nprint(f())\n")
    client.start({"program": str(path)}, lines={path: [3]})
    thread = client.stopped()["threadId"]
    source = {"path": str(path)}
    target = client.request("gotoTargets", {"source": source, "line": 5})["targets"][0]
    assert target["line"] == 5
    client.go("goto", thread, targetId=target["id"])
    client.event("continued")
    client.stopped(reason="goto")
    assert client.stack(thread)[0]["line"] == 5
    client.go("continue", thread)
    client.wait_output("1\n")
    assert client.event("exited")["exitCode"] == 0


def test_the_console_says_where_an_expression_raised(still: Still) -> None:
    client, path, frame = still
    told = client.refused("evaluate", {"expression": "outer(0)", "frameId": frame["id"], "context": "repl"})
    lines = [line.strip() for line in told.splitlines()]
    assert f'File "{path}", line 8, in outer' in lines and f'File "{path}", line 6, in inner' in lines
    assert "ZeroDivisionError: division by zero" in lines[-1] and "pydevd" not in told
    brief = client.refused("evaluate", {"expression": "outer(0)", "frameId": frame["id"], "context": "watch"})
    assert brief.startswith("ZeroDivisionError: division by zero") and "\n" not in brief.strip()


def test_evaluation_in_every_context(still: Still) -> None:
    client, _, frame = still
    assert client.evaluate("len(text)", frame, "watch")["result"] == "1000"
    assert client.evaluate("words", frame, "hover")["type"] == "list"
    assert client.children(client.evaluate("words", frame, "watch"))["1"]["value"] == "'two'"
    assert len(client.evaluate("text", frame, "clipboard")["result"]) >= 1000
    client.evaluate("new = 5", frame, "repl")  # a statement
    assert client.evaluate("new + 1", frame, "repl")["result"] == "6"
    assert client.evaluate("255", frame)["result"] == "255"
    hexadecimal = {"expression": "255", "frameId": frame["id"], "context": "watch", "format": {"hex": True}}
    assert client.request("evaluate", hexadecimal)["result"] == "0xff"
    with pytest.raises(Refused, match="ZeroDivisionError"):
        client.evaluate("1 / 0", frame, "repl")
    with pytest.raises(Refused, match="NameError"):
        client.evaluate("nothing", frame, "hover")


def test_variables(still: Still) -> None:
    client, _, frame = still
    scopes = [scope["name"] for scope in client.request("scopes", {"frameId": frame["id"]})["scopes"]]
    assert scopes == ["Locals", "Globals"]
    variables = client.scope(frame)
    assert variables["n"]["evaluateName"] == "n"
    field = client.children(variables["c"])["field"]
    assert field["evaluateName"] == "c.field"
    assert client.children(field)["0"]["value"] == "1"
    parent = variables["c"]["variablesReference"]
    asked = {"variablesReference": parent, "name": "field", "value": "'changed'"}
    assert client.request("setVariable", asked)["value"] == "'changed'"
    assert client.evaluate("c.field", frame)["result"] == "'changed'"
    asked = {"expression": "c.field", "value": "1 +", "frameId": frame["id"]}
    assert "c.field = (1 +)" in client.refused("setExpression", asked)


def test_completions(still: Still) -> None:
    client, _, frame = still

    def labels(text: str) -> list[str]:
        asked = {"text": text, "column": len(text) + 1, "frameId": frame["id"]}
        return [target["label"] for target in client.request("completions", asked)["targets"]]

    assert "value" in labels("val")
    assert "getcwd" in labels("os.getc")
    assert labels("`info brea") == ["breakpoints"] and labels("`brea") == ["break"]
    assert "PyOS_FSPath" in labels("`tbreak PyOS_FSPa")


def test_the_prompt_in_the_debug_console(client: Client, program: Write) -> None:
    path = program(LOOP)
    client.start({"program": str(path)}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    frames = client.stack(thread)
    assert client.evaluate("`", frames[0])["result"] == client.evaluate("-exec  ", frames[0])["result"] == ""
    text = client.evaluate("`bt", frames[0])["result"]
    assert "work" in text and f"{path.name}:2" in text
    assert "there is no command" in client.evaluate("`nonsense", frames[0])["result"]
    assert "Undefined command" in client.evaluate("-exec nonsense", frames[0])["result"], "gdb was asked"
    assert client.evaluate("`print number", frames[0])["result"].endswith("0")
    assert client.evaluate("`print total", frames[1])["result"].endswith("0")
    client.evaluate(f"`break {path}:8", frames[0])
    assert client.event("breakpoint", reason="new")["breakpoint"]["line"] == 8
    client.set_lines(path, [])
    client.evaluate("`continue", frames[0])
    client.event("continued", allThreadsContinued=True)
    client.stopped()
    assert client.stack(thread)[0]["line"] == 8


RAISING = """\
def inner():
    raise ValueError("inside")

def outer():
    try:
        inner()
    except ValueError:
        pass
    raise KeyError("at the end")

outer()
"""


@pytest.mark.parametrize(
    ("filters", "stops"),
    [(["raised"], {"ValueError", "KeyError"}), (["uncaught"], {"KeyError"}), ([], set())],
    ids=["raised", "uncaught", "none"],
)
def test_python_exceptions(client: Client, program: Write, filters: list[str], stops: set[str]) -> None:
    client.start({"program": str(program(RAISING))}, exceptions=filters)
    seen = set()
    while (event := client.next_event("stopped", "exited"))["event"] == "stopped":
        assert event["body"]["reason"] == "exception"
        thread = event["body"]["threadId"]
        information = client.request("exceptionInfo", {"threadId": thread})
        seen.add(type_of(information))
        assert (
            "inner" in information["details"]["stackTrace"] or "outer" in information["details"]["stackTrace"]
        )
        assert client.stack(thread)[0]["name"] in ("inner", "outer", "<module>")
        client.go("continue", thread)
    assert seen == stops
    assert event["body"]["exitCode"] == 1


def type_of(information: dict[str, Any]) -> str:
    """debugpy adds a remark to the type's name."""
    return str(information["exceptionId"]).split()[0]


def test_one_type_of_exception(client: Client, program: Write) -> None:
    client.initialize()
    launched = client.send("launch", {"program": str(program(RAISING))})
    client.initialized(launched)
    options = [{"filterId": "raised", "condition": "KeyError"}]
    client.request("setExceptionBreakpoints", {"filters": [], "filterOptions": options})
    client.request("configurationDone")
    thread = client.stopped(reason="exception")["threadId"]
    assert type_of(client.request("exceptionInfo", {"threadId": thread})) == "KeyError"


def test_exception_options_of_debugpy(client: Client, program: Write) -> None:
    client.initialize()
    launched = client.send("launch", {"program": str(program(RAISING))})
    client.initialized(launched)
    path = [{"names": ["Python Exceptions"]}, {"names": ["KeyError"]}]
    asked = {"filters": [], "exceptionOptions": [{"path": path, "breakMode": "unhandled"}]}
    client.request("setExceptionBreakpoints", asked)
    client.request("configurationDone")
    thread = client.stopped(reason="exception")["threadId"]
    assert type_of(client.request("exceptionInfo", {"threadId": thread})) == "KeyError"


def test_user_unhandled_exceptions(client: Client, program: Write) -> None:
    path = program("import json\ndef bad(value):\n    raise ValueError('for the library')\n"
                   "try:\n    json.loads('1', parse_int=bad)\nexcept ValueError:\n    print('caught')\n")  # fmt: skip
    client.start({"program": str(path)}, exceptions=["userUnhandled"])
    thread = client.stopped(reason="exception")["threadId"]
    assert type_of(client.request("exceptionInfo", {"threadId": thread})) == "ValueError"


def test_a_source_that_is_in_no_file(client: Client, program: Write) -> None:
    path = program(
        "import linecache\n"
        "text = 'def made():\\n    x = 1\\n    print(x)\\n'\n"
        "linecache.cache['<made>'] = (len(text), None, text.splitlines(True), '<made>')\n"
        "exec(compile(text, '<made>', 'exec'))\n"
        "def call():\n    made()\ncall()\n"
    )
    client.start({"program": str(path), "justMyCode": False}, lines={path: [6]})
    thread = client.stopped()["threadId"]
    client.go("stepIn", thread)
    client.stopped(reason="step")
    frame = client.stack(thread)[0]
    assert frame["name"] == "made"
    reference = frame["source"]["sourceReference"]
    content = client.request("source", {"source": frame["source"], "sourceReference": reference})["content"]
    assert "def made():" in content


def test_modules_and_loaded_sources(still: Still) -> None:
    client, path, _ = still
    rows = client.request("modules", {"startModule": 0, "moduleCount": 0})
    assert rows["totalModules"] == len(rows["modules"])
    libc = next(row for row in rows["modules"] if row["name"].startswith("libc.so"))
    assert libc["addressRange"].startswith("0x") and libc["symbolStatus"]
    assert len(client.request("modules", {"startModule": 1, "moduleCount": 2})["modules"]) == 2
    sources = client.request("loadedSources")["sources"]
    assert str(path) in [source["path"] for source in sources]


def test_threads_have_their_names(still: Still) -> None:
    client = still.client
    rows = client.request("threads")["threads"]
    assert [row["name"].split(" (")[0] for row in rows] == ["MainThread", "the worker"]
    assert client.stack(rows[0]["id"])[0]["id"] == still.frame["id"]
    other = client.stack(rows[1]["id"])
    assert any(frame["name"].endswith("Event.wait") for frame in other), other


def test_pause(client: Client, program: Write) -> None:
    path = program("import time\nprint('running', flush=True)\nn = 0\nwhile n < 10**12:\n    n += 1\n")
    client.start({"program": str(path)})
    client.wait_output("running")
    main = client.request("threads")["threads"][0]["id"]
    client.go("pause", main)
    stop = client.stopped(reason="pause")
    frame = client.stack(stop["threadId"])[0]
    if "path" not in frame.get("source", {}):
        # The write of the line was still under way: that is native code, without the GIL.
        assert frame["name"].removesuffix(" [inlined]").endswith("write"), frame
        client.go("continue", stop["threadId"])
        client.go("pause", main)
        stop = client.stopped(reason="pause")
        frame = client.stack(stop["threadId"])[0]
    assert frame["source"]["path"] == str(path)
    client.go("next", stop["threadId"])
    client.stopped(reason="step")
    assert "stopped already" in client.refused("pause", {"threadId": main})


def test_a_symlinked_file_keeps_its_name(client: Client, program: Write, tmp_path: Path) -> None:
    path = program(LOOP, "real/program.py")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    linked = tmp_path / "link" / "program.py"
    answer = client.start({"program": str(linked)}, lines={linked: [8]})[str(linked)]
    assert answer[0]["verified"] and answer[0]["source"]["path"] == str(linked)
    stop = client.stopped()
    assert client.stack(stop["threadId"])[0]["source"]["path"] == str(linked)
    assert path.exists()


def test_path_mappings(client: Client, program: Write, tmp_path: Path) -> None:
    path = program(LOOP)
    mapping = {"localRoot": "/the/editors/folder", "remoteRoot": str(tmp_path)}
    theirs = f"/the/editors/folder/{path.name}"
    mappings = [{"localRoot": "/nowhere"}, mapping]  # one that maps nothing is told, and no error
    answer = client.start({"program": str(path), "pathMappings": mappings}, lines={theirs: [8]})[theirs]
    assert "a row of pathMappings without localRoot or remoteRoot has no effect" in client.output
    assert answer[0]["verified"] and answer[0]["source"]["path"] == theirs
    stop = client.stopped()
    assert client.stack(stop["threadId"])[0]["source"]["path"] == theirs
    (target,) = client.request("gotoTargets", {"source": {"path": theirs}, "line": 6})["targets"]
    assert (target["label"], target["line"]) == (f"{theirs}:6", 6)


def test_lines_from_zero(client: Client, program: Write) -> None:
    path = program(LOOP)
    client.initialize(linesStartAt1=False, columnsStartAt1=False)
    launched = client.send("launch", {"program": str(path)})
    client.initialized(launched)
    assert client.set_lines(path, [7])[0]["line"] == 7
    client.request("configurationDone")
    frame = client.stack(client.stopped()["threadId"])[0]
    assert (frame["line"], frame["column"]) == (7, 0)


def test_stack_frames_by_the_page(client: Client, program: Write) -> None:
    path = program("def down(n):\n    if n:\n        return down(n - 1)\n    return 0\n\ndown(30)\n")
    client.start({"program": str(path)}, lines={path: [4]})
    thread = client.stopped()["threadId"]
    page = client.request("stackTrace", {"threadId": thread, "startFrame": 0, "levels": 20})
    assert len(page["stackFrames"]) == 20 and page["totalFrames"] == 32
    rest = client.request("stackTrace", {"threadId": thread, "startFrame": 20, "levels": 20})
    assert len(rest["stackFrames"]) == 12
    assert rest["stackFrames"][-1]["name"] == "<module>"
    ids = [frame["id"] for frame in page["stackFrames"] + rest["stackFrames"]]
    assert len(set(ids)) == 32
    with_line = client.stack(thread, levels=1, format={"line": True})
    assert with_line[0]["name"] == "down : 4"


def test_the_frames_of_another_python_thread(client: Client, program: Write) -> None:
    path = program(
        "import threading\n"
        "go = threading.Event()\n"
        "def spin():\n"
        "    mark = 'in the thread'\n"
        "    go.set()\n"
        "    while mark:\n"
        "        pass\n"
        "worker = threading.Thread(target=spin, name='the worker', daemon=True)\n"
        "worker.start()\n"
        "go.wait()\n"
        "x = 1\n"
    )
    client.start({"program": str(path)}, lines={path: [11]})
    client.stopped()
    worker = next(row for row in client.request("threads")["threads"] if row["name"].startswith("the worker"))
    frame = next(frame for frame in client.stack(worker["id"]) if frame["name"] == "spin")
    assert client.scope(frame)["mark"]["value"] == "'in the thread'"
    assert client.evaluate("mark.upper()", frame, "watch")["result"] == "'IN THE THREAD'"
