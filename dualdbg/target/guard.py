"""A small shell in a separate session. It does one thing when dualdbg has ended, in whatever way.

It waits on a pipe whose other end only dualdbg holds: the kernel closes that end even after `kill -9`.
"""

from __future__ import annotations

import os
import subprocess

from dualdbg.errors import TargetError
from dualdbg.system.environment import for_tools
from dualdbg.system.shortage import shortage
from dualdbg.system.waking import wake

# The first line names what to kill: PID, or -PGID for a process group. A second line calls it off.
KILL_TARGET = 'read target || exit 0; read released && exit 0; kill -s KILL -- "$target"'


class Guard:
    """Runs ``script`` in /bin/sh with its standard input from dualdbg; the script acts when that ends.

    ``output`` is the descriptor that becomes the script's standard output, for a script that writes; ``inherited``
    are others that it gets under their own numbers.
    """

    def __init__(
        self, script: str, output: int = subprocess.DEVNULL, inherited: tuple[int, ...] = ()
    ) -> None:
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", script, "dualdbg-guard"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=for_tools(os.environ),
                pass_fds=inherited,
                start_new_session=True,  # neither Ctrl-C nor a closed terminal reaches it
            )
        except OSError as error:
            known = shortage(error)
            why, hint = (known.message, known.hint) if known else (error.strerror, "")
            raise TargetError(f"/bin/sh cannot be started: {why}.", hint) from error

    @property
    def pipe(self) -> int:
        """The descriptor to write the script's input to; a forked child may do that too."""
        assert self._shell.stdin is not None
        return self._shell.stdin.fileno()

    def release(self) -> None:
        """Calls it off: the shell ends and does nothing. May be called again."""
        if self._shell.stdin is None or self._shell.stdin.closed:
            return
        try:
            os.write(self.pipe, b"released\n")
        except BrokenPipeError:
            pass  # somebody ended the shell, so it does nothing
        self.close()

    def close(self) -> None:
        """Lets it act now, and waits until it has."""
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        wake(self._shell)
        self._shell.wait()
