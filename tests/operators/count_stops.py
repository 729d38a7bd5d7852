"""For gdb's Python: a breakpoint at each place, which counts its hits by the call that the target is at.

``$plan`` is a JSON file: ``{"target": FILE, "places": [[PATH, ADDRESS], ...], "stacks": BOOL, "out": FILE}``;
``target`` is what call_each.py wrote, ``out`` gets ``{CALL INDEX: {"PATH+0xADDRESS": HITS}}``. With ``stacks`` it
gets ``{CALL INDEX: [{"place": ..., "sp": ..., "return": ..., "outer": [PC, ...]}, ...]}``, hit by hit.
"""

import json

import gdb

with open(gdb.parse_and_eval("$plan").string()) as file:
    plan = json.load(file)
with open(plan["target"]) as file:
    target = json.load(file)
hits: dict[int, dict[str, int]] = {}
arrivals: dict[int, list[dict[str, object]]] = {}
MAX_FRAMES = 100


class Counter(gdb.Breakpoint):
    def __init__(self, library: str, offset: int) -> None:
        super().__init__(f"*{target['bases'][library] + offset:#x}", internal=True)
        self.silent = True
        self.place = f"{library}+{offset:#x}"

    def stop(self) -> bool:
        call = int(gdb.parse_and_eval(f"*(long *){target['index']}"))
        counts = hits.setdefault(call, {})
        counts[self.place] = counts.get(self.place, 0) + 1
        if plan["stacks"]:
            stack_pointer = int(gdb.parse_and_eval("(unsigned long)$sp"))
            outer = []
            frame = gdb.newest_frame().older()
            while frame is not None and frame.is_valid() and len(outer) < MAX_FRAMES:
                if frame.name() == "_PyEval_EvalFrameDefault":
                    break
                outer.append(frame.pc())
                frame = frame.older()
            arrival = {"place": self.place, "sp": stack_pointer, "return": outer[0], "outer": outer}
            arrivals.setdefault(call, []).append(arrival)
        return False


if plan["stacks"]:
    for needed in ("libtorch", "libc10", "libpython"):  # their .eh_frame, to unwind by
        gdb.execute(f"sharedlibrary {needed}")
for library, offset in plan["places"]:
    Counter(library, offset)
gdb.execute("continue")
with open(plan["out"], "w") as file:
    json.dump(arrivals if plan["stacks"] else hits, file)
