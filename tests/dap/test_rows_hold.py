"""What a row says of itself holds: by its expression the same value is found, in its memory are the value's bytes."""

from __future__ import annotations

import base64
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import Client, Message
from .conftest import clean_adapter
from .samples import line_of

SOURCE = """\
#include <array>
#include <bitset>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
struct Base { int number = 1; virtual ~Base() = default; };
struct Other { int other = 4; virtual ~Other() = default; };
struct Derived : Base, Other { int number = 10; };
struct Bits { unsigned one : 1; unsigned three : 3; int five : 5; unsigned long long forty : 40; };
struct Holder { struct { Bits bits; } inner; std::vector<Bits> row; union { int first; float second; }; };
enum Color { red, blue = 7 };
int main() {
    int plain = 5, *pointer = &plain, **to_pointer = &pointer, &reference = plain;
    int *nothing = nullptr;
    Derived derived;
    Base *of_base = &derived, &as_base = derived;
    Other *of_other = &derived;
    Holder holder{{{1, 5, -7, 1234567}}, {{0, 1, 2, 3}}, {9}}, *to_holder = &holder;
    int table[2][3] = {{1, 2, 3}, {4, 5, 6}}, (*to_table)[2][3] = &table;
    std::unordered_map<int, int> words{{1, 10}, {2, 20}, {3, 30}};
    std::map<int, int> ordered{{1, 100}, {0, 200}, {-3, 300}};
    std::map<std::string, std::vector<int>> named{{"one", {1}}, {"two words", {1, 2}}, {"q\\"", {3}}};
    std::map<Color, int> colors{{blue, 1}};
    std::multimap<int, int> several{{1, 10}, {1, 11}, {2, 20}};
    std::list<int> list{4, 5};
    std::set<int> set{6, 7};
    std::deque<int> deque{8, 9};
    std::vector<bool> flags{true, false};
    std::bitset<3> bitset(5);
    std::array<int, 2> array{1, 2};
    std::tuple<int, double> tuple{1, 2.5};
    std::pair<int, std::string> pair{1, "second"};
    std::optional<int> optional = 3;
    std::optional<std::map<int, int>> optional_map = std::map<int, int>{{1, 2}};
    std::variant<int, double> variant = 2.5;
    std::unique_ptr<Derived> unique(new Derived);
    std::shared_ptr<int> shared(new int(3));
    static int kept = 12;
    enum Local { here = 3 } local = here;
    (void)to_pointer, (void)to_holder, (void)to_table;
    return kept + local + reference + as_base.number + of_base->number + of_other->other + !nothing;  // stop
}
"""
_FORMS = {"int": "i", "unsigned int": "I", "double": "d", "bool": "?", "unsigned long": "Q"}
_LEVELS = 4


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Message]]:
    folder = tmp_path_factory.mktemp("rows")
    source, program = folder / "rows.cpp", folder / "rows"
    source.write_text(SOURCE)
    subprocess.run(["g++", "-std=c++17", "-g", "-O0", "-o", program, source], check=True)
    with clean_adapter(folder / "log") as adapter:
        client = adapter.client
        client.start({"program": str(program)}, lines={source: [line_of(source, "// stop")]})
        yield client, client.stack(client.stopped()["threadId"])[0]


def _rows(client: Client, parent: Message, levels: int = _LEVELS) -> Iterator[Message]:
    for row in client.children(parent).values():
        yield row
        if levels and row["variablesReference"]:
            yield from _rows(client, row, levels - 1)


def test_each_expression_and_memory_reference_means_its_row(stopped: tuple[Client, Message]) -> None:
    client, frame = stopped
    scope = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]
    expressions, places, wrong = 0, 0, []
    for row in _rows(client, scope):
        if "evaluateName" in row:
            expressions += 1
            again = client.evaluate(row["evaluateName"], frame, "watch")
            if (again["result"], again.get("type")) != (row["value"], row.get("type")):
                wrong.append((row["evaluateName"], row["value"], again["result"]))
        form, place = _FORMS.get(row.get("type", "")), row.get("memoryReference")
        if form and place:
            places += 1
            asked = {"memoryReference": place, "count": struct.calcsize(form)}
            data = base64.b64decode(client.request("readMemory", asked)["data"])
            (number,) = struct.unpack(form, data)
            if str(number).lower() != row["value"] and f"{number:g}" != row["value"]:
                wrong.append((row, number))
    assert wrong == []
    assert expressions > 100 and places > 50, (expressions, places)


