"""Runs in the target: keeps torch.compile from compiling the debugger's own code.

While a thread is below a compiled function, TorchDynamo is asked about each function of Python that begins in it, and
the functions of pydevd with which a stopped thread waits for its session are among them. TorchDynamo would try to
compile them, and what it raises when it cannot, would end all debugging of the thread. It lets functions of some
folders be: torch/_dynamo/trace_rules.py, ``SKIP_DIRS`` (PyTorch 2.3 to 2.13). CPython 3.8 and later.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

RULES = "torch._dynamo.trace_rules"
WAITS = "dualdbg_waits"  # an attribute of the finder's method while it waits for them


def install(folders: List[str]) -> None:
    """Have TorchDynamo let the code below these folders be, once the program has imported it."""
    rules = sys.modules.get(RULES)
    if rules is not None:
        spare(rules, folders)
    else:
        wait(folders)


def spare(rules: Any, folders: List[str]) -> None:
    """Add folders to those whose code TorchDynamo does not look at. Nothing where it has other rules."""
    if isinstance(getattr(rules, "SKIP_DIRS", None), list) and callable(
        getattr(rules, "_recompile_re", None)
    ):
        rules.SKIP_DIRS.extend(folder for folder in folders if folder not in rules.SKIP_DIRS)
        rules._recompile_re()


def wait(folders: List[str]) -> None:
    """Spare the folders when the program imports the rules.

    One more finder in ``sys.meta_path`` would be seen by the program, so the one that finds files is asked.
    """
    from importlib.machinery import PathFinder

    finder: Any = PathFinder
    if getattr(finder.find_spec, WAITS, False):
        return  # since an earlier session, or the parent's
    ours = finder.__dict__["find_spec"]

    def find_spec(cls: Any, name: str, path: Any = None, target: Any = None) -> Any:
        spec = ours.__get__(None, cls)(name, path, target)
        if name == RULES and spec is not None:
            finder.find_spec = ours
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                spare(module, folders)

            spec.loader.exec_module = exec_module
        return spec

    setattr(find_spec, WAITS, True)
    finder.find_spec = classmethod(find_spec)
