"""The helpers in a session: their words at native and Python stops, variables from memory, and their JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dualdbg.console.commands.registry import all_commands, find_command
from dualdbg.console.commands.torch import _WORDS
from dualdbg.console.completion import Completions
from dualdbg.errors import EvaluationError
from dualdbg.session.inspect.python_objects import path_of
from tests.cli.driver import Done, dualdbg
from tests.gdb_scripts.gdb_run import HERE
from tests.support import ROOT, SAMPLES

PROGRAM = HERE / "targets" / "session_values.py"
RUN_TEMPLATE = "torch::jit::InterpreterStateImpl::runTemplate"
Event = dict[str, Any]


def answers(done: Done, names: Sequence[str] = ("value", "variables", "error", "output")) -> list[Event]:
    """What the commands said, the program's own output left out."""
    return [
        event
        for event in done.events
        if event["event"] in names and event.get("stream") not in ("stdout", "stderr")
    ]


def debugged(program: Path, spec: str, *commands: str) -> Done:
    words = [word for command in commands for word in ("-x", command)]
    return dualdbg("run", program, "-b", spec, *words, "--batch", "--json")


def frame_of(function: str, done: Done) -> int:
    frames = next(event for event in done.events if event["event"] == "stack")["frames"]
    return next(frame["number"] for frame in frames if frame["function"] == function)


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "events.schema.json").read_text()))


@pytest.mark.torch
def test_python_values_at_a_native_stop(schema: jsonschema.Draft202012Validator) -> None:
    commands = [
        "bt",
        "up 6",  # inner, past PyTorch's own frames
        "locals",
        "print words[-1]",
        "up",
        "locals",
        "up",
        "locals",
        "print config",
        "print chosen",
        "print matrix",
        "print config['point'].y",
        "print config[7]",
        "print many --offset 99998",
        "frame 6",
        "print many --limit 3000",  # more than gdb's MI channel is good for
        "print many[99999]",  # a global variable of the frame
        "frame 8",
        "print model.scale",
        "tensor model.linear.weight --stats",
        "tensor matrix --stats",
        "pyobject config['point']",
        "print len(many)",
        "print model.nothing",
        "print nothing",
        "tensor chosen",
    ]
    done = debugged(PROGRAM, "randn", *commands)
    for event in done.events:
        schema.validate(event)
    assert frame_of("inner", done) == 6, "PyTorch's frames changed: mend the command `up 6`"
    said = answers(done)
    truth = json.loads(next(event["text"] for event in done.events if event.get("stream") == "stdout"))

    inner = {row["name"]: (row["type"], row["value"]) for row in said[0]["variables"]}
    assert inner == {
        "number": ("int", "2"),
        "rest": ("tuple", "(3,)"),
        "flag": ("bool", "False"),
        "words": ("list", "['a', 'b']"),
    }
    assert said[1]["value"] == "'b'"
    assert [(row["name"], row["value"]) for row in said[2]["variables"]] == [("member", "'in a class body'")]

    module = {row["name"]: row for row in said[3]["variables"]}
    assert {"inner", "Model", "Point"}.isdisjoint(module)  # functions and classes, as at a Python stop
    assert module["many"]["value"].startswith("[0, 1, 2,") and module["many"]["value"].endswith(" more]")
    assert module["many"]["child_count"] == 100000
    assert module["matrix"]["type"] == "torch.Tensor"
    assert module["matrix"]["value"] == " ".join(truth["matrix"].split())

    assert [event["value"] for event in said[4:8]] == [
        truth[name] for name in ("config", "chosen", "matrix", "config['point'].y")
    ]
    assert [child["name"] for child in said[4]["children"]] == ["'rate'", "'layers'", "'point'", "7"]
    assert said[8]["value"] == "'seven'"
    assert [(row["name"], row["value"]) for row in said[9]["children"]] == [
        ("[99998]", "99998"),
        ("[99999]", "99999"),
    ]
    assert said[9]["child_count"] == 100000
    assert [row["value"] for row in said.pop(10)["children"]] == [str(number) for number in range(3000)]
    assert said[10]["value"] == "99999"
    assert said[11]["value"] == "0.5"
    weight, matrix, point = said[12:15]
    assert weight["type"] == "at::Tensor" and weight["data"]["sizes"] == [2, 3]
    assert weight["data"]["requires_grad"] is True
    assert matrix["data"]["stats"]["nan"] == 1 and matrix["layout"].endswith("checked against the process")
    assert [row["name"] for row in point["children"]] == ["x", "y"]
    assert point["children"][1]["value"] == truth["config['point'].y"]
    for event, part in zip(
        said[15:], ("run Python code", "no .nothing in its", "no variable", "no tensor"), strict=True
    ):
        assert event["event"] == "error" and part in event["message"], event


