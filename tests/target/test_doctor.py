"""What the doctor finds: the real gdb, interpreter and PyTorch, and stand-ins for those that a machine has not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.target import doctor
from dualdbg.target import interpreter as interpreters
from dualdbg.target.doctor import Finding, Status
from tests import support


def section_names(path: str) -> list[str]:
    return [section.name for section in ElfFile.open(path).sections]


def only(findings: list[Finding]) -> Finding:
    [finding] = findings
    return finding


def test_everything_that_is_looked_at_is_told_of(tmp_path: Path) -> None:
    findings = doctor.examine(sys.executable, None, tmp_path / "cache", section_names)
    assert [finding.area for finding in findings] == ["gdb", "ptrace", "python", "debugpy", "torch", "cache"]
    for finding in findings:
        assert "\n" not in finding.text
        assert finding.fix or finding.status is Status.OK, finding


def test_a_finding_as_json() -> None:
    assert Finding("gdb", Status.WARNING, "old", "get a new one").to_json() == {
        "area": "gdb",
        "status": "warning",
        "text": "old",
        "fix": "get a new one",
    }


def test_an_interpreter_that_cannot_be_used_leaves_the_rest(tmp_path: Path) -> None:
    findings = doctor.examine("/nowhere/python", None, tmp_path, section_names)
    python = next(finding for finding in findings if finding.area == "python")
    assert python.status is Status.ERROR and "/nowhere/python" in python.text and python.fix
    assert [finding.area for finding in findings] == ["gdb", "ptrace", "python", "cache"]


# -- gdb ----------------------------------------------------------------------------------------


def test_the_real_gdb() -> None:
    gdb = support.require(shutil.which("gdb"), "gdb")
    finding = only(doctor.check_gdb(None))
    version = (
        subprocess.run([gdb, "--version"], capture_output=True, text=True).stdout.splitlines()[0].split()[-1]
    )
    assert finding.status is Status.OK
    assert finding.text.startswith(f"{gdb}, version {version}, with Python 3.")


def stand_in(folder: Path, version: str, answer: str) -> str:
    """A program that answers the doctor's two questions as some other gdb would."""
    path = folder / "gdb"
    path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; else echo "{answer}"; fi\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("version", "answer", "status", "words"),
    [
        ("GNU gdb (GDB) 11.2", "dualdbg 3 10", Status.ERROR, "version 11.2: older than 12"),
        ("GNU gdb (GDB) 16.3", "", Status.ERROR, "version 16.3: built without Python"),
        ("GNU gdb (GDB) 12.1", "dualdbg 2 7", Status.ERROR, "its Python is 2.7"),
        ("GNU gdb (GDB) 99.1", "dualdbg 3 30", Status.WARNING, "newer than any"),
        (
            "GNU gdb (Ubuntu 15.0.50.20240403-0ubuntu1) 15.0.50.20240403-git",
            "dualdbg 3 12",
            Status.OK,
            "15.0.50",
        ),
        ("GNU gdb (GDB) Fedora Linux 14.2-1.fc40", "dualdbg 3 12", Status.OK, "version 14.2-1.fc40"),
        ("lldb version 17", "", Status.ERROR, "is not gdb"),
        ("", "", Status.ERROR, "is not gdb"),
    ],
)
def test_other_gdbs(tmp_path: Path, version: str, answer: str, status: Status, words: str) -> None:
    finding = only(doctor.check_gdb(stand_in(tmp_path, version, answer)))
    assert finding.status is status and words in finding.text
    assert bool(finding.fix) == (status is Status.ERROR)


@pytest.mark.parametrize(
    ("version", "amx", "compiler", "status"),
    [
        ("13.2", True, False, Status.WARNING),
        ("13.2", True, True, Status.OK),
        ("13.2", False, False, Status.OK),
        ("14.1", True, False, Status.OK),
    ],
)
def test_a_gdb_that_cannot_write_the_registers_of_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, amx: bool, compiler: bool, status: Status
) -> None:
    monkeypatch.setattr(doctor.whole_state, "needed", lambda: amx)
    gdb = stand_in(tmp_path, f"GNU gdb (GDB) {version}", "dualdbg 3 11")
    if compiler:
        shutil.copy(gdb, tmp_path / "cc")
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = only(doctor.check_gdb(gdb))
    assert finding.status is status, finding
    assert ("apt-get install gcc" in finding.fix) == (status is Status.WARNING)


def test_no_gdb(tmp_path: Path) -> None:
    finding = only(doctor.check_gdb("/nowhere/gdb"))
    assert finding == Finding("gdb", Status.ERROR, "/nowhere/gdb was not found", "apt-get install gdb")
    (tmp_path / "gdb").write_text("#!/nowhere/sh\n")
    (tmp_path / "gdb").chmod(0o755)
    assert "does not run" in only(doctor.check_gdb(str(tmp_path / "gdb"))).text


