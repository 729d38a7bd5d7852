"""What a user has set for gdb, in the words of gdb's command line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_SET = "-gdb-set "


def in_gdbs_words(source_maps: Iterable[tuple[str, str]], commands: Iterable[str]) -> Iterator[str]:
    """gdb's commands for pairs of a path in debug info and where the sources are, and for commands of the user.

    Those may be of MI too, as cppdbg has them. gdb splits words as libiberty does (buildargv).
    """
    for built, here in source_maps:
        yield f"set substitute-path {_quoted(built)} {_quoted(here)}"
    for command in commands:
        if command == "-enable-pretty-printing":
            continue  # the printers are always on
        if command.startswith(_SET):
            yield "set " + command.removeprefix(_SET)
        else:
            yield f"interpreter-exec mi {_quoted(command)}" if command.startswith("-") else command


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
