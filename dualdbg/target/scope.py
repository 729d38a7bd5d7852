"""Lowers Yama's ptrace_scope for a moment, with sudo where we are not root, and has it put back however we end.

A shell that runs as root does it, on our request. It puts the old value back when it is told to, when its time is over,
and when its input ends, which the kernel sees to even after `kill -9`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ..errors import DualdbgError, PermissionRefused
from ..system.patience import patient
from ..system.waking import wake
from . import ptrace
from .permission import YAMA_SCOPE, ScopeRefused, yama_scope

LONGEST = patient(60.0)  # seconds that the scope stays lowered, whatever we do
_LOOK_AGAIN = 0.05  # seconds between two tries while another dualdbg has it lowered
_WITHOUT_QUESTION = "-n"

# Runs as root. No signal of a terminal ends or stops it, nor does it matter that nobody hears its answers any more.
# Its lock keeps a second dualdbg from taking the lowered value for the old one; only root can take it, so nobody else
# can keep us waiting. A value that somebody has set meanwhile stays. `read` with a time limit is not in every sh.
_ROOTS_SHELL = """
trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE ALRM USR1 USR2
file=$1 longest=$2 lock=/run/dualdbg-ptrace-scope locks=
umask 077
say() { echo "$1" 2> /dev/null; }
if command -v flock > /dev/null && ( : >> "$lock" ) 2> /dev/null; then
    exec 9>> "$lock"
    locks=yes
fi
limit=
if command -v timeout > /dev/null; then limit="timeout -s KILL $longest"; fi
say ready
while read -r word; do
    if [ "$word" != lower ]; then continue; fi
    if [ -n "$locks" ] && ! flock -n 9; then say busy; continue; fi
    old=$(cat "$file")
    if [ "$old" = 0 ] || echo 0 > "$file"; then
        say "lowered $old"
        $limit /bin/sh -c 'read -r _' 2> /dev/null
        if [ "$old" != 0 ] && [ "$(cat "$file")" = 0 ]; then echo "$old" > "$file"; fi
        say "now $(cat "$file")"
    else
        say refused
    fi
    if [ -n "$locks" ]; then flock -u 9; fi
done
"""


def command_to_set(scope: int) -> str:
    """What a user types to set the scope."""
    return f"sudo sysctl kernel.yama.ptrace_scope={scope}"


def in_the_way(pids: Iterable[int]) -> ScopeRefused | None:
    """The first refusal that a lower scope would lift; None where there is none."""
    for pid in pids:
        try:
            ptrace.check(pid)
        except ScopeRefused as refusal:
            return refusal
        except DualdbgError:
            continue  # another reason, which who wants to trace it will be told
    return None


def announcement(scope: int, until: str) -> str:
    """What is about to be changed, and for how long. ``until`` ends the sentence: ``gdb has attached``."""
    return (
        f"kernel.yama.ptrace_scope is {scope}. It is set to 0 with sudo until {until}, for {LONGEST:g} s at most, and "
        f"then to {scope} again. Meanwhile every program may trace the other programs of its user."
    )


class Lowering:
    """A shell, run as root, that lowers the scope. Making the object starts it, and sudo may ask then.

    :meth:`close` ends the shell. It puts the scope back where that was not done. ``ask``: sudo may ask for a
    password, which needs a terminal. Raises PermissionRefused when we cannot become root.
    """

    def __init__(self, ask: bool = True) -> None:
        self._closed = False
        self._old = 0
        scope = yama_scope()
        command = ["/bin/sh", "-c", _ROOTS_SHELL, "dualdbg-ptrace-scope", str(YAMA_SCOPE), f"{LONGEST:g}"]
        try:
            self._shell = subprocess.Popen(
                [*_becoming_root(ask), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                cwd="/",
            )
        except OSError as error:
            raise _by_hand(f"root's shell cannot be started: {error.strerror}", scope) from error
        if self._hear() != ["ready"]:
            self.close()
            without = "" if ask else " without asking for a password, for which there is no terminal here"
            status = self._shell.returncode
            raise _by_hand(f"sudo did not make us root{without} (it ended with {status})", scope)

    @contextmanager
    def lowered(self) -> Iterator[None]:
        """The scope is 0 in this block. Raises PermissionRefused when it cannot be changed, or was not put back."""
        self.lower()
        try:
            yield
        finally:
            self.put_back()

    def lower(self) -> None:
        """Set it to 0, after another dualdbg that has it lowered. Ends early when another thread calls ``close``."""
        end = time.monotonic() + LONGEST
        while True:
            answer = self._ask("lower")
            if answer != ["busy"] or self._closed:
                break
            if time.monotonic() > end:
                raise PermissionRefused(
                    f"another dualdbg has ptrace_scope lowered, and did not put it back within {LONGEST:g} s",
                    "try again",
                )
            time.sleep(_LOOK_AGAIN)
        if answer[:1] != ["lowered"]:
            raise _by_hand("root could not lower it", yama_scope())
        self._old = int(answer[1])

    def put_back(self) -> None:
        """Set it to what it was. Raises PermissionRefused when it is still 0."""
        if not self._closed and self._ask("put back") == ["now", "0"] and self._old:
            raise PermissionRefused(f"ptrace_scope was {self._old} and is 0 now", command_to_set(self._old))

    def close(self) -> None:
        """Root's shell ends, after it has put back what is not. May be called again."""
        self._closed = True
        assert self._shell.stdin is not None and self._shell.stdout is not None
        self._shell.stdin.close()
        wake(self._shell)
        self._shell.wait()
        self._shell.stdout.close()

    def _ask(self, word: str) -> list[str]:
        """Root's answer; empty when its shell has ended."""
        assert self._shell.stdin is not None
        try:
            self._shell.stdin.write(f"{word}\n".encode())
            wake(self._shell)
            return self._hear()
        except (BrokenPipeError, ValueError):  # somebody ended it; we have closed it
            return []

    def _hear(self) -> list[str]:
        assert self._shell.stdout is not None
        return self._shell.stdout.readline().decode().split()


def _becoming_root(ask: bool) -> list[str]:
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        raise _by_hand("there is no sudo to lower it with", yama_scope())
    prompt = "dualdbg lowers kernel.yama.ptrace_scope for a moment; password of %p for sudo: "
    return [sudo, "-p", prompt, "--"] if ask else [sudo, _WITHOUT_QUESTION, "--"]


def _by_hand(why: str, scope: int | None) -> PermissionRefused:
    hint = f"set it as root, before: {command_to_set(0)}, and after: {command_to_set(scope or 1)}"
    return PermissionRefused(
        f"Yama's ptrace_scope is {scope}: {why}", f"{hint} (in a container: on its host)"
    )


def lowering_for(
    pids: Iterable[int], until: str, tell: Callable[[str], None], ask: bool = True
) -> Lowering | None:
    """What lowers the scope where that is needed for one of ``pids``; it was told before. None where it is not."""
    refusal = in_the_way(pids)
    if refusal is None:
        return None
    tell(announcement(refusal.scope, until))
    return Lowering(ask)
