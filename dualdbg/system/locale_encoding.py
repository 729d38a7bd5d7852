"""How to read what programs of this user write: in the encoding of the locale, as a terminal of theirs does."""

from __future__ import annotations

import codecs
import locale


def written_in() -> str:
    """The name of the encoding. UTF-8 where the locale has ASCII alone, of which it is the extension that all use."""
    name = codecs.lookup(locale.getpreferredencoding(False)).name
    return "utf-8" if name == "ascii" else name


def new_decoder() -> codecs.IncrementalDecoder:
    """For text that comes in pieces. What cannot be decoded becomes U+FFFD."""
    return codecs.getincrementaldecoder(written_in())("replace")


def decoded(data: bytes) -> str:
    """The whole text, or all that is there of it; what cannot be decoded becomes U+FFFD."""
    return data.decode(written_in(), "replace")
