"""Text on its way from a node: gzip in lines of base64, behind a heading. Lines around it do no harm."""

from __future__ import annotations

import base64
import gzip
import re

HEADING = b"dualdbg-packed 1 "
END = b"."
_COLUMNS = 1000
_LEVEL = 6


def pack(text: str, version: str) -> str:
    """The text, packed. ``version`` is that of the dualdbg which packs it."""
    body = base64.b64encode(gzip.compress(text.encode(), _LEVEL)).decode()
    lines = [body[at : at + _COLUMNS] for at in range(0, len(body), _COLUMNS)]
    return "\n".join([HEADING.decode() + version, *lines, END.decode(), ""])


def unpack(sent: bytes) -> tuple[bytes, str] | None:
    """The gzip file in what a node sent, and the version of dualdbg there; None where there is no whole one.

    Raises ValueError where the lines are no base64.
    """
    found = re.search(rb"^" + re.escape(HEADING) + rb"([0-9A-Za-z.+-]{1,40})\r?\n", sent, re.MULTILINE)
    if found is None:
        return None
    body, dot, _ = sent[found.end() :].replace(b"\r", b"").partition(b"\n" + END + b"\n")
    return (base64.b64decode(body.replace(b"\n", b""), validate=True), found[1].decode()) if dot else None
