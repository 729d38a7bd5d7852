"""Whether gdb can give a thread all its registers back; tried before the first call in the target."""

from __future__ import annotations

import os
import struct

import gdb
from dualdbg_helpers import language

_MISSING = "DUALDBG_WHOLE_STATE_MISSING"  # dualdbg/target/whole_state.py
_INSTEAD = "a gdb 14 or later, named with --gdb PATH"
_REGISTER = "xmm15"
_WRITTEN = "dualdbg_register"  # a convenience variable of gdb
_restorable = False  # has been tried in this gdb


def check_restorable() -> None:
    """Raises an error where gdb cannot write vector registers. The selected frame is the innermost of its thread.

    After a call gdb writes the changed registers back. Where that fails, the program goes on with the registers of the
    called function, and an interrupted system call returns a number that only the kernel should see. So one bit is
    changed, and changed back, before the first call. No member of the register is named for it: gdb would look for a
    symbol of that name in all files, which takes ten times as long as all the rest.
    """
    global _restorable
    if _restorable or not gdb.selected_inferior().architecture().name().startswith("i386:x86-64"):
        return
    register = gdb.selected_frame().read_register(_REGISTER)  # a failure here has other reasons
    words = [int(register["v2_int64"][index]) for index in range(2)]
    try:
        for word in (words[1] ^ 1, words[1]):
            value = gdb.Value(struct.pack("=qq", words[0], word), register.type)
            gdb.set_convenience_variable(_WRITTEN, value)
            language.evaluate("$%s = $%s" % (_REGISTER, _WRITTEN))
    except gdb.error as error:
        why, _, instead = os.environ.get(_MISSING, "").partition("\n")
        because = "%s; %s" % (str(error).rstrip("."), why) if why else str(error).rstrip(".")
        raise gdb.GdbError(
            "nothing was called in the program: gdb %s could not give it back its vector registers (%s)\n  %s"
            % (gdb.VERSION, because, instead or _INSTEAD)
        ) from None
    finally:
        gdb.set_convenience_variable(_WRITTEN, None)
    _restorable = True