def test_a_slow_machine_is_not_told_to_install_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.2)
    (tmp_path / "slow").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "slow").chmod(0o755)
    finding = only(doctor.check_gdb(str(tmp_path / "slow")))
    assert finding.status is Status.ERROR and "did not answer within 0.2 s" in finding.text
    assert "install" not in finding.fix and "DUALDBG_PATIENCE" in finding.fix


# -- permission and disk ------------------------------------------------------------------------


def test_tracing_is_tried() -> None:
    finding = only(doctor.check_ptrace())
    assert finding.status is Status.OK and ("no Yama" in finding.text or "ptrace_scope" in finding.text)


def test_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(doctor.check_disk(tmp_path / "cache")).status is Status.OK
    (tmp_path / "file").write_text("")
    unwritable = only(doctor.check_disk(tmp_path / "file" / "cache"))
    assert unwritable.status is Status.WARNING and "cannot be written" in unwritable.text and unwritable.fix
    monkeypatch.setattr(doctor, "CACHE_ROOM", 10**18)
    full = only(doctor.check_disk(tmp_path))
    assert full.status is Status.WARNING and "free, less than" in full.text and full.fix


# -- interpreter and debugpy --------------------------------------------------------------------


def test_the_interpreter() -> None:
    mine = interpreters.inspect(sys.executable)
    finding = only(doctor.check_interpreter(mine, section_names))
    assert finding.status is Status.OK
    assert finding.text.startswith(f"CPython {mine.version_text}, {sys.executable}; ")
    special = replace(mine, debug_build=True, free_threaded=True)
    assert "debug build, free-threaded" in only(doctor.check_interpreter(special, section_names)).text


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({".symtab", ".debug_info"}, "symbols and debug info"),
        ({".symtab"}, "symbols, no debug info"),
        ({".dynsym"}, "no symbols"),
    ],
)
def test_symbols_of_the_interpreter(names: set[str], words: str) -> None:
    assert only(
        doctor.check_interpreter(interpreters.inspect(sys.executable), lambda path: names)
    ).text.endswith(words)


