"""Runs in gdb: executes commands at the stop of the target and writes what they printed. See gdb_run.py."""

import hashlib
import json
import os
import sys
import time

import gdb

with open(os.environ["DUALDBG_TEST_PLAN"], encoding="utf-8") as plan_file:
    plan = json.load(plan_file)


def execute(command):
    start = time.process_time()
    record = {"command": command, "output": "", "error": None}
    try:
        record["output"] = gdb.execute(command, to_string=True)
    except gdb.error as error:
        record["error"] = str(error)
    record["seconds"] = time.process_time() - start
    return record


def break_at(symbol, library):
    """Breaks at the first instruction of a function of a library whose symbols gdb has not read."""
    from dualdbg_helpers import inferior

    mapped = inferior.mappings(inferior.require_inferior())
    address = mapped.address_of(symbol, library)
    gdb.execute(f"break *{address:#x}")


def break_like(library, *parts):
    """Breaks at the first instruction of every function of a library whose mangled name has all of ``parts``."""
    from dualdbg_helpers import inferior

    found = inferior.mappings(inferior.require_inferior()).library_named(library)
    table = found.elf.tables[0]
    addresses = set()
    for entry in table.functions():
        name = table.name(entry).decode()
        if all(part in name for part in parts) and ".cold" not in name:
            addresses.add(found.base + entry.value)
    assert addresses, parts
    for address in addresses:
        gdb.execute(f"break *{address:#x}")


def fingerprint():
    """Hashes of all writable memory and of the registers of every thread, printed as one line."""
    inferior = gdb.selected_inferior()
    digest = hashlib.sha256()
    with open(f"/proc/{inferior.pid}/maps") as maps, open(f"/proc/{inferior.pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, permissions = line.split()[:2]
            if "w" in permissions:
                start, end = (int(word, 16) for word in span.split("-"))
                memory.seek(start)
                digest.update(memory.read(end - start))
    registers = gdb.execute("thread apply all -q info registers", to_string=True)
    print(digest.hexdigest(), hashlib.sha256(registers.encode()).hexdigest())


def read_published():
    try:
        with open(plan["published"], encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


results = []
sys.path.insert(0, plan["folder"])
for command in plan["setup"]:
    results.append(execute(command))
published = read_published()
for command in plan["commands"]:
    for name, value in published.get("addresses", {}).items():
        command = command.replace("{" + name + "}", str(value))
    results.append(execute(command))
with open(plan["results"], "w", encoding="utf-8") as file:
    json.dump({"results": results, "published": read_published()}, file)
