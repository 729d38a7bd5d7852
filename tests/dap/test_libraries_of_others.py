"""Containers of libc++ and matrices of Eigen are shown by their elements, which can be asked for, set and compared."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import require, with_libcxx

from .client import Client
from .samples import line_of

EIGEN = Path("/usr/include/eigen3")
SOURCE = """\
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
struct Wide { char tag; double number; };
int main() {
    std::string brief = "brief", longer(40, 'x');
    std::string_view view = longer;
    std::vector<int> row{1, 2, 3};
    std::vector<std::string> words{"a", "b"};
    std::deque<int> deque;
    for (int i = 0; i < 3000; ++i) deque.push_back(i);
    for (int i = 0; i < 2000; ++i) deque.pop_front();
    std::list<short> list{4, 5};
    std::set<short> set{9, 7, 8};
    std::map<int, Wide> map;
    for (int i = 0; i < 60; ++i) map[i * 37 % 61] = {'t', i * 37 % 61 + 0.5};
    std::multimap<int, int> several{{1, 10}, {1, 11}};
    std::unordered_map<std::string, int> by_word{{"one", 1}};
    std::map<int, int> empty;
    return row.size() + deque.size() + empty.size();  // stop
}
"""
ELEMENTS = {
    "row": ["1", "2", "3"],
    "words": ['"a"', '"b"'],
    "deque": [str(number) for number in range(2000, 2200)],
    "list": ["4", "5"],
    "set": ["7", "8", "9"],
    "map": [f"{{tag = 116 't', number = {number}.5}}" for number in range(61) if number != 60 * 37 % 61],
    "several": ["10", "11"],
    "by_word": ["1"],
    "empty": [],
}


def test_containers_of_libcxx(client: Client, tmp_path: Path) -> None:
    source, program = tmp_path / "libcxx.cpp", tmp_path / "libcxx"
    source.write_text(SOURCE)
    subprocess.run(with_libcxx(source, program), check=True)
    client.start({"program": str(program)}, lines={source: [line_of(source, "// stop")]})
    frame = client.stack(client.stopped()["threadId"])[0]
    rows = client.scope(frame)
    for name, text in (("brief", '"brief"'), ("longer", "x"), ("view", "x")):
        assert text in rows[name]["value"]
    found = {
        name: [row["value"] for row in client.children(rows[name]).values() if row["name"] != "…"]
        for name in ELEMENTS
    }
    assert found == ELEMENTS
    assert list(client.children(rows["several"])) == ["[1]", "[1] #2"]
    for expression, value in (("map[5].number", "5.5"), ('by_word["one"]', "1"), ("row[2]", "3")):
        assert client.evaluate(expression, frame, "watch")["result"] == value


MATRICES = """\
#include <Eigen/Dense>
int main() {
    Eigen::Matrix<int, 2, 3> fixed;
    fixed << 1, 2, 3, 4, 5, 6;
    Eigen::MatrixXd dynamic = Eigen::MatrixXd::Identity(2, 2);
    Eigen::Vector3f vector(1.5, 2.5, 3.5);
    return fixed.size() + dynamic.size() + vector.size();  // stop
}
"""


def test_matrices_of_eigen(client: Client, tmp_path: Path) -> None:
    require(EIGEN.is_dir(), "Eigen (libeigen3-dev)", outside=True)
    source, program = tmp_path / "matrices.cpp", tmp_path / "matrices"
    source.write_text(MATRICES)
    subprocess.run(["g++", "-g", "-O0", "-w", f"-I{EIGEN}", source, "-o", program], check=True)
    client.start({"program": str(program)}, lines={source: [line_of(source, "// stop")]})
    frame = client.stack(client.stopped()["threadId"])[0]
    rows = client.scope(frame)
    assert rows["fixed"]["value"].startswith("2 x 3 = {(0, 0) = 1, (0, 1) = 2, (0, 2) = 3, (1, 0) = 4")
    assert rows["dynamic"]["value"].startswith("2 x 2 = ")
    inner = client.children(rows["fixed"])
    assert inner["(1, 0)"]["evaluateName"] == "fixed(1, 0)" and inner["(1, 0)"]["value"] == "4"
    asked = {"variablesReference": rows["vector"]["variablesReference"], "name": "[1]", "value": "9"}
    client.request("setVariable", asked)
    assert client.evaluate("vector[1]", frame, "watch")["result"] == "9"