def test_an_interpreter_that_is_no_elf_file(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("text")
    broken = replace(
        interpreters.inspect(sys.executable), libpython=None, executable=str(tmp_path / "python")
    )
    assert only(doctor.check_interpreter(broken, section_names)).status is Status.ERROR


def test_debugpy_is_compiled_for_some_versions_only() -> None:
    mine = interpreters.inspect(sys.executable)
    other = replace(mine, version=(3, 9, 1), extension_suffix=".cpython-39-x86_64-linux-gnu.so")
    finding = only(doctor.check_debugpy(other))
    assert finding.status is Status.WARNING
    assert "not compiled for Python 3.9" in finding.text and "Python 3.9" in finding.fix
    import debugpy

    assert finding.text.startswith(debugpy.__version__)


# -- PyTorch ------------------------------------------------------------------------------------


def test_no_torch() -> None:
    mine = replace(interpreters.inspect(sys.executable), torch=None)
    finding = only(doctor.check_torch(mine, section_names))
    assert finding.status is Status.OK and "not installed" in finding.text


@pytest.mark.torch
def test_the_real_torch() -> None:
    import torch

    mine = interpreters.inspect(sys.executable)
    finding = only(doctor.check_torch(mine, section_names))
    assert finding.status is Status.OK
    assert finding.text.startswith(
        f"{torch.__version__}, {'debug' if torch.version.debug else 'release'} build"
    )
    assert f"{'new' if torch._C._GLIBCXX_USE_CXX11_ABI else 'old'} C++ ABI" in finding.text


@pytest.mark.torch
def test_torch_of_another_python() -> None:
    mine = replace(interpreters.inspect(sys.executable), extension_suffix=".cpython-399-x86_64-linux-gnu.so")
    finding = only(doctor.check_torch(mine, section_names))
    assert finding.status is Status.ERROR and "built for another Python (_C." in finding.text and finding.fix


def library(folder: Path, name: str, *options: str, source: str = "") -> None:
    support.require(shutil.which("gcc"), "a C compiler")
    command = ["gcc", "-shared", "-fPIC", "-o", name, "-xc", "-", "-xnone", "-Wl,--no-as-needed", *options]
    subprocess.run(command, cwd=folder, input=source, text=True, check=True)


@pytest.fixture
def fake_torch(tmp_path: Path) -> interpreters.Interpreter:
    """A package with the files of PyTorch that the doctor looks at, in a folder whose name is not easy."""
    folder = tmp_path / "with space" / "torch"
    (folder / "lib").mkdir(parents=True)
    (folder / "version.py").write_text("__version__: str = '9.9'\ndebug = True\nother = f()\n")
    mine = interpreters.inspect(sys.executable)
    library(folder, f"_C{mine.extension_suffix}", source="int f;")
    for name in ("libtorch_python.so", "libtorch_cpu.so", "libc10.so"):
        library(folder / "lib", name, source="int f(void) { return 1; }")
    return replace(mine, torch=str(folder))


def test_a_debug_build_with_the_old_abi(fake_torch: interpreters.Interpreter) -> None:
    finding = only(doctor.check_torch(fake_torch, section_names))
    assert finding.status is Status.OK
    assert finding.text.startswith("9.9, debug build, old C++ ABI, symbols, no debug info, ")


def test_a_stripped_torch(fake_torch: interpreters.Interpreter) -> None:
    subprocess.run(["strip", f"{fake_torch.torch}/lib/libtorch_cpu.so"], check=True)
    finding = only(doctor.check_torch(fake_torch, section_names))
    assert finding.status is Status.WARNING and "no symbols" in finding.text and finding.fix
    assert "operators are found by name" in finding.text


def test_a_torch_older_than_what_is_known(fake_torch: interpreters.Interpreter) -> None:
    tables = (support.ROOT / "gdb_scripts/dualdbg_helpers/layout/tables").glob("torch-*.json")
    known = [tuple(map(int, path.stem.partition("-")[2].split(".")[:2])) for path in tables]
    assert min(known) == doctor.FIRST_TORCH
    for version, expected in (("1.13.0a0", 2), ("2.5.1", 2), ("2.6.0+debian", 1), ("2.10.0", 1)):
        Path(f"{fake_torch.torch}/version.py").write_text(f"__version__ = '{version}'\n")
        findings = doctor.check_torch(fake_torch, section_names)
        assert len(findings) == expected, version
        assert all(one.status is Status.WARNING and "older than 2.6" in one.text for one in findings[:-1])


def test_a_damaged_torch(fake_torch: interpreters.Interpreter) -> None:
    Path(f"{fake_torch.torch}/lib/libtorch_cpu.so").write_bytes(b"\x7fELF")
    assert only(doctor.check_torch(fake_torch, section_names)).status is Status.ERROR
    Path(f"{fake_torch.torch}/lib/libc10.so").unlink()
    assert only(doctor.check_torch(fake_torch, section_names)).status is Status.ERROR


def test_a_missing_library(fake_torch: interpreters.Interpreter) -> None:
    folder = Path(str(fake_torch.torch))
    library(folder, "libabsent.so", "-Wl,-soname,libabsent.so.1", source="int g(void) { return 1; }")
    use = "int g(void); int f(void) { return g(); }"
    library(folder, f"_C{fake_torch.extension_suffix}", "libabsent.so", source=use)
    [_, complaint] = doctor.check_torch(fake_torch, section_names)
    assert complaint.text == "libabsent.so.1 => not found"
    assert complaint.status is Status.ERROR and "LD_LIBRARY_PATH" in complaint.fix


def test_a_library_of_an_older_version(fake_torch: interpreters.Interpreter) -> None:
    """As with a libstdc++ that is older than the one PyTorch was built with."""
    folder = Path(str(fake_torch.torch))
    versions = folder / "versions"
    versions.write_text("GLIBCXX_9.9.9 { global: g; };")
    runpath = f"-Wl,-rpath,{folder}"
    new = "int g(void) { return 1; }"
    library(folder, "libnew.so", f"-Wl,--version-script={versions}", "-Wl,-soname,libnew.so", source=new)
    use = "int g(void); int f(void) { return g(); }"
    library(folder, f"_C{fake_torch.extension_suffix}", "libnew.so", runpath, source=use)
    assert doctor.missing_libraries(fake_torch, folder / f"_C{fake_torch.extension_suffix}") == []
    versions.write_text("GLIBCXX_1.1.1 { global: g; };")
    library(folder, "libnew.so", f"-Wl,--version-script={versions}", "-Wl,-soname,libnew.so", source=new)
    [_, *complaints] = doctor.check_torch(fake_torch, section_names)
    assert "GLIBCXX_9.9.9' not found" in complaints[0].text
    assert complaints[0].status is Status.ERROR and "libstdc++" in complaints[0].fix


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("libstdc++.so.6: version `CXXABI_1.3.15' not found", "libstdc++"),
        ("libc.so.6: version `GLIBC_2.38' not found", "a newer system"),
        ("libgomp.so.1 => not found", "apt-get install libgomp1"),
    ],
)
def test_remedies(line: str, words: str) -> None:
    assert words in doctor._remedy(line)
