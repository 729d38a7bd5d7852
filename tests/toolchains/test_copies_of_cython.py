"""Functions of Cython are found by their names also where a compiler has made copies of them, or renamed them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.symbols.objfile import Objfile
from dualdbg.toolchains.cython.functions import name_in
from tests.support import require

# The number of is_prime is told from the length of a scope by the wrapper beside it.
NAMES = {
    "__pyx_f_1m_term{}": "m.term",
    "__pyx_pw_1m_1poly{}": "m.poly",
    "__pyx_pf_1m_2is_prime{}": "m.is_prime",
    "__pyx_pw_1m_3is_prime{}": "m.is_prime",
    # The body of a generator has the number behind that of its wrapper, and not the name.
    "__pyx_pw_1m_7closure_1add{}": "m.closure.add",
    "__pyx_pw_1m_71other{}": "m.other",
    "__pyx_pw_1m_7numbers{}": "m.numbers",
    "__pyx_gb_1m_8generator{}": "m.numbers",
}


@pytest.mark.parametrize("suffix", ["", ".lto_priv.0", ".isra.0", ".constprop.0.isra.0"])
def test_a_function_of_cython_is_found_by_its_name(suffix: str, tmp_path: Path) -> None:
    compiler = require(shutil.which("gcc"), "a C compiler")
    names = [name.format(suffix) for name in NAMES]
    parts = [f"{name}.cold" for name in names]
    lines = [
        f'void f{at}(void) __asm__("{name}"); void f{at}(void) {{}}' for at, name in enumerate(names + parts)
    ]
    (tmp_path / "m.c").write_text("\n".join(lines))
    subprocess.run([compiler, "-shared", "-fPIC", "m.c", "-o", "m.so"], cwd=tmp_path, check=True)
    library = Objfile.open(tmp_path / "m.so")
    assert [str(name_in(library, name)) for name in names] == [
        str(name_in(library, name.removesuffix(suffix))) for name in names
    ]
    found = {own: {one.address for one in library.find_functions(own)} for own in NAMES.values()}
    assert {own: len(addresses) for own, addresses in found.items()} == dict.fromkeys(NAMES.values(), 1)
    assert [name.text for name in (name_in(library, one) for one in names) if name is not None] == list(
        NAMES.values()
    )
