"""``pytest --dualdbg``: tests that crash the interpreter, or hang, are told with the stacks of both languages.

Here is what pytest loads with every run. It imports nothing until one of the options is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator

import pytest

_WHAT = {
    "--dualdbg-timeout": "a test that takes longer than S seconds fails, and its stacks are shown",
    "--dualdbg-core": "keep a core of each crash in DIR",
    "--dualdbg-programs": "programs that tests start and whose crashes are told too: python (the default), all, none",
    "--dualdbg-break": "run under the debugger, with a breakpoint there; repeatable (docs/breakpoints.md)",
    "--dualdbg-ui": "what --dualdbg-break opens: the prompt, the dashboard (tui), or nothing until an editor attaches",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; each of them means ``--dualdbg`` too."""
    group = parser.getgroup("dualdbg", "crashes and hangs of tests, in Python and C/C++")
    group.addoption(
        "--dualdbg",
        action="store_true",
        help="show the stacks of a test that crashes the interpreter, and go on with the next test",
    )
    group.addoption(
        "--dualdbg-timeout", type=_seconds, metavar="S", default=None, help=_WHAT["--dualdbg-timeout"]
    )
    group.addoption("--dualdbg-core", metavar="DIR", default=None, help=_WHAT["--dualdbg-core"])
    group.addoption(
        "--dualdbg-programs",
        choices=["none", "python", "all"],
        default=None,
        help=_WHAT["--dualdbg-programs"],
    )
    group.addoption(
        "--dualdbg-break", action="append", metavar="SPEC", default=[], help=_WHAT["--dualdbg-break"]
    )
    group.addoption(
        "--dualdbg-ui", choices=["prompt", "tui", "editor"], default=None, help=_WHAT["--dualdbg-ui"]
    )


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return number


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, object, object]:
    """Before anything of the user is imported and before output is captured: here the run is divided."""
    given = early_config.known_args_namespace
    asked = given.dualdbg or given.dualdbg_timeout or given.dualdbg_core or given.dualdbg_programs
    if (asked or given.dualdbg_break or given.dualdbg_ui) and not (given.help or given.version):
        from .beginning import begin

        begin(early_config)
    return (yield)
