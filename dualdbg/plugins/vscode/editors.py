"""Configurations for editors other than VS Code, from ``vscode_templates/editors``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ...system.resources import resource_directory
from .extension import own_adapter


@dataclass(frozen=True)
class Editor:
    """``template`` is the file's name; ``where``: where its text belongs."""

    template: str
    where: str


EDITORS = {
    "nvim": Editor("nvim.lua", "nvim-dap, in Neovim's init.lua"),
    "emacs": Editor("emacs.el", "dape, in Emacs' init.el"),
    "helix": Editor("helix.toml", "Helix, in ~/.config/helix/languages.toml"),
    "zed": Editor("zed.json", "Zed, in .zed/debug.json of a project, with `dualdbg dap --listen` running"),
}


def configuration(editor: str, adapter: Sequence[str] | None = None) -> str:
    """The text for an editor of ``EDITORS``; ``adapter`` is the command before ``dap`` (None: this installation).

    Texts in double quotes are written alike in Lua, Emacs Lisp, TOML and JSON, as far as paths need them.
    """
    command, *arguments = adapter or own_adapter()
    template = resource_directory("vscode_templates") / "editors" / EDITORS[editor].template
    text = template.read_text(encoding="utf-8")
    separator = " " if editor == "emacs" else ", "
    text = text.replace("@shell@", shlex.join([command, *arguments, "dap"]))
    text = text.replace('"@command@"', json.dumps(command, ensure_ascii=False))
    return text.replace(
        '"@args@"', separator.join(json.dumps(each, ensure_ascii=False) for each in (*arguments, "dap"))
    )
