"""What numba calls the functions that it compiles. The names are those of numba 0.68."""

from __future__ import annotations

import pytest

from dualdbg.symbols.names.numba_names import numba_name

UFUNC = "_ZN8__main__3vecB2v2B52c8tJTIeFImbKsAWlBR0FJMfbgsMFGDwYEQhVCwwAMEsTAA_3d_3dEd"
CFUNC = "_ZN8__main__2cbB2v3B52c8tJTIeFIjxB2IKSgI4CrvQClUYkACQB1EiFSRRB9GgCAA_3d_3dEd"
REGION = "_ZN13_3cdynamic_3e25__numba_parfor_gufunc_0x7B3v10E5ArrayIyLi1E1C7mutable7alignedE"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("__main__::total[abi:v1][abi:c8tJTC](long long)", "__main__.total"),
        ("__main__::outer::_3clocals_3e::inner[abi:v1](long long)", "__main__.outer.<locals>.inner"),
        (f"__ufunc__.{UFUNC}", "__ufunc__.__main__.vec"),
        (f"cfunc.{CFUNC}", "cfunc.__main__.cb"),
        (f"__gufunc__.{REGION}", "__gufunc__.<dynamic>.__numba_parfor_gufunc_0x7"),
        ("llvm::APInt::abs() const", None),
        ("other._ZN3foo3barEv", None),
        ("plain", None),
    ],
)
def test_names(name: str, shown: str | None) -> None:
    assert numba_name(name) == shown
