"""What a user has set for gdb, in gdb's own words. Pure."""

from __future__ import annotations

from dualdbg.backends.gdb_settings import in_gdbs_words, refused_by_mi, source_map_commands


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


def test_what_mi_refuses() -> None:
    refused = 'first\n^error,msg="Undefined MI command: \\"x",code="undefined-command"\n'
    assert refused_by_mi("-x", refused) == 'Undefined MI command: "x'
    assert refused_by_mi("-x", "^done\n") is None
    assert refused_by_mi("echo", refused) is None  # what a program prints is no answer of gdb's
