"""Run by gdb: what it says of each address at which a line begins, by two files with the same code."""

import json
import os
import re

import gdb


def described(address):
    """The source line of an address, the compiler's options, and the functions around it."""
    position, block = gdb.find_pc_line(address), gdb.block_for_pc(address)
    functions = []
    while block is not None and not block.is_global:
        if block.function is not None:
            entry = int(block.function.value().address)
            functions.append([block.function.print_name, int(block.start), int(block.end), entry])
        block = block.superblock
    symtab = position.symtab
    place = [symtab.fullname(), symtab.producer] if symtab is not None else None
    return [place, position.line, position.pc, position.last], functions


def main():
    with open(os.environ["DUALDBG_TEST_JOB"]) as file:
        job = json.load(file)
    answers, addresses = [], set()
    for name in job["files"]:
        gdb.execute(f'file "{name}"', to_string=True)
        gdb.execute("maintenance expand-symtabs", to_string=True)
        if not addresses:
            table = gdb.execute("maintenance info line-table", to_string=True)
            addresses = {int(text, 16) for text in re.findall(r" 0x([0-9a-f]{16})\b", table)} - {0}
        answers.append([described(one) for one in sorted(addresses)])
    with open(job["result"], "w") as file:
        json.dump(answers, file)


main()
