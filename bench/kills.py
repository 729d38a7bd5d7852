"""Random kills: a process of a session gets KILL, TERM, HUP, or STOP and later CONT, and nothing may be left behind.

``python -m bench kills --count N --seed S --jobs J``. Each number from S on is one session, and decides by itself what
is started, who is killed, how and when. A failure is printed with its number, which repeats it: ``--seed NUMBER --count
1``. After each session there must be no process of it, no file, no terminal in another mode than before, no harm to a
program that was attached to, no traceback, and the exit status that docs/command-line.md promises.
What docs/security.md names as a limit of a ``kill -9`` of gdb is printed, and counted apart.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench._front_ends import FRONT_ENDS, FrontEnd
from bench.campaign import Failures, failures, run
from dualdbg.snapshot.linux.repair import find_traps
from dualdbg.system.patience import patient

ROOT = Path(__file__).resolve().parent.parent
MARK = "DUALDBG_KILLS"  # in the environment of every process of one session
LIMIT = "a limit: "
DEADLINE = patient(90.0)  # seconds for whatever has to happen; a loaded machine is slow, a hang is for ever

# The launched program and its child; the child of an attached one is no business of ours.
PROGRAM = """\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, sys.argv[1], "x"]) if len(sys.argv) > 1 else None
while True:
    time.sleep(0.005)
"""
# Notes each signal that it gets, and beats while it is well.
ATTACHED = """\
import os, signal, subprocess, sys, time
folder, child = sys.argv[1:]
def note(number, frame):
    with open(os.path.join(folder, "signals"), "a") as file:
        file.write(signal.Signals(number).name + "\\n")
