"""Reports of AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer stop a session as a crash does."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import NativeFrame, Reason
from dualdbg.target.permission import NO_LEAK_CHECK
from tests import rows, sanitizers
from tests.session.driver import Driver, name, run_session

# (sanitizer, what is called, the words of the report, the function, its line, how the program ends)
REPORTS = [
    ("asan", "beyond(4)", "AddressSanitizer: heap-buffer-overflow", "beyond", "asan", 1),
    ("ubsan", "shifted(40)", "UndefinedBehaviorSanitizer: ", "shifted", "ubsan", 0),
    (
        *("asan", "copied(c.create_string_buffer(64), 64)", "AddressSanitizer: stack-buffer-overflow"),
        *("copied", "memcpy", 1),
    ),
    ("tsan", "raced()", "ThreadSanitizer: data race", "count", "tsan", 66),
]


@pytest.mark.parametrize(("sanitizer", "call", "words", "function", "mark", "status"), rows.some(REPORTS, 2))
def test_a_report_stops_at_the_users_line(
    sanitizer: str, call: str, words: str, function: str, mark: str, status: int, tmp_path: Path
) -> None:
    library, environment = sanitizers.library(tmp_path, sanitizer)
    script = tmp_path / "app.py"
    script.write_text(
        f"import ctypes as c\n\ndef call(library):\n    library.{call}\n\ncall(c.CDLL({str(library)!r}))\n"
    )

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.SIGNAL and (stop.description or "").startswith(words), stop
        assert isinstance(stop.frame, NativeFrame) and name(stop.frame) == function
        assert stop.frame.line == sanitizers.line_of(mark)
        if sanitizer != "tsan":
            assert "app.py:4" in await driver.names()
        told = [notice.message for notice in driver.notices if notice.level == "warning"]
        assert told == ([NO_LEAK_CHECK] if sanitizer == "asan" else [])
        assert (await driver.finish_run()).code == status

    run_session(work, script, env=environment)
