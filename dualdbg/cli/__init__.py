"""The command line. Before anything else of dualdbg is imported, it is seen to where imports are looked for."""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder


class _StandardLibrary:
    """Finds its modules in its own folders alone.

    A folder of PYTHONPATH, or that of ``python -m dualdbg``, may have a `queue.py`, or a `nt.py`, for which the
    standard library asks. That is the program's, and not for us to run.
    """

    def __init__(self) -> None:
        library = os.__file__.rpartition(os.sep)[0]  # without pathlib, which asks for `nt`
        self.folders = [one for one in sys.path if one == library or one.endswith("/lib-dynload")]

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """What the machinery asks each of ``sys.meta_path``. None: the others are asked."""
        if path is not None or name not in sys.stdlib_module_names:
            return None
        spec = PathFinder.find_spec(name, self.folders)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


if PathFinder in sys.meta_path:  # else somebody has changed all of it
    sys.meta_path.insert(sys.meta_path.index(PathFinder), _StandardLibrary())
