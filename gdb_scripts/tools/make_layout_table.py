"""Writes the layout table of a PyTorch: ``python make_layout_table.py [--part PART]... WHAT...``.

WHAT is the folder of an installed PyTorch (with ``include`` and ``lib``), or a version, whose wheel pip downloads and
that is not kept. Needs ``g++`` and ``gdb``; the table goes to ``dualdbg_helpers/layout/tables``, where the helpers find
it by version. With ``--part`` the other parts of the table stay as they are. What has changed in a table that was there
is printed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dualdbg_helpers.elf import ElfFile
from dualdbg_helpers.layout import installation, types_object, wanted
from dualdbg_shared.libraries import C10, TORCH_CPU

TABLES = Path(types_object.__file__).parent / "tables"
_LIBRARIES = tuple(f"torch/lib/{name}.so" for name in (C10, TORCH_CPU))


def rows(mapping: "dict[str, object]") -> str:
    return ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(mapping.items()))


def unpacked(version: str, folder: str) -> str:
    """The PyTorch of ``version`` in ``folder``, as much of it as a table needs."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", folder, f"torch=={version}"], check=True)
    (wheel,) = Path(folder).glob("torch-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("torch/include/") or name in (*_LIBRARIES, "torch/version.py"):
                archive.extract(name, folder)
    wheel.unlink()
    return str(Path(folder, "torch"))


def kept(before: "dict[str, dict[str, object]]", parts: "list[str]") -> "dict[str, dict[str, object]]":
    """What a table has of the parts that are not made anew. A type that is no longer wanted is in none."""
    others = [part for name, part in wanted.PARTS.items() if name not in parts]
    names = {name for part in others for name in part.records + part.enums}
    return {kind: {n: v for n, v in before[kind].items() if n in names} for kind in ("records", "enums")}


def make(root: str, parts: "list[str]") -> None:
    found = installation.of(root, [ElfFile.open(Path(root, "lib", Path(name).name)) for name in _LIBRARIES])
    if found.version is None:
        sys.exit(f"{root} is no PyTorch installation: its version is not there.")
    path = TABLES / f"torch-{found.version}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"records": {}, "enums": {}}
    table = kept(before, parts)
    maker = types_object.TypesObject(found)
    for part in parts:
        made = maker.build(part)
        table["records"].update(made.records)
        table["enums"].update(made.enums)
    missing = wanted.names() - table["records"].keys() - table["enums"].keys()
    if missing - wanted.lacking(found.version).keys():
        sys.exit(f"torch {found.version}: no layout of {', '.join(sorted(missing))}")
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{\n  "torch": {json.dumps(found.version)},\n')
        file.write(f'  "records": {{\n{rows(table["records"])}\n  }},\n')
        file.write(f'  "enums": {{\n{rows(table["enums"])}\n  }}\n}}\n')
    print(path)
    for kind in ("records", "enums"):
        for name, value in before[kind].items():
            if json.loads(json.dumps(table[kind].get(name))) != value:
                print(f"  {name} was {value}, is {table[kind].get(name)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=sorted(wanted.PARTS), help="only this part")
    parser.add_argument("what", nargs="+", metavar="WHAT")
    arguments = parser.parse_args()
    for what in arguments.what:
        with tempfile.TemporaryDirectory() as folder:
            root = str(Path(what).resolve()) if Path(what).is_dir() else unpacked(what, folder)
            make(root, arguments.part or list(wanted.PARTS))


if __name__ == "__main__":
    main()
