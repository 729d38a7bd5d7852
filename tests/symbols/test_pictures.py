"""The graph of libraries for Graphviz: it reads the text, and everything is in its picture."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dualdbg.errors import SymbolError
from dualdbg.symbols.gdb_feed.dependencies import Graph, Need, Node
from dualdbg.symbols.gdb_feed.graph_pictures import draw, to_dot
from dualdbg.symbols.gdb_feed.policy import Load
from tests.cli.driver import dualdbg
from tests.support import require

SVG = "{http://www.w3.org/2000/svg}"
HARD = 'a & <b> \\ "c".so'
IDENTIFIER = HARD.replace("\\", "\\\\")  # a backslash is written twice, and read as one in labels only


def drawn(dot: str) -> tuple[set[str], set[str]]:
    """(the first line of every box, the edges as ``a->b`` by path) of Graphviz' picture."""
    require(shutil.which("dot"), "graphviz")
    groups = list(ElementTree.fromstring(draw(dot)).iter(f"{SVG}g"))
    boxes = {group.findtext(f".//{SVG}text", "") for group in groups if group.get("class") == "node"}
    edges = {group.findtext(f"{SVG}title", "") for group in groups if group.get("class") == "edge"}
    return boxes, edges


def graph() -> Graph:
    def node(path: str, *needs: str, load: Load = Load.UNWIND, problems: tuple[str, ...] = ()) -> Node:
        found = tuple(Need(n, f"/l/{n}" if n != "libgone.so" else None, "rule") for n in needs)
        return Node(f"/l/{path}", path, 1234, "ab12", True, False, None, load, "why", found, problems)

    nodes = [
        node(HARD, "libb.so", "libc.so", "libgone.so", load=Load.WHOLE, problems=("libgone.so: not found",)),
        node("libb.so", "libc.so"),
        node("libc.so"),
    ]
    standard = [
        Node(f"/p/lib-dynload/_m{i}.so", f"_m{i}.so", 10, needs=(Need("libc.so", "/l/libc.so", "rule"),))
        for i in (1, 2)
    ]
    return Graph((f"/l/{HARD}",), {n.path: n for n in [*nodes, *standard]})


def test_every_library_is_drawn_and_what_follows_is_not() -> None:
    boxes, edges = drawn(to_dot(graph()))
    assert boxes == {HARD, "libb.so", "libc.so", "libgone.so", "_m1.so", "_m2.so"}
    assert edges == {
        f"/l/{IDENTIFIER}->/l/libb.so",
        "/l/libb.so->/l/libc.so",
        f"/l/{IDENTIFIER}->libgone.so",
        "/p/lib-dynload/_m1.so->/l/libc.so",
        "/p/lib-dynload/_m2.so->/l/libc.so",
    }


def test_the_summary_has_one_box_for_the_standard_library() -> None:
    boxes, edges = drawn(to_dot(graph(), summary=True))
    assert boxes == {HARD, "libb.so", "libc.so", "libgone.so", "Python's standard library"}
    assert "Python's standard library->/l/libc.so" in edges and len(edges) == 4


def test_the_text_has_every_edge() -> None:
    assert to_dot(graph()).count(" -> ") == len(graph().edges()) == 6


def test_nothing_to_draw() -> None:
    assert drawn(to_dot(Graph((), {}))) == (set(), set())


def test_what_graphviz_cannot_read_is_an_error() -> None:
    require(shutil.which("dot"), "graphviz")
    with pytest.raises(SymbolError, match=r"tred says: .*syntax error"):
        draw("digraph libraries { -> }")


def test_the_command_draws_a_process(tmp_path: Path) -> None:
    require(shutil.which("dot"), "graphviz")
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            done = dualdbg("libs", str(process.pid), "--svg", str(tmp_path / "libs.svg"))
        finally:
            process.kill()
    assert done.status == 0, done.stderr
    assert "libc.so.6" in (tmp_path / "libs.svg").read_text()


def test_without_graphviz_the_text_is_written_and_the_package_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        try:
            done = dualdbg("libs", str(process.pid), "--svg", str(tmp_path / "libs.svg"))
        finally:
            process.kill()
    assert done.status == 3
    done.complains(f"the graph is in {tmp_path}/libs.dot", "apt-get install graphviz")
    assert "libc.so.6" in (tmp_path / "libs.dot").read_text()
    assert not (tmp_path / "libs.svg").exists()
