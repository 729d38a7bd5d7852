"""Says in calls of tools what errors, notices and hints say in commands, for a client that has nothing but tools. Pure.

The rest of dualdbg words its hints for people at a prompt. Each row here is a phrase of theirs; what is no tool, such
as an option of the server or a command of the system, stays as it is.
"""

from __future__ import annotations

import re

_SESSION = "session=SESSION"
_PAUSE = f"continue_until({_SESSION}, seconds=0, at_time='pause')"
_GO_ON = f"continue_until({_SESSION})"
_NAME = r"(?P<name>[^\s,;)]+)"

# The first phrases are the longer ones: what they leave is for those behind.
_PHRASES: tuple[tuple[str, str], ...] = (
    # commands of dualdbg
    (
        r"without it there are dualdbg stacks --no-stop, dualdbg core, and dualdbg run --report \(without stacks\)",
        "without it attach(core=PATH) reads a core file",
    ),
    (r"dualdbg ps lists the Python processes", "stacks(match=WORDS) finds processes by their command line"),
    (rf"dualdbg core {_NAME}", r"attach(core='\g<name>')"),
    (rf"(?:dualdbg )?ops --compiled {_NAME}", r"operator(compiled='\g<name>')"),
    (
        r"dualdbg ops lists the operators",
        "operator(name='randn') shows one, by its name in native_functions.yaml",
    ),
    (r"(?:dualdbg )?run --all-code", "run(all_code=true)"),
    (r"(?:dualdbg run|run with) --compiled-debug", "run(compiled_debug=true)"),
    (r"--compiled-debug", "compiled_debug=true"),
    (r"dualdbg trace -b SPEC SCRIPT", "trace(program=SCRIPT, specs=[SPEC])"),
    (rf"dualdbg trace -b {_NAME}", r"trace(specs=['\g<name>'])"),
    (r"type it again with --fix-ptrace[^:]*: ", "as root, or by who started this server: "),
    (
        r"[Gg]ive (?:the interpreter with|another interpreter:?(?: with)?|a Python interpreter:?) --python(?: PATH)?",
        "python=PATH names an interpreter",
    ),
    (r"--python (?P<name>\S+?)(?=[.,;]?(?:\s|$))", r"python='\g<name>'"),
    (r"(?:dualdbg )?run --native", "native=true"),
    (r"\(--native\)", "(native=true)"),
    (r"--cache PATH", "cache='PATH'"),
    (r"--cwd\b(?: DIR)?", "cwd"),
    (r"\btype detach, or end it yourself", f"end({_SESSION}) lets go of it"),
    (r"dualdbg run, dualdbg attach", "run, attach"),
    (r"dualdbg (?P<name>run|attach|stacks|trace)\b", r"\g<name>"),
    (r"run again with (?P<name>--log-dir DIR)", r"start the server with dualdbg mcp \g<name>"),
    (r"(?:or )?name (?:one|another) with (?P<name>--gdb PATH)", r"dualdbg mcp \g<name> names another"),
    (r"(?<!mcp )--gdb PATH names another", "dualdbg mcp --gdb PATH names another"),
    (r"named with --gdb PATH", "named by dualdbg mcp --gdb PATH"),
    (
        r"if you trust it, name it: (?P<name>--config \S+)",
        r"who trusts it starts the server with dualdbg mcp \g<name>",
    ),
    # commands of the prompt
    (r"pause it first: press Ctrl-C, or type pause", f"{_PAUSE} stops it"),
    (r"pause the target first", f"{_PAUSE} stops it first"),
    (r"\btype continue\b(?P<name>, or set a breakpoint)?", f"{_GO_ON} lets it go on"),
    (r"\bor continue and Ctrl-C while it is there", f"or {_GO_ON} and, while it is there, {_PAUSE}"),
    (r"\btype quit\b", f"end({_SESSION})"),
    (r"\binfo breakpoints lists them", f"break({_SESSION}) lists them"),
    (r"\b(?:info )?threads lists them", f"stacks({_SESSION}) lists them"),
    (r"\blocals lists those that are set", f"variables({_SESSION}) lists those that are set"),
    (r"\bup and down select a Python frame", "frame=NUMBER names a Python frame"),
    (r"(?<!\w)select a Python frame", "frame=NUMBER names a Python frame"),
    (r"\bup and down select a frame\b", "frame=NUMBER names a frame"),
    (r"\bnext or finish leads\b", f"step({_SESSION}, kind='next') or 'finish' leads"),
    (
        r"\bprint NAME and locals read from memory",
        "evaluate without run_code, and variables, read from memory",
    ),
    (r"\bprint reads memory", "evaluate reads memory"),
    (r"\bcontinue to a Python stop to evaluate", f"at a Python stop, to which {_GO_ON} leads, code runs"),
    (r"\bbreak (?P<name>FILE:LINE if CONDITION)", r"the breakpoint \g<name>"),
    (
        r"\bpy repr\(EXPRESSION\) runs it",
        f"evaluate({_SESSION}, expression='repr(…)', run_code=true) runs it",
    ),
    (r"\bprint --repr (?P<name>\S+)", r"evaluate(…, expression='repr(\g<name>)', run_code=true)"),
    (r"\bbreak throw stops at each", f"break({_SESSION}, add=['throw']) stops at each"),
    (r"\bbreak (?P<name>\S+@kernel)", r"the breakpoint \g<name>"),
    (r"\bbreak \*0xADDRESS", "the breakpoint *0xADDRESS"),
    (r"\bwatch sets another one", f"break({_SESSION}, add=['watch:EXPRESSION']) sets another one"),
    (r"\binterrupt shows where it is", "stacks shows where it is"),
    (r"\bthaw (?P<name>\S+) lets it run", r"thread \g<name> is held"),
    (r"\bgdb set logging file NAME", "a file"),
    (r"; -b (?P<name>\S+)", r"; a breakpoint \g<name>"),
    (
        r"\btype watch EXPRESSION at a Python stop",
        f"at a Python stop break({_SESSION}, add=['watch:py:EXPRESSION'])",
    ),
    (r"\btype watch\b", "the breakpoint watch:EXPRESSION"),
    (
        r"\btype (?P<name>(?:ivalue-stack|ivalue|tensor|jit-graph)\b[^:]*): ",
        r"no tool shows it; dualdbg's prompt does, by \g<name>: ",
    ),
    (r"\btype (?P<name>py:\S+)", r"the breakpoint \g<name>"),
    # what the tables of the prompt leave out
)
_ROWS = tuple((re.compile(pattern), words) for pattern, words in _PHRASES)


def for_tools(text: str, session: object = None) -> str:
    """A hint or a message of dualdbg's own. ``session``: the one that it is about, if any."""
    for pattern, words in _ROWS:
        text = pattern.sub(words, text)
    return text.replace("SESSION", repr(session) if isinstance(session, str) else "…")
