"""Who needs whom: compared with what the dynamic loader itself does (ldd)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from dualdbg.errors import SymbolError
from dualdbg.symbols.elf.dynamic_loader import CACHE_FILE, read_cache
from dualdbg.symbols.elf.elf_file import EM_X86_64, ElfFile
from dualdbg.symbols.gdb_feed.dependencies import graph_of_files, graph_of_process
from dualdbg.symbols.gdb_feed.graph_pictures import to_dot
from tests.support import require
from tests.symbols.conftest import run, torch_library


def ldd(path: Path, environment: Mapping[str, str]) -> dict[str, str | None]:
    """Name -> real path of everything that is loaded with ``path``."""
    program = require(shutil.which("ldd"), "ldd")
    done = subprocess.run([program, path], env={**environment, "LC_ALL": "C"}, capture_output=True, text=True)
    found: dict[str, str | None] = {}
    for line in done.stdout.splitlines():
        match = re.match(r"\s*(?:(\S+) => )?(not found|/\S+)", line)
        if match:
            name, where = match.groups()
            found[Path(name or where).name] = None if where == "not found" else os.path.realpath(where)
    return found


def ours(path: Path, environment: Mapping[str, str]) -> dict[str, str | None]:
    graph = graph_of_files([str(path)], environment)
    needs = (need for node in graph.nodes.values() for need in node.needs)
    return {need.name: None if need.path is None else os.path.realpath(need.path) for need in needs}


Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """``tree(name, needs, flags)``: a library in a folder of its own, linked against others."""

    def make(name: str, needs: tuple[Path, ...] = (), *flags: str, code: str = "") -> Path:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = target.with_suffix(".c")
        function = re.sub(r"\W", "_", target.stem)
        source.write_text(code or f"int {function}(void) {{ return 1; }}\n")
        soname = f"-Wl,-soname,{target.name}"
        run("gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", soname, *flags, source, "-o", target, *needs)
        return target

    return make


def test_needs_are_found_by_runpath_and_origin(tree: Tree) -> None:
    base = tree("deps/libbase.so")
    middle = tree("deps/libmiddle.so", (base,), "-Wl,-rpath,$ORIGIN")
    top = tree("libtop.so", (middle,), "-Wl,--enable-new-dtags,-rpath,${ORIGIN}/deps")
    assert ours(top, {}) == ldd(top, {})
    graph = graph_of_files([str(top)], {})
    needs = {need.name: need for node in graph.nodes.values() for need in node.needs}
    assert needs["libmiddle.so"].rule == "RUNPATH of libtop.so"
    assert needs["libbase.so"].rule == "RUNPATH of libmiddle.so"


def test_a_runpath_is_not_inherited_but_an_rpath_is(tree: Tree) -> None:
    base = tree("deps/libbase.so")
    middle = tree("deps/libmiddle.so", (base,))
    with_runpath = tree("libone.so", (middle,), "-Wl,--enable-new-dtags,-rpath,$ORIGIN/deps")
    with_rpath = tree("libtwo.so", (middle,), "-Wl,--disable-new-dtags,-rpath,$ORIGIN/deps")
    assert ours(with_runpath, {}) == ldd(with_runpath, {})
    assert ours(with_rpath, {}) == ldd(with_rpath, {})
    assert ours(with_runpath, {})["libbase.so"] is None
    assert ours(with_rpath, {})["libbase.so"] == str(base)
    missing = graph_of_files([str(with_runpath)], {})
    assert missing.missing() == ["libbase.so"]
    assert any("libbase.so: not found" in node.problems for node in missing.nodes.values())


@pytest.mark.parametrize("tags", ["--enable-new-dtags", "--disable-new-dtags"])
def test_the_environment_stands_between_rpath_and_runpath(tree: Tree, tags: str) -> None:
    one, other = tree("one/libbase.so"), tree("other/libbase.so")
    top = tree("libtop.so", (one,), f"-Wl,{tags},-rpath,$ORIGIN/one")
    environment = {"LD_LIBRARY_PATH": str(other.parent)}
    assert ours(top, environment) == ldd(top, environment)
    expected = other if tags == "--enable-new-dtags" else one
    assert ours(top, environment)["libbase.so"] == str(expected)


def test_a_file_for_another_machine_is_passed_by(tree: Tree) -> None:
    good, bad = tree("good/libbase.so"), tree("bad/libbase.so")
    data = bytearray(bad.read_bytes())
    data[18:20] = b"\xb7\x00" if data[18] == EM_X86_64 else b"\x3e\x00"
    bad.write_bytes(data)
    top = tree("libtop.so", (good,), "-Wl,-rpath,$ORIGIN/bad:$ORIGIN/good")
    assert ours(top, {})["libbase.so"] == str(good)
    assert ours(top, {}) == ldd(top, {})


def test_versions_that_are_not_there_are_said(tree: Tree, tmp_path: Path) -> None:
    script = tmp_path / "versions.map"
    script.write_text("V_1 { global: answer; };\nV_2 { global: newer; } V_1;\n")
    code = "int answer(void) { return 1; }\nint newer(void) { return 2; }\n"
    library = tree("libversioned.so", (), f"-Wl,--version-script={script}", code=code)
    user = tree(
        "libuser.so",
        (library,),
        "-Wl,-rpath,$ORIGIN",
        code="int newer(void);\nint answer(void);\nint use(void) { return newer() + answer(); }\n",
    )
    assert not any(node.problems for node in graph_of_files([str(user)], {}).nodes.values())
    script.write_text("V_1 { global: answer; };\n")
    library = tree(
        "libversioned.so", (), f"-Wl,--version-script={script}", code="int answer(void) { return 1; }\n"
    )
    (problem,) = graph_of_files([str(user)], {}).nodes[str(user)].problems
    assert problem == f"V_2 not found in {library}"
    done = subprocess.run([require(shutil.which("ldd"), "ldd"), user], capture_output=True, text=True)
    assert "version `V_2' not found" in done.stdout + done.stderr


def test_two_libraries_with_one_name_are_said(tree: Tree) -> None:
    one, other = tree("one/libbase.so"), tree("other/libbase.so")
    graph = graph_of_process([str(one), str(other)])
    said = {path: [p for p in node.problems if "libbase" in p] for path, node in graph.nodes.items()}
    assert said == {
        str(one): [f"another libbase.so is there too: {other}"],
        str(other): [f"another libbase.so is there too: {one}"],
    }


def test_what_cannot_be_read_is_a_library_with_a_problem(tmp_path: Path, tree: Tree) -> None:
    good = tree("libgood.so")
    bad = tmp_path / "libbad.so"
    bad.write_text("no library")
    graph = graph_of_process([str(good), str(bad)])
    assert "not an ELF file" in graph.nodes[str(bad)].problems[0]
    with pytest.raises(SymbolError):
        graph_of_files([str(tmp_path / "absent.so")], {})


def test_the_cache_of_the_loader(tmp_path: Path) -> None:
    program = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    listing = run(require(program, "ldconfig"), "-p")
    machine = ElfFile.open(os.path.realpath(sys.executable)).machine
    word = "x86-64" if machine == EM_X86_64 else "AArch64"
    expected: dict[str, str] = {}
    for line in listing.splitlines():
        match = re.match(rf"\s*(\S+) \(libc6,{word}\) => (\S+)", line)
        if match:
            expected.setdefault(*match.groups())
    assert expected and read_cache(CACHE_FILE, machine) == expected
    assert read_cache(tmp_path / "absent", machine) == {}
    cut = tmp_path / "cut"
    for size in (0, 10, 100, 1000):
        cut.write_bytes(CACHE_FILE.read_bytes()[:size])
        assert isinstance(read_cache.__wrapped__(cut, machine), dict)


def test_this_interpreter() -> None:
    path = Path(os.path.realpath(sys.executable))
    assert ours(path, os.environ) == ldd(path, os.environ)


@pytest.mark.torch
def test_the_extension_module_of_torch() -> None:
    (module,) = torch_library("..").glob("_C.*.so")
    expected = ldd(module.resolve(), os.environ)
    assert ours(module.resolve(), os.environ) == expected
    graph = graph_of_files([os.path.realpath(sys.executable), str(module.resolve())], os.environ)
    chain = {(Path(a).name, Path(b).name) for a, b in graph.edges()}
    assert {
        (module.name, "libtorch_python.so"),
        ("libtorch_python.so", "libtorch_cpu.so"),
        ("libtorch.so", "libtorch_cpu.so"),
        ("libtorch_cpu.so", "libc10.so"),
    } <= chain
    big = next(node for node in graph.nodes.values() if node.name == "libtorch_cpu.so")
    assert big.size > 100_000_000 and big.has_symtab and big.build_id and not big.problems
    dot = to_dot(graph)
    assert dot.count("->") == len(graph.edges()) and "libtorch_cpu.so" in dot


def test_the_libraries_of_this_process() -> None:
    rows = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    mapped = {row[5]: None for row in rows if len(row) == 6 and row[5].startswith("/") and "x" in row[1]}
    graph = graph_of_process(mapped)
    assert graph.missing() == []
    assert set(graph.nodes) == set(mapped)
