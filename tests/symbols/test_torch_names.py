"""libtorch_cpu, where the names are: the same addresses as nm -C, for a large sample."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from pathlib import Path

import pytest

from dualdbg.symbols.names.name_query import Query
from dualdbg.symbols.objfile import Objfile
from tests.symbols.conftest import run, torch_library

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("binutils")]

SEED = 20240503
SEARCHED, COMPARED = (60, 8_000) if os.environ.get("DUALDBG_TEST_ALL") == "1" else (8, 1_000)


@pytest.fixture(scope="module")
def libtorch() -> Objfile:
    return Objfile.open(torch_library("libtorch_cpu.so"))


@pytest.fixture(scope="module")
def listed(libtorch: Objfile) -> list[tuple[int, str, str]]:
    """(address, linkage name, demangled name) of every defined function, as nm has them; no cold parts."""
    raw = run("nm", "-p", "--defined-only", libtorch.path).splitlines()
    demangled = run("nm", "-p", "-C", "--defined-only", libtorch.path).splitlines()
    rows = []
    for line, text in zip(raw, demangled, strict=True):
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWi" and ".cold" not in name:
            rows.append((int(address, 16), name, text.split(" ", 2)[2]))
    assert len(rows) > 300_000
    return rows


@pytest.mark.slow
def test_every_name_of_a_sample_has_the_addresses_of_nm(
    libtorch: Objfile, listed: list[tuple[int, str, str]]
) -> None:
    addresses: dict[str, set[int]] = defaultdict(set)
    for address, _, name in listed:
        addresses[name].add(address)
    for name in random.Random(SEED).sample(sorted(addresses), SEARCHED):
        assert {s.address for s in libtorch.find_functions(name, exact=True)} == addresses[name], name
        assert {s.address for s in libtorch.find_functions(name)} >= addresses[name], name


@pytest.mark.slow
def test_no_function_is_passed_by_before_it_is_demangled(listed: list[tuple[int, str, str]]) -> None:
    """The search looks at mangled bytes first; here over many more names than can be searched one by one."""
    for _, linkage_name, name in random.Random(SEED).sample(listed, COMPARED):
        for exact in (True, False):
            query = Query.of(name, exact)
            if query.plain is not None:
                assert query.is_plain(linkage_name.encode()), name
            else:
                assert query.may_mean(linkage_name.encode()) and query.matches(name), name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("at::native::randn", {"at::native::randn"}),
        ("at::_ops::randn::call", {"at::_ops::randn::call"}),
        ("InterpreterStateImpl::runTemplate", {"torch::jit::InterpreterStateImpl::runTemplate"}),
        ("c10::Dispatcher::~Dispatcher", {"c10::Dispatcher::~Dispatcher"}),
        ("native::add(const at::Tensor&, c10::Scalar const &, const c10::Scalar&)", {"at::native::add"}),
    ],
)
def test_names_that_people_type(libtorch: Objfile, name: str, expected: set[str]) -> None:
    symbols = libtorch.find_functions(name)
    assert {symbol.short_name for symbol in symbols} == expected
    assert all(symbol.clone is None for symbol in symbols)


def test_local_functions_of_the_binding() -> None:
    library = Objfile.open(torch_library("libtorch_python.so"))
    assert [s.binding for s in library.find_functions("THPModule_initExtension")] == ["local"]
    (binding,) = library.find_functions("THPVariable_randn")
    assert binding.short_name == "torch::autograd::THPVariable_randn"


def test_a_glob_finds_the_kernels_behind_a_name(libtorch: Objfile) -> None:
    names = {symbol.short_name for symbol in libtorch.find_functions("at::native::*softmax*")}
    assert {"at::native::softmax", "at::native::log_softmax"} <= names
    assert all(name.startswith("at::native::") and "softmax" in name for name in names)
    assert Path(libtorch.path).name == "libtorch_cpu.so"
