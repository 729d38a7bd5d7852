"""Finds out why the native engine could not begin, where gdb's own words say too little.

What this takes is imported when it is needed: in a session that starts it never is.
"""

from __future__ import annotations

from ..errors import DualdbgError, EngineError, EngineUnusable, PermissionRefused

_DOCTOR = "dualdbg doctor looks at gdb; --gdb PATH names another"


def gdb_unusable(executable: str, error: DualdbgError) -> EngineError:
    """What is wrong with a gdb that did not start: there is none, it is too old, or it has no Python."""
    from ..target import doctor

    if type(error) is EngineError:  # it says already what is wrong
        return error
    for finding in doctor.check_gdb(executable):
        if finding.status is doctor.Status.ERROR:
            return EngineUnusable(finding.text, finding.fix)
    return EngineError(f"{executable} did not start: {error.message}", error.hint or _DOCTOR)


def attach_refused(pid: int, error: DualdbgError, launched: bool = False) -> DualdbgError:
    """Why gdb may not trace the process. Where the kernel would allow it: gdb's own words.

    ``launched``: we have started the process, so it has named us as its tracer.
    """
    from ..target import ptrace
    from ..target.permission import LOWER_FOR_RUN, ScopeRefused

    try:
        ptrace.check(pid)
    except ScopeRefused as reason:
        return PermissionRefused(reason.message, LOWER_FOR_RUN) if launched else reason
    except DualdbgError as reason:
        return reason
    return EngineError(f"gdb cannot attach to process {pid}: {error.message}", _DOCTOR)
