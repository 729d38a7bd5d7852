"""A gdb that answers every request with something random: records that are right, nearly right, or no MI at all.

``python _mi_records.py SEED RECORDS`` speaks MI on standard input and output until it has written so many.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable

_WORDS = (
    *(
        "",
        "1",
        "0",
        "-1",
        "7",
        "0x7f00",
        "0x",
        "all",
        "99999999999999999999",
        "SIGSEGV",
        "main",
        "é",
        "\x1b[2J",
    ),
    *("breakpoint-hit", "signal-received", "solib-event", "end-stepping-range", "exited", "exited-signalled"),
    *("watchpoint-trigger", "exec", "function-finished", "x" * 5000, '"', "\\", "1e9", "nan", "null"),
)
_NAMES = (
    *(
        "reason",
        "thread-id",
        "bkptno",
        "bkpt",
        "number",
        "addr",
        "frame",
        "level",
        "func",
        "args",
        "value",
        "msg",
    ),
    *(
        "stopped-threads",
        "signal-name",
        "exit-code",
        "id",
        "threads",
        "target-id",
        "wpt",
        "hw-awpt",
        "exp",
        "old",
    ),
    *("new", "script", "times", "core", "register-values", "memory", "contents", "asm_insns", "name", "type"),
)
_EVENTS = (
    *("stopped", "stopped", "stopped", "running", "thread-created", "thread-exited", "thread-group-exited"),
    *(
        "library-loaded",
        "breakpoint-created",
        "breakpoint-modified",
        "breakpoint-deleted",
        "cmd-param-changed",
    ),
    *("thread-group-started", "thread-selected", "memory-changed", "traceframe-changed", "what"),
)
_RESULTS = ("done", "done", "done", "done", "running", "connected", "error", "exit", "what", "")
_PIECES = (
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    '"',
    "\\",
    "\\303",
    "\\n",
    'a="1"',
    "^done",
    "*stopped",
    "(gdb)",
    "~",
    "&",
    "\0",
)
_ANSWER_MARK = "dualdbg-answer:"


class Records:
    """The random records of one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def line(self, token: int | None = None) -> bytes:
        """One line without its end. With a token it is, if it is one at all, the answer to that request."""
        chance = self.chance
        if chance.random() < 0.03:
            return bytes(chance.randrange(256) for _ in range(chance.randrange(200))).replace(b"\n", b" ")
        text = self._result(token) if token is not None else chance.choice(_KINDS)(self)
        while chance.random() < 0.3:
            text = chance.choice(_DAMAGES)(self, text)
        return text.replace("\n", " ").encode("utf-8", "surrogateescape")

    # -- records in order --------------------------------------------------------------------------

    def _result(self, token: int | None = None) -> str:
        number = self.chance.randrange(200) if token is None else token
        return f"{number}^{self.chance.choice(_RESULTS)}{self._payload()}"

    def _event(self) -> str:
        return f"{self.chance.choice('*=+')}{self.chance.choice(_EVENTS)}{self._payload()}"

    def _text(self) -> str:
        chance = self.chance
        text = chance.choice((*_WORDS, 'dualdbg-log:[1, "x"]', "dualdbg-log:", "dualdbg-log:{}"))
        if chance.random() < 0.5:
            text = _ANSWER_MARK + self._answer()
        return chance.choice("~@&") + json.dumps(text, ensure_ascii=False)

    def _answer(self) -> str:
        """What a command of ours in gdb prints: ``result`` or ``error``, with any value."""
        chance = self.chance
        name = chance.choice(("result", "result", "result", "error", "what"))
        return json.dumps(chance.choice(({name: self._json(3)}, {name: self._json(3)}, self._json(2))))

    def _json(self, depth: int) -> object:
        chance = self.chance
        if depth and chance.random() < 0.6:
            inner = [self._json(depth - 1) for _ in range(chance.randrange(4))]
            return inner if chance.random() < 0.5 else {chance.choice(_NAMES): one for one in inner}
        return chance.choice((*_WORDS, None, True, 0, -1, 1 << 70, 1.5, float("nan")))

    def _payload(self) -> str:
        return "".join(f",{self._pair(3)}" for _ in range(self.chance.randrange(5)))

    def _pair(self, depth: int) -> str:
        return f"{self.chance.choice(_NAMES)}={self._value(depth)}"

    def _value(self, depth: int) -> str:
        chance = self.chance
        if not depth or chance.random() < 0.6:
            return json.dumps(chance.choice(_WORDS), ensure_ascii=False)
        count = chance.randrange(4)
        pairs = ",".join(self._pair(depth - 1) for _ in range(count))
        kind = chance.randrange(3)
        if kind == 0:
            return "{" + pairs + "}"
        if kind == 1:
            return "[" + pairs + "]"
        return "[" + ",".join(self._value(depth - 1) for _ in range(count)) + "]"

    # -- damage ------------------------------------------------------------------------------------

    def _cut(self, text: str) -> str:
        return text[: self.chance.randrange(len(text) + 1)]

    def _insert(self, text: str) -> str:
        at = self.chance.randrange(len(text) + 1)
        return text[:at] + self.chance.choice(_PIECES) + text[at:]

    def _leave_out(self, text: str) -> str:
        at = self.chance.randrange(len(text) + 1)
        return text[:at] + text[at + 1 :]

    def _double(self, text: str) -> str:
        return text + text

    def _nest(self, text: str) -> str:
        return text + ",a=" + self.chance.choice("[{") * self.chance.choice((3, 60, 2000))

    def _lengthen(self, text: str) -> str:
        if self.chance.random() < 0.98:
            return text
        return text + ',a="' + "x" * self.chance.choice((1 << 16, 3 << 20, 17 << 20)) + '"'

    def _spoil_number(self, text: str) -> str:
        return re.sub(r"\d+", self.chance.choice(("9" * 5000, "", "-1", "1.5")), text, count=1)


_KINDS: tuple[Callable[[Records], str], ...] = (
    Records._event,
    Records._event,
    Records._text,
    Records._text,
    Records._result,
    lambda _: "(gdb) ",
)
_DAMAGES: tuple[Callable[[Records, str], str], ...] = (
    Records._cut,
    Records._insert,
    Records._insert,
    Records._leave_out,
    Records._double,
    Records._nest,
    Records._lengthen,
    Records._spoil_number,
)


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    records = Records(seed)
    written = 0
    for request in sys.stdin.buffer:
        digits = re.match(rb"\d*", request)
        lines = [records.line() for _ in range(records.chance.choice((0, 1, 3, 10, 40)))]
        lines.append(records.line(int(digits[0]) if digits and digits[0] else None))
        written += len(lines)
        sys.stdout.buffer.write(b"\n".join(lines) + b"\n")
        sys.stdout.buffer.flush()
        if written >= count:
            return


if __name__ == "__main__":
    main()
