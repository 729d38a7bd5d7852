"""What is wrong, in plain words, from the facts of a snapshot: rules over threads and processes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from ...known.python_files import is_of_a_library
from ...model import PythonFrame
from ..facts import ProcessReport, SystemCall, ThreadReport
from ..linux.system_calls import POLLS, WRITES
from .collectives import Verdict, after_second_look, verdicts
from .database_waits import database_waits
from .descriptor_waits import IO, OF_SERVICES, descriptor_wait, lock_holders
from .finding import KINDS, Finding
from .gpu_waits import gpu_call, in_words
from .jobs import jobs, member_of
from .library_threads import (
    is_at_exit,
    is_idle,
    is_idle_worker,
    is_in_program,
    is_of_nccl,
    is_service,
    is_worker,
    notification_of,
)
from .standing import Standing, has_time_limit, slept, standing
from .task_rules import blocked_loops, task_deadlocks, with_blocked_loops
from .telling_frame import own_python_frame, where
from .waits import (
    Earlier,
    Node,
    Scene,
    Wait,
    cycles,
    find_waits,
    lock_in_words,
    name_of,
    process_name,
    seconds_in_words,
)
from .wording import activity

_WORKER_WAITS = tuple(
    f"_MultiProcessingDataLoaderIter.{name}" for name in ("_try_get_data", "_get_data", "_next_data")
)
# Of the threads of a finding, so many wait: all, where nothing is said. Ranks are judged by what they do.
_WAITING = {"workers": 1, "database": 0, "collective": 0, "gpu": 0, "busy": 0}
_ON_A_PROCESSOR = "R"  # or waiting for one: proc(5)
_SEEN_AT_ONCE = ("deadlock", "task-deadlock", "fork-with-lock")
# Node, what is waited for (of equal ones one line is made), what a thread does, where, and lines that follow.
_Row = tuple[Node, Hashable, str, str, str]
_MOST_PLACES = 3  # in a line
_FUTEX_PRIVATE = 128  # linux/futex.h
_CHILD_WAITS = ("wait4", "waitid")
_ALL_THE_TIME = 0.9  # of the time between two looks; the looks themselves take some


def diagnose(
    processes: Sequence[ProcessReport],
    context: Sequence[ProcessReport] = (),
    earlier: Earlier | None = None,
) -> list[Finding]:
    """The findings, gravest first. ``context``: processes that were read only to explain these.

    With an ``earlier`` look, only what waits since then is told: threads that have not moved, and ranks that were in
    the same operation then too.
    """
    scene = Scene(processes, context, earlier)
    waits = find_waits(scene)
    rings = cycles(waits)
    in_rings = {wait.thread for ring in rings for wait in ring}
    findings = [_deadlock(scene, ring) for ring in rings]
    findings += [finding for process in scene.shown for finding in task_deadlocks(scene, process)]
    told = set(in_rings)
    for rule in _RULES:
        for finding in rule(scene, waits, told):
            findings.append(finding)
            told.update(finding.threads)
    findings = [with_blocked_loops(scene, finding) for finding in findings]
    findings = [replace(finding, waiting=_waiting(scene, finding)) for finding in findings]
    return sorted(findings, key=lambda finding: KINDS.index(finding.kind))


def _waiting(scene: Scene, finding: Finding) -> tuple[Standing, ...]:
    return tuple(
        standing(scene.processes[node[0]], scene.threads[node])
        for node in finding.threads[: _WAITING.get(finding.kind)]
    )


def one_look_cannot_tell(processes: Sequence[ProcessReport], findings: Sequence[Finding]) -> bool:
    """Whether only a second look tells: in a healthy program threads wait for each other too, but not in the same wait
    all the time; a thread that runs may do so all the time, and one that waits for a GPU may do so for ever.
    """
    if findings:
        return any(finding.kind not in _SEEN_AT_ONCE for finding in findings)
    threads = [thread for process in processes for thread in process.threads]
    return any(thread.state == _ON_A_PROCESSOR or gpu_call(thread) for thread in threads)


# -- words -----------------------------------------------------------------------------------------


def _deadlock(scene: Scene, ring: list[Wait]) -> Finding:
    lines = [f"deadlock: {len(ring)} threads wait for each other, and none can go on"]
    lines += [
        f"{name_of(scene, wait.thread)} waits for {wait.what}, in {where(scene.threads[wait.thread])}"
        + (f", which {name_of(scene, wait.holder)} {wait.relation}" if wait.relation else "")
        for wait in ring
    ]
    return Finding("deadlock", "\n".join(lines), tuple(wait.thread for wait in ring))


def _doing(thread: ThreadReport) -> str:
    return ", ".join(filter(None, (where(thread), activity(thread))))


# -- rules: each gives findings about threads without a graver finding ------------------------------


def _forks(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    return [
        Finding(
            "fork-with-lock",
            f"{name_of(scene, wait.thread)} waits for {wait.what}, in {where(scene.threads[wait.thread])}\n"
            f"process {wait.thread[0]} was forked from {wait.holder[0]} while "
            f"{name_of(scene, wait.holder)} held it, in {where(scene.threads[wait.holder])}: the child has the locked "
            "lock but not that thread, so nothing will ever release it there",
            (wait.thread,),
        )
        for wait in waits.values()
        if wait.forked and wait.thread not in told
    ]


def _lost(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """A lock that nobody is there to release, by what it says of its owner."""
    findings = []
    for node, thread in _waiting_threads(scene, told):
        lock = thread.waits_for
        if lock is None or lock.kind in ("lock", "import") or has_time_limit(thread.system_call):
            continue
        text = f"{name_of(scene, node)} waits for {lock_in_words(lock)}, in {where(thread)}, which "
        if lock.kind == "rlock":
            if lock.owner_is_gone:
                text += "a thread has locked that is no more\nit has ended without releasing it, or had it when the "
                findings.append(Finding("lock", f"{text}process was forked", (node,)))
        elif lock.owner == node[1]:
            findings.append(Finding("deadlock", f"deadlock: {text}it holds itself", (node,)))
        elif lock.owner_is_gone:
            text += f"thread {lock.owner} has locked\nthe process has no such thread: it has ended without releasing it"
            text += ", or had it when the process was forked"
            findings.append(Finding("lock", text, (node,)))
    return findings


def _collectives(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Jobs of torch.distributed: the rank that holds the others up."""
    findings = []
    for job in jobs(scene.shown):
        for verdict in _verdicts(job, scene.earlier):
            threads = {pid: scene.processes[pid].threads[0].thread.tid for pid in verdict.pids}
            findings.append(Finding("collective", verdict.text, tuple(threads.items())))
    return findings


