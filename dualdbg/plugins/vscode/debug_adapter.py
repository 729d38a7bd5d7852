#!python
"""What "debugAdapterPath" of VS Code's Python Debugger names: run by any Python from 3.8 on, it becomes `dualdbg dap`.

The extension starts `PYTHON THIS-FILE [--log-dir DIR]` with the interpreter of the window (vscode-python-debugger,
adapter/factory.ts), which need not be the one that dualdbg is installed in.
"""

import os
import sys

MISSING = (
    "dualdbg is not there any more: {}\n"
    "Install it again (pip install dualdbg), then type: dualdbg vscode init\n"
)


def main() -> None:
    # pip has put this file beside dualdbg's own command, whose first line names dualdbg's interpreter.
    command = os.path.join(os.path.dirname(os.path.realpath(__file__)), "dualdbg")
    try:
        os.execv(command, [command, "dap", *sys.argv[1:]])
    except OSError as error:
        refuse(MISSING.format(f"{command}: {error.strerror}"))


def refuse(why: str) -> None:
    """Show ``why`` in the debug console of the client, and end the session that it asks for."""
    # Neither the project's folder nor PYTHONPATH may give us modules.
    sys.path[:] = [
        folder for folder in sys.path if folder.startswith((sys.base_prefix, sys.base_exec_prefix))
    ]
    import json

    def send(**message: object) -> None:
        body = json.dumps(message).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        sys.stdout.buffer.flush()

    while True:
        length = 0
        for line in iter(sys.stdin.buffer.readline, b"\r\n"):
            if not line:
                return
            if line.lower().startswith(b"content-length:"):
                length = int(line[15:])
        request = json.loads(sys.stdin.buffer.read(length))
        answer = {"type": "response", "request_seq": request["seq"], "command": request["command"]}
        if request["command"] in ("initialize", "disconnect"):
            send(seq=0, success=True, body={}, **answer)
            continue
        send(seq=0, type="event", event="output", body={"category": "important", "output": why})
        error = {"id": 1, "format": why.strip(), "showUser": True}
        send(seq=0, success=False, message=why.strip(), body={"error": error}, **answer)


if __name__ == "__main__":
    main()
