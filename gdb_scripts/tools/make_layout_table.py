"""Writes the layout table of an installed PyTorch: ``python make_layout_table.py TORCH_FOLDER``.

TORCH_FOLDER is the installed package (the folder with ``include`` and ``lib``). Needs ``g++`` and
``gdb``; the table goes to ``dualdbg_helpers/layout/tables``, where the helpers find it by version.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dualdbg_helpers.layout import installation, types_object, wanted


def rows(mapping):
    return ",\n".join("    {}: {}".format(json.dumps(k), json.dumps(v)) for k, v in sorted(mapping.items()))


def main(root):
    found = installation.Installation(root, installation.version_of(root), True)
    if found.version is None:
        sys.exit("{} is no PyTorch installation: its version is not there.".format(root))
    maker = types_object.TypesObject(found)
    records, enums = {}, {}
    for part in wanted.PARTS:
        made = maker.build(part)
        records.update(made.records)
        enums.update(made.enums)
    path = Path(types_object.__file__).parent / "tables" / "torch-{}.json".format(found.version)
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '{{\n  "torch": {},\n  "records": {{\n{}\n  }},\n  "enums": {{\n{}\n  }}\n}}\n'.format(
                json.dumps(found.version), rows(records), rows(enums)
            )
        )
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
