"""Values of Rust of which gdb cannot tell the variant: it is kept from printing them, at which it aborts."""

from __future__ import annotations

from typing import Optional

import gdb

# gdb resolves the type of a value in memory: of the variants that of its discriminant is left. It does not for a value
# that debug info puts together of pieces (DW_OP_piece), and val_print_enum (rust-lang.c) then takes the first field for
# a variant: "Assertion `idx >= 0 && idx < num_fields ()' failed" (gdb 13.1), which ends gdb.
TEXT = "<not known: it is kept in parts, of which gdb does not tell the variant>"


class _Undecided:
    def to_string(self) -> str:
        return TEXT


def register() -> None:
    """From now on gdb prints such values, also as parts of others, as not known."""
    gdb.pretty_printers.insert(0, _printer)


def _printer(value: gdb.Value) -> Optional[_Undecided]:
    return _Undecided() if is_undecided(value.type) else None


def is_undecided(type_: gdb.Type) -> bool:
    """Whether this is the type of an enum of Rust with all of its variants, as it is before one was chosen."""
    if type_.code != gdb.TYPE_CODE_STRUCT or not type_.dynamic:
        return False
    fields = type_.fields()
    return len(fields) > 1 and fields[0].artificial and fields[0].name is None
