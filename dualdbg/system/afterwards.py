"""What is done when this process has ended, in whatever way: one small shell waits for that, and has a list of duties.

It waits on a pipe whose other end only we hold: the kernel closes that end even after `kill -9`. It runs in a session
of its own, so neither Ctrl-C nor a closed terminal reaches it. It ends when nothing is left to do.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import TargetError
from ..shared.proc_files import stat_of
from .environment import for_tools
from .patience import patient
from .shortage import shortage
from .waking import wake

# For other scripts too: `lives PID START`. START is when the process began, field 22 of /proc/PID/stat (proc(5)):
# another process may have got the number. What has ended and was not collected yet has no /proc/PID/exe.
LIVES = r"""
is_it() {
    read -r line 2> /dev/null < "/proc/$1/stat" || return
    wanted=$2
    set -- ${line##*") "}
    [ "${20}" = "$wanted" ]
}
lives() { [ -e "/proc/$1/exe" ] && is_it "$1" "$2"; }
"""

# A line is a duty: NUMBER VERB ARGUMENTS. A later line of the same number takes its place.
#   end PID START   end this process if it has not ended within five seconds, and what is left of its group
#   remove PATH     remove a folder
#   drop            nothing
_SCRIPT = (
    LIVES
    + r"""
kill_it() {
    if [ ! -e "/proc/$1" ] || is_it "$1" "$2"; then kill -s KILL -- "-$1"; fi  # else the number is another's by now
    if lives "$1" "$2"; then kill -s KILL "$1"; fi  # it leads no group
}
end() {
    trap - EXIT
    tries=0
    while lives "$1" "$2" && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill_it "$1" "$2"
    tries=0  # a signal takes its time, and what it ends may make one more file meanwhile
    while { lives "$1" "$2" || kill -s 0 -- "-$1"; } && [ $tries -lt 20 ]; do sleep 0.1; tries=$((tries + 1)); done
}
last=0
each() {  # does all duties, in the way $1
    way=$1 number=0
    set --  # the folders, for one rm
    while [ $number -lt $last ]; do
        number=$((number + 1))
        eval "verb=\${verb_$number-} arguments=\${arguments_$number-}"
        case $way:$verb in
            patiently:end) end $arguments & ;;
            patiently:remove) rm -rf -- "$arguments" || rm -rf -- "$arguments" ;;
            at-once:end) kill_it $arguments ;;
            at-once:remove) set -- "$@" "$arguments" ;;
        esac
    done
    case $way in at-once) exec rm -rf -- "$@" ;; esac
}
while read -r number verb arguments; do
    eval "verb_$number=\$verb arguments_$number=\$arguments"
    if [ "$number" -gt $last ]; then last=$number; fi
done
# Once more, by builtins and rm in our place: there may be no process to be had, which ends the shell at `each
# patiently`. Else what has ended by now may have made files meanwhile.
trap 'trap - EXIT; each at-once' EXIT
each patiently
wait
"""
)


_LAST_DEADLINE = patient(60)  # seconds; longer than all that may take its time at the end


@dataclass(frozen=True)
class Duty:
    """One thing that is to be done when we are gone; ``drop`` takes it back."""

    number: int

    def drop(self) -> None:
        """Take it back: it is not done any more."""
        _LIST.drop(self.number)


def end(pid: int) -> Duty | None:
    """Process ``pid``, a child of ours, is ended some seconds after us if it is there still; None: it has ended."""
    began = began_at(pid)
    return _LIST.add(f"end {pid} {began}") if began is not None else None


def remove(folder: Path) -> Duty:
    """``folder`` is removed with all that is in it. Its path must have no newline."""
    return _LIST.add(f"remove {folder}")


def end_us_at_last(status: int) -> None:
    """Called when a signal has asked us to end. We end in any case: what is not done by then others do, as above.

    A signal does it, because a defect by which we do not end may be one of the event loop, and because there may be no
    thread to be had. For the main thread.
    """
    signal.signal(signal.SIGALRM, lambda number, frame: _end_us(status))
    signal.setitimer(signal.ITIMER_REAL, _LAST_DEADLINE)


def _end_us(status: int) -> None:
    with suppress(OSError):  # there may be nobody who reads it
        os.write(2, b"dualdbg: it did not end within %d s of the signal, and is ended\n" % _LAST_DEADLINE)
    os._exit(status)


def began_at(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did; None: it has ended."""
    try:
        return stat_of(pid).began
    except OSError:
        return None


class _List:
    """The duties, here and in the shell. A shell that somebody has ended is replaced with the next change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._duties: dict[int, str] = {}
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, text: str) -> Duty:
        with self._lock:
            number = next(self._numbers)
            self._duties[number] = text
            self._tell(number, text)
            return Duty(number)

    def drop(self, number: int) -> None:
        with self._lock:
            if self._duties.pop(number, None) is None:
                return
            self._tell(number, "drop")
            if not self._duties:
                self._dismiss()

    def _tell(self, number: int, text: str) -> None:
        if self._shell is not None:
            try:
                self._write(number, text)
                return
            except BrokenPipeError:
                self._dismiss()
        self._start()
        for one, duty in self._duties.items():
            self._write(one, duty)

    def _write(self, number: int, text: str) -> None:
        assert self._shell is not None and self._shell.stdin is not None
        os.write(self._shell.stdin.fileno(), b"%d %s\n" % (number, os.fsencode(text)))

    def _start(self) -> None:
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "dualdbg-guard"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=for_tools(os.environ),
                start_new_session=True,
            )
        except OSError as error:
            known = shortage(error)
            hint = known.hint if known is not None else ""
            raise TargetError(f"/bin/sh cannot be started: {error.strerror}", hint) from error

    def _dismiss(self) -> None:
        shell, self._shell = self._shell, None
        assert shell is not None and shell.stdin is not None
        shell.stdin.close()
        wake(shell)
        shell.wait()


_LIST = _List()
