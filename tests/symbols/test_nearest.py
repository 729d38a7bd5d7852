"""Typing errors, and the names that are offered for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.symbols.nearest_names import nearest_names
from dualdbg.symbols.objfile import Objfile
from tests.symbols.conftest import torch_library


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("plian_c", "plain_c"),
        ("plain_d", "plain_c"),
        ("firstname", "first_name"),
        ("use_hiden", "outer::use_hidden"),
        ("outer::with_lamda", "outer::with_lambda"),
        ("outr::with_lambda", "outer::with_lambda"),
        ("Shape::methd", "outer::Shape::method"),
        ("Shape::completely_different", "outer::Shape::method"),
        ("WITH_LAMBDA", "outer::with_lambda"),
        ("outer::fuctional", "outer::functional"),
    ],
)
def test_the_nearest_names(shapes: Path, typed: str, meant: str) -> None:
    assert meant in nearest_names(typed, [Objfile.open(shapes)])


def test_nothing_is_offered_for_nonsense(shapes: Path) -> None:
    assert nearest_names("zzzzqqqq", [Objfile.open(shapes)]) == []
    assert nearest_names("::", [Objfile.open(shapes)]) == []
    assert nearest_names("plain_c", []) == []


def test_at_most_as_many_as_asked_for(shapes: Path) -> None:
    assert len(nearest_names("Shape::completely_different", [Objfile.open(shapes)], limit=3)) == 3


@pytest.mark.torch
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("at::native::radn", "at::native::randn"),
        ("at::natve::randn", "at::native::randn"),
        ("sofmax", "at::native::softmax"),
        ("THPModule_initExtensoin", "THPModule_initExtension"),
        ("thpmodule_initextension", "THPModule_initExtension"),
        ("InterpreterStateImpl::runImpl", "torch::jit::InterpreterStateImpl::runTemplate"),
    ],
)
def test_in_libtorch(typed: str, meant: str) -> None:
    libraries = [Objfile.open(torch_library(name)) for name in ("libtorch_cpu.so", "libtorch_python.so")]
    assert meant in nearest_names(typed, libraries)
