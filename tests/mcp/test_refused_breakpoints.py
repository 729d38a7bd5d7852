"""``break`` with what cannot be set: an error that says why and what to call next, and nothing of it is left."""

from __future__ import annotations

import pytest

from tests.mcp.driver import Tools, with_server

PROGRAM = "import time\ndef f(n):\n    return n + 1\nf(1)\ntime.sleep(1000)\n"
# What is wrong with each, in the answer's words.
REFUSED = {
    "prog.py:99": "prog.py has 5 lines",
    "prog.py:x": "prog.py:x",
    "prog.py:3 hits x": "hits",
    "raise:": "raise:",
    "preset:nothing": "nothing",
    "watch:py:n +": "n +",
    "py:": "py:",
    "": "",
}


@pytest.mark.processes
def test_what_cannot_be_set_is_an_error(tmp_path: object) -> None:
    async def work(tools: Tools) -> None:
        script = f"{tmp_path}/prog.py"
        with open(script, "w") as file:
            file.write(PROGRAM)
        session = (await tools("run", program=script, breakpoints=[f"{script}:3"])).data["session"]
        for spec, why in REFUSED.items():
            said = await tools.refused("break", session=session, add=[spec.replace("prog.py", script)])
            assert "add[0]" in said and why in said, (spec, said)
            assert "\nnext: " in said, (spec, said)
        said = await tools.refused("break", session=session, add=[f"{script}:4", f"{script}:99"])
        assert "add[1]" in said and "nor were the others added" in said
        rows = (await tools("break", session=session)).data["breakpoints"]
        assert [row["id"] for row in rows] == [1]  # none of them is left
        said = await tools.refused("break", session=session, remove=[77])
        assert "77" in said and f"break(session={session!r}) lists them" in said

    with_server(work)
