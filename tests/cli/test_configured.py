"""One configuration for every way into a session: what it says means the same for run, attach, core and an editor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.cli import attach_session, core_session
from dualdbg.cli.commands import attach, core
from dualdbg.cli.commands.run import read_options
from dualdbg.config import Asked, Config, configuration
from dualdbg.dap import start
from dualdbg.dap.client.arguments import Arguments
from dualdbg.dap.configuration import CONDITIONS, read_configuration
from dualdbg.errors import ConfigError
from dualdbg.model import Layer
from dualdbg.session.configured import session_options
from dualdbg.session.options import Options
from tests.cli.driver import dualdbg
from tests.dap.client import StdioAdapter

TEXT = """
breakpoints = ["randn"]
symbols = ["lazy"]
glue = ["mine::*"]
just-my-code = false
step-into = "kernel"
[source-maps]
"/build/a \\"b\\" c\\\\d" = "src \\"x\\""
[presets]
mine = ["getsid"]
"""
PROGRAM = """\
import os
print("ready", flush=True)
while True:
    os.getsid(0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dualdbg.toml").write_text(TEXT)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def every_way(folder: Path) -> dict[str, Options]:
    run = read_options(["program.py"])
    dap = Arguments("launch", {"program": str(folder / "program.py")})
    of_dap = start.session_options(read_configuration(dap), None)
    # What an editor's session says for itself: where the program's output goes, and how a condition may fail.
    assert of_dap.debugpy == {"redirectOutput": False, "isOutputRedirected": True, **CONDITIONS}
    return {
        "run": session_options(run.config, run.asked),
        "attach": attach_session._session_options(attach.make_parser().parse_args(["1"])),
        "core": core_session._session_options(core.make_parser().parse_args(["core"])),
        "dap": replace(of_dap, debugpy={}),
    }


def test_every_way_into_a_session_has_the_same_options(folder: Path) -> None:
    ways = every_way(folder)
    first = ways.pop("run")
    for name, options in ways.items():
        assert options == first, name
    assert (first.breakpoints, first.step_into, first.just_my_code) == (("randn",), Layer.KERNEL, False)
    assert "mine" in first.presets
    assert [notice.message for notice in first.notices] == [f"configuration: {folder}/dualdbg.toml"]


def test_what_is_asked_for_goes_first() -> None:
    config = Config(breakpoints=("a",), symbols=("lazy",), just_my_code=False)
    options = session_options(config, Asked(breakpoints=("b",), just_my_code=True, gdb="/x"))
    assert (options.breakpoints, options.just_my_code, options.gdb) == (("a", "b"), True, "/x")
    assert session_options(Config(), Asked()).just_my_code is True
    assert (
        session_options(replace(config, just_my_code=True), Asked(just_my_code=False)).just_my_code is False
    )


def test_an_editor_may_name_the_file_and_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (folder / "other.toml").write_text('breakpoints = ["mm"]')
    for arguments, wanted in (
        ({"cwd": str(folder)}, ("randn",)),
        ({"cwd": str(folder), "config": "other.toml"}, ("mm",)),
        ({"config": str(folder / "other.toml")}, ("mm",)),
        ({}, ()),
    ):
        configuration = read_configuration(Arguments("launch", {"code": "0", **arguments}))
        assert start.session_options(configuration, None).breakpoints == wanted
    configuration = read_configuration(
        Arguments("launch", {"code": "0", "cwd": str(folder), "justMyCode": True})
    )
    assert start.session_options(configuration, None).just_my_code is True


def test_a_path_that_would_be_two_commands_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dualdbg.toml").write_text('[source-maps]\n"/a\\nshell true" = "/b"')
    with pytest.raises(ConfigError, match="source-maps is "):
        configuration(directory=tmp_path)


@pytest.fixture
def running(folder: Path) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, folder / "program.py"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


def test_attach_knows_the_presets_of_the_configuration(folder: Path, running: int) -> None:
    words = [
        "-b",
        "preset:mine",
        "-x",
        "gdb show substitute-path",
        "-x",
        "continue",
        "--batch",
        "--no-stacks",
    ]
    done = dualdbg("attach", str(running), *words, cwd=folder)
    assert f"configuration: {folder}/dualdbg.toml\n" in done.stdout
    assert "* Breakpoint" in done.stdout and "getsid" in done.stdout, done
    assert f'`/build/a "b" c\\d\' -> `{folder}/src "x"\'' in done.stdout, done.stdout


def test_run_takes_paths_with_quotes(folder: Path) -> None:
    done = dualdbg(
        "run", "-b", "preset:mine", "-x", "gdb show substitute-path", "--batch", "program.py", cwd=folder
    )
    assert done.status == 0, done
    assert f'`/build/a "b" c\\d\' -> `{folder}/src "x"\'' in done.stdout, done


def test_an_editor_is_told_which_configuration_is_used(folder: Path) -> None:
    adapter = StdioAdapter()
    try:
        adapter.client.start(
            {"program": str(folder / "program.py"), "cwd": str(folder), "breakpoints": ["preset:mine"]}
        )
        adapter.client.event("stopped")
        assert f"configuration: {folder}/dualdbg.toml" in adapter.client.output
    finally:
        adapter.close()


def test_what_is_refused_is_said_and_has_no_effect(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("outside of this project: root, to give a file to another user")
    os.chown(folder / "dualdbg.toml", 65534, 65534)
    done = dualdbg("run", "--batch", "-b", "preset:mine", "program.py", cwd=folder)
    assert done.status == 2
    assert f"warning: the configuration {folder}/dualdbg.toml is not used" in done.stdout + done.stderr, done
    assert "mine" in done.stderr
    named = dualdbg(
        "run",
        "--config",
        "dualdbg.toml",
        "--batch",
        "-x",
        "bt",
        "-b",
        "preset:mine",
        "program.py",
        cwd=folder,
    )
    assert named.status == 0 and "getsid" in named.stdout
