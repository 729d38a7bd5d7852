"""What a snapshot says: processes, their threads, and what each thread waits for. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import Stack, Tasks, Thread


@dataclass(frozen=True)
class LockHolder:
    """A process that has a file locked. ``command`` is None of one that has ended."""

    pid: int
    command: str | None


@dataclass(frozen=True)
class Descriptor:
    """An open file of a process: its number and what is open (``pipe:[4711]``, a path, a socket with its ends).

    ``others`` are the processes that have the other end of a pipe open; None where nobody has looked. ``lock_holders``
    are those that have the file locked; empty where that is not known.
    """

    number: int
    target: str | None
    others: tuple[int, ...] | None = None
    lock_holders: tuple[LockHolder, ...] = ()


@dataclass(frozen=True)
class Sleep:
    """For how long a thread has asked to sleep: ``seconds``, those that are left, or (not ``is_left``) all of them."""

    seconds: float
    is_left: bool


@dataclass(frozen=True)
class SystemCall:
    """The system call that a thread is in: its name, its arguments, and the descriptor that it is about.

    ``sends``: whether it waits until something can be written there; None of a call whose name tells. ``limit``: the
    seconds after which the socket itself ends it. ``sleep``: of a thread that sleeps for a set time.
    """

    name: str
    arguments: tuple[int, ...]
    descriptor: Descriptor | None = None
    sends: bool | None = None
    limit: float | None = None
    sleep: Sleep | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Lock:
    """A lock that a thread waits for. ``kind``: mutex (pthread_mutex_t), lock or rlock (of Python's threading), import
    (of the module ``name``, which another thread imports). ``name``: what the lock is of.

    ``address`` is where the lock lies. ``owner`` is the OS thread id of the holder: 0 for nobody, None where the lock
    does not say, -1 for a thread that is not known. ``owner_is_gone``: the process, which alone uses the lock, has no
    such thread.
    """

    kind: str
    address: int
    owner: int | None = None
    owner_is_gone: bool = False
    name: str | None = None


@dataclass(frozen=True)
class ThreadReport:
    """One thread. ``state`` is the letter of proc(5) from before the stop, empty in a core;
    ``locals`` by position in ``stack.frames``.

    ``held_locks`` are addresses of Python locks that a ``with`` block of the thread holds. ``cpu``: seconds that it
    was on a processor until it was looked at; ``ready``: those and the ones in which it waited for a processor.
    ``sleeps``: how often it has gone to sleep until then. ``joins``: the OS thread id of the thread whose end it waits
    for, in Python or in C. ``daemon``: whether the program ends without waiting for this thread of Python.
    """

    thread: Thread
    stack: Stack
    state: str
    system_call: SystemCall | None = None
    wait_channel: str | None = None
    waits_for: Lock | None = None
    held_locks: tuple[int, ...] = ()
    locals: dict[int, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    cpu: float | None = None
    ready: float | None = None
    sleeps: int | None = None
    joins: int | None = None
    daemon: bool | None = None


@dataclass(frozen=True)
class ProcessGroup:
    """A process group of torch.distributed: this process's ``rank`` in it, of ``size``.

    ``sequence``: how many operations the backend has begun; ``backend`` and ``sequence`` are None where unknown.
    ``last``: the newest collective of the Flight Recorder, done or not.
    """

    name: str
    rank: int
    size: int
    backend: str | None = None
    sequence: int | None = None
    last: Collective | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Collective:
    """An operation of torch.distributed that has begun and is not done. None stands for what could not be read.

    ``state``: ``called`` (a Python frame is in it), ``running`` or ``queued`` (the backend has it). ``sizes`` and
    ``dtype`` are of its first tensor, ``bytes`` of all. ``peer``: the other rank of the world, of a send or recv.
    ``thread``: the OS thread id of the Python frame. ``age``: so many seconds ago it began, by the Flight Recorder.
    ``within``: what the program has called, where the backend does it by this one. ``caller``: the line of the user
    that has called it, by the Flight Recorder: where the backend works by itself, the program may be elsewhere by now.
    """

    operation: str
    group: str | None = None
    sequence: int | None = None
    state: str = "called"
    sizes: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int | None = None
    peer: int | None = None
    thread: int | None = None
    age: float | None = field(default=None, compare=False)
    within: str | None = field(default=None, compare=False)
    caller: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Distributed:
    """What a process does in torch.distributed. ``rank`` and ``world_size`` are of its default group."""

    rank: int | None = None
    world_size: int | None = None
    groups: tuple[ProcessGroup, ...] = ()
    collectives: tuple[Collective, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessReport:
    """One process. ``stopped``: for how many seconds it stood still; None when it did not (``--no-stop``, a core).
    ``at``: when the kernel's counts of its threads were read, in seconds of the clock of monotonic(); None of a core.

    ``forked_from``: the parent, of which it is a copy that has run no other program since; None where it is not so, and
    where nobody has looked.
    ``label`` names its part in a larger job (``rank 3``) of ``world_size`` processes,
    ``python`` the version of its interpreter; ``notes`` say
    what could not be read, ``torn`` that it ran while it was read. ``tasks`` are those of asyncio, where they were
    asked for; so is ``distributed``, which is None in a process without torch.distributed.
    """

    pid: int
    parent: int
    command: str
    python: str | None
    threads: tuple[ThreadReport, ...]
    stopped: float | None
    torn: bool = False
    label: str | None = None
    notes: tuple[str, ...] = ()
    tasks: Tasks | None = None
    distributed: Distributed | None = None
    world_size: int | None = None
    at: float | None = None
    forked_from: int | None = None


@dataclass(frozen=True)
class Failure:
    """A process that could not be read, and why."""

    pid: int
    message: str
    hint: str
