"""Prints the line tables of some of the interpreter's own modules, with the lines that it reads out of them."""

import argparse
import dis
import json
import sys


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def lines(code):
    """The line of every instruction."""
    if hasattr(code, "co_lines"):
        ranges = list(code.co_lines())
        return [
            next(line for start, end, line in ranges if start <= at < end)
            for at in range(0, len(code.co_code), 2)
        ]
    starts = dict(dis.findlinestarts(code))
    result, line = [], code.co_firstlineno
    for at in range(0, len(code.co_code), 2):
        line = starts.get(at, line)
        result.append(line)
    return result


rows = []
for module in (argparse, dis, json.decoder):
    with open(module.__file__, encoding="utf-8") as file:
        for code in codes(compile(file.read(), module.__file__, "exec")):
            table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
            rows.append([code.co_firstlineno, table.hex(), lines(code)])
print(json.dumps({"version": sys.version_info[:2], "codes": rows}))
