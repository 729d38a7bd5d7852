"""What is known of the target and of who holds it. Pure: no I/O, no clock.

One writer: the loop (``loop.py``) calls the transitions one at a time, and performs the effects that they return. The
transitions are functions of a :class:`TargetState`, in ``transitions/``.

    grip      gdb                                         debugpy
    FREE      lets the target run                         answers
    JUDGING   holds it; what the stop means is read       answers when the target runs again, in a moment
    HALTED    holds it for work of ours                   the same
    SHOWN     holds it for the user                       mute: nothing may be asked of it

Each transition says from where it leads and where to (``transition_table.py``); docs/design/states.md has the table.

A native stop wins over a Python one: a thread that debugpy holds meanwhile waits in ``python_holds`` and is shown when
gdb lets go. None is lost, and none is decided twice: what was decided is kept with the hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from ..backends.native import Move
from ..errors import WrongState
from ..model import Exit, Language, Notice, Reason, Resumed, State, Stop, Stopped
from .effects import AfterStop, Effects, Forget, Halt, PrepareNative, Tell
from .stepping.step import Step
from .stops.classifier import Situation
from .stops.facts import NativeFacts, NativeHold, Picture, PythonHold, Show

OVER = (State.EXITED, State.DETACHED, State.LOST)
STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)
_PASSED_OVER = Notice("info", "code of a library was passed over", "dualdbg run --all-code steps into it")
PYTHON_PAUSE_LOOK = 1.0  # seconds until gdb looks whether a program that debugpy was to pause has left Python


class Grip(Enum):
    """What gdb does with the target; see the table above."""

    FREE = "free"
    JUDGING = "judging"
    HALTED = "halted"
    SHOWN = "shown"


@dataclass
class Pause:
    """How far the user's wish for a stop is.

    ``natively``: gdb's next stop serves it. ``in_python``: debugpy was asked to pause the program, and ``looks`` counts
    how often gdb has looked how far it is. ``refused``: debugpy has refused.
    """

    natively: bool = False
    in_python: bool = False
    refused: bool = False
    looks: int = 0


@dataclass(frozen=True)
class Departure:
    """A native stop that is being left. It is shown again if gdb refuses to go on."""

    epoch: int
    stop: Stop
    native: NativeHold | None


@dataclass(frozen=True)
class Left:
    """What debugpy held before it was asked to go on, for what step, and the epoch since then.

    debugpy may refuse later, also after a native stop. It has not refused when it stops again. ``untold`` is the stop
    that was left where nobody hears of that before debugpy has agreed.
    """

    epoch: int
    python_holds: dict[int, PythonHold]
    step: Step | None = None
    untold: Stop | None = None


@dataclass
class TargetState:
    """One target. ``seconds`` gives the time since the start of dualdbg, the one thing that is asked from outside."""

    pid: int
    seconds: Callable[[], float]
    phase: State = State.STARTING
    grip: Grip = Grip.FREE
    epoch: int = 0
    stop: Stop | None = None
    exit: Exit | None = None
    programs: int = 0  # how often the process has replaced its program with another (exec)
    # What gdb holds.
    native: NativeHold | None = None  # the native stop that is shown
    facts: NativeFacts | None = None  # of gdb's last stop: one that is read, is shown, or was made for a halt
    prepared: PrepareNative | None = None  # what is read of a native stop that is to be told
    departure: Departure | None = None  # the native stop that the user has left; gdb has not let go yet
    # What debugpy holds.
    python_holds: dict[int, PythonHold] = field(default_factory=dict)  # by debugpy's number of the thread
    reading: PythonHold | None = None  # the one whose turn it is
    left: Left | None = None  # what debugpy held before it was asked to go on
    passed_over: bool = False  # it has stepped over code of a library since the target runs
    owed: int = 0  # answers of debugpy that a native stop holds up
    entry_expected: bool = False  # the next Python stop is the program's entry
    # Who wants the target to stand still.
    halts: list[Halt] = field(default_factory=list)  # those that have not come
    holder: Halt | None = None  # the one whose work is under way
    pause: Pause = field(default_factory=Pause)
    pause_owed: bool = False  # debugpy was asked to pause, and has not stopped for it yet
    interrupt_sent: bool = False  # gdb was asked to interrupt the target since that last ran
    interrupt_pauses: bool = True  # Ctrl-C in the target's terminal is meant for us
    letting_go: bool = False  # gdb is detaching
    signal_owed: bool = False  # the program was sent a SIGINT, and gets it when it runs on
    # The step under way.
    step: Step | None = None
    gdb_steps: bool = False  # gdb ends it by itself
    again: Move | None = None  # what gdb does for it when the target runs on; else it continues
    debugpy_step: Step | None = None  # the one that debugpy is to end, perhaps of an earlier command
    leaving: Step | None = None  # it goes on after an exception, and leaves first what it had called

    # -- questions --------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether the target is gone or out of our hands."""
        return self.phase in OVER

    @property
    def is_mute(self) -> bool:
        """Whether gdb holds the target for the user: debugpy answers nothing."""
        return self.grip is Grip.SHOWN or self.phase is State.NATIVE_STOPPED

    def require(self, *phases: State) -> None:
        """Raises WrongState unless the target is in one of ``phases``."""
        if self.phase in phases:
            return
        if self.phase in (State.RUNNING, State.STARTING):
            raise WrongState("the target is running", "pause it first: press Ctrl-C, or type pause")
        if self.phase in STOPPED:
            raise WrongState("the target is stopped", "type continue")
        raise WrongState(f"the target has ended ({self.phase.value})", "type quit")

    def require_stopped(self) -> Stop:
        """The stop. Raises WrongState unless the target is stopped."""
        self.require(State.PYTHON_STOPPED, State.NATIVE_STOPPED)
        assert self.stop is not None
        return self.stop

    def check(self) -> None:
        """The invariants; the loop asserts them after each transition."""
        stopped = self.phase in STOPPED
        assert (self.stop is not None) == stopped, f"{self.phase} with stop {self.stop}"
        if self.phase is State.NATIVE_STOPPED:
            assert self.native is not None, "a native stop is shown, and nothing is known of it"
            assert self.grip in (Grip.SHOWN, Grip.JUDGING), f"a native stop is shown, and gdb {self.grip}"
            assert self.step is None, f"a native stop is shown, and {self.step} goes on"
        if self.stop is not None:
            assert self.stop.epoch == self.epoch, f"stop of epoch {self.stop.epoch} at {self.epoch}"
        if self.grip is Grip.HALTED:
            assert self.holder is not None, "halted for nobody"
        if self.grip is Grip.SHOWN and self.departure is None:
            assert not self.halts, "a halt is waited for at a stop, which serves as well"
        if self.grip in (Grip.FREE, Grip.HALTED):
            assert self.native is None, f"{self.native} is not shown any more"
        if self.grip is Grip.FREE:
            assert self.holder is None or self.is_over, "the target runs during work of ours"
        if self.departure is not None:
            assert self.phase is State.RUNNING, f"leaving in {self.phase}"
        if self.prepared is not None:
            assert self.phase is State.RUNNING, f"a stop is to be told in {self.phase}"
            assert self.grip in (Grip.SHOWN, Grip.JUDGING), f"a stop is to be told, and gdb {self.grip}"
        assert self.owed >= 0, f"{self.owed} answers are owed"
        if self.is_over:
            assert self.grip is Grip.FREE and not self.python_holds and not self.halts, "held after the end"

    def kept(self) -> Callable[[], None]:
        """What puts the state back to what it is now: an entry takes place as a whole, or not at all."""
        left = self.left.python_holds.values() if self.left is not None else ()
        parts = (self, self.pause, *self.python_holds.values(), *left)
        if self.reading is not None:
            parts = (*parts, self.reading)
        before = [(part, dict(vars(part))) for part in parts]
        holds, halts = dict(self.python_holds), list(self.halts)

        def restore() -> None:
            for part, values in before:
                vars(part).update(values)
            self.python_holds, self.halts = holds, halts

        return restore

    def situation(self) -> Situation:
        """What the classifier needs to know of the state."""
        pause = self.pause
        return Situation(
            halting=bool(self.halts) or self.holder is not None,
            pausing=pause.natively,
            shown=self.phase is State.NATIVE_STOPPED or self.prepared is not None,
            python_holds=bool(self.python_holds),
            paused_in_python=pause.in_python,
            pause_refused=pause.refused,
            pause_owed=self.pause_owed,
            looks=pause.looks,
            interrupt_pauses=self.interrupt_pauses,
            entry_expected=self.entry_expected,
            step=self.step,
            debugpy_steps=self.debugpy_step is not None,
            leaving=self.leaving,
        )

    # -- changes that several transitions share ---------------------------------------------------

    def leave(self) -> None:
        """The target runs for the user; what belongs to the stop is stale."""
        self.phase, self.stop = State.RUNNING, None
        self.epoch += 1
        self.pause, self.passed_over = Pause(), False

    def settle(self, completed: bool) -> None:
        """No step is under way any more. ``completed``: debugpy does not work on it any more either."""
        self.step, self.gdb_steps, self.again = None, False, None
        if completed:
            self.debugpy_step = None

    def stop_of(self, origin: Language, show: Show, picture: Picture) -> Stop:
        """A stop of this epoch, as front ends hear of it."""
        return Stop(
            self.epoch,
            origin,
            show.reason,
            picture.thread,
            picture.frame,
            show.breakpoints,
            show.description,
            self.seconds(),
            picture.number,
            picture.result,
        )

    def enter(self, phase: State, stop: Stop, message: str | None = None) -> Effects:
        """The stop is shown and told. ``message`` says what became of the step under way."""
        before = self.tell_left()
        self.phase, self.stop = phase, stop
        self.pause, self.prepared = Pause(), None
        if phase is State.PYTHON_STOPPED:
            self.left = None
        if self.passed_over and stop.reason is Reason.STEP and phase is State.PYTHON_STOPPED:
            before.append(Tell(_PASSED_OVER))
        self.passed_over = False
        told: Effects = [Tell(Notice("info", message))] if message is not None else []
        return [AfterStop(), *before, Tell(Stopped(stop)), *told]

    def tell_left(self) -> Effects:
        """That the target has left a Python stop is told now, where nobody has heard of it yet."""
        if self.left is None or self.left.untold is None or self.is_over:
            return []
        self.left = replace(self.left, untold=None)
        return [Forget(), Tell(Resumed(self.left.epoch))]


def described_transition(state: TargetState) -> str:
    """Where the state is, in a few words for the log of decisions."""
    parts = [state.phase.value, state.grip.value, f"epoch {state.epoch}"]
    if state.python_holds:
        parts.append(f"debugpy holds {len(state.python_holds)}")
    if state.step is not None:
        parts.append(f"step {state.step.kind}")
    return ", ".join(parts)
