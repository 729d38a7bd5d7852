"""Writes the layout table of an installed PyTorch: ``python make_layout_table.py TORCH_FOLDER``.

TORCH_FOLDER is the installed package (the folder with ``include`` and ``lib``). Needs ``g++`` and
``gdb``; the table goes to ``dualdbg_helpers/layout/tables``, where the helpers find it by version.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dualdbg_helpers.elf import ElfFile
from dualdbg_helpers.layout import installation, types_object, wanted
from dualdbg_shared.libraries import C10, TORCH_CPU


def rows(mapping: "dict[str, object]") -> str:
    return ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(mapping.items()))


def main(root: str) -> None:
    found = installation.of(
        root, [ElfFile.open(Path(root, "lib", f"{name}.so")) for name in (C10, TORCH_CPU)]
    )
    if found.version is None:
        sys.exit(f"{root} is no PyTorch installation: its version is not there.")
    maker = types_object.TypesObject(found)
    records, enums = {}, {}
    for part in wanted.PARTS:
        made = maker.build(part)
        records.update(made.records)
        enums.update(made.enums)
    path = Path(types_object.__file__).parent / "tables" / f"torch-{found.version}.json"
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{\n  "torch": {json.dumps(found.version)},\n')
        file.write(f'  "records": {{\n{rows(records)}\n  }},\n')
        file.write(f'  "enums": {{\n{rows(enums)}\n  }}\n}}\n')
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
