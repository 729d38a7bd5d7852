"""GCC's own printers for the types of the C++ library, found where its packages put them.

gdb loads them itself when it reads libstdc++. But a session of dualdbg reads libraries as late as possible, and never
the scripts beside libraries.
"""

import re
import sys
from pathlib import Path

import gdb
import gdb.types

from . import in_time, language

_COLLECTION = "libstdc++-v6"  # the name under which they register
# The line of the script beside the library that names their folder: GCC's libstdc++-v3/python/hook.in.
_FOLDER = re.compile(r"^pythondir = '(.+)'$", re.MULTILINE)


def register():
    """gdb knows them from now on. Nothing happens where they are not installed, or are there already."""
    if any(getattr(printer, "name", None) == _COLLECTION for printer in gdb.pretty_printers):
        return
    folder = next((one for one in _folders() if (one / "libstdcxx" / "v6" / "printers.py").is_file()), None)
    if folder is None:
        return
    sys.path.append(str(folder))
    try:
        from libstdcxx.v6 import printers, register_libstdcxx_printers

        register_libstdcxx_printers(None)
        printers.RbtreeIterator.__next__ = _in_time(printers.RbtreeIterator.__next__)
    except Exception as error:  # code of another project, perhaps for another version of gdb
        gdb.write("dualdbg: GCC's printers in %s do not work: %s\n" % (folder, error), gdb.STDERR)


def _in_time(following):
    """In memory that holds no tree, the way to the next node may be a circle: gdb's own ``print`` ends there too."""

    def in_time_following(self):
        found, is_late = in_time.within(lambda: following(self))
        if is_late:
            raise gdb.GdbError(in_time.TOO_LONG)
        return found

    return in_time_following


def _folders():
    data = Path(gdb.parameter("data-directory"))
    for script in sorted(data.glob("auto-load/**/libstdc++.so*-gdb.py")):
        for found in _FOLDER.findall(script.read_text(encoding="utf-8", errors="replace")):
            yield Path(found)
    for root in dict.fromkeys((data.parent, Path("/usr/share"))):
        yield from sorted(root.glob("gcc*/python"), reverse=True)


def type_name(type_):
    """A type as people write it: ``std::string`` and its kin by their short names."""
    if not language.is_like_ours():
        return str(type_)
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_PTR):
        signs = {gdb.TYPE_CODE_REF: " &", gdb.TYPE_CODE_RVALUE_REF: " &&", gdb.TYPE_CODE_PTR: " *"}
        return type_name(type_.target()) + signs[type_.code]
    name = gdb.types.apply_type_recognizers(gdb.types.get_type_recognizers(), type_.unqualified())
    if name is None:
        return str(type_)
    return ("const " if str(type_).startswith("const ") else "") + name
