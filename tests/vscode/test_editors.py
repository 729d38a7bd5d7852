"""``dualdbg editor``: each text is one that its editor's language takes, with this installation's command in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.dap.options import BY_NAME, OF_EDITORS
from dualdbg.plugins.vscode.editors import EDITORS, configuration
from dualdbg.plugins.vscode.jsonc import parse
from dualdbg.system.patience import patient
from tests import warm
from tests.support import ROOT, require

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

COMMAND = ["/a folder/\u00fcber/dualdbg"]


def editor(*words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "dualdbg", "editor", *words],
        text=True,
        cwd=ROOT,
        timeout=patient(60),
    )


@pytest.mark.parametrize("name", EDITORS)
def test_it_prints_a_configuration_with_this_installation(name: str) -> None:
    done = editor(name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dualdbg" in done.stdout
    assert str(Path(sys.executable).parent) in done.stdout
    assert "@" not in done.stdout.replace(",@common", "")


def test_helix() -> None:
    (language,) = tomllib.loads(configuration("helix", COMMAND))["language"]
    debugger = language["debugger"]
    assert (debugger["command"], debugger["args"], debugger["transport"]) == (COMMAND[0], ["dap"], "stdio")
    for template in debugger["templates"]:
        assert set(template["args"]) <= set(BY_NAME)
        used = str(template["args"])
        assert all(f"{{{index}}}" in used for index in range(len(template["completion"])))


def test_zed() -> None:
    node = parse(configuration("zed", COMMAND), "zed")
    assert node is not None
    (entry,) = node.value
    assert set(entry) - {"label", "adapter", "tcp_connection", "request"} <= set(BY_NAME) | OF_EDITORS
    assert "'/a folder/\u00fcber/dualdbg' dap --listen 5678 SCRIPT" in configuration("zed", COMMAND)


def test_emacs_text_is_balanced() -> None:
    text = configuration("emacs", COMMAND)
    assert f'command "{COMMAND[0]}"\n' in text
    assert 'command-args ("dap")' in text
    depth = 0
    for mark in text:
        depth += (mark == "(") - (mark == ")")
        assert depth >= 0
    assert depth == 0


def test_nvim_text_is_lua(tmp_path: Path) -> None:
    nvim = require(shutil.which("nvim"), "nvim", outside=True)
    path = tmp_path / "init.lua"
    path.write_text(configuration("nvim", COMMAND))
    check = f"lua local f, why = loadfile({str(path)!r}); if not f then print(why); vim.cmd('cquit') end"
    done = subprocess.run(
        [nvim, "--headless", "-u", "NONE", "-c", check, "-c", "quit"],
        capture_output=True,
        text=True,
        timeout=patient(60),
    )
    assert done.returncode == 0, done.stderr


def test_unknown_editors() -> None:
    assert "one of nvim, emacs, helix, zed" in editor("vim").stderr
    assert "dualdbg vscode init" in editor("vscode").stderr
    assert editor().returncode == 2


def test_emacs_text_is_lisp(tmp_path: Path) -> None:
    """A real Emacs reads it; dape, which needs a later one than Debian's, is stood in for by what it defines."""
    emacs = require(shutil.which("emacs"), "emacs", outside=True)
    init = tmp_path / "init.el"
    init.write_text(configuration("emacs", ["/a folder/dualdbg"]))
    reader = tmp_path / "read.el"
    reader.write_text(
        "(defvar dape-configs nil)\n(provide 'dape)\n"
        f'(load "{init}" nil t)\n'
        '(dolist (each dape-configs) (princ (format "%s %S %S %s\\n" (car each) (plist-get (cdr each) \'command)'
        " (plist-get (cdr each) 'command-args) (plist-get (cdr each) :request))))\n"
    )
    done = subprocess.run(
        [emacs, "--batch", "-Q", "-l", str(reader)], capture_output=True, text=True, timeout=patient(60)
    )
    assert sorted(done.stdout.splitlines()) == [
        f'{name} "/a folder/dualdbg" ("dap") {request}'
        for name, request in (
            ("dualdbg", "launch"),
            ("dualdbg-attach", "attach"),
            ("dualdbg-break", "launch"),
        )
    ]
