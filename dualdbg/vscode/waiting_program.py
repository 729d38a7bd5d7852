"""Runs in the target: waits for the editor and for a tracer, then runs the script as Python would.

    python waiting_program.py LISTENER FOLDER_OF_DEBUGPY SCRIPT [ARGS...]

LISTENER is the descriptor of a socket that listens. debugpy's own ``listen`` would serve every user of the machine, and
so would its adapter, which has ports of its own. So there is no adapter: the one editor that is admitted here speaks to
debugpy's pydevd itself, which knows the Debug Adapter Protocol, and then nothing listens any more.

It needs nothing but the standard library of Python 3.8 and debugpy, whose folder is given.
"""

from __future__ import annotations

import os
import runpy
import select
import socket
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRACER_SECONDS = 60.0  # of a usual machine; DUALDBG_PATIENCE multiplies it (dualdbg/patience.py)
_PAUSE_SECONDS = 0.02
# VS Code reads settings that have changed a moment later, and nobody can see when it has. At our line it goes on, and
# then it has to know the process id.
_NOTICED_SECONDS = 1.0
_BEGINNING = b"Content-Length:"  # of a message of the protocol; a web browser's begins with other words
_GONE = "it has gone"
_TARGET = Path(__file__).resolve().parent.parent / "target"


def main() -> None:
    """Wait for the editor and for a tracer, then run the script of the command line."""
    listener, debugpy_folder, script = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3]
    listener.set_inheritable(False)
    sys.argv[:] = sys.argv[3:]
    sys.path[0] = debugpy_folder
    import debugpy

    sys.path[0] = str(Path(script).resolve().parent)
    time.sleep(_NOTICED_SECONDS * _patience())
    host, port = listener.getsockname()
    _say(f"waiting for an editor on {host}:{port}, process {os.getpid()}")
    _debug(debugpy, _editor(listener))
    seconds = _TRACER_SECONDS * _patience()
    if not _traced(seconds):
        _say(f"no gdb came in {seconds:g} s; going on without")
    runpy.run_path(script, run_name="__main__")


def _debug(debugpy: Any, editor: socket.socket) -> None:
    """Returns when the editor has said all that it wants before the program begins."""
    debugpy.configure(subProcess=False)  # a child's pydevd would need the adapter's ports
    import pydevd  # type: ignore[import-not-found]  # debugpy's, which has put it on the path

    changes = runpy.run_path(str(_TARGET / "bootstrap" / "dualdbg_pydevd.py"), run_name="dualdbg_pydevd")
    os.register_at_fork(after_in_child=changes["leave_forked_child"])
    pydevd.start_client = lambda host, port: editor
    debugpy.connect(editor.getsockname())
    debugpy.wait_for_client()


def _say(text: str) -> None:
    print(f"dualdbg: {text}", file=sys.stderr, flush=True)


def _editor(listener: socket.socket) -> socket.socket:
    """The first client of our user, or of root, that begins as an editor does. All others are turned away.

    Who says nothing takes no place: others are heard meanwhile.
    """
    peers = runpy.run_path(str(_TARGET / "peers.py"), run_name="dualdbg_peers")
    waiting: list[socket.socket] = []
    told: set[str] = set()
    while True:
        for ready in select.select([listener, *waiting], [], [])[0]:
            if ready is listener:
                client = listener.accept()[0]
                waiting.append(client)
                why = _objection(client, peers)
            else:
                client = ready
                first = _first_bytes(client)
                if first and _BEGINNING.startswith(first):
                    waiting.remove(client)
                    for one in (listener, *waiting):
                        one.close()
                    return client
                why = "it does not speak as an editor does, but such as a web browser" if first else _GONE
            if why:
                waiting.remove(client)
                client.close()
            if why and why != _GONE and why not in told:
                told.add(why)
                _say(f"a client was turned away: {why}")


def _objection(client: socket.socket, peers: dict[str, Any]) -> str:
    """Why a client may not debug; empty when it belongs to this user or to root, and may."""
    try:
        uid = peers["user_of_client"](client)
    except peers["PeerGone"]:
        return _GONE
    if uid is None:
        return "the kernel does not say whose it is"
    return "" if peers["is_ours"](uid) else f"it is user {uid}'s"


def _first_bytes(client: socket.socket) -> bytes:
    """What there is of the first word, which stays there for pydevd. Empty when the client has gone."""
    try:
        return client.recv(len(_BEGINNING), socket.MSG_PEEK)
    except ConnectionError:
        return b""


def _patience() -> float:
    try:
        return min(max(1.0, float(os.environ.get("DUALDBG_PATIENCE") or 1)), 1000.0)
    except ValueError:
        return 1.0


def _traced(seconds: float) -> bool:
    """Whether a debugger has attached before the time is over."""
    deadline = time.monotonic() + seconds
    while _tracer() == 0:
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def _tracer() -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("TracerPid:"):
                return int(line.split()[1])
    return 0


main()
