"""JSON with comments: read, and added to without a change of anything else."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualdbg.errors import ConfigError
from dualdbg.plugins.vscode.jsonc import Node, parse
from dualdbg.plugins.vscode.merge import merge

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
NOISE = (
    "",
    " ",
    "\n",
    "\t",
    "\r\n",
    '// a comment, with " and { \n',
    "/* x */",
    "/* \n * [ \n */",
    " // \n\n",
)


def noisy(value: Any, dice: random.Random) -> str:
    """``value`` as JSON, with spaces, comments and trailing commas at every place that allows them."""

    def gap() -> str:
        return "".join(dice.choice(NOISE) for _ in range(dice.randrange(3)))

    def entry(text: str) -> str:
        return gap() + text + gap()

    if isinstance(value, dict):
        rows = [
            entry(json.dumps(key) + gap() + ":" + gap() + noisy(item, dice)) for key, item in value.items()
        ]
        ends = "{}"
    elif isinstance(value, list):
        rows = [entry(noisy(item, dice)) for item in value]
        ends = "[]"
    else:
        return json.dumps(value, ensure_ascii=dice.random() < 0.5)
    comma = "," if rows and dice.random() < 0.3 else ""
    return ends[0] + ",".join(rows) + comma + gap() + ends[1]


def whole(text: str) -> Node:
    node = parse(text, "test")
    assert node is not None
    return node


@given(VALUES, st.integers())
def test_comments_and_commas_change_no_value(value: Any, seed: int) -> None:
    text = noisy(value, random.Random(seed))
    assert whole(text).value == value


@settings(max_examples=50)
@given(st.dictionaries(st.text(), VALUES), st.dictionaries(st.text(), VALUES), st.integers())
def test_a_merge_adds_what_is_missing_and_keeps_the_rest(
    ours: dict[str, Any], theirs: dict[str, Any], seed: int
) -> None:
    generated = json.dumps(ours, indent=4)
    users = noisy(theirs, random.Random(seed))
    merged = merge(generated, users, "test")
    assert is_within(users, merged.text)
    after = whole(merged.text).value
    assert set(after) == set(ours) | set(theirs)
    for key, value in ours.items():
        if key not in theirs:
            assert after[key] == value
    again = merge(generated, merged.text, "test")
    assert again.text == merged.text
    assert again.added == []


def is_within(text: str, longer: str) -> bool:
    """Whether every character of ``text`` but blanks stands in ``longer``, in the same order."""
    rest = iter(longer)
    return all(mark in rest for mark in text if not mark.isspace())


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ('{"a" 1}', "line 1, column 6", "a colon was expected"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3", "a comma or } was expected"),
        ("[1, 2", "line 1, column 6", "a comma or ] was expected"),
        ("{a: 1}", "line 1, column 2", "a name in quotes was expected"),
        ('{"a": }', "line 1, column 7", "a value was expected"),
        ("[1] []", "line 1, column 5", "the end was expected"),
        ("[1, /* here", "line 1, column 5", "this comment is not closed"),
        ("[,]", "line 1, column 2", "a value was expected"),
        ("[1-2]", "line 1, column 2", "this is no number or text of JSON"),
        ("[" * 5000, "line 1, column 202", "values are nested too deeply"),
    ],
)
def test_a_mistake_is_placed(text: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text, "settings.json")
    assert refused.value.message == f"settings.json, {where}: {what}"


def test_the_last_of_two_members_of_a_name_counts() -> None:
    assert whole('{"a": 1, "a": 2}').value == {"a": 2}


@pytest.mark.parametrize("text", ["", " \n", "// nothing\n", "/* nothing */"])
def test_a_file_of_comments_holds_nothing(text: str) -> None:
    assert parse(text, "test") is None


TEMPLATE = """{
    // The version.
    "version": "0.2.0",
    "configurations": [
        // Our own.
        {
            "name": "ours",
            "args": [1, 2]
        }
    ]
}
"""


def test_what_is_added_has_the_manners_of_the_file() -> None:
    users = (
        '{\n\t// mine\n\t"configurations": [\n'
        '\t\t{ "name": "mine" }, // the first\n\t\t/* the end */\n\t], // x\n}\n'
    )
    assert merge(TEMPLATE, users, "launch.json").text == (
        '{\n\t// mine\n\t"configurations": [\n\t\t{ "name": "mine" }, // the first\n\t\t/* the end */\n'
        '\t\t// Our own.\n\t\t{\n\t\t\t"name": "ours",\n\t\t\t"args": [1, 2]\n\t\t},\n\t], // x\n'
        '\t// The version.\n\t"version": "0.2.0",\n}\n'
    )


def test_an_entry_of_the_same_name_stays_and_is_told() -> None:
    users = '{"version": "0.1.0", "configurations": [{"name": "ours", "args": [], "cwd": "x"}]}'
    merged = merge(TEMPLATE, users, "launch.json")
    assert merged.text == users
    assert [str(each) for each in merged.differences] == [
        'version differs: "0.1.0", and not "0.2.0"',
        "configurations > ours differs: args, cwd is yours",
    ]


def test_crlf_and_byte_order_mark_stay() -> None:
    users = '\ufeff{\r\n  "configurations": []\r\n}\r\n'
    merged = merge(TEMPLATE, users, "launch.json").text
    assert merged.startswith(
        '\ufeff{\r\n  "configurations": [\r\n    // Our own.\r\n    {\r\n      "name": "ours",'
    )
    assert merged.count("\n") == merged.count("\r\n")
