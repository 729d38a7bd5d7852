"""The user's configuration: ``[tool.dualdbg]`` in pyproject.toml, or the whole of dualdbg.toml."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .errors import ConfigError, UsageError
from .model import STEP_LAYERS, GdbCommand, Layer, Notice
from .shared.trust import objection
from .system.folders import expanded
from .system.log_names import LogFolder
from .system.source_files import read_regular

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "dualdbg.toml"
PROJECT_FILE = "pyproject.toml"
_MOST_OF_OTHERS = 1 << 20  # bytes that are read of a file that belongs to somebody else


@dataclass(frozen=True)
class PresetTable:
    """A preset as the user wrote it: specs, and one line about it."""

    breakpoints: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True)
class Refused:
    """A configuration file that was found and is not used. ``why`` is in words."""

    path: Path
    why: str


@dataclass(frozen=True)
class Config:
    """What the file says; the defaults where it says nothing. ``path`` is None when there is no file.

    ``refused`` are the nearer files that are not used because they do not belong to the user.

    ``breakpoints``, and those of the presets, are specs. ``symbols`` are entries of the symbol policy as given to
    ``--symbols`` (``lazy``, ``libmine*=full``). ``source_maps`` are pairs of the path in debug info and where the
    source is now. ``glue`` are patterns of function names whose frames are dimmed. ``just_my_code`` is
    debugpy's; None leaves it to the command line. ``step_into`` is where ``step`` enters an operator of PyTorch.
    """

    path: Path | None = None
    breakpoints: tuple[str, ...] = ()
    presets: Mapping[str, PresetTable] = field(default_factory=lambda: MappingProxyType({}))
    symbols: tuple[str, ...] = ()
    source_maps: tuple[tuple[str, str], ...] = ()
    glue: tuple[str, ...] = ()
    just_my_code: bool | None = None
    step_into: Layer = Layer.BINDING
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Asked:
    """What the user asks of a session on a command line or in ``launch.json``, besides the configuration.

    ``just_my_code`` None leaves it to the configuration. ``gdb_commands`` are run once gdb holds the program,
    ``gdb_arguments`` are words of gdb's own command line;
    ``debugpy`` are more arguments for debugpy; ``core_folder`` is where the core of a crash is kept.
    """

    breakpoints: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    just_my_code: bool | None = None
    stop_on_entry: bool = False
    gdb: str | None = None
    log_dir: LogFolder | None = None
    core_folder: Path | None = None
    gdb_commands: tuple[GdbCommand, ...] = ()
    gdb_arguments: tuple[str, ...] = ()
    debugpy: Mapping[str, Any] = field(default_factory=dict)


def find_config(directory: Path | None = None) -> Config:
    """The configuration of the nearest folder, from ``directory`` (the working directory) upwards, that has one.

    In one folder dualdbg.toml goes before pyproject.toml; a pyproject.toml without ``[tool.dualdbg]`` is passed by.
    A file counts only if it, and each folder from it down to ``directory``, is the user's own (:mod:`.trust`): a
    condition of a breakpoint in it runs with the rights of the user. A file that does not count is in ``refused``.

    :raises ConfigError: the file cannot be read, or a key or value in it is not understood.
    :raises UsageError: the working directory is gone.
    """
    refused: list[Refused] = []
    objected: str | None = None  # to a folder on the way
    start = working_directory() if directory is None else directory.resolve()
    for folder in (start, *start.parents):
        objected = objected or _objection_to_folder(folder)
        for name, section in ((OWN_FILE, ()), (PROJECT_FILE, ("tool", "dualdbg"))):
            path = folder / name
            try:
                why = objected or objection(path)
                path.stat()
            except OSError:  # no such file, or not visible to us
                continue
            if why is not None:
                refused += [Refused(path, why)] if not section or _mentions_us(path) else []
                continue
            table = _read_section(path, section)
            if table is not None:
                return replace(_Reader(path, section).config(table), refused=tuple(refused))
    return Config(refused=tuple(refused))


def read_config(path: Path) -> Config:
    """The configuration in one file that the user named, whoever it belongs to.

    :raises ConfigError: as for :func:`find_config`; also when the file is not there.
    """
    section = ("tool", "dualdbg") if path.name == PROJECT_FILE else ()
    if not path.exists():
        raise ConfigError(f"there is no configuration file {path}", "give the path of a dualdbg.toml")
    return _Reader(path, section).config(_read_section(path, section) or {})


def configuration(named: str | None = None, directory: Path | None = None) -> Config:
    """The one configuration of a command: the file that the user ``named``, else what :func:`find_config` finds."""
    return read_config(expanded(named)) if named else find_config(directory)


def notices(config: Config) -> tuple[Notice, ...]:
    """What the user is told once, at the start: which file is used, and which is not."""
    used = (Notice("info", f"configuration: {config.path}"),) if config.path is not None else ()
    return (
        tuple(
            Notice(
                "warning",
                f"the configuration {one.path} is not used: {one.why}",
                f"if you trust it, name it: --config {shlex.quote(str(one.path))}",
            )
            for one in config.refused
        )
        + used
    )


def working_directory() -> Path:
    """The working directory. Raises UsageError when that folder was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "the working directory does not exist any more", "cd to a folder that does"
        ) from None


