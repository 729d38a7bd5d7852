"""What a user has set for gdb, in gdb's own words. Pure."""

from __future__ import annotations

from dualdbg.backends.gdb_settings import in_gdbs_words, refused_by_mi, source_map_commands
from dualdbg.known.gdb_commands import innermost, moves_target, verb_of


def test_settings_in_gdbs_words() -> None:
    maps = [("/build/a b", '/here/"x"'), ("/usr/src", "/else\\where")]
    assert list(source_map_commands(maps)) == [
        'set substitute-path "/build/a b" "/here/\\"x\\""',
        'set substitute-path "/usr/src" "/else\\\\where"',
    ]
    commands = ["-enable-pretty-printing", "-gdb-set a b", '-x "y"', "print 1 - 2"]
    assert [in_gdbs_words(command) for command in commands] == [
        "",
        "set a b",
        'interpreter-exec mi "-x \\"y\\""',
        "print 1 - 2",
    ]


def test_what_moves_the_target() -> None:
    moving = (
        "run r ru start c cont continue n nex ni stepi si finish fin unt jump ki det att tar inferior q exit"
    )
    assert [word for word in moving.split() if not moves_target(word)] == []
    other = "print p info inf i frame f x break b bt set show handle source file directory d thread t list l"
    assert [word for word in other.split() if moves_target(word)] == []
    behind = (
        "thread apply all kill", "thread apply 1 2.3 -q -s next", "t a all kill", "frame apply all -q return",
        "taas detach",
        "with print pretty on -- k", "w language c -- kill", "pipe kill | wc", "| -d x kill x wc", "faas return",
        'interpreter-exec mi "-exec-continue"', "thread apply all with confirm off -- kill",
    )  # fmt: skip
    assert [line for line in behind if not moves_target(verb_of(innermost(line)))] == []
    harmless = (
        "thread apply all bt", "frame apply all p s", "with print pretty on -- p kill", "pipe info files | wc", "",
        "info signals", "frame 2", "with", "thread", "print run", "faas p n",
    )  # fmt: skip
    assert [line for line in harmless if moves_target(verb_of(innermost(line)))] == []


def test_what_mi_refuses() -> None:
    refused = 'first\n^error,msg="Undefined MI command: \\"x",code="undefined-command"\n'
    assert refused_by_mi("-x", refused) == 'Undefined MI command: "x'
    assert refused_by_mi("-x", "^done\n") is None
    assert refused_by_mi("echo", refused) is None  # what a program prints is no answer of gdb's
