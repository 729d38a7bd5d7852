"""Loops of libraries in which a thread, or a process of its own, waits for work: by file and function. Pure."""

from __future__ import annotations

from pathlib import PurePath

# The last parts of the file, and the function without its class.
_LOOPS = frozenset(
    {
        ("concurrent/futures/thread.py", "_worker"),
        ("concurrent/futures/process.py", "_process_worker"),
        ("concurrent/futures/process.py", "run"),
        ("multiprocessing/forkserver.py", "main"),
        ("multiprocessing/managers.py", "accepter"),
        ("multiprocessing/managers.py", "serve_client"),
        ("multiprocessing/managers.py", "serve_forever"),
        ("multiprocessing/pool.py", "_handle_results"),
        ("multiprocessing/pool.py", "_handle_tasks"),
        ("multiprocessing/pool.py", "_handle_workers"),
        ("multiprocessing/pool.py", "worker"),
        ("multiprocessing/queues.py", "_feed"),
        ("multiprocessing/resource_sharer.py", "_serve"),
        ("multiprocessing/resource_tracker.py", "main"),
        ("asyncio/unix_events.py", "_do_waitpid"),
        ("socketserver.py", "serve_forever"),
        ("apscheduler/schedulers/blocking.py", "_main_loop"),
        ("billiard/pool.py", "body"),
        ("billiard/pool.py", "workloop"),
        ("execnet/gateway_base.py", "_thread_receiver"),
        ("execnet/gateway_base.py", "integrate_as_primary_thread"),
        ("grpc/_server.py", "wait_for_termination"),
        ("ipykernel/iostream.py", "_watch_pipe_fd"),
        ("joblib/externals/loky/backend/resource_tracker.py", "main"),
        ("joblib/externals/loky/process_executor.py", "_process_worker"),
        ("joblib/externals/loky/process_executor.py", "run"),
        ("loky/backend/resource_tracker.py", "main"),
        ("loky/process_executor.py", "_process_worker"),
        ("loky/process_executor.py", "run"),
        ("torch/_inductor/compile_worker/subproc_pool.py", "_read_thread"),
        ("torch/_inductor/compile_worker/subproc_pool.py", "main"),
        ("torch/distributed/elastic/rendezvous/utils.py", "_run"),
    }
)
# What such a loop waits with; in anything else it is at work.
_MEANS = frozenset({"threading.py", "queue.py", "queues.py", "selectors.py", "socket.py", "synchronize.py"})
_PACKAGES_OF_MEANS = frozenset({"multiprocessing", "billiard", "backend", "grpc", "execnet"})


def is_idle_loop(file: str, function: str) -> bool:
    """Whether a frame is such a loop. ``function`` may be qualified by its class, and by the function around it."""
    name, parts = function.rpartition(".")[2], PurePath(file).parts
    return any(("/".join(parts[-count:]), name) in _LOOPS for count in range(1, 6))


def waits_for_others(file: str) -> bool:
    """Whether a file has functions by which loops wait: locks, queues, connections."""
    path = PurePath(file)
    return path.name in _MEANS or path.parent.name in _PACKAGES_OF_MEANS