def _objection_to_folder(folder: Path) -> str | None:
    try:
        return objection(folder)
    except OSError as error:
        return f"{folder} cannot be looked at: {error.strerror}"


def _mentions_us(path: Path) -> bool:
    """Whether a file of another user seems to have a section for dualdbg; no more of it is read."""
    try:
        return path.is_file() and b"dualdbg" in read_regular(path, _MOST_OF_OTHERS)
    except OSError:
        return False


def _read_section(path: Path, section: tuple[str, ...]) -> dict[str, Any] | None:
    """The table for dualdbg in the file; None without the file or the table."""
    try:
        data = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", "make it readable or move it away"
        ) from error
    if section and section[-1].encode() not in data:
        return None
    try:
        table: Any = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "correct the file at that place") from error
    for key in section:
        table = table.get(key) if isinstance(table, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise ConfigError(f"{path}: {'.'.join(section)} is no table", f"begin it with [{'.'.join(section)}]")


class _Reader:
    """Turns one table into a Config; knows the file and the section for its messages."""

    def __init__(self, path: Path, section: tuple[str, ...]) -> None:
        self._path = path
        self._section = section

    def config(self, table: dict[str, Any]) -> Config:
        self._check_keys(table, _KEYS, ())
        values = {_KEYS[key][0]: _KEYS[key][1](self, value, (key,)) for key, value in table.items()}
        return Config(path=self._path, **values)

    def texts(self, value: Any, key: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
            raise self._wrong(key, value, 'a list of texts, for example ["randn", "file.py:12"]')
        return tuple(value)

    def symbols(self, value: Any, key: tuple[str, ...]) -> tuple[str, ...]:
        if isinstance(value, str) and value.strip():
            return (value,)
        if isinstance(value, list):
            return self.texts(value, key)
        raise self._wrong(key, value, '"full", "lazy" or a list such as ["lazy", "libmine*=full"]')

    def flag(self, value: Any, key: tuple[str, ...]) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def layer(self, value: Any, key: tuple[str, ...]) -> Layer:
        if value not in [layer.value for layer in STEP_LAYERS]:
            raise self._wrong(key, value, '"binding", "dispatch" or "kernel"')
        return Layer(value)

    def source_maps(self, value: Any, key: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict) or not all(isinstance(place, str) for place in value.values()):
            raise self._wrong(key, value, 'a table, for example {"/build/src" = "src"}')
        for path in (*value, *value.values()):
            if not path.isprintable():  # gdb takes it on one line
                raise self._wrong(key, path, "paths without control characters")
        return tuple((built, self._here(place, key)) for built, place in value.items())

    def presets(self, value: Any, key: tuple[str, ...]) -> Mapping[str, PresetTable]:
        if not isinstance(value, dict):
            raise self._wrong(key, value, "a table of presets")
        return MappingProxyType({name: self._preset(preset, (*key, name)) for name, preset in value.items()})

    def _preset(self, value: Any, key: tuple[str, ...]) -> PresetTable:
        if isinstance(value, list):
            return PresetTable(self.texts(value, key))
        if not isinstance(value, dict):
            raise self._wrong(key, value, 'a list of specs, for example ["randn", "throw"]')
        self._check_keys(value, _PRESET_KEYS, key)
        about = value.get("about", "")
        if not isinstance(about, str):
            raise self._wrong((*key, "about"), about, "a text")
        if "breakpoints" not in value:
            raise ConfigError(
                f"{self._path}: {self._named(key)} has no breakpoints", 'add breakpoints = ["randn"]'
            )
        return PresetTable(self.texts(value["breakpoints"], (*key, "breakpoints")), about)

    def _here(self, place: str, key: tuple[str, ...]) -> str:
        """A path that the file gives, taken from the folder of the file."""
        try:
            return str(self._path.parent / Path(place).expanduser())
        except RuntimeError as error:  # "~name" with an unknown name
            raise self._wrong(key, place, "a path; the home folder in it is not known") from error

    def _check_keys(self, table: dict[str, Any], allowed: Mapping[str, Any], key: tuple[str, ...]) -> None:
        for name in table:
            if name not in allowed:
                near = difflib.get_close_matches(name, allowed, 1, 0.5)
                meant = f"did you mean {near[0]}? " if near else ""
                raise ConfigError(
                    f"{self._path}: unknown key {self._named((*key, name))}",
                    f"{meant}keys: {', '.join(allowed)}",
                )

    def _wrong(self, key: tuple[str, ...], value: Any, wanted: str) -> ConfigError:
        return ConfigError(f"{self._path}: {self._named(key)} is {value!r}", f"it must be {wanted}")

    def _named(self, key: tuple[str, ...]) -> str:
        return ".".join((*self._section, *key))


# The keys of the file: the field of Config, and how its value is read.
_KEYS: dict[str, tuple[str, Callable[[_Reader, Any, tuple[str, ...]], Any]]] = {
    "breakpoints": ("breakpoints", _Reader.texts),
    "presets": ("presets", _Reader.presets),
    "symbols": ("symbols", _Reader.symbols),
    "source-maps": ("source_maps", _Reader.source_maps),
    "glue": ("glue", _Reader.texts),
    "just-my-code": ("just_my_code", _Reader.flag),
    "step-into": ("step_into", _Reader.layer),
}
_PRESET_KEYS = {"breakpoints": None, "about": None}