def _verdicts(job: Sequence[ProcessReport], earlier: Earlier | None) -> list[Verdict]:
    members = [member_of(process) for process in job]
    if earlier is None:
        return verdicts(members)
    seconds = {process.pid: earlier.until(process) for process in job}
    before = [
        member_of(process) for process in earlier.processes if process.pid in seconds and process.threads
    ]
    return after_second_look(before, members, seconds)


def _workers(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """A DataLoader that waits for its workers: where they are is what matters."""
    findings = []
    for process in scene.shown:
        for thread in process.threads:
            node = process.pid, thread.thread.tid
            frames = [frame for frame in thread.stack.frames if isinstance(frame, PythonFrame)]
            if (
                node in told
                or node in scene.moved
                or not any(f.function.startswith(_WORKER_WAITS) for f in frames)
            ):
                continue
            children = [each for each in scene.shown if each.parent == process.pid and is_worker(each)]
            lines = [
                f"{name_of(scene, node)} waits for the next item of a DataLoader, in {where(thread)}",
                *(
                    f"its worker {process_name(scene, child.pid)} is in {_doing(child.threads[0])}"
                    for child in children
                    if not is_idle_worker(child.threads[0])
                ),
            ]
            busy = [c for c in children if not is_idle_worker(c.threads[0])]
            threads = (node, *((child.pid, child.threads[0].thread.tid) for child in busy))
            findings.append(Finding("workers", "\n".join(lines), threads))
    return findings


def _locks(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    return _held(scene, waits, told, "lock", lambda wait: wait.what != "the GIL" and wait.relation != "")


def _of_itself(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """A lock of Python that the thread has itself, by a ``with`` block. Of mutexes see :func:`_lost`."""
    findings = []
    for node, thread in _waiting_threads(scene, told):
        lock = thread.waits_for
        if lock is None or lock.kind != "lock" or has_time_limit(thread.system_call):
            continue
        if scene.holder_of(node[0], lock) != node:
            continue
        text = f"{name_of(scene, node)} waits for {lock_in_words(lock)}, in {where(thread)}, which it holds itself"
        text += f"\na Lock cannot be taken twice, as an RLock can; {_who_may_release(scene, node)}"
        findings.append(Finding("lock", text, (node,)))
    return findings


def _alone(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """A wait of the only thread of a process, which no other process can end: for a lock of Python, at a futex of its
    own."""
    findings = []
    for node, thread in _waiting_threads(scene, told):
        lock, call = thread.waits_for, thread.system_call
        of_python = lock is not None and lock.kind == "lock"
        at_futex = call is not None and call.name == "futex" and bool(call.arguments[1] & _FUTEX_PRIVATE)
        at_futex = at_futex and not has_time_limit(call)
        if not (of_python or at_futex) or not _is_only_thread(scene, node) or is_idle(scene, node, thread):
            continue
        what = f"for {lock_in_words(lock)}" if lock is not None and of_python else "to be woken"
        text = f"{name_of(scene, node)} waits {what}, in {where(thread)}\n{_who_may_release(scene, node)}"
        parent = scene.processes.get(scene.processes[node[0]].forked_from or 0)
        if parent is not None and len(parent.threads) > 1:
            text += f"\nthe process was forked from {parent.pid}, which has {len(parent.threads)} threads: "
            text += "what another thread had locked at the fork stays locked here"
        findings.append(Finding("lock", text, (node,)))
    return findings


def _who_may_release(scene: Scene, node: Node) -> str:
    """Who may release a Lock that no other thread is known to hold. Any thread may; a Lock does not say who has it."""
    if _is_only_thread(scene, node):
        return "it is the only thread of the process: only a handler of a signal, or a time limit, can end the wait"
    return "only another thread that calls release(), or a time limit, can end the wait"


def _is_only_thread(scene: Scene, node: Node) -> bool:
    return len(scene.processes[node[0]].threads) == 1


def _gil(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    return _held(scene, waits, told, "gil", lambda wait: wait.what == "the GIL")


def _held(
    scene: Scene, waits: dict[Node, Wait], told: set[Node], kind: str, applies: Callable[[Wait], bool]
) -> list[Finding]:
    """One finding for each holder: who waits for what it has, and what it does meanwhile."""
    by_holder: dict[tuple[Node, str, str], list[Wait]] = {}
    for wait in waits.values():
        if not applies(wait) or wait.thread in told or wait.thread in scene.moved or wait.forked:
            continue
        if not is_of_nccl(scene.threads[wait.thread]):
            by_holder.setdefault((wait.holder, wait.relation, wait.what), []).append(wait)
    findings = []
    for (holder, relation, what), group in by_holder.items():
        thread = scene.threads[holder]
        who = [name_of(scene, wait.thread) for wait in group]
        limit = ", with a time limit," if all(wait.limited for wait in group) else ""
        text = f"{_list(who)} {'wait' if len(who) > 1 else 'waits'}{limit} for {what}, "
        text += f"which {name_of(scene, holder)} {relation} in {where(thread)}"
        does = activity(thread).removeprefix("holds the GIL" if what == "the GIL" else "").removeprefix(", ")
        text += f"\n{name_of(scene, holder)}: {does}" if does else ""
        findings.append(Finding(kind, text, tuple(wait.thread for wait in group)))
    return findings


def _list(names: Sequence[str]) -> str:
    return (
        ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more threads"
    )


def _io(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    rows = []
    ranks = _ranks(scene)
    for node, thread in _waiting_threads(scene, told):
        call = thread.system_call
        if call is None or call.name not in IO or call.descriptor is None:
            continue
        if call.name not in WRITES and is_idle(scene, node, thread):
            continue
        if call.name in OF_SERVICES and is_service(scene, node, thread):
            continue
        if call.name in POLLS and (
            node[0] in ranks or is_idle_worker(thread)
        ):  # they wait so in healthy jobs
            continue
        if thread.state == _ON_A_PROCESSOR:  # the call is being carried out, and nothing holds it up
            continue
        text = descriptor_wait(call, call.descriptor, where(thread)) + lock_holders(
            scene, node[0], call.descriptor
        )
        rows.append((node, (text, node[0]), text, "", ""))
    return _lines(scene, "io", rows)


def _children(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    rows = []
    launchers = {job[0].parent for job in jobs(scene.shown)}
    for node, thread in _waiting_threads(scene, told):
        call = thread.system_call
        if call is None or call.name not in _CHILD_WAITS or node[0] in launchers:
            continue
        if is_idle(scene, node, thread):
            continue
        number = _child_of(call)
        which = f"process {number} to end" if number is not None else "any child process to end"
        rows.append((node, (number, node[0]), f"waits for {which}", where(thread), ""))
    return _lines(scene, "child", rows)


def _child_of(call: SystemCall) -> int | None:
    """The child for whose end a call waits; None for any."""
    number = call.arguments[0 if call.name == "wait4" else 1] & 0xFFFFFFFF
    return number if 0 < number < 1 << 31 else None


def _exits(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Programs whose own code has ended, and that wait for threads or children before they end."""
    findings = []
    for node, thread in _waiting_threads(scene, told):
        if not is_at_exit(thread):
            continue
        awaited = _awaited_at_exit(scene, node, thread)
        if awaited:
            text = f"{name_of(scene, node)} has reached the end of the program, which exits when these have ended:\n"
            findings.append(Finding("exit", text + "\n".join(awaited), (node,)))
    return findings


def _awaited_at_exit(scene: Scene, node: Node, thread: ThreadReport) -> list[str]:
    """The threads and processes for whose end a thread waits that is in the exit, each with what it does."""
    pid, call = node[0], thread.system_call
    child = _child_of(call) if call is not None and call.name in _CHILD_WAITS else None
    if child is not None:
        children, threads = [child], []
    else:
        others = [one for one in scene.processes[pid].threads if one is not thread]
        joined = [one for one in others if one.thread.tid == thread.joins]
        threads = joined or [one for one in others if one.daemon is False]
        # A thread of a library's own looks after them.
        own = [own_python_frame(one) for one in threads]
        serves = any(is_of_a_library(one.file or "") for one in own if one is not None)
        children = [one.pid for one in scene.shown if one.parent == pid and serves]
    lines = [f"{name_of(scene, (pid, one.thread.tid))}: {_doing(one)}" for one in threads]
    for each in children:
        main = scene.processes[each].threads[:1] if each in scene.processes else ()
        doing = [_doing(one) for one in main if not is_idle(scene, (each, each), one)]
        lines += [": ".join([process_name(scene, each) if main else f"process {each}", *doing])]
    return lines


def _notifications(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Waits without a holder in memory: for an Event, a Queue, the end of a thread."""
    rows = []
    for node, thread in _waiting_threads(scene, told):
        joined = node[0], thread.joins or 0
        what = f"{name_of(scene, joined)} to end" if joined in scene.threads else notification_of(thread)
        if what is not None and not is_service(scene, node, thread) and not is_idle(scene, node, thread):
            key = what if joined in scene.threads else (what, where(thread))
            rows.append((node, key, f"waits for {what}", where(thread), ""))
    return _lines(scene, "notification", rows)


def _lines(scene: Scene, kind: str, rows: Sequence[_Row]) -> list[Finding]:
    """A finding for each thing that is waited for, by however many threads."""
    groups: dict[Hashable, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row[1], []).append(row)
    findings = []
    for group in groups.values():
        nodes = tuple(row[0] for row in group)
        _, _, does, _, more = group[0]
        does = does if len(group) == 1 else "wait" + does.removeprefix("waits")
        places = [f"in {at}" for at in dict.fromkeys(row[3] for row in group) if at]
        who = _list([name_of(scene, node) for node in nodes])
        text = ", ".join([f"{who} {does}", *places[:_MOST_PLACES]])
        findings.append(Finding(kind, text + more, nodes))
    return findings


def _futexes(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Waits of the program without a time limit of which nothing else is known: a std::condition_variable, a
    std::future, the end of a std::thread, a Lock that somebody else may have."""
    rows, ranks = [], _ranks(scene)
    for node, thread in _waiting_threads(scene, told):
        call, lock = thread.system_call, thread.waits_for
        if call is None or call.name != "futex" or has_time_limit(call) or node[0] in ranks:
            continue
        if thread.thread.waits_for_gil or not is_in_program(node, thread) or is_idle(scene, node, thread):
            continue
        is_known = lock is not None and lock.kind != "mutex"
        what = f"for {lock_in_words(lock)}" if lock is not None and is_known else "to be woken"
        key = (node[0], what if is_known else where(thread))
        rows.append((node, key, f"waits {what}", where(thread), "\nwho is to end the wait is not known"))
    return _lines(scene, "notification", rows)


def _gpu(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Threads that were in the same call of the GPU's driver at both looks. Ranks of a job are left out."""
    if scene.earlier is None:
        return []
    before, ranks = _before(scene.earlier), _ranks(scene)
    findings = []
    for node, thread in _untold(scene, told):
        was, call = before.get(node), gpu_call(thread)
        if call is None or was is None or node[0] in ranks:
            continue
        if (gpu_call(was), where(was)) != (call, where(thread)):
            continue
        text = f"{name_of(scene, node)} {in_words(call)}, in {where(thread)}\n"
        seconds = seconds_in_words(scene.earlier.until(scene.processes[node[0]]))
        if node in scene.moved or thread.state == _ON_A_PROCESSOR:
            text += f"it was there {seconds} ago too: in the same call, or in the next one of a loop"
        else:
            text += f"it has not moved in {seconds}"
        findings.append(Finding("gpu", text, (node,)))
    return findings


def _busy(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Threads that had something to do all the time since the earlier look. Ranks of a job compute: left out.

    One that has waited for a processor had something to do, unless it has slept as well: then its time on one counts.
    """
    if scene.earlier is None:
        return []
    before, ranks = _before(scene.earlier), _ranks(scene)
    findings = []
    for node, thread in _untold(scene, told):
        was = before.get(node)
        if was is None or node[0] in ranks:
            continue
        process = scene.processes[node[0]]
        seconds, ran = scene.earlier.until(process), scene.earlier.ran_until(process)
        used = (thread.cpu or 0.0) - (was.cpu or 0.0)
        has_slept = slept(was, thread)
        if (used if has_slept else _ready(thread) - _ready(was)) < _ALL_THE_TIME * ran:
            continue
        text = f"{name_of(scene, node)} is busy: "
        if has_slept:
            text += f"it used {used:.1f} s of CPU time in the last {seconds_in_words(seconds)}"
        else:
            text += f"it waited for nothing in the last {seconds_in_words(seconds)} and used {used:.1f} s of CPU time"
        findings.append(Finding("busy", f"{text}, in {where(thread)}", (node,)))
    return findings


def _before(earlier: Earlier) -> dict[Node, ThreadReport]:
    return {
        (process.pid, thread.thread.tid): thread
        for process in earlier.processes
        for thread in process.threads
    }


def _ranks(scene: Scene) -> set[int]:
    return {process.pid for job in jobs(scene.shown) for process in job}


def _ready(thread: ThreadReport) -> float:
    """Seconds in which a thread had something to do, also where others had the processors."""
    return thread.ready if thread.ready is not None else thread.cpu or 0.0


def _waiting_threads(scene: Scene, told: set[Node]) -> list[tuple[Node, ThreadReport]]:
    return [(node, thread) for node, thread in _untold(scene, told) if node not in scene.moved]


def _untold(scene: Scene, told: set[Node]) -> list[tuple[Node, ThreadReport]]:
    return [
        ((process.pid, thread.thread.tid), thread)
        for process in scene.shown
        for thread in process.threads
        if (process.pid, thread.thread.tid) not in told
    ]


_RULES: tuple[Callable[[Scene, dict[Node, Wait], set[Node]], list[Finding]], ...] = (
    _forks,
    _lost,
    _workers,
    _locks,
    _of_itself,
    _gil,
    blocked_loops,
    _collectives,
    database_waits,
    _exits,
    _io,
    _children,
    _notifications,
    _alone,
    _gpu,
    _futexes,
    _busy,
)