@pytest.mark.torch
def test_the_words_at_the_interpreter_of_torchscript(schema: jsonschema.Draft202012Validator) -> None:
    commands = [
        "tbreak torch::jit::invokeScriptMethodFromPython",  # at the line that calls the traced model
        "continue",
        "ivalue-stack",
        f"break {RUN_TEMPLATE}",
        "continue",
        "ivalue-stack",
        "ivalue-stack $rsi --full",
        "ivalue *(long*)$rsi",
        "tensor *(long*)$rsi + 16",
        "jit-frame",
        "jit-code",
        "jit-graph",
        "op aten::relu",
        "dispatch-keys *(long*)$rsi + 16",
        "torch-types nonsense",
        "dualdbg-layout",
        "torch-help",
        "ivalue $rip = 0",
        "tensor 8",
    ]
    done = debugged(SAMPLES / "jit_trace.py", "jit_trace.py:20", *commands)
    for event in done.events:
        schema.validate(event)
    arguments, *said = answers(done)
    assert arguments["type"] == "pybind11::args" and arguments["child_count"] == 1  # without self
    assert [(row["name"], row["type"]) for row in arguments["children"]] == [("[1]", "torch.Tensor")]
    stack, full, first, tensor, frame, code, graph, operator, keys = said[:9]
    assert stack.get("type") == "torch::jit::Stack", stack
    assert stack["data"]["found"].startswith("register rsi at the entry of torch::jit::InterpreterStateImpl")
    assert stack["child_count"] == 2
    model, ones = stack["children"]
    assert model["name"] == "[0]" and model["type"].startswith("Object __torch__.Model")
    assert (ones["name"], ones["type"]) == ("[1]", "Tensor")
    assert (ones["data"]["dtype"], ones["data"]["sizes"]) == ("float32", [3, 4])
    assert "tensor([[1., 1., 1., 1.]" in full["value"]
    assert first["type"] == "c10::IValue" and first["data"]["kind"] == "Object"
    assert tensor["data"]["sizes"] == [3, 4] and tensor["address"] == tensor["data"]["impl"]
    assert frame["data"]["frames"][0]["function"] == "forward"
    assert code["data"]["instructions"] and code["data"]["pc"] == 0
    assert "aten::relu" in graph["data"]["graph"]
    assert operator["data"]["operators"][0]["schema"] == "aten::relu(Tensor self) -> Tensor"
    assert "CPU" in keys["data"]["keys"]
    assert said[9]["hint"] == "Parts: core, jit, c10d"
    assert "believed: table for torch" in said[10]["value"]
    assert "ivalue-stack" in said[11]["value"]
    assert "assigns" in said[12]["message"] and "no tensor at 0x8" in said[13]["message"]


@pytest.mark.torch
def test_the_words_at_a_python_stop_and_in_gdb() -> None:
    """The target is halted for a moment, read and let go; gdb itself has the words and their settings too."""
    commands = [
        "tensor matrix",
        "pyobject config --limit 1",
        "print config",
        "print config --limit 2",
        "gdb show dualdbg max-length",
        "next",
        "tensor config['point'].y",  # a global variable of the frame
        "print __name__",
    ]
    line = PROGRAM.read_text().splitlines().index("class Body:") + 1
    done = debugged(PROGRAM, f"{PROGRAM.name}:{line}", *commands)
    tensor, limited, whole, two, setting, again, name = answers(done)
    assert tensor["data"]["dtype"] == "float32"
    assert (limited["child_count"], len(limited["children"])) == (4, 1)
    assert whole["language"] == "python" and len(whole["children"]) >= 4
    assert len(two["children"]) == 2
    assert setting["text"] == "max-length is 200.\n"
    assert again["data"]["sizes"] == [4]
    assert name["value"] == "'__main__'"


@pytest.mark.torch
def test_native_locals_prints_and_log_points_use_the_printers(corpus_library: Path, tmp_path: Path) -> None:
    commands = [
        'break printed.cpp:123 log "of {stack} and {tensor}"',
        "break printed::locals_ready",
        "continue",
        "up",
        "locals",
        "print stack --limit 1",
        "print keys",
    ]
    words = [word for command in commands for word in ("-x", command)]
    program = HERE / "targets" / "printed.py"
    done = dualdbg(
        "run",
        *("-b", "printed.py:1", *words, "--batch", "--json", program, corpus_library),
        env={"DUALDBG_TEST_PUBLISHED": str(tmp_path / "published.json")},
    )
    said = answers(done, ("value", "variables", "error"))
    variables = {row["name"]: row["value"] for row in said[0]["variables"]}
    assert variables["product"] == "tensor([1., 1.], grad_fn=<MulBackward0>)"
    assert variables["type"] == "Dict(str, Tensor[])"
    assert variables["stack"] == "Stack of 3 = {1, 2.5, three}"
    assert [(row["name"], row["value"]) for row in said[1]["children"]] == [("[0]", "1")]
    assert said[2]["value"].startswith("DispatchKeySet(CPU, ")
    logged = [event["text"] for event in done.events if event.get("stream") == "console"]
    assert "of Stack of 3 = {1, 2.5, three} and tensor([0, 1, 2])\n" in logged


