"""The command line of the benchmarks: it tells which there are, and begins none by mistake."""

from __future__ import annotations

import inspect

import pytest

from bench import __main__ as bench


def test_the_help_lists_all_and_begins_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--help"]) == 0
    shown = capsys.readouterr().out
    known = bench.benchmarks()
    assert "stacks" in known and "campaign" not in known  # a part of others
    assert all(f"  {name} " in shown for name in known)
    assert "==" not in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nosuch"], "there is no benchmark 'nosuch'"),
        (["fuz"], "did you mean fuzz?"),
        (["campaign"], "there is no benchmark 'campaign'"),
        (["stacks", "--help"], "the benchmark stacks has no options"),
    ],
)
def test_what_is_none_is_told(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(words) == 2
    shown = capsys.readouterr()
    assert told in shown.err and shown.out == ""


def test_which_have_options_is_read_rightly() -> None:
    from bench import fuzz, stacks

    known = bench.benchmarks()
    for name, module in (("fuzz", fuzz), ("stacks", stacks)):
        assert known[name].has_options == bool(inspect.signature(module.main).parameters)
