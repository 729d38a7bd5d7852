"""Which process the panes show: the one that commands work on, or a stopped process when that one runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...console.console import Console, View
from ...model import Detached, Event, Exited, Resumed, Stopped
from ...session.inferiors import Process
from ...session.session import Session
from ..stop_loader import StopLoader
from .running import Running

_PATIENCE = 0.5  # seconds that a process may run before a stopped process is shown instead


class Following(Running):
    """The panes follow the current process of the run; there are several where children are followed."""

    def subscribe(self, one: Session | Process) -> None:
        """The run has begun, or another process has joined it."""
        if isinstance(one, Process):
            assert self.console_ is not None
            self.console_.join(one)
            self.turned()
        else:
            self.console_ = console = Console(one, self.show)
            console.takes_python = False
            console.attended = True
            self.loader = self._new_loader(console)
            console.on_event = self._event

    def _new_loader(self, console: Console) -> StopLoader:
        return StopLoader(
            console,
            self.views,
            lambda pane: pane in self.workspace.shown(),
            self._note,
            self.refresh_status,
            self.complain,
            self._drawn_together,
            self._handle_exception,
        )

    @contextmanager
    def _drawn_together(self) -> Iterator[None]:
        """Draw nothing until the end of the block."""
        try:
            with self.batch_update():
                yield
        finally:
            if self.is_running:
                self.say_all()
                self.screen.check_idle()  # batch_update itself wakes only the application

    def _note(self, pane: str, text: str) -> None:
        self.workspace.panes[pane].note = text

    def _event(self, view: View, event: Event) -> None:
        console, loader = self.console_, self.loader
        assert console is not None and loader is not None
        self.seen()
        if view is console.current and loader.session is view.session:
            loader.event(event)
        if isinstance(event, Stopped):
            self.lines.put_nowait(None)
            self.run_worker(self.functions.prepare())
        if len(console.views) == 1:
            return
        if isinstance(event, (Stopped, Exited, Detached)):
            console.turn_to_a_stop()
        elif isinstance(event, Resumed):
            self.set_timer(_PATIENCE, self._turn)
        self.turned()

    def _turn(self) -> None:
        assert self.console_ is not None
        self.console_.turn_to_a_stop()
        self.turned()

    def turned(self) -> None:
        """The current process may be another one: the panes show it."""
        console, loader = self.console_, self.loader
        if console is None or loader is None:
            return
        if loader.session is console.session:
            loader.show_processes()
        else:
            self.run_worker(loader.close())
            self.loader = self._new_loader(console)
            self.loader.begin()
        self.refresh_status()

    def look_at(self, view: View) -> None:
        """The user wants to see this process."""
        if self.console_ is not None:
            self.console_.turn_to(view)
            self.turned()

    def action_process(self, by: int) -> None:
        """The next process of the run, or the one before."""
        console = self.console_
        if console is None or len(console.views) == 1:
            self.notify("There is one process. run --follow python has children join.", timeout=3)
            return
        at = console.views.index(console.current)
        self.look_at(console.views[(at + by) % len(console.views)])
