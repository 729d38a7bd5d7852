"""Containers of C++ say in gdb what they say in the program, without a call; objects have the class that they have."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.support import require

EIGEN = Path("/usr/include/eigen3")


def built(folder: Path, seed: int, *options: str) -> Path:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    program = folder / "containers"
    source = HERE / "targets" / "containers.cpp"
    command = [compiler, "-g", "-O0", "-std=c++17", f"-DSEED={seed}", *options, source, "-o", program]
    subprocess.run(command, check=True)
    return program


def look(program: Path, *expressions: str) -> dict[str, Any]:
    gdb = require(shutil.which("gdb"), "gdb")
    script = HERE / "targets" / "look_at_containers.py"
    settings = ["set debuginfod enabled off", "set auto-load off", "set startup-with-shell on"]
    words = [word for setting in settings for word in ("-iex", setting)]
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", *words, "-x", script, program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(300),
        env={
            **os.environ,
            "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent),
            "DUALDBG_TEST_SAID": str(program.parent / "said"),
            "DUALDBG_TEST_ROWS": ";".join(expressions),
        },
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout + done.stderr
    return dict(json.loads(answers[0][8:]))


ACCESSORS = """
#include <ATen/core/TensorAccessor.h>
float numbers[24];
int64_t sizes[] = {2, 3, 4}, strides[] = {12, 4, 1};
at::TensorAccessor<float, 3> cube(numbers, sizes, strides);
at::TensorAccessor<float, 1> row(numbers, sizes + 2, strides + 2);
extern "C" __attribute__((noinline)) void look() { asm volatile(""); }
int main() {
    for (int i = 0; i < 24; i++) numbers[i] = i;
    for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) for (int k = 0; k < 4; k++)
        printf("cube[%d][%d][%d]\\t%d\\n", i, j, k, (int)cube[i][j][k]);
    printf("row[3]\\t%d\\n", (int)row[3]);
    fflush(stdout);
    look();
}
"""


@pytest.mark.torch
def test_accessors_of_tensors(tmp_path: Path) -> None:
    torch = require(importlib.util.find_spec("torch"), "PyTorch")
    assert torch.origin is not None
    folder, source, program = Path(torch.origin).parent, tmp_path / "accessors.cpp", tmp_path / "accessors"
    source.write_text("#include <cstdio>" + ACCESSORS)
    command = [
        require(shutil.which("g++"), "a C++ compiler"),
        "-g",
        "-std=c++17",
        f"-I{folder / 'include'}",
        source,
    ]
    libraries = [f"-L{folder / 'lib'}", "-lc10", f"-Wl,-rpath,{folder / 'lib'}"]
    subprocess.run([*command, "-o", program, *libraries], check=True)
    found = look(program, "cube[1]", "cube[1][3][0]", "row[4]")
    assert (found["count"], found["wrong"]) == (25, [])
    errors = [row.get("error", "") for row in found["rows"].values()]
    assert "give as many indices" in errors[0]
    assert "index 3 is not in dimension 1: its size is 3" in errors[1]
    assert "index 4 is not in dimension 0" in errors[2]


CLASSES = ["*owned", "*shared", "*second_base", "raw", "*raw", "side", "plain", "shapes[1]", "none"]
CLASSES += ["garbage", "*garbage", "another_kind", "*shapes[0]"]
ABSENT = {
    'by_name["none"]': 'there is no key "none": the map has',
    "by_number[1000]": "there is no key 1000",
    "both_ends[100000]": "there is no element 100000",
    "both_ends.at(100000)": "there is no element 100000",
    "std::get<5>(fixed)": "there is no element 5 in this std::array",
    "*nothing": "it is std::nullopt",
    "std::get<0>(either)": "the variant holds alternative 1, double",
    "text[1000]": "there is no character 1000",
    "no_such[1]": 'No symbol "no_such" in current context',
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    eigen = [f"-I{EIGEN}", "-DWITH_EIGEN"] if EIGEN.is_dir() else []
    return look(built(tmp_path_factory.mktemp("containers"), 3, *eigen), *CLASSES, *ABSENT)


def test_elements_are_those_of_the_program(seen: dict[str, Any]) -> None:
    assert seen["count"] > 500
    assert seen["wrong"] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10, 25))
def test_elements_after_other_operations(seed: int, tmp_path: Path) -> None:
    assert look(built(tmp_path, seed), "numbers")["wrong"] == []


def test_objects_have_their_own_class(seen: dict[str, Any]) -> None:
    rows = seen["rows"]
    types = {name: rows[name]["type"] for name in CLASSES}
    assert types["*owned"] == "Circle" and ["radius", "int", "7"] in rows["*owned"]["inside"]
    assert types["*shared"] == types["*second_base"] == types["*raw"] == "Badge"
    assert types["raw"] == types["side"] == "Badge *"
    assert [name for name, *_ in rows["*second_base"]["inside"]] == ["Circle", "Named", "colour"]
    assert ["colour", "int", "9"] in rows["side"]["inside"]
    assert (types["plain"], types["*shapes[0]"], types["none"]) == ("Shape *", "Shape", "Shape *")
    for name in ("garbage", "*garbage", "another_kind"):
        assert types[name].startswith("Shape"), name
        assert "class not known" in rows[name]["value"], name


def test_what_is_not_there_is_said(seen: dict[str, Any]) -> None:
    for expression, message in ABSENT.items():
        assert message in seen["rows"][expression].get("error", ""), (expression, seen["rows"][expression])


SEQUENCES = """\
#include <array>
#include <bitset>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>
std::vector<int> numbers, none;
std::vector<bool> flags;
std::vector<std::vector<short>> nested;
std::array<int, 5> fixed;
std::array<int, 0> empty;
std::span<int> part;
std::span<int, 3> three(fixed.begin(), 3);
std::string_view text = "some text";
std::bitset<5> few;
std::bitset<200> many;
extern "C" __attribute__((noinline)) void look() { asm volatile("" ::: "memory"); }
template <class T> void tell(const char *name, T &one) {
    printf("%s.size()\\t%d\\n", name, (int)one.size());
    for (int i = 0; i < (int)one.size(); i++) {
        printf("%s[%d]\\t%d\\n", name, i, (int)one[i]);
        printf("%s[%d] + 1\\t%d\\n", name, i, (int)one[i] + 1);
    }
}
int main() {
    for (int i = 0; i < 150; i++) numbers.push_back(i * 7 - 3), flags.push_back(i * i % 7 < 3);
    flags.erase(flags.begin());
    for (int i = 0; i < 5; i++) fixed[i] = 10 - i, nested.emplace_back(i, i + 1);
    for (int i = 0; i < 200; i++) many[i] = i % 3 == 0 || i > 190;
    few[1] = few[4] = 1;
    part = std::span<int>(numbers).subspan(3, 4);
    tell("numbers", numbers), tell("flags", flags), tell("fixed", fixed), tell("part", part), tell("three", three);
    tell("text", text), tell("few", few), tell("many", many), tell("none", none), tell("nested[3]", nested[3]);
    printf("nested[4][3]\\t%d\\nnumbers.back()\\t%d\\nempty.size()\\t0\\n", nested[4][3], numbers.back());
    fflush(stdout);
    look();
}
"""
OUTSIDE = {
    "numbers[150]": 150,
    "numbers[-1]": 150,
    "flags[149]": 149,
    "fixed[5]": 5,
    "part[4]": 4,
    "three[3]": 3,
}
OUTSIDE |= {"text[9]": 9, "few[5]": 5, "many[200]": 200, "none[0]": 0, "none.front()": 0, "empty[0]": 0}
OUTSIDE |= {"nested[4][4]": 4, "numbers.at(150)": 150, "numbers[1] + numbers[150]": 150, "few[5] + 1": 5}


@pytest.mark.parametrize("level", rows.some(["-O2", "-O0"], 1))
def test_elements_by_number_and_none_outside(level: str, tmp_path: Path) -> None:
    source, program = tmp_path / "sequences.cpp", tmp_path / "sequences"
    source.write_text(SEQUENCES)
    command = [require(shutil.which("g++"), "a C++ compiler"), "-g", "-std=c++20", level, source]
    subprocess.run([*command, "-o", program], check=True)
    found = look(program, *OUTSIDE)
    assert found["wrong"] == [] and found["count"] > 900
    for expression, size in OUTSIDE.items():
        assert f": it has {size}" in found["rows"][expression].get("error", ""), expression