def test_entries_of_a_map_are_named_by_their_keys(stopped: tuple[Client, Message]) -> None:
    client, frame = stopped
    rows = client.scope(frame)
    words = client.children(rows["words"])
    assert {name: row["value"] for name, row in words.items()} == {"[1]": "10", "[2]": "20", "[3]": "30"}
    assert words["[3]"]["evaluateName"] == "words[3]"
    assert [row.get("evaluateName") for row in client.children(rows["named"]).values()] == [
        'named["one"]',
        None,
        'named["two words"]',
    ]
    several = client.children(rows["several"])
    assert {name: row["value"] for name, row in several.items()} == {"[1]": "10", "[1] #2": "11", "[2]": "20"}
    # The first entry of a key is what an index means.
    assert {name: row.get("evaluateName") for name, row in several.items()} == {
        "[1]": "several[1]", "[1] #2": None, "[2]": "several[2]"
    }, several  # fmt: skip
    assert client.evaluate("several[1]", frame, "watch")["result"] == "10"
    asked = {"variablesReference": rows["several"]["variablesReference"], "name": "[1] #2", "value": "12"}
    client.request("setVariable", asked)
    shown = client.evaluate("several", frame, "watch")["result"]
    assert re.sub(r"\s", "", shown).endswith("{[1]=10,[1]=12,[2]=20}")


def test_a_bit_field_is_set_without_its_neighbours(stopped: tuple[Client, Message]) -> None:
    client, frame = stopped
    inner = client.children(client.children(client.scope(frame)["to_holder"])["inner"])
    bits = client.children(inner["bits"])
    assert not any("memoryReference" in row for row in bits.values())
    assert "memoryReference" not in client.evaluate("holder.inner.bits.five", frame, "watch")
    asked = {"variablesReference": inner["bits"]["variablesReference"], "name": "five"}
    for text, set_to in (("3", "3"), ("30000", "-16")):  # as in C, the bits that there are
        assert client.request("setVariable", {**asked, "value": text})["value"] == set_to
    shown = client.evaluate("holder.inner.bits", frame, "watch")["result"]
    assert shown == "{one = 1, three = 5, five = -16, forty = 1234567}"


def test_the_memory_of_a_pointer_is_what_it_points_to(stopped: tuple[Client, Message]) -> None:
    client, frame = stopped
    place = client.evaluate("pointer", frame, "watch")["memoryReference"]
    assert place == client.evaluate("&plain", frame, "watch")["result"].split()[-1]
    data = base64.b64encode(struct.pack("i", 8)).decode()
    client.request("writeMemory", {"memoryReference": place, "data": data})
    rows = client.scope(frame)
    assert rows["plain"]["value"] == "8" and rows["pointer"]["value"].endswith(place)
    assert rows["nothing"].get("memoryReference") in (None, "0x0")


CONSTANTS = """\
enum Kind { none, other = 7 };
__attribute__((noinline)) long here(long number) { asm volatile("" ::: "memory"); return number; }
int main() {
    static int calls = 5;
    static const int most = 9;
    enum { inner = 3 };
    int constant = 42; enum Kind kind = other; double half = 2.5; const char *text = "text"; int *nothing = 0;
    calls++;
    long result = here(calls);  // call
    return (int)(result + constant + kind + (long)half + (text != 0) + (nothing == 0) + most + inner);
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_locals_have_constants_and_static_variables(client: Client, tmp_path: Path, level: str) -> None:
    source, program = tmp_path / "constants.c", tmp_path / "constants"
    source.write_text(CONSTANTS)
    subprocess.run(["gcc", "-g", level, "-o", program, source], check=True)
    client.start({"program": str(program)}, functions=["here"])
    frame = client.stack(client.stopped()["threadId"])[1]
    shown = {name: row["value"] for name, row in client.scope(frame).items()}
    assert set(shown) == {"calls", "most", "constant", "kind", "half", "text", "nothing", "result"}
    assert {name: shown[name] for name in ("calls", "constant", "kind", "half", "nothing", "most")} == {
        "calls": "6",
        "constant": "42",
        "kind": "other",
        "half": "2.5",
        "nothing": "0x0",
        "most": "9",
    }
