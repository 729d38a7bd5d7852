"""Each value stands alone: one that cannot be read, or never ends, says so itself and takes no other along."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from dualdbg.system.patience import patient

from .client import Client, Message
from .samples import line_of

SOURCE = """\
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>
using Map = std::map<int, int>;
using Words = std::unordered_map<int, int>;
struct Never { int member = 1; };
struct Stubborn { int member = 1; };
struct Raises { int member = 1; };
struct Holder { int before = 1; Map inner; int after = 2; };
struct Link { int number; Link *next; };
template <class T> T &unmade(int byte) {
    void *memory = std::malloc(sizeof(T) + 32);
    std::memset(memory, byte, sizeof(T));
    return *static_cast<T *>(memory);
}
template <class T> T &patched(T &object, int word, std::size_t content) {
    reinterpret_cast<std::size_t *>(&object)[word] = content;
    return object;
}
int main() {
    int first = 5;
    const std::size_t far = 0x5000, huge = 1ull << 60;
    Map counted_plain, &counted = patched(counted_plain, 5, huge);
    Map &map_41 = unmade<Map>(0x41), &map_ff = unmade<Map>(0xff);
    Words &words_41 = unmade<Words>(0x41);
    std::set<std::string> set_plain, &set = patched(set_plain, 5, huge);
    std::list<int> &list_41 = unmade<std::list<int>>(0x41);
    std::list<int> circle{1, 2};
    circle.begin()._M_node->_M_next = circle.begin()._M_node;
    std::vector<int> vector_plain, &vector = patched(patched(vector_plain, 0, far), 1, huge);
    std::deque<int> &deque_41 = unmade<std::deque<int>>(0x41);
    std::string unreadable_plain, &unreadable = patched(patched(unreadable_plain, 0, far), 1, huge);
    std::string endless_plain = "begin", &endless = patched(endless_plain, 1, huge);
    std::string_view view_plain = "begin", &view = patched(view_plain, 0, huge);
    std::shared_ptr<int> shared_plain(new int(3)), &shared = patched(shared_plain, 1, far);
    std::optional<std::string> &optional_41 = unmade<std::optional<std::string>>(0x41);
    std::tuple<int, std::string> &tuple_41 = unmade<std::tuple<int, std::string>>(0x41);
    Holder holder;
    patched(holder.inner, 5, huge);
    Link link{1, nullptr};
    link.next = &link;
    Never never;
    Stubborn stubborn;
    Raises raises;
    Map many;
    for (int i = 0; i < 1000; ++i) many[i] = i;
    int last = 7;
    return first + last;
}
"""
PRINTERS = """\
import gdb
import dualdbg_helpers.in_time as in_time
in_time.ONE = {one}

class Never:
    def __init__(self, value):
        pass
    def to_string(self):
        while True:
            pass

class Stubborn(Never):
    def to_string(self):
        return "known"
    def children(self):
        yield "a", 1
        yield "b", 2
        for _ in range(2):
            try:
                while True:
                    pass
            except BaseException:
                pass

class Raises(Never):
    def to_string(self):
        raise ValueError("odd")

def lookup(value):
    kinds = {{one.__name__: one for one in (Never, Stubborn, Raises)}}
    return kinds[value.type.name](value) if value.type.name in kinds else None
gdb.pretty_printers.append(lookup)
"""
LATE = "<takes too long to read>"
ONE = patient(0.4)


@pytest.fixture
def frame(client: Client, tmp_path: Path) -> Message:
    source, printers = tmp_path / "unmade.cpp", tmp_path / "printers.py"
    source.write_text(SOURCE)
    printers.write_text(PRINTERS.format(one=ONE))
    made = source.with_suffix("")
    subprocess.run(["g++", "-std=c++17", "-w", "-g", "-O0", "-o", made, source], check=True)
    setup = [{"text": f"source {printers}"}]
    client.start(
        {"program": str(made), "setupCommands": setup}, lines={source: [line_of(source, "return first")]}
    )
    return client.stack(client.stopped(reason="breakpoint")["threadId"])[0]


def test_each_value_stands_alone(client: Client, frame: Message) -> None:
    began = time.monotonic()
    rows = client.scope(frame)
    assert time.monotonic() - began < patient(20)
    shown = {name: row["value"] for name, row in rows.items()}
    assert shown["first"] == "5" and shown["last"] == "7"
    for name in ("counted", "set", "holder", "never", "stubborn"):
        assert shown[name].endswith(LATE), shown[name]
    assert shown["counted"].startswith("std::map with 1152921504606846976 elements")
    assert "after = 2" in shown["holder"] and shown["stubborn"].startswith("known")
    assert shown["raises"] == "<ValueError: odd>"
    for name in ("map_41", "list_41", "vector", "unreadable", "shared", "optional_41", "tuple_41"):
        assert "Cannot access memory" in shown[name], shown[name]
    assert shown["map_ff"] and shown["words_41"] and shown["deque_41"]  # whatever they say
    assert shown["endless"].startswith('"begin') and shown["view"].startswith('"begin')
    assert shown["circle"].count("] = 1") == 200 and shown["circle"].endswith("...}")
    assert shown["many"].endswith("...}") and shown["many"].count("] = ") == 100

    inner = client.children(rows["holder"])
    assert [inner[name]["value"] for name in ("before", "after")] == ["1", "2"]
    assert inner["inner"]["value"].endswith(LATE)
    few = client.children(rows["stubborn"])
    assert [(one, few[one]["value"]) for one in few] == [("a", "1"), ("b", "2"), ("...", LATE)]
    assert [row["value"] for row in client.children(rows["counted"]).values()] == [LATE]
    assert client.evaluate("counted", frame, "watch")["result"].endswith(LATE)
    assert client.evaluate("many[999]", frame, "watch")["result"] == "999"
    assert client.evaluate("last", frame, "watch")["result"] == "7"
    began = time.monotonic()
    for name, gone in (
        ("counted", "std::map"),
        ("last", "7"),
    ):  # gdb's own command has the time of a value, too
        assert gone in client.evaluate(f"-exec print {name}", frame)["result"]
    assert time.monotonic() - began < patient(20)
