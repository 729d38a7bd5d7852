"""The PyTorch that a process has loaded: where it is installed, its version and its C++ ABI."""

import re
from collections import namedtuple
from pathlib import Path

from dualdbg_shared.libraries import C10, TORCH_CPU

Installation = namedtuple("Installation", "root version cxx11_abi")
"""``root`` is the folder with ``lib`` and ``include``; ``version`` such as "2.13.0" (None: not known);
``cxx11_abi`` whether ``std::string`` is libstdc++'s newer one."""

_VERSION_FILES = (
    # (relative path, expression whose first group is the version)
    ("version.py", r"^__version__\s*(?::[^=]*)?=\s*['\"]([^'\"]+)['\"]"),
    ("build-version", r"^(\d\S*)"),
    ("include/torch/headeronly/version.h", r"#define\s+TORCH_VERSION\s+\"([^\"]+)\""),
    ("include/torch/csrc/api/include/torch/version.h", r"#define\s+TORCH_VERSION\s+\"([^\"]+)\""),
)


def find(mappings):
    """The :class:`Installation` that the inferior has loaded, or None when it has not loaded PyTorch."""
    library = mappings.library_named(f"{C10}.so", f"{TORCH_CPU}.so")
    if library is None:
        return None
    root = str(Path(library.path).parent.parent)
    return Installation(root, version_of(root), _cxx11_abi(library))


def version_of(root):
    """The version of the PyTorch installed at ``root``, without its build suffix; None when it does not say."""
    for relative, expression in _VERSION_FILES:
        try:
            with (Path(root) / relative).open(encoding="utf-8") as file:
                match = re.search(expression, file.read(100000), re.MULTILINE)
        except OSError:
            continue
        if match:
            return match.group(1).split("+")[0]
    return None


def _cxx11_abi(library):
    """Whether the library's own symbols mention ``std::__cxx11``, as those of the newer ABI do."""
    return library.elf is None or library.elf.mentions(b"NSt7__cxx11")
