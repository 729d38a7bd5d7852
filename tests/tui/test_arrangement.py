"""Layouts: their geometry, dragging, and what is remembered of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.errors import ConfigError
from dualdbg.tui import settings
from dualdbg.tui.model.arrangement import (
    Box,
    Node,
    PaneSlot,
    Split,
    all_panes,
    columns,
    drag,
    from_data,
    geometry,
    grow,
    rows,
    show,
    shown_panes,
    to_data,
)
from dualdbg.tui.model.global_keys import KEYS, NAMES, leaving, shown_key
from dualdbg.tui.model.layout_presets import AUTOMATIC, PANES, PRESETS, suitable

TREE = columns(
    (rows((PaneSlot.of("source"), 3), (PaneSlot.of("prompt", "program"), 2)), 3),
    (rows((PaneSlot.of("stack"), 1), (PaneSlot.of("variables"), 1)), 2),
)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60), (301, 97)])
def test_every_layout_fills_the_room_without_overlap(name: str, size: tuple[int, int]) -> None:
    width, height = size
    shape = geometry(PRESETS[name], Box(0, 0, width, height))
    cells: dict[tuple[int, int], str] = {}
    for place, box in shape.places:
        for x in range(box.x, box.x + box.width):
            for y in range(box.y, box.y + box.height):
                assert (x, y) not in cells
                cells[x, y] = place.shown
    for divider in shape.dividers:
        if divider.axis == "columns":
            for y in range(divider.box.y, divider.box.y + divider.box.height):
                assert (divider.box.x, y) not in cells
                cells[divider.box.x, y] = "|"
    assert len(cells) == width * height


@pytest.mark.parametrize("name", PRESETS)
def test_layouts_hold_each_pane_at_most_once(name: str) -> None:
    panes = all_panes(PRESETS[name])
    assert len(set(panes)) == len(panes)
    assert set(panes) <= set(PANES)


@pytest.mark.parametrize("width", [20, 40, 63, 64, 80, 109, 110, 150, 180, 400])
def test_automatic_layouts_reach_every_pane(width: int) -> None:
    assert set(all_panes(PRESETS[suitable(width, 40)])) == set(PANES)


def test_a_divider_moves_as_far_as_the_smallest_part() -> None:
    box = Box(0, 0, 100, 40)
    vertical = next(divider for divider in geometry(TREE, box).dividers if divider.axis == "columns")
    before = {place.shown: area for place, area in geometry(TREE, box).places}
    after = {place.shown: area for place, area in geometry(drag(TREE, vertical, 10, box), box).places}
    assert after["source"].width == before["source"].width + 10
    assert after["stack"].width == before["stack"].width - 10
    furthest = {place.shown: area for place, area in geometry(drag(TREE, vertical, 999, box), box).places}
    assert furthest["stack"].width == 12


def test_a_nested_divider_moves_in_its_own_part() -> None:
    box = Box(0, 0, 100, 40)
    inner = next(d for d in geometry(TREE, box).dividers if d.axis == "rows" and d.path == (0,))
    after = {place.shown: area for place, area in geometry(drag(TREE, inner, -4, box), box).places}
    before = {place.shown: area for place, area in geometry(TREE, box).places}
    assert after["source"].height == before["source"].height - 4
    assert after["stack"] == before["stack"]


def test_a_pane_grows_by_keys_from_either_side() -> None:
    box = Box(0, 0, 100, 40)
    for pane, axis in (("source", "rows"), ("prompt", "rows"), ("stack", "columns"), ("variables", "rows")):
        before = {place.shown: area for place, area in geometry(TREE, box).places}[pane]
        after = {p.shown: a for p, a in geometry(grow(TREE, pane, axis, 2, box), box).places}[pane]  # type: ignore[arg-type]
        assert (after.height - before.height if axis == "rows" else after.width - before.width) == 2


def test_showing_a_pane_changes_only_its_place() -> None:
    assert shown_panes(show(TREE, "program")) == ("source", "program", "stack", "variables")
    assert show(TREE, "nothing") == TREE


def nodes() -> st.SearchStrategy[Node]:
    names = st.lists(st.sampled_from(list(PANES)), min_size=1, max_size=3, unique=True)
    place = names.map(lambda panes: PaneSlot(tuple(panes), panes[-1]))

    def split(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        parts = st.lists(inner, min_size=1, max_size=3)
        return st.tuples(st.sampled_from(["rows", "columns"]), parts).map(
            lambda both: Split(both[0], tuple(both[1]), tuple(1.0 + n for n in range(len(both[1]))))  # type: ignore[arg-type]
        )

    return st.recursive(place, split, max_leaves=6)


@given(nodes())
def test_what_is_stored_comes_back(node: Node) -> None:
    assert from_data(json.loads(json.dumps(to_data(node)))) == node


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"panes": []},
        {"panes": ["a"], "shown": "b"},
        {"axis": "rows", "parts": [], "shares": []},
    ],
)
def test_what_was_not_stored_by_us_is_refused(data: object) -> None:
    with pytest.raises(ValueError):
        from_data(data)


# -- settings --------------------------------------------------------------------------------------


def test_settings_come_back(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.json"
    kept = settings.Settings("medium", {"medium": TREE}, "textual-light")
    settings.save(path, kept)
    assert settings.load(path) == kept


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"layout": 3}', '{"layout": "gone", "arrangements": {"medium": {"panes": 1}}}']
)
def test_settings_that_nobody_understands_are_the_defaults(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dashboard.json"
    path.write_text(text)
    loaded = settings.load(path)
    assert loaded.layout == AUTOMATIC
    assert loaded.arrangement("medium") == PRESETS["medium"]


def test_a_folder_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings.save(tmp_path / "file" / "dashboard.json", settings.Settings())
    assert settings.load(tmp_path / "file" / "dashboard.json") == settings.Settings()


def test_keys_are_read_and_wrong_ones_named(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.toml"
    assert settings.load_keys(path, NAMES) == {}
    path.write_text('[keys]\ncontinue = "f8,c"\n')
    assert settings.load_keys(path, NAMES) == {"continue": "f8,c"}
    for wrong in ('[keys]\ncontinu = "f8"\n', "[keys]\ncontinue = 8\n", "keys = 1\n", "[keys"):
        path.write_text(wrong)
        with pytest.raises(ConfigError) as error:
            settings.load_keys(path, NAMES)
        assert str(path) in error.value.message


# -- keys ------------------------------------------------------------------------------------------


def test_every_action_has_a_name_and_no_key_means_two_things() -> None:
    keys = [key.strip() for row in KEYS for key in row.keys.split(",")]
    assert len(set(keys)) == len(keys)
    assert len(NAMES) == len(KEYS)


def test_the_program_gets_every_key_but_those_that_lead_out() -> None:
    assert leaving({}) == {"f6", "f7", "shift+f7", "f19"}
    assert leaving({"pause": "f12"}) == {"f12", "f7", "shift+f7", "f19"}


@pytest.mark.parametrize(
    ("key", "shown"), [("f5", "F5"), ("shift+f11", "⇧F11"), ("ctrl+q", "^Q"), ("slash", "/"), ("c", "c")]
)
def test_keys_are_shown_as_they_stand_on_a_keyboard(key: str, shown: str) -> None:
    assert shown_key(key) == shown