for name in ("HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "ALRM", "CONT", "WINCH"):
    signal.signal(getattr(signal, "SIG" + name), note)
subprocess.Popen([sys.executable, child, "x"])
while True:
    with open(os.path.join(folder, "beat"), "w") as file:
        file.write(str(time.monotonic()))
    time.sleep(0.005)
"""
CHILD = "import time\nwhile True:\n    time.sleep(0.005)\n"


@dataclass(frozen=True)
class Kill:
    """One session, as its number decides. ``last`` ends a dualdbg that nothing else has ended."""

    seed: int
    front_end: str
    start: str
    stopped: bool
    victim: str
    number: signal.Signals
    delay: float  # seconds from the moment at which the victim is there
    pause: float  # from STOP to CONT
    last: signal.Signals

    @classmethod
    def of(cls, seed: int) -> Kill:
        dice = random.Random(seed)
        front_end = dice.choice(sorted(FRONT_ENDS))
        start = dice.choice(["launched", "followed", "attached"])
        victim = dice.choice(["dualdbg", "gdb", "target", "child"])
        may_stop = front_end != "batch" and (victim != "child" or start == "attached")
        return cls(
            seed,
            front_end,
            start,
            dice.random() < 0.4 and may_stop,
            victim,
            dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSTOP]),
            dice.choice([0.0, dice.uniform(0, 0.3), dice.uniform(0, 2)]),
            dice.uniform(0.1, 1),
            dice.choice([signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]),
        )

    def __str__(self) -> str:
        state = "stopped" if self.stopped else "running"
        return (
            f"{self.seed}: {self.front_end}, {self.start}, {state}; {self.number.name} to {self.victim} after "
            f"{self.delay:.2f} s; {self.last.name} at the end"
        )

    @property
    def ends_session(self) -> set[int]:
        """The statuses that the kill itself may lead to; none when the session is to go on."""
        if self.number is signal.SIGSTOP or self.victim == "child":
            return set()
        if self.victim == "gdb":
            return {3}
        if self.victim == "target" and self.start == "attached" and self.number is not signal.SIGKILL:
            return set()  # it has handlers
        return {128 + self.number}


class Harm(Exception):
    """What is not as it should be after a kill."""


class Limit(Harm):
    """Harm that only gdb could have prevented, which was killed with -9: docs/security.md says so."""


# How a program ends that meets a breakpoint of a gdb that is gone, or continues behind its first byte.
OF_A_BREAKPOINT = (-signal.SIGTRAP, -signal.SIGSEGV, -signal.SIGILL)


class Scene:
    """The folders, programs and processes of one session."""

    def __init__(self, kill: Kill, folder: Path) -> None:
        self.kill = kill
        self.mark = uuid.uuid4().hex
        self.work, self.temporary, self.home = (folder / name for name in ("work", "tmp", "home"))
        for one in (self.work, self.temporary, self.home):
            one.mkdir()
        self.program, self.attached, self.child = (
            folder / f"{name}.py" for name in ("program", "attached", "child")
        )
        self.program.write_text(PROGRAM)
        self.attached.write_text(ATTACHED)
        self.child.write_text(CHILD)
        self.target: subprocess.Popen[bytes] | None = None  # that is attached to
        self.environment = {
            **os.environ,
            MARK: self.mark,
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.temporary),
            "XDG_STATE_HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "TERM": "xterm-256color",
            "PYTHONFAULTHANDLER": "1",  # says where one stands that hangs
        }

    def begin(self) -> FrontEnd:
        """Start dualdbg, and what it attaches to."""
        kill = self.kill
        if kill.start == "attached":
            words = [sys.executable, str(self.attached), str(self.home), str(self.child)]
            own = {**self.environment, "TMPDIR": str(self.home)}
            self.target = subprocess.Popen(words, env=own, stdin=subprocess.DEVNULL, cwd=self.home)
            self.until(lambda: (self.home / "beat").exists(), "the program beats")
            return FRONT_ENDS[kill.front_end].attach(self, self.target.pid)
        return FRONT_ENDS[kill.front_end].run(self, [str(self.program), str(self.child)])

    def find(self, dualdbg: int) -> int | None:
        """The process id of the victim, once it is there."""
        if self.kill.victim == "dualdbg":
            return dualdbg
        if self.target is not None and self.kill.victim == "target":
            return self.target.pid
        if self.kill.victim == "gdb":
            return next((pid for pid, words in self.processes() if Path(words[0]).name == "gdb"), None)
        script = str({"target": self.program, "child": self.child}[self.kill.victim])
        return next((pid for pid, words in self.processes() if words[1:2] == [script]), None)

    def until(self, condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
        """``seconds`` are those of a limit: multiplied already, by :func:`patient`."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Harm(f"not within {seconds:g} s: {what}")
            time.sleep(0.01)

    # -- afterwards -------------------------------------------------------------------------------

    def check(self, front_end: FrontEnd, allowed: set[int]) -> None:
        """Raises Harm."""
        status = front_end.status()
        if status not in allowed:
            raise Harm(f"status {status}, not {sorted(allowed)}")
        self.until(lambda: not self.left(), f"the end of {self.left()}", patient(30))
        self.until(lambda: not self.files(), f"the removal of {self.files()}", patient(10))
        self.until(front_end.is_clean, "the terminal as it was", patient(10))
        if self.target is not None and not (
            self.kill.victim == "target" and self.kill.number is signal.SIGKILL
        ):
            self._check_target(self.target.pid)
        for word in ("Traceback", "did not foresee", "never retrieved", "did not end within"):
            if word in front_end.text():
                raise Harm(f"it wrote {word}")

    def left(self) -> list[str]:
        """The processes that are there but for those that dualdbg was attached to."""
        others = {str(self.attached), str(self.child)} if self.target is not None else set()
        return [
            f"{pid} {' '.join(words)[:200]}" for pid, words in self.processes() if not others & set(words)
        ]

    def processes(self) -> list[tuple[int, list[str]]]:
        """The processes of this session by their mark, with their command lines; zombies do not run any more."""
        found = []
        mark = f"{MARK}={self.mark}".encode()
        for path in Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mark in (path / "environ").read_bytes().split(b"\0"):
                    words = (path / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                    if words != [""]:
                        found.append((int(path.name), words))
            except OSError:  # it has ended, or is another user's
                continue
        return found

    def files(self) -> list[str]:
        return [str(path) for folder in (self.work, self.temporary) for path in folder.iterdir()]

    def _check_target(self, pid: int) -> None:
        def status(name: str) -> str:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            return next(line.split()[1] for line in lines if line.startswith(name + ":"))

        def beats() -> bool:
            before = (self.home / "beat").read_bytes()
            time.sleep(0.1)
            return (self.home / "beat").read_bytes() != before

        gdb_was_killed = self.kill.victim == "gdb" and self.kill.number is signal.SIGKILL
        if self.target is not None and self.target.poll() is not None:
            kind = Limit if gdb_was_killed and self.target.returncode in OF_A_BREAKPOINT else Harm
            raise kind(f"the attached program ended with {self.target.returncode}")
        self.until(lambda: status("TracerPid") == "0", "the attached program is let go of", patient(30))
        self.until(lambda: not find_traps(pid), "its breakpoints are taken out", patient(30))
        self.until(lambda: status("State") not in "Tt", "the attached program runs", patient(10))
        self.until(beats, "the attached program does its work", patient(10))
        noted = self.home / "signals"
        got = set(noted.read_text().split()) if noted.exists() else set()
        sent = {self.kill.number.name, "SIGCONT"} if self.kill.victim == "target" else set()
        if got - sent:
            kind = Limit if gdb_was_killed and got - sent == {"SIGCONT"} else Harm
            raise kind(f"the attached program got {sorted(got - sent)}")

    def clear(self) -> None:
        """End whatever is left, so that one failure does not lead to another."""
        for pid, _ in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self.target is not None:
            self.target.wait()


@contextmanager
def scene(kill: Kill) -> Iterator[Scene]:
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    one = Scene(kill, folder)
    try:
        yield one
    finally:
        one.clear()
        shutil.rmtree(folder, ignore_errors=True)


def play(kill: Kill) -> str:
    """What was wrong; nothing when all was well."""
    with scene(kill) as one:
        front_end = one.begin()
        try:
            _play(kill, one, front_end)
        except Harm as harm:
            front_end.abort()
            kind = LIMIT if isinstance(harm, Limit) else ""
            return f"{kind}{harm}\n    {front_end.text()[-3000:]!r}"
        finally:
            front_end.close()
    return ""


def _play(kill: Kill, one: Scene, front_end: FrontEnd) -> None:
    one.until(lambda: front_end.has_ended() or one.find(front_end.pid) is not None, f"the {kill.victim}")
    time.sleep(kill.delay)
    victim = one.find(front_end.pid)
    if victim is None or (kill.victim == "dualdbg" and front_end.has_ended()):
        raise Harm(f"no {kill.victim}: dualdbg has ended with {front_end.status()}")
    os.kill(victim, kill.number)
    if kill.number is signal.SIGSTOP:
        time.sleep(kill.pause)
        os.kill(victim, signal.SIGCONT)
    allowed = kill.ends_session
    if kill.start == "attached" and kill.victim == "target":
        allowed = allowed | {3}  # it was gone before anybody could attach
    if kill.start == "attached" and kill.front_end == "batch":
        allowed = allowed | {0}  # the program was let go of: its commands were done
    by_itself = kill.victim == "dualdbg" and bool(kill.ends_session)
    try:
        one.until(front_end.has_ended, "the end of dualdbg", DEADLINE if by_itself else patient(2))
    except Harm:
        if by_itself:
            raise
        allowed = allowed | {128 + kill.last}
        os.kill(front_end.pid, kill.last)
        one.until(front_end.has_ended, f"the end of dualdbg after {kill.last.name}")
    one.check(front_end, allowed)


def campaign(seeds: range, jobs: int) -> Failures[Kill]:
    """Plays all of them, prints what was wrong, and returns it."""
    kills = [Kill.of(seed) for seed in seeds]
    with ThreadPoolExecutor(jobs) as pool:
        return _without_limits(failures(kills, pool.map(play, kills)))


def _without_limits(found: Failures[Kill]) -> Failures[Kill]:
    """Prints how many there were of them."""
    wrong = [row for row in found if not row[1].startswith(LIMIT)]
    if len(found) > len(wrong):
        print(f"{len(found) - len(wrong)} met a limit that docs/security.md names")
    return wrong


def _kinds(found: Failures[Kill]) -> str:
    kinds = Counter(wrong.split("\n")[0].split(":")[0][:40] for _, wrong in found)
    return f"{len(found)} failures {dict(kinds) or ''}"


def main(words: list[str] | None = None) -> int:
    return run("kills", __doc__, campaign, _kinds, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
