"""Which layouts a process gets: the sources in their order, each checked before it is believed."""

import json
import re
from pathlib import Path

import gdb

from .. import language, settings
from ..errors import LayoutMissing
from . import element_types, selfcheck
from .from_gdb import DebugInfo
from .model import HINT, Chain, Layout, from_table
from .types_object import TypesObject
from .wanted import part_of

TABLES = Path(__file__).resolve().parent / "tables"
_chosen = {}
_bad = {}


def table(version, build):
    """The table for PyTorch ``version``, or for another patch release of the same minor version; None without.

    ``build`` is what tables call the build of the process (:func:`.model.build_name`), None where it is not known.
    """
    if version is None:
        return None
    names = sorted(path.name for path in TABLES.glob("*.json"))
    minor = ".".join(version.split(".")[:2])
    for name in [f"torch-{version}.json"] + [n for n in names if n.startswith(f"torch-{minor}.")]:
        found = read(name, "checked against the process", build) if name in names else None
        if found is not None:
            return found
    return None


def nearest_tables(version, build, make_target):
    """The tables of other minor versions, the nearest to PyTorch ``version`` first, of two the older; none without it.

    They were not made for this version, and the checks see only a part of them: one is believed last, and says so.
    Another major version is not near. The element types have the numbers that the running library gives them.
    """
    wanted = _numbers(version or "")
    known = {_numbers(path.stem.partition("-")[2]): path.name for path in TABLES.glob("torch-*.json")}
    near = [one for one in known if wanted and one[0] == wanted[0]]
    belief = f"near {version}; what could be checked fits the process, the rest may not"
    for minor in sorted(near, key=lambda one: (abs(one[1] - wanted[1]), one[1])):
        layout = read(known[minor], belief, build)
        if layout is None:
            continue
        numbers = layout.find_enum("c10::ScalarType")
        own = element_types.numbers(make_target(Chain([layout])), numbers) if numbers else None
        if own is not None:
            layout.enums["c10::ScalarType"] = own
        yield layout


def _numbers(version):
    """Major and minor version, or None."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def read(name, belief, build):
    """The table in the file ``name``; ``belief`` says in its source how far it is to be believed.

    None where it does not describe ``build``.
    """
    return from_table(json.loads((TABLES / name).read_text(encoding="utf-8")), belief, build)


class _Object(Layout):
    """Types that ``torch-types`` has compiled from the headers, part by part."""

    def __init__(self, maker):
        super().__init__(maker.source, {}, {})
        self._maker = maker
        self._asked = set()

    def _load(self, name):
        part = part_of(name)
        if part is None or part in self._asked:
            return
        self._asked.add(part)
        found = self._maker.cached(part)
        if found is not None:
            self.records.update(found.records)
            self.enums.update(found.enums)

    def find(self, name):
        self._load(name)
        return super().find(name)

    def find_enum(self, name):
        self._load(name)
        return super().find_enum(name)


def _debug_info():
    files = [f.filename for f in gdb.objfiles() if f.is_valid() and f.filename]
    source = "debug info (knows no c10::IValue)"
    try:
        origin = language.find_type("c10::IValue").objfile
        source = f"debug info of {Path(origin.filename).name}" if origin is not None else "debug info"
    except (gdb.error, AttributeError):
        pass
    return DebugInfo(source), tuple(files)


def chain(installation, make_target):
    """The :class:`Chain` of layouts for a process with this PyTorch ``installation`` (None: no PyTorch).

    ``make_target(chain)`` makes a target to check a source with. Sources that fail their check are left
    out, and :func:`refusals` says why.
    """
    info, files = _debug_info()
    wanted = settings.value("layouts")
    key = (installation, files, wanted, settings.value("compiler"))
    if key not in _chosen:
        forget()
        _chosen[key] = _sources(installation, info, wanted, make_target)
    return Chain(_chosen[key], lambda name, what: _missing(name, what, installation))


def forget():
    """Have the sources chosen anew when they are needed next: another one may be there."""
    _chosen.clear()
    _bad.clear()


def _sources(installation, info, wanted, make_target):
    if installation is None:
        return [info] if wanted in ("auto", "debug-info") else []
    known = table(installation.version, installation.build)
    found = []

    def believe(layout):
        problem = selfcheck.problem_of(layout, found, make_target)
        if problem is None:
            found.append(layout)
        else:
            _bad[layout.source.partition(";")[0]] = problem  # without what would be said of it if it fitted
        return problem is None

    candidates = {
        "debug-info": info,
        "types-object": _Object(types_object(installation)),
        "table": known,
    }
    for name, layout in candidates.items():
        if layout is not None and wanted in ("auto", name):
            believe(layout)
    if known is None and wanted in ("auto", "table"):
        any(
            map(believe, nearest_tables(installation.version, installation.build, make_target))
        )  # the first that fits
    return found


def types_object(installation):
    """The :class:`TypesObject` of a PyTorch ``installation``, made with the user's compiler and this gdb."""
    own = Path("/proc/self/exe")
    return TypesObject(
        installation,
        settings.value("compiler"),
        str(own.resolve()) if own.exists() else "gdb",
    )


def refusals():
    """``{source: why it is not believed}`` for the process looked at last."""
    return dict(_bad)


def _missing(name, what, installation):
    """The error where no source knows the type ``name``; ``what`` says so."""
    if installation is None:
        return LayoutMissing(f"{what} This process has not loaded PyTorch.", HINT)
    reasons = [f"{source}: {problem}" for source, problem in _bad.items()]
    if table(installation.version, installation.build) is None:
        reasons.append("there is no table for torch {}".format(installation.version or "(unknown version)"))
    why = f"{what} {'; '.join(reasons)}." if reasons else what
    return LayoutMissing(
        why, f"`torch-types {part_of(name) or 'core'}` compiles it from the installed headers, once."
    )
