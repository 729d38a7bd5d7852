"""Runs a script under debugpy with its own adapter, stops it on a line and prints the stack: what an editor does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Client:
    """A client with the few requests of DAP that are needed."""

    def __init__(self, port: int) -> None:
        self.socket = self._connect(port)
        self.file = self.socket.makefile("rb")
        self.sequence = 0

    @staticmethod
    def _connect(port: int) -> socket.socket:
        while True:
            with open("/proc/net/tcp") as table:  # a probing connection would count as the client
                if any(f":{port:04X} " in line and " 0A " in line for line in table):
                    return socket.create_connection(("127.0.0.1", port))
            time.sleep(0.005)

    def send(self, command: str, arguments: dict[str, Any] | None = None) -> None:
        self.sequence += 1
        message = {"seq": self.sequence, "type": "request", "command": command, "arguments": arguments or {}}
        body = json.dumps(message).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def attach(self) -> None:
        """All that comes before breakpoints."""
        self.send("initialize", {"adapterID": "debugpy"})
        self.wait("response", "initialize")
        self.send("attach", {"justMyCode": True})
        self.wait("event", "initialized")

    def stop_at(self, script: str, *lines: int) -> int:
        """Run to the first of the lines; returns the number of the thread that stopped there."""
        self.attach()
        self.send("setBreakpoints", {"source": {"path": script}, "breakpoints": [{"line": n} for n in lines]})
        self.wait("response", "setBreakpoints")
        self.send("configurationDone")
        return int(self.wait("event", "stopped")["body"]["threadId"])

    def wait(self, kind: str, name: str) -> dict[str, Any]:
        while True:
            length = 0
            while line := self.file.readline().strip():
                if line.startswith(b"Content-Length"):
                    length = int(line.split(b":")[1])
            if not length:
                raise SystemExit("the adapter closed the connection")
            message: dict[str, Any] = json.loads(self.file.read(length))
            if message["type"] == kind and message.get("event", message.get("command")) == name:
                return message
            if message.get("event") == "terminated":
                raise SystemExit(f"the program ended before the {kind} {name}")


def start(*program: str, python: str = sys.executable) -> tuple[subprocess.Popen[bytes], int]:
    """The program under debugpy, waiting for a client at the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    options = ["-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client"]
    env = None if python == sys.executable else {**os.environ, "PYTHONPATH": str(_debugpy_alone())}
    return subprocess.Popen([python, *options, *program], env=env), port


def _debugpy_alone() -> Path:
    """A folder with our debugpy for another interpreter, which has all other packages of its own."""
    folder = Path(__file__).resolve().parent.parent / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "debugpy"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(str(find_spec("debugpy").origin)).parent)  # type: ignore[union-attr]
    return folder


def main() -> None:
    """``PYTHON SCRIPT LINE``: to the line. ``PYTHON -c CODE``: to the end."""
    python, script, line = sys.argv[1:]
    program, port = start(*((script, line) if script == "-c" else (script,)), python=python)
    client = Client(port)
    if script == "-c":
        client.attach()
        client.send("configurationDone")
    else:
        client.send("stackTrace", {"threadId": client.stop_at(script, int(line))})
        print(client.wait("response", "stackTrace")["body"]["stackFrames"][0]["line"])
        program.kill()
    program.wait()


if __name__ == "__main__":
    main()
