"""For gdb's Python: a breakpoint at each place, which counts its hits by the call that the target is at.

``$plan`` is a JSON file: ``{"target": FILE, "places": [[PATH, ADDRESS], ...], "out": FILE}``; ``target`` is what
call_each.py wrote, ``out`` gets ``{CALL INDEX: {"PATH+0xADDRESS": HITS}}``.
"""

import json

import gdb

with open(gdb.parse_and_eval("$plan").string()) as file:
    plan = json.load(file)
with open(plan["target"]) as file:
    target = json.load(file)
hits: dict[int, dict[str, int]] = {}


class Counter(gdb.Breakpoint):
    def __init__(self, library: str, offset: int) -> None:
        super().__init__(f"*{target['bases'][library] + offset:#x}", internal=True)
        self.silent = True
        self.place = f"{library}+{offset:#x}"

    def stop(self) -> bool:
        call = int(gdb.parse_and_eval(f"*(long *){target['index']}"))
        counts = hits.setdefault(call, {})
        counts[self.place] = counts.get(self.place, 0) + 1
        return False


for library, offset in plan["places"]:
    Counter(library, offset)
gdb.execute("continue")
with open(plan["out"], "w") as file:
    json.dump(hits, file)
