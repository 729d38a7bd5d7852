"""Locales other than UTF-8: files, identifiers, values and output with letters beyond ASCII, in each encoding."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.support import require

PROGRAM = """\
# -*- coding: {encoding} -*-
import os
def {function}({word}):
    os.getsid(0)
    print({value!r}, flush=True)
    return {word}
{function}({value!r})
"""
# Python takes UTF-8 where the locale has ASCII alone; here it does not, so that no name can be decoded.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
German = ("de_DE", "ISO-8859-1", "grüß", "wörter", "äöü")
Japanese = ("ja_JP", "EUC-JP", "挨拶", "語", "あ")


def program(folder: Path, encoding: str, function: str, word: str, value: str) -> bytes:
    """The name of a file that is written, and named, in the encoding."""
    text = PROGRAM.format(encoding=encoding, function=function, word=word, value=value)
    name = f"{function}.py".encode(encoding)
    with open(os.fsencode(folder) + b"/" + name, "wb") as file:
        file.write(text.encode(encoding))
    return name


def dualdbg(folder: Path, env: dict[str, str], *words: bytes | str) -> subprocess.CompletedProcess[bytes]:
    plain = {
        name: value for name, value in os.environ.items() if name != "LANG" and not name.startswith("LC_")
    }
    return subprocess.run(
        [sys.executable, "-m", "dualdbg", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=patient(120),
        env={**plain, "PYTHONPATH": str(Path(__file__).parents[2]), **env},
    )


def commands(*steps: bytes | str) -> list[bytes | str]:
    return [word for step in steps for word in ("-x", step)]


def locale_of(folder: Path, language: str, encoding: str) -> dict[str, str]:
    """The environment of a locale that is made here."""
    localedef = require(shutil.which("localedef"), "localedef (libc-bin)")
    name = f"{language}.{encoding}"
    made = subprocess.run(
        [localedef, "-i", language, "-f", encoding, folder / name], capture_output=True, text=True
    )
    require(
        (folder / name / "LC_CTYPE").exists(),
        f"the sources of {name}: locales ({made.stderr.strip()})",
        outside=True,
    )
    return {"LOCPATH": str(folder), "LC_ALL": name}


@pytest.mark.parametrize(
    "row", [pytest.param(German, marks=pytest.mark.exhaustive), Japanese], ids=lambda row: row[1]
)
def test_all_is_in_the_encoding_of_the_locale(row: tuple[str, ...], tmp_path: Path) -> None:
    language, encoding, function, word, value = row
    env = locale_of(tmp_path, language, encoding)
    file = program(tmp_path, encoding, function, word, value)
    steps = commands("bt", "list", f"p {word}".encode(encoding))
    done = dualdbg(tmp_path, env, "run", "--batch", "-b", function.encode(encoding), *steps, file)
    shown = done.stdout.decode(encoding)
    assert done.returncode == 0, shown
    assert f"Breakpoint 1 ({function}): {function}.py:3\n" in shown
    assert f">#0 py   {function}  {function}.py:3\n" in shown and f">3  def {function}({word}):\n" in shown
    assert f"(dualdbg) p {word}\n{value!r}\n" in shown
    done = dualdbg(tmp_path, env, "run", "--batch", "--json", "-b", "getsid", *commands("continue"), file)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert "".join(one["text"] for one in events if one["event"] == "output") == f"{value}\n"


def test_a_report_has_the_output_of_the_program(tmp_path: Path) -> None:
    language, encoding, _, _, value = German
    env = locale_of(tmp_path, language, encoding)
    code = f"import os; print({value!r}, flush=True); os.abort()".encode(encoding)
    assert dualdbg(tmp_path, env, "run", "--report", "reports", "-c", code).returncode == 134
    (report,) = (tmp_path / "reports").glob("*.json")
    assert json.loads(report.read_text())["output"] == {"stdout": f"{value}\n"}


@pytest.mark.parametrize(
    ("env", "encoding"), [(ASCII, "utf-8"), ({"LC_ALL": "C.UTF-8"}, "euc-jp")], ids=["ASCII", "other"]
)
def test_a_name_that_cannot_be_decoded_is_shown_with_signs_and_is_found(
    env: dict[str, str], encoding: str, tmp_path: Path
) -> None:
    """In the place of each byte is a sign; the file is the right one, also where its name was read in memory."""
    function, word, value = Japanese[2:]
    file = program(tmp_path, encoding, function, word, value)
    done = dualdbg(tmp_path, env, "run", "--batch", "-b", file + b":4", *commands("bt", "list"), file)
    shown = done.stdout.decode("utf-8")
    name, source = (function, f"def {function}({word}):")
    if env is ASCII:
        name, source = (one.encode("ascii", "backslashreplace").decode() for one in (name, source))
    sign = "\\ufffd" if env is ASCII else "\ufffd"
    assert f">#0 py   {name}  {sign * (len(file) - 3)}.py:4\n" in shown
    assert f" 3  {source}\n>4      os.getsid(0)\n" in shown


def test_a_report_of_such_a_file_is_written(tmp_path: Path) -> None:
    name = "挨拶.py".encode("euc-jp")
    with open(os.fsencode(tmp_path) + b"/" + name, "w") as file:
        file.write("import os\nos.abort()\n")
    done = dualdbg(tmp_path, {"LC_ALL": "C.UTF-8"}, "run", "--report", "reports", name)
    assert done.returncode == 134
    texts = {file.suffix: file.read_text(encoding="utf-8") for file in (tmp_path / "reports").iterdir()}
    assert set(texts) == {".txt", ".json", ".html"}
    assert all("\ufffd\ufffd\ufffd\ufffd.py" in texts[kind] for kind in (".txt", ".html"))
