"""Writes the layout table of a PyTorch: ``python make_layout_table.py [--part PART]... WHAT...``.

WHAT is the folder of an installed PyTorch (with ``include`` and ``lib``), or a version, whose wheels for x86-64 and
AArch64 pip downloads and that are not kept. Needs ``g++`` and ``gdb``, and for a PyTorch of the other machine those of
Debian's ``g++-aarch64-linux-gnu`` (``g++-x86-64-linux-gnu``) and ``gdb-multiarch``. The table goes to
``dualdbg_helpers/layout/tables``, where the helpers find it by version; it is that of x86-64, and has beside it what
differs on AArch64, and with the std::string of before C++11. With ``--part`` the other parts of the table stay as they
are. What has changed in a table that was there is printed.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Dict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dualdbg_helpers.elf import ElfFile
from dualdbg_helpers.layout import installation, model, types_object, wanted
from dualdbg_shared.elf import EM_AARCH64, EM_X86_64, MACHINES
from dualdbg_shared.libraries import C10, TORCH_CPU

TABLES = Path(types_object.__file__).parent / "tables"
PLATFORMS = {
    MACHINES[EM_X86_64]: "x86_64",
    MACHINES[EM_AARCH64]: "aarch64",
}  # as wheels and compilers are called
BUILDS = [model.build_name(machine, newer) for machine in PLATFORMS for newer in (True, False)]
KINDS = ("records", "enums")
Layouts = Dict[str, Dict[str, Any]]
_LIBRARIES = tuple(f"torch/lib/{name}.so" for name in (C10, TORCH_CPU))


def rows(mapping: "dict[str, object]") -> str:
    return ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(mapping.items()))


def unpacked(version: str, machine: str, folder: str) -> str:
    """The PyTorch of ``version`` for ``machine`` in ``folder``, as much of it as a table needs."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    tags = [f"--platform=manylinux_2_28_{PLATFORMS[machine]}", "--implementation=cp", "--python-version=3.12"]
    subprocess.run([*command, *tags, "--dest", folder, f"torch=={version}"], check=True)
    (wheel,) = Path(folder).glob("torch-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("torch/include/") or name in (*_LIBRARIES, "torch/version.py"):
                archive.extract(name, folder)
    wheel.unlink()
    return str(Path(folder, "torch"))


def maker_of(found: installation.Installation) -> types_object.TypesObject:
    """What compiles and reads the types of a PyTorch, with tools for its machine."""
    name = PLATFORMS[found.machine]
    if name == platform.machine():
        return types_object.TypesObject(found)
    return types_object.TypesObject(found, f"{name}-linux-gnu-g++", "gdb-multiarch")


def of_build(table: "dict[str, Any]", build: str) -> "Layouts":
    """What a table says of a build; nothing where it does not describe it."""
    found = model.from_table(table, "", build) if table else None
    return {"records": found.records, "enums": found.enums} if found else {kind: {} for kind in KINDS}


def differing(layouts: "Layouts", base: "Layouts") -> "Layouts":
    """What a table has to say of a build beside what it says of ``base``."""
    return {kind: {n: v for n, v in layouts[kind].items() if base[kind].get(n) != v} for kind in KINDS}


def kept(before: "Layouts", parts: "list[str]") -> "Layouts":
    """What a table has of the parts that are not made anew. A type that is no longer wanted is in none."""
    others = [part for name, part in wanted.PARTS.items() if name not in parts]
    names = {name for part in others for name in part.records + part.enums}
    return {kind: {n: v for n, v in before[kind].items() if n in names} for kind in KINDS}


def make(root: str, parts: "list[str]") -> None:
    found = installation.of(root, [ElfFile.open(Path(root, "lib", Path(name).name)) for name in _LIBRARIES])
    if found.version is None or found.machine is None:
        sys.exit(f"{root} is no PyTorch installation: its version, or libraries, are not there.")
    path = TABLES / f"torch-{found.version}.json"
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if found.build != model.BASE and not table:
        sys.exit(f"The table of torch {found.version} has to be made for {model.BASE} first.")
    builds = {one: of_build(table, one) for one in BUILDS if one in (found.build, model.BASE) or one in table}
    before = builds[found.build]
    made = builds[found.build] = kept(before, parts)
    maker = maker_of(found)
    for part in parts:
        layout = maker.build(part)
        made["records"].update(layout.records)
        made["enums"].update(layout.enums)
    missing = wanted.names() - made["records"].keys() - made["enums"].keys()
    if missing - wanted.lacking(found.version).keys():
        sys.exit(f"torch {found.version}: no layout of {', '.join(sorted(missing))}")
    write(path, found.version, builds)
    print(path, found.build)
    for kind in KINDS:
        for name, value in before[kind].items():
            if json.loads(json.dumps(made[kind].get(name))) != value:
                print(f"  {name} was {value}, is {made[kind].get(name)}")


def write(path: Path, version: str, builds: "dict[str, Layouts]") -> None:
    builds = json.loads(json.dumps(builds))  # what was made and what was read: lists, not tuples
    base = builds.pop(model.BASE)
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{\n  "torch": {json.dumps(version)},\n')
        file.write(f'  "records": {{\n{rows(base["records"])}\n  }},\n')
        file.write(f'  "enums": {{\n{rows(base["enums"])}\n  }}')
        for build, layouts in builds.items():
            kinds = {kind: some for kind, some in differing(layouts, base).items() if some}
            texts = [f'"{kind}": {{\n{rows(some)}\n  }}' for kind, some in kinds.items()]
            file.write(f',\n  "{build}": {{{", ".join(texts)}}}')
        file.write("\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=sorted(wanted.PARTS), help="only this part")
    parser.add_argument("what", nargs="+", metavar="WHAT")
    arguments = parser.parse_args()
    for what in arguments.what:
        with tempfile.TemporaryDirectory() as folder:
            for machine in [""] if Path(what).is_dir() else PLATFORMS:
                root = (
                    unpacked(what, machine, str(Path(folder, machine)))
                    if machine
                    else str(Path(what).resolve())
                )
                make(root, arguments.part or list(wanted.PARTS))


if __name__ == "__main__":
    main()
