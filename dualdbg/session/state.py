"""What is known of the target and of who holds it, and every way in which that changes. Pure: no I/O, no clock.

One writer: the loop (``loop.py``) calls the transitions one at a time, and performs the effects that they return.

    grip      gdb                                         debugpy
    FREE      lets the target run                         answers
    JUDGING   holds it; what the stop means is read       answers when the target runs again, in a moment
    HALTED    holds it for work of ours                   the same
    SHOWN     holds it for the user                       mute: nothing may be asked of it

    transition           from                          to
    begin                STARTING                      RUNNING, FREE
    native_stopped       any but over                  JUDGING
    native_fact_read     JUDGING                       JUDGING (another fact), HALTED, SHOWN, or FREE
    native_ready         RUNNING, SHOWN                NATIVE_STOPPED, SHOWN
    halt_wanted          any                           the same; gdb is interrupted where it lets the target run
    halt_done            HALTED                        HALTED (the next halt), JUDGING (a pause), or FREE
    leave_natively       NATIVE_STOPPED                RUNNING, SHOWN: gdb has not let go yet
    departed             RUNNING, SHOWN                RUNNING, FREE
    native_refused       RUNNING, SHOWN                NATIVE_STOPPED, SHOWN
    python_stopped       any but over                  the same; the hold waits its turn
    python_fact_read     any                           the same, or debugpy goes on
    python_ready         RUNNING, FREE                 PYTHON_STOPPED, FREE; elsewhere it waits its turn
    leave_in_python      PYTHON_STOPPED, not SHOWN     RUNNING
    python_refused       RUNNING                       RUNNING; the threads are held again, and shown in their turn
    exited, detached     any                           EXITED, DETACHED
    gdb_lost             any                           LOST

A native stop wins over a Python one: a thread that debugpy holds meanwhile waits in ``python_holds`` and is shown when
gdb lets go. None is lost, and none is decided twice: what was decided is kept with the hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from ..backends import events as engine
from ..backends import python as debugpy
from ..errors import CommandError, DualdbgError, EngineError, WrongState
from ..model import (
    Detached,
    Exit,
    Exited,
    Language,
    Notice,
    Reason,
    Resumed,
    State,
    Stop,
    Stopped,
    Thread,
)
from .effects import (
    AfterStop,
    AnswerHalt,
    BeforeRun,
    Effects,
    EndTarget,
    Forget,
    Halt,
    Interrupt,
    LookLater,
    Meet,
    MissDebugpy,
    Over,
    Post,
    PrepareNative,
    PreparePython,
    ReadNative,
    ReadPython,
    Repair,
    ReportUnbound,
    Resume,
    Tell,
)
from .stepping.step import Step
from .stepping.unfinished import cut_short, python_step_done
from .stops.classifier import Situation, classify_native, classify_python
from .stops.facts import (
    GoOn,
    NativeFacts,
    NativeHold,
    Need,
    PassOver,
    PauseInPython,
    Picture,
    PythonHold,
    Show,
)

OVER = (State.EXITED, State.DETACHED, State.LOST)
STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)
PYTHON_PAUSE_LOOK = 1.0  # seconds until gdb looks whether a program that debugpy was to pause has left Python


class Grip(Enum):
    """What gdb does with the target; see the table above."""

    FREE = "free"
    JUDGING = "judging"
    HALTED = "halted"
    SHOWN = "shown"


@dataclass
class Pause:
    """The user's wish for a stop. ``natively``: gdb's next stop is it. ``in_python``: debugpy was asked to pause, and
    ``looks`` times gdb has looked how far it is; ``refused``: debugpy has refused."""

    natively: bool = False
    in_python: bool = False
    refused: bool = False
    looks: int = 0


@dataclass(frozen=True)
class Departure:
    """A native stop that is being left, for the case that gdb refuses to go on from it."""

    epoch: int
    stop: Stop
    native: NativeHold | None


@dataclass(frozen=True)
class Left:
    """What debugpy held before it was asked to go on, and the epoch since: it may refuse later."""

    epoch: int
    python_holds: dict[int, PythonHold]


@dataclass
class TargetState:
    """One target. ``seconds`` counts from the start of dualdbg; it is the one thing that is asked from outside."""

    pid: int
    seconds: Callable[[], float]
    phase: State = State.STARTING
    grip: Grip = Grip.FREE
    epoch: int = 0
    stop: Stop | None = None
    exit: Exit | None = None
    native: NativeHold | None = None  # at a native stop that is shown
    facts: NativeFacts | None = None  # of the stop of gdb's that is judged or shown, or that a halt made
    python_holds: dict[int, PythonHold] = field(default_factory=dict)  # by debugpy's number of the thread
    reading: PythonHold | None = None  # the one that is judged
    owed: int = 0  # answers of debugpy that a native stop holds up
    halts: list[Halt] = field(default_factory=list)
    holder: Halt | None = None  # whose work is under way
    pause: Pause = field(default_factory=Pause)
    pause_owed: bool = False  # debugpy was asked to pause, and has not stopped for it yet
    interrupt_sent: bool = False  # since the target last ran
    signal_owed: bool = False  # a SIGINT of the program's own, which it gets when it runs on
    interrupt_pauses: bool = True  # Ctrl-C in the target's terminal is meant for us
    entry_expected: bool = False
    step: Step | None = None
    debugpy_step: Step | None = None  # the one that debugpy is to end, perhaps of an earlier command
    gdb_steps: bool = False
    leaving: Step | None = None  # goes on after an exception: what it called is left first
    departure: Departure | None = None  # gdb has not let go yet
    left: Left | None = None

    # -- questions --------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
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
            assert self.grip in (Grip.SHOWN, Grip.JUDGING), f"a native stop is shown, and gdb {self.grip}"
        if self.stop is not None:
            assert self.stop.epoch == self.epoch, f"stop of epoch {self.stop.epoch} at {self.epoch}"
        if self.grip is Grip.HALTED:
            assert self.holder is not None, "halted for nobody"
        if self.departure is not None:
            assert self.phase is State.RUNNING or self.is_over, f"leaving in {self.phase}"

    def _situation(self) -> Situation:
        pause = self.pause
        return Situation(
            halting=bool(self.halts),
            pausing=pause.natively,
            shown=self.phase is State.NATIVE_STOPPED,
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

    # -- the beginning ----------------------------------------------------------------------------

    def begin(self) -> Effects:
        """The target is ready to run its program."""
        self.phase = State.RUNNING
        return []

    def expect_entry(self) -> Effects:
        """The program's first line is to be a stop."""
        self.entry_expected = True
        return []

    def attached(self, hold: NativeHold) -> Effects:
        """gdb holds a process that was running: that is its first stop, to be told when everything is ready."""
        self.phase, self.grip, self.native = State.RUNNING, Grip.SHOWN, hold
        self.epoch += 1
        return []

    def attach_ready(self, picture: Picture, reason: Reason, description: str) -> Effects:
        """Commands may be given; the stop is told by :meth:`tell_attached`."""
        self.phase = State.NATIVE_STOPPED
        self.stop = self._stop_of(Language.NATIVE, Show(reason, (), description), picture)
        return []

    def run_for_a_moment(self) -> Effects:
        """While a process is being attached to: it runs until :meth:`keep_held`, and nobody is told."""
        assert self.phase is State.RUNNING and self.grip is Grip.SHOWN
        self.grip = Grip.FREE
        return [Resume()]

    def keep_held(self, halt: Halt) -> Effects:
        """The halt after it is for good."""
        if self.holder is halt:
            self.holder = None
            self.grip = Grip.SHOWN
        return []

    def take_interrupts(self, wanted: bool) -> Effects:
        """Whether Ctrl-C in the target's terminal is meant for us."""
        self.interrupt_pauses = wanted
        return []

    def tell_attached(self) -> Effects:
        if self.phase is not State.NATIVE_STOPPED or self.stop is None:
            return []
        return self._enter(State.NATIVE_STOPPED, self.stop)

    # -- gdb stops --------------------------------------------------------------------------------

    def native_stopped(self, stop: engine.NativeStopped) -> Effects:
        """gdb stopped every thread."""
        if self.is_over:
            return []
        effects = self._depart()  # it ran: gdb's consent may be read later than its stop
        self.grip = Grip.JUDGING
        self.interrupt_sent = False
        self.facts = NativeFacts(stop)
        return [*effects, Meet(self.facts), *self._decide_native(self.facts)]

    def native_fact_read(self, facts: NativeFacts) -> Effects:
        """One more fact of the stop is there."""
        if facts is not self.facts or self.grip is not Grip.JUDGING or self.is_over:
            return []
        return self._decide_native(facts)

    def _decide_native(self, facts: NativeFacts) -> Effects:
        verdict = classify_native(facts, self._situation())
        if isinstance(verdict, Need):
            return [ReadNative(facts, verdict)]
        self.signal_owed = self.signal_owed or verdict.signal
        if isinstance(verdict, Show):
            return self._show_natively(facts, verdict)
        if isinstance(verdict, PauseInPython):
            return self._pause_in_python()
        return self._pass_over(verdict)

    def _pass_over(self, verdict: PassOver) -> Effects:
        self.pause.natively = self.pause.natively or verdict.pause
        if self.phase is State.NATIVE_STOPPED:  # only the user goes on from a stop that is shown
            self.grip = Grip.SHOWN
            return []
        if self.holder is not None:  # the stop came in the middle of work of ours
            self.grip = Grip.HALTED
            return []
        return self._give_halt() if self.halts else self._let_run()

    def _let_run(self) -> Effects:
        self.grip = Grip.FREE
        signal, self.signal_owed = self.signal_owed, False
        return [Resume(signal), *self._interrupt_for_wishes(), *self._next_python_stop()]

    def _show_natively(self, facts: NativeFacts, verdict: Show) -> Effects:
        assert facts.thread is not None
        gdb_thread, tid = facts.thread
        effects = self._answer_halts(False)
        calm = verdict.reason is Reason.PAUSE
        self.grip = Grip.SHOWN
        matters = verdict.reason in (Reason.BREAKPOINT, Reason.SIGNAL)
        self.native = NativeHold(facts.stop, tid, gdb_thread, matters)
        self.epoch += 1
        if (
            self.stop is not None
        ):  # the stop before is stale: debugpy's is overtaken, or a call of gdb's met this one
            self.phase, self.stop = State.RUNNING, None
        prepare = PrepareNative(facts, self.native, verdict, self.epoch, self.step)
        return [*effects, Forget(as_read_now=not calm), prepare]

    def native_ready(self, prepared: PrepareNative, picture: Picture) -> Effects:
        """What is shown of a native stop was read: tell it. It ends the step under way, or cuts it short."""
        shown = self.is_over or self.phase is State.NATIVE_STOPPED
        if shown or prepared.facts is not self.facts or self.grip is not Grip.SHOWN:
            return []
        verdict = prepared.verdict
        done = verdict.reason is Reason.STEP or picture.step_done
        message = cut_short(self.step, self.debugpy_step, verdict.reason, done)
        self._settle(done)
        stop = self._stop_of(Language.NATIVE, verdict, picture)
        return self._enter(State.NATIVE_STOPPED, stop, message)

    def native_unjudged(self, facts: NativeFacts, thread: Thread) -> Effects:
        """What a stop means could not be worked out (the user was told why): it is shown as it is."""
        if facts is not self.facts or self.is_over or self.grip not in (Grip.JUDGING, Grip.SHOWN):
            return []
        self.grip = Grip.SHOWN
        self.native = NativeHold(facts.stop, thread.tid, facts.stop.gdb_thread or 1)
        self.epoch += 1
        effects = self._answer_halts(False)
        self._settle(False)
        show = Show(Reason.PAUSE, (), facts.stop.words or None)
        stop = self._stop_of(Language.NATIVE, show, Picture(thread, None))
        return [*effects, Forget(), *self._enter(State.NATIVE_STOPPED, stop)]

    def resume_failed(self, thread: Thread) -> Effects:
        """gdb could not let the target run (the user was told why): that is a stop."""
        if self.is_over or self.grip is not Grip.FREE or self.facts is None:
            return []
        self.grip = Grip.JUDGING
        return self.native_unjudged(self.facts, thread)

    def target_died(self) -> Effects:
        """The process was killed while gdb holds it: gdb takes note of that when it lets the target run."""
        if self.is_over or self.grip is not Grip.SHOWN:
            return []
        self.departure = None
        effects: Effects = []
        if self.phase is State.NATIVE_STOPPED:
            self.epoch += 1
            self.phase, self.stop = State.RUNNING, None
            effects = [Forget(), Tell(Resumed(self.epoch))]
        self.grip = Grip.FREE
        return [*effects, Resume(dead=True)]

    # -- halts and pauses -------------------------------------------------------------------------

    def halt_wanted(self, halt: Halt) -> Effects:
        """Work of ours needs the target to stand still."""
        if self.is_over or (self.is_mute and self.departure is None):
            return [AnswerHalt(halt, False)]
        self.halts.append(halt)
        return self._interrupt_for_wishes()

    def halt_done(self, halt: Halt) -> Effects:
        """The work is done, or nobody waits for the halt any more."""
        if halt in self.halts:
            self.halts.remove(halt)
        if self.holder is not halt:
            return []
        self.holder = None
        if self.grip is not Grip.HALTED or self.is_over:
            return []
        if self.halts:
            return self._give_halt()
        if self.pause.natively and self.facts is not None:  # the user's pause waited for it
            self.grip = Grip.JUDGING
            return self._decide_native(self.facts)
        return self._let_run()

    def _answer_halts(self, outcome: bool | DualdbgError) -> Effects:
        """Nobody waits for a halt any more."""
        waiting, self.halts = self.halts, []
        return [AnswerHalt(halt, outcome) for halt in waiting]

    def _give_halt(self) -> Effects:
        self.holder = self.halts.pop(0)
        self.grip = Grip.HALTED
        return [AnswerHalt(self.holder, True)]

    def pause_wanted(self) -> Effects:
        """The user wants a stop."""
        self.require(State.RUNNING)
        self.pause.natively = True
        return self._interrupt_for_wishes()

    def interrupt_failed(self, error: DualdbgError) -> Effects:
        """gdb refused to interrupt the target."""
        self.interrupt_sent = False
        effects = self._answer_halts(error)
        if self.pause.natively and not self.is_over:
            self.pause.natively = False
            effects.append(Tell(Notice("error", error.message, error.hint)))
        return effects

    def _interrupt_for_wishes(self) -> Effects:
        """A stop is wanted, and gdb lets the target run: interrupt it, once."""
        if self.grip is not Grip.FREE or self.interrupt_sent or not (self.halts or self.pause.natively):
            return []
        self.interrupt_sent = True
        return [Interrupt()]

    def _pause_in_python(self) -> Effects:
        """debugpy makes the stop; gdb looks later how far it is."""
        effects: Effects = []
        if not self.pause.in_python:
            self.pause.in_python = self.pause_owed = True
            effects.append(Post(debugpy.pause_all(), pause=True))
        self.pause.natively = False
        return [*effects, *self._let_run(), LookLater(self.epoch, PYTHON_PAUSE_LOOK)]

    def pause_look_due(self, epoch: int) -> Effects:
        """A thread that has left Python for a long call meets debugpy's pause when it comes back: not soon enough."""
        if epoch != self.epoch or not self.pause.in_python or self.phase is not State.RUNNING:
            return []
        self.pause.looks += 1
        self.pause.natively = True
        return self._interrupt_for_wishes()

    def pause_refused(self, error: CommandError) -> Effects:
        """debugpy does not pause the program: gdb does."""
        if not self.pause.in_python or self.phase is not State.RUNNING:
            return []
        self.pause_owed = self.pause.in_python = False
        self.pause.natively = self.pause.refused = True
        return self._interrupt_for_wishes()

    # -- debugpy stops ----------------------------------------------------------------------------

    def python_stopped(self, event: engine.PythonStopped) -> Effects:
        """debugpy holds a thread."""
        if self.is_over:
            return []
        self.python_holds[event.debugpy_thread] = PythonHold(event)
        return self._next_python_stop()

    def python_continued(self, event: engine.PythonContinued) -> Effects:
        if event.debugpy_thread is not None:
            self.python_holds.pop(event.debugpy_thread, None)
        return []

    def _next_python_stop(self) -> Effects:
        """Go on with the oldest thread that debugpy holds, unless gdb's own stop comes first."""
        if self.phase is not State.RUNNING or self.grip is not Grip.FREE or self.reading is not None:
            return []
        hold = next(iter(self.python_holds.values()), None)
        if hold is None:
            return []
        if hold.shown:
            if self.owed:  # an expression of the user's still runs in it: its answer calls for this again
                return []
            hold.read = False  # frames may have changed since
        elif hold.verdict is not None and hold.picture is not None:
            return self._enter_python(hold, hold.verdict, hold.picture)
        self.reading = hold
        return self._decide_python(hold)

    def python_fact_read(self, hold: PythonHold) -> Effects:
        """One more fact of the stop is there."""
        if not self._is_read(hold):
            return self._next_python_stop()
        if self.is_mute:  # it is decided when gdb has let go
            self.reading = None
            return []
        return self._decide_python(hold)

    def python_unread(self, hold: PythonHold, gone: bool) -> Effects:
        """A native stop came before debugpy's answer; ``gone``: debugpy does not hold the thread any more."""
        if self.reading is hold:
            self.reading = None
        if gone and self.python_holds.get(hold.event.debugpy_thread) is hold:
            del self.python_holds[hold.event.debugpy_thread]
        return self._next_python_stop()

    def _is_read(self, hold: PythonHold) -> bool:
        """Whether the stop that was read is still one; if not, it is not read any more."""
        held = self.python_holds.get(hold.event.debugpy_thread) is hold and not self.is_over
        if not held and self.reading is hold:
            self.reading = None
        return held

    def _decide_python(self, hold: PythonHold) -> Effects:
        verdict = classify_python(hold, self._situation())
        if isinstance(verdict, Need):
            return [ReadPython(hold, verdict)]
        self.entry_expected = False
        if hold.event.reason == "pause":
            self.pause_owed = False
        if isinstance(verdict, GoOn):
            self.reading = None
            self.leaving = verdict.step
            self.python_holds.clear()
            return [Post(debugpy.move(verdict.request, hold.event.debugpy_thread))]
        self.leaving = None
        hold.verdict = verdict
        if hold.shown:
            return [PreparePython(hold, cancel_native=False)]
        gdb_steps, self.gdb_steps = self.gdb_steps, False
        return [PreparePython(hold, cancel_native=gdb_steps)]

    def python_ready(self, hold: PythonHold, picture: Picture) -> Effects:
        """What is shown of a Python stop was read: tell it, or keep it until gdb has let go."""
        if not self._is_read(hold):
            return self._next_python_stop()
        self.reading = None
        hold.picture = picture
        if self.phase is not State.RUNNING or self.grip is not Grip.FREE or hold.verdict is None:
            return []
        return self._enter_python(hold, hold.verdict, picture)

    def _enter_python(self, hold: PythonHold, verdict: Show, picture: Picture) -> Effects:
        message = None
        if not hold.shown:
            step = self.step
            done = verdict.reason is Reason.STEP
            if step is not None and not done and hold.tid == step.tid:
                natively = step.top is not None
                done = (
                    step.kind == "step" if natively else python_step_done(step.kind, step.depth, hold.depth)
                )
            message = cut_short(step, None, verdict.reason, done)
            self._settle(True)
        hold.shown = True
        self.epoch += 1
        stop = self._stop_of(Language.PYTHON, verdict, picture)
        return [Forget(), *self._enter(State.PYTHON_STOPPED, stop, message)]

    def answer_owed(self) -> Effects:
        """A native stop came before the answer to a request: it comes when the target runs again."""
        self.owed += 1
        return []

    def answer_came(self) -> Effects:
        self.owed -= 1
        return self._next_python_stop()

    # -- going on ---------------------------------------------------------------------------------

    def leave_natively(
        self, step: Step | None, gdb_steps: bool, debugpy_steps: bool | None, with_signal: bool
    ) -> Effects:
        """The user goes on from a native stop; gdb has not let go yet.

        ``gdb_steps``: gdb ends the step by itself. ``debugpy_steps``: debugpy was armed to end it, None: it goes on
        with what it was to end before. ``with_signal``: the program gets the SIGINT that is owed to it.
        """
        self.require(State.NATIVE_STOPPED)
        self.signal_owed = self.signal_owed and not with_signal
        assert self.stop is not None
        self.departure = Departure(self.epoch, self.stop, self.native)
        self._leave()
        self.step, self.gdb_steps = step, gdb_steps
        if debugpy_steps is not None:
            self.debugpy_step = step if debugpy_steps else None
        return [BeforeRun(), Forget()]

    def departed(self) -> Effects:
        """gdb has let go. Its consent may be read later than its next stop."""
        if self.departure is None:
            return []
        return [*self._depart(), *self._interrupt_for_wishes(), *self._next_python_stop()]

    def _depart(self) -> Effects:
        if self.departure is None:
            return []
        self.departure = self.native = self.facts = None
        self.grip = Grip.FREE
        return [Tell(Resumed(self.epoch))]

    def native_refused(self) -> Effects:
        """gdb did not let go: the stop stands as it was."""
        departure, self.departure = self.departure, None
        if departure is None or self.is_over:
            return []
        self.phase, self.epoch = State.NATIVE_STOPPED, departure.epoch
        self.stop, self.native = departure.stop, departure.native
        self._settle(True)
        return [*self._answer_halts(False), AfterStop()]

    def leave_in_python(
        self, command: str, thread: int | None = None, target: int | None = None, step: Step | None = None
    ) -> Effects:
        """The user goes on from a Python stop: ``command`` and ``target`` are debugpy's, as is the number ``thread``.

        Raises WrongState when a native stop came first.
        """
        self.require(State.PYTHON_STOPPED)
        if self.is_mute:
            raise WrongState("a native stop came first", "look at the new stop")
        if not self.python_holds:
            raise CommandError("debugpy holds no thread", "pause the target first")
        assert self.stop is not None
        thread = next(iter(self.python_holds)) if thread is None else thread
        holds = dict(self.python_holds)
        self.python_holds.clear()
        self._leave()
        self.left = Left(self.epoch, holds)
        self.step, self.gdb_steps = step, False
        if step is not None:
            self.debugpy_step = step
        post = Post(debugpy.move(command, thread, target), self.epoch)
        return [BeforeRun(), Forget(), Tell(Resumed(self.epoch)), post]

    def python_refused(self, epoch: int, command: str, error: CommandError) -> Effects:
        """debugpy did not let go: its threads are held as before."""
        left, self.left = self.left, None
        if left is None or left.epoch != epoch or self.is_over:
            return []
        self._settle(True)
        self.python_holds = {**left.python_holds, **self.python_holds}
        told = Tell(Notice("error", f"{command} was refused: {error.message}", error.hint))
        return [told, *self._next_python_stop()]

    def step_forgotten(self) -> Effects:
        """What was to be done on the way is done."""
        self._settle(False)
        return []

    def _leave(self) -> None:
        self.phase, self.stop = State.RUNNING, None
        self.epoch += 1
        self.pause = Pause()

    def _settle(self, completed: bool) -> None:
        """No step is under way any more; ``completed``: debugpy has nothing to end any more either."""
        self.step, self.gdb_steps = None, False
        if completed:
            self.debugpy_step = None

    def _stop_of(self, origin: Language, show: Show, picture: Picture) -> Stop:
        return Stop(
            self.epoch,
            origin,
            show.reason,
            picture.thread,
            picture.frame,
            show.breakpoints,
            show.description,
            self.seconds(),
        )

    def _enter(self, phase: State, stop: Stop, message: str | None = None) -> Effects:
        self.phase, self.stop = phase, stop
        self.pause = Pause()
        self.left = None
        told: Effects = [Tell(Notice("info", message))] if message is not None else []
        return [AfterStop(), Tell(Stopped(stop)), *told]

    # -- the end ----------------------------------------------------------------------------------

    def exited(self, exit: Exit) -> Effects:
        if self.phase in (State.EXITED, State.DETACHED):
            return []
        self.exit = exit
        lost = self.phase is State.LOST
        effects = self._end(State.LOST if lost else State.EXITED)
        return [*effects, AfterStop(), ReportUnbound(), Tell(Exited(exit)), Over()]

    def detached(self) -> Effects:
        """gdb and debugpy have let go of the target."""
        if self.is_over:
            return []
        return [*self._end(State.DETACHED), Tell(Detached(self.pid)), Over()]

    def post_mortem_over(self) -> Effects:
        """A core is left: there is nothing to let go of."""
        return self._end(State.DETACHED)

    def gdb_lost(self, detail: str, launched: bool) -> Effects:
        """gdb is gone; a launched target ends with it."""
        if self.is_over:
            return []
        effects = self._end(State.LOST, EngineError(f"gdb is gone: {detail}"))
        if not launched:
            return [*effects, Repair(detail)]  # gdb may have left breakpoints, and the target runs already
        told = Notice("error", f"gdb is gone: {detail}; the target is ended with it", "")
        return [*effects, Tell(told), EndTarget()]

    def repaired(self, detail: str) -> Effects:
        return [Tell(Notice("error", f"gdb is gone: {detail}", "attach again to go on")), Over()]

    def _end(self, phase: State, error: DualdbgError | None = None) -> Effects:
        effects = self._answer_halts(error or False)
        self.python_holds.clear()
        self.phase, self.stop, self.reading, self.departure = phase, None, None, None
        self.grip, self.native, self.facts = Grip.FREE, None, None
        return effects

    def debugpy_lost(self, detail: str) -> Effects:
        """debugpy's connection closes when the process ends, too: that is heard in a moment."""
        return [] if self.is_over else [MissDebugpy(detail)]

    def debugpy_missed(self, detail: str) -> Effects:
        """The process goes on without debugpy: the user is told."""
        if self.is_over:
            return []
        self.python_holds.clear()
        self.reading = None
        told = Notice(
            "warning",
            f"debugpy is gone from the target ({detail}); the program itself runs on",
            "native breakpoints, stacks and steps go on working",
        )
        effects: Effects = [Tell(told)]
        if self.phase is State.PYTHON_STOPPED:
            self._leave()
            effects += [BeforeRun(), Forget(), Tell(Resumed(self.epoch))]
        return effects


def described_transition(state: TargetState) -> str:
    """Where the state is, in one word for the log of decisions."""
    parts = [state.phase.value, state.grip.value, f"epoch {state.epoch}"]
    if state.python_holds:
        parts.append(f"debugpy holds {len(state.python_holds)}")
    if state.step is not None:
        parts.append(f"step {state.step.kind}")
    return ", ".join(parts)
