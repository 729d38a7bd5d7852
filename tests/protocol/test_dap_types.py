"""The types of what an adapter sends are those of the protocol's schema."""

from __future__ import annotations

import subprocess
import sys
from typing import is_typeddict

import pytest

from dualdbg.protocol import dap_types
from tests import support

SCRIPT = support.ROOT / "scripts" / "dap_types.py"
SCHEMA = support.SHARED / "schemas" / "debugAdapterProtocol.json"


def test_the_types_are_what_the_script_makes_of_the_schema() -> None:
    support.require(SCHEMA.exists(), "../shared/schemas, which has the protocol's schema", outside=True)
    made = subprocess.run([sys.executable, SCRIPT, SCHEMA], capture_output=True, text=True, check=True)
    assert made.stdout == (support.ROOT / "dualdbg" / "protocol" / "dap_types.py").read_text()


@pytest.mark.parametrize("command", dap_types.ANSWERS)
def test_the_table_of_answers_names_types(command: str) -> None:
    body = dap_types.ANSWERS[command].removesuffix(" | None")
    assert body == "None" or is_typeddict(getattr(dap_types, body))
