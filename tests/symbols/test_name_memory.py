"""Names of big libraries are looked up once; what is remembered is never believed unchecked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dualdbg.symbols import objfile as library_module
from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.symbols.objfile import Objfile


@pytest.fixture(autouse=True)
def every_table_is_big(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "_BIG_TABLE", 0)


def fresh(path: Path) -> Objfile:
    """As another process opens it."""
    return Objfile(ElfFile.open(path))


def forbid_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(library_module, "entries_named", refuse)


NAMES = ("plain_c", "outer::inner::deep", "Sh?pe::m*", "::outer::deep", "nothing_of_the_kind")


def test_the_next_process_need_not_search(shapes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {name: fresh(shapes).find_functions(name) for name in NAMES}
    data = fresh(shapes).find_data("c_variable")
    assert [len(found) for found in first.values()] == [1, 3, 3, 1, 0]
    forbid_searching(monkeypatch)
    assert {name: fresh(shapes).find_functions(name) for name in NAMES} == first
    assert fresh(shapes).find_data("c_variable") == data
    for other in ("deep", "outer::deep", "c_variable"):
        with pytest.raises(AssertionError, match="searched"):
            fresh(shapes).find_functions(other)
    with pytest.raises(AssertionError, match="searched"):
        fresh(shapes).find_functions("plain_c", exact=True)


@pytest.mark.parametrize("positions", [[1], [10**9], [-1], ["x"], "x", None, [1, 2, 3]])
def test_a_wrong_memory_is_searched_again(shapes: Path, own_cache: Path, positions: object) -> None:
    expected = fresh(shapes).find_functions("plain_c")
    (file,) = own_cache.glob("names*.json")
    content = json.loads(file.read_text())
    file.write_text(json.dumps(dict.fromkeys(content, positions)))
    assert fresh(shapes).find_functions("plain_c") == expected


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a": 1}', "\xff"])
def test_a_broken_file_is_as_good_as_none(shapes: Path, own_cache: Path, text: str) -> None:
    expected = fresh(shapes).find_functions("plain_c")
    (file,) = own_cache.glob("names*.json")
    file.write_text(text, encoding="latin-1")
    assert fresh(shapes).find_functions("plain_c") == expected


def test_an_answer_that_was_cut_short_is_not_kept(shapes: Path) -> None:
    fresh(shapes).find_functions("outer::**", limit=1)
    assert len(fresh(shapes).find_functions("outer::**")) > 20


def test_only_so_many_are_kept(shapes: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualdbg.symbols.names.name_memory._NAMES", 3)
    library = fresh(shapes)
    for name in ("a_1", "a_2", "a_3", "a_4"):
        assert library.find_functions(name) == []
    (file,) = own_cache.glob("names*.json")
    assert [key.rpartition(" ")[2] for key in json.loads(file.read_text())] == ["a_2", "a_3", "a_4"]
