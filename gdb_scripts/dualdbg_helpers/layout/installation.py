"""The PyTorch that a process has loaded: where it is installed, its version, its C++ ABI and its machine."""

import re
from collections import namedtuple
from pathlib import Path

from dualdbg_shared.elf import MACHINES
from dualdbg_shared.libraries import C10, TORCH_CPU, is_pytorch_module

from .model import build_name


class Installation(namedtuple("Installation", "root version cxx11_abi build_id machine", defaults=(None,))):
    """``root`` is the folder with ``include``; ``version`` such as "2.13.0" (None: not known).

    ``cxx11_abi`` is whether ``std::string`` is libstdc++'s newer one; ``build_id`` those of libc10 and libtorch_cpu,
    None where one has none; ``machine`` that of the libraries (:data:`dualdbg_shared.elf.MACHINES`), None where none
    can be read.
    """

    __slots__ = ()

    @property
    def build(self):
        """What the layout tables call builds like this one; None where it is not known."""
        return build_name(self.machine, self.cxx11_abi)


_VERSION_FILES = (
    # (relative path, expression whose first group is the version)
    ("version.py", r"^__version__\s*(?::[^=]*)?=\s*['\"]([^'\"]+)['\"]"),
    ("build-version", r"^(\d\S*)"),
    ("include/torch/headeronly/version.h", r"#define\s+TORCH_VERSION\s+\"([^\"]+)\""),
    ("include/torch/csrc/api/include/torch/version.h", r"#define\s+TORCH_VERSION\s+\"([^\"]+)\""),
)


def find(mappings):
    """The :class:`Installation` that the inferior has loaded, or None when it has not loaded PyTorch."""
    libraries = [mappings.library_named(f"{name}.so") for name in (C10, TORCH_CPU)]
    first = next(filter(None, libraries), None)
    if first is None:
        return None
    module = next((one for one in mappings.libraries if is_pytorch_module(one.path)), None)
    return of(
        _root(first.path, module.path if module else None), [one.elf if one else None for one in libraries]
    )


def _root(library, module):
    """The folder of the installation of which a process has loaded ``library``, and ``module`` (None without Python).

    A wheel has its libraries in ``torch/lib``. Distributions put them where all libraries are (``/usr/lib``, Debian's
    ``/usr/lib/x86_64-linux-gnu``), the package of Python elsewhere, and the headers below ``/usr``; and a user may have
    the loader take another libc10. So it is the folder that says which version it is.
    """
    near = list(Path(library).parent.parents)[:2]
    folders = [*([Path(module).parent] if module else []), *near]
    return str(next((one for one in folders if version_of(one) is not None), near[0]))


def of(root, elves):
    """The :class:`Installation` at ``root``; ``elves`` are libc10 and libtorch_cpu, None for what cannot be read."""
    elf = next(filter(None, elves), None)
    ids = [one.build_id for one in elves if one and one.build_id]
    build_id = "-".join(ids) if len(ids) == len(elves) else None
    machine = MACHINES[elf.machine] if elf is not None else None
    return Installation(root, version_of(root), elf is None or _cxx11_abi(elf), build_id, machine)


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


# c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&) of the older ABI. That a
# library mentions the newer one says nothing: parts of libstdc++, which has both, are linked into it.
_OLDER_STRING = b"_ZN3c106detail14torchCheckFailEPKcS2_jRKSs\0"


def _cxx11_abi(elf):
    """Whether ``std::string`` is the newer one in a function of c10 that the library has or calls."""
    return not elf.mentions(_OLDER_STRING)
