"""Whether gdb can give a thread all its registers back; tried before the first call in the target."""

from __future__ import annotations

import os

import gdb
from dualdbg_helpers import language

_MISSING = "DUALDBG_WHOLE_STATE_MISSING"  # dualdbg/target/whole_state.py
_INSTEAD = "a gdb 14 or later, named with --gdb PATH"
_REGISTER = "$xmm15.v2_int64[1]"
_restorable = False  # has been tried in this gdb


def check_restorable() -> None:
    """Raises an error where gdb cannot write vector registers. The selected frame is the innermost of its thread.

    After a call gdb writes the changed registers back. Where that fails, the program goes on with the registers of the
    called function, and an interrupted system call returns a number that only the kernel should see. So one bit is
    changed, and changed back, before the first call.
    """
    global _restorable
    if _restorable or not gdb.selected_inferior().architecture().name().startswith("i386:x86-64"):
        return
    language.evaluate(_REGISTER)  # a failure here has other reasons
    try:
        for _ in range(2):
            language.evaluate("%s = %s ^ 1" % (_REGISTER, _REGISTER))
    except gdb.error as error:
        why, _, instead = os.environ.get(_MISSING, "").partition("\n")
        because = "%s; %s" % (str(error).rstrip("."), why) if why else str(error).rstrip(".")
        raise gdb.GdbError(
            "nothing was called in the program: gdb %s could not give it back its vector registers (%s)\n  %s"
            % (gdb.VERSION, because, instead or _INSTEAD)
        ) from None
    _restorable = True