CALLS_BACK = """
from sample_path import add_native_modules
add_native_modules()
import sample_capi

class Callback:
    def __init__(self):
        self.names = ["a", "b"]
        self.depth = {"x": (1, 2)}

    def __call__(self, value):
        return value * 2

sample_capi.call_back(Callback(), 2.0)
"""


def test_a_python_object_in_a_native_frame(native_samples: Path, tmp_path: Path) -> None:
    """Without PyTorch in the process; an uninitialised pointer is told from an object."""
    program = tmp_path / "program.py"
    program.write_text(CALLS_BACK)
    source = SAMPLES / "native" / "sample_capi.cpp"
    line = 1 + next(
        i for i, text in enumerate(source.read_text().splitlines()) if "CallFunction(callback" in text
    )
    commands = ("locals", "print callback", "print args --limit 1", "pyobject callback", "print answer")
    words = [word for command in commands for word in ("-x", command)]
    done = dualdbg(
        *("run", program, "-b", f"sample_capi.cpp:{line}", *words, "--batch", "--json"),
        env={"PYTHONPATH": f"{ROOT}:{SAMPLES}"},
    )
    variables, callback, args, described, _answer = answers(done)
    named = {row["name"]: row["value"] for row in variables["variables"]}
    assert "<__main__.Callback object at 0x" in named["callback"]
    assert named["args"].endswith(", 2.0)")
    assert [(row["name"], row["type"], row["value"]) for row in callback["children"]] == [
        ("names", "list", "['a', 'b']"),
        ("depth", "dict", "{'x': (1, 2)}"),
    ]
    assert [row["type"] for row in args["children"]] == ["__main__.Callback"]
    assert described["type"] == "__main__.Callback" and described["data"]["refcount"] >= 1


OPAQUE = """
import os

class Base:
    __slots__ = ("low",)

class Thing(Base):
    kind = "of the class"

    def __init__(self):
        self.name, self._hidden, self.low = "lathe", [1, 2], 1

    def __repr__(self):
        return "a thing"

    @property
    def computed(self):
        return 5

def look(thing, nothing):
    return os.getsid(0)

look(Thing(), object())
"""


def test_print_shows_an_object_alike_at_both_kinds_of_stop(tmp_path: Path) -> None:
    program = tmp_path / "opaque.py"
    program.write_text(OPAQUE)
    line = OPAQUE.splitlines().index("    return os.getsid(0)") + 1
    asked = ["print thing", "print thing --offset 1 --limit 1", "print nothing", "print thing.name"]
    commands = [*asked, "break getsid", "continue", "up", *asked]
    words = [word for command in commands for word in ("-x", command)]
    done = dualdbg("run", program, "-b", f"opaque.py:{line}", *words, "--batch")
    shown = re.compile(r"<.* object at 0x|(?:int|str|list) \w+ = |'lathe'")
    stops = done.stdout.split("Breakpoint 2: native")
    at_python, at_native = ([one for one in text.splitlines() if shown.match(one)] for text in stops)
    thing, *rows = at_python[:4]
    assert rows == ["int low = 1", "str name = 'lathe'", "list _hidden = [1, 2]"], done
    assert at_python == [thing, *rows, thing, rows[1], at_python[6], "'lathe'"], done
    assert "__repr__ not run: print --repr thing" in stops[0]
    assert at_native == at_python, done


def test_every_word_has_help_and_completes() -> None:
    names = {row.name for row in all_commands()}
    completions = Completions(lambda _text: (), ())
    for name, usage, *_ in _WORDS:
        assert name in names
        assert (name, 2) in list(completions.candidates(name[:2]))
        assert find_command(name).usage == usage
    assert list(completions.candidates("tensor x --st")) == [("--stats", 4)]
    assert list(completions.candidates("print x --")) == [("--repr", 2), ("--offset", 2), ("--limit", 2)]
    assert list(completions.candidates("torch-help ")) == []


def test_every_word_of_the_helpers_is_in_the_prompt() -> None:
    folder = ROOT / "gdb_scripts" / "dualdbg_helpers" / "commands"
    known = {name for name, *_ in _WORDS}
    texts = [path.read_text() for path in folder.glob("*.py")]
    registered = {text.split('"')[1] for whole in texts for text in whole.split("\n@command(")[1:]}
    assert registered == known


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ("x", ["x"]),
        (" x ", ["x"]),
        ("x.y.z", ["x", ".y", ".z"]),
        ("x[0]", ["x", "[0]"]),
        ("x[-1].y", ["x", "[-1]", ".y"]),
        ("x['a b'][(1, 'c')]", ["x", "['a b']", "[(1, 'c')]"]),
    ],
)
def test_paths(expression: str, path: list[str]) -> None:
    assert path_of(expression) == path


@pytest.mark.parametrize(
    "expression",
    ["", "x +", "x + 1", "f()", "x.y()", "x[i]", "x[1:2]", "x = 1", "1", "lambda: 0", "x" + ".a" * 40],
)
def test_what_would_run_code_is_no_path(expression: str) -> None:
    with pytest.raises(EvaluationError):
        path_of(expression)
