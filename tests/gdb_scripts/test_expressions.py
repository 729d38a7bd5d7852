"""Expressions of users have in gdb the value that they have in the program, and nothing is called for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.gdb_scripts.test_containers import look
from tests.support import with_libcxx

# The program says itself what each expression is.
PROGRAM = r"""
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
struct Part { std::string name; std::optional<int> count; double price; int bits : 3; unsigned char small; };
struct Base { virtual ~Base() {} int id = 4; };
struct Derived : Base { std::shared_ptr<Part> part; };
enum class Colour { red = 1, green };
enum Plain { off, on = 5 };
struct Money { int cents; bool operator==(const Money &) const { std::abort(); } };
std::vector<int> numbers{3, 1, 4, 1, 5}, none;
std::vector<bool> flags{true, false, true};
std::vector<Part> parts{{"bolt", 7, 1.5, 2, 200}, {"nut", std::nullopt, 0.25, -1, 9}};
std::map<std::string, int> ages{{"ada", 36}, {"bob", -2}, {"a name that is longer than a short string", 8}};
std::map<int, std::string> names{{1, "one"}, {22, "two"}};
std::unordered_map<std::string, std::vector<int>> table{{"x", {1, 2}}, {"y", {}}};
std::set<int> some{2, 3, 5};
std::list<int> chain{6, 7, 8};
std::deque<long> both{10, 20, 30};
std::array<short, 3> fixed{7, 8, 9};
std::string text = "short", longer = "a text that is too long to be kept in the object", empty;
std::string_view view = std::string_view(longer).substr(2, 4);
const char *words = "short", *no_words = nullptr;
char buffer[16] = "short";
std::unique_ptr<Part> own(new Part{"own", 3, 2.0, 1, 1}), no_own;
std::shared_ptr<Derived> shared = std::make_shared<Derived>(), no_shared;
std::optional<int> maybe = 5, not_set;
std::optional<std::string> maybe_text = "set";
std::atomic<int> ticks{42};
std::atomic<long> *ticks_there = new std::atomic<long>{7};
std::vector<int>::iterator at = numbers.begin() + 2;
std::map<std::string, int>::iterator entry = ages.begin();
Part *pointer = &parts[0], *null_part = nullptr;
Part &reference = parts[1];
Colour colour = Colour::green;
Plain plain = on;
unsigned int big = 4000000000u;
signed char tiny = -3;
unsigned char byte = 250;
char letter = 'q';
long long wide = -5;
double half = 0.5;
int zero = 0, seven = 7, *seven_there = &seven;
Money money{5}, same_money{5};
extern "C" __attribute__((noinline)) void look() { asm volatile("" ::: "memory"); }
#define ASK(...) printf("%s\t%d\n", #__VA_ARGS__, (int)(__VA_ARGS__));
int main() {
    shared->part = std::make_shared<Part>(Part{"inner", 1, 9.0, 0, 0});
    ROWS
    fflush(stdout);
    look();
}
"""
ROWS = """
numbers[0] == 3
numbers[numbers.size() - 1] == 5 && numbers[1] != 3
numbers.size() == 5
numbers.size() - 6 > 0
numbers.empty() || none.empty()
!none.empty()
*numbers.data() + numbers.back() * 2
numbers.begin()[1]
flags[0] && !flags[1]
flags[2] == true
parts[0].name == "bolt"
parts[1].name == parts[0].name
parts[0].name < parts[1].name
"nut" == parts[1].name
parts[0].name[1] == 'o'
parts[0].name.size() + parts[1].name.length()
parts[0].price * 2 == 3.0
parts[1].price > half
*parts[0].count == 7
parts[0].count == 7
parts[1].count == std::nullopt
parts[1].count < 0
parts[0].count.has_value() && !parts[1].count.has_value()
parts[0].count.value() % 4
parts[1].count ? 1 : 2
parts[0].bits == 2
parts[1].bits < 0
parts[0].small > 100
ages["ada"] == 36
ages["a name that is longer than a short string"]
ages.at("bob") < 0
ages.size() == 3
ages.count("ada") + ages.count("eve")
names[22] == "two"
names[seven * 3 + 1] == text
table["x"][1] == 2
table["y"].empty()
table.size()
some.count(3)
some.count(4)
chain.front() * chain.size()
chain.back()
both[1] + both.front() - both.at(2)
fixed[2] == 9 && fixed.size() == 3
text == "short"
text == words
words == text
text != longer
text < longer
text.empty() || empty.empty()
longer.size()
view == "text"
view.size() == 4 && view[0] == 't'
view == longer
own->name == "own"
own != nullptr && no_own == nullptr
own && !no_own
own->count == 3
(*own).price == 2
own.get() == pointer
shared->part->name == "inner"
shared->id
shared && shared->part->count
no_shared == nullptr
maybe == 5
maybe > 4 && *maybe < 6
not_set == maybe
not_set != std::nullopt
!not_set
maybe_text == "set"
maybe_text->size()
ticks == 42
ticks + 1
ticks.load() % 5
*ticks_there == 7
*at == 4
at[1]
entry->second == 8
entry->first.size() > 3
pointer->name == "bolt"
pointer->price / 2 < 1
null_part == nullptr
!null_part
pointer && pointer->bits
reference.name == "nut"
reference.small - 10
&reference == pointer + 1
colour == Colour::green
colour != Colour::red
plain == on
plain + 0
big > 0
big + 1 > big
big * 2 > 0
tiny < 0
tiny < big
byte + 10
(signed char)byte
(unsigned char)tiny + 1
-byte
~seven
letter == 'q'
wide < 0 && wide / 2 == -2
wide % 3
7 / 2 * 2
seven / 2
seven << 2 | 1
seven & 3
seven & 3 == 3
(seven & 3) == 3
seven ^ 1
half * 4 == 2
half * 6
seven > 3 ? seven : zero
zero ? 1 / zero : 4
zero && 1 / zero
*seven_there + (int)half
seven_there[0]
sizeof(numbers[0]) == 4
static_cast<int>(half * 5)
(long)seven * 1000000000 > 0
numbers[(int)wide + 5]
not zero and seven or zero
"""
# What is not C++, or is what people mean by it.
OURS = {
    'words == "short"': 1,
    'words != "shorts"': 1,
    'buffer == "short"': 1,
    'no_words == "short"': 0,
}
# What has no value without a call, or none at all, and why.
NONE = {
    "money == same_money": "operator== of Money",
    "shared->part->area()": "area()",
    "look()": "look() would be a call",
    'ages["eve"]': 'there is no key "eve": the map has 3',
    "*not_set == 3": "std::nullopt",
    "numbers[5] == 1": "there is no element 5: it has 5",
    "null_part->bits == 1": "Cannot access memory",
    "no_shared->id": "Cannot access memory",
    "parts[0].nothing": "nothing.",
    "no_such + 1": 'No symbol "no_such"',
    "numbers == 3": "operator== of",
}


@pytest.mark.parametrize("library", ["libstdc++ -O0", "libstdc++ -O2", "libc++"])
def test_expressions_are_what_the_program_says(library: str, tmp_path: Path) -> None:
    source, program = tmp_path / "expressions.cpp", tmp_path / "expressions"
    rows = [row for row in ROWS.splitlines() if row]
    source.write_text(PROGRAM.replace("    ROWS", "\n".join(f"    ASK({row})" for row in rows)))
    gcc = ["g++", library[-3:], "-g", "-w", "-std=c++17", source, "-o", program]
    done = subprocess.run(
        with_libcxx(source, program) if library == "libc++" else gcc, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = look(program, *OURS, *NONE)
    assert found["wrong"] == []
    assert found["count"] == len(rows)
    for expression, value in OURS.items():
        assert found["rows"][expression]["condition"] is bool(value), expression
    for expression, why in NONE.items():
        assert why in str(found["rows"][expression]["condition"]), (expression, found["rows"][expression])
