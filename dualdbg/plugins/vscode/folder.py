"""The ``.vscode`` folder of a project: compares it with a profile, and writes it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigError
from .merge import Merged, merge
from .profiles import FORMERLY, USERS_OWN


@dataclass(frozen=True)
class File:
    """One file: its present text (None: no file), and its text with the profile (empty: it is to go)."""

    path: Path
    before: str | None
    merged: Merged
    is_former: bool = False  # as an earlier version wrote it

    @property
    def is_new(self) -> bool:
        """Whether the project has no such file."""
        return self.before is None

    @property
    def changes(self) -> bool:
        """Whether the file is to be written."""
        return self.before != self.merged.text


def compare(folder: Path, generated: dict[str, str], is_former: Callable[[str, str], bool]) -> list[File]:
    """How the files of ``folder/.vscode`` differ from ``generated``. One that ``is_former``, by its name and text, is
    as if it were not there. Raises ConfigError for one that cannot be read."""
    files = []
    for name, text in {**dict.fromkeys(FORMERLY, ""), **generated}.items():
        path = folder / ".vscode" / name
        before = read(path)
        if before is not None and is_former(name, before):
            files.append(File(path, before, Merged(text), is_former=True))
            continue
        if not text:
            continue
        merged = Merged(text) if before is None else merge(text, before, str(path), USERS_OWN)
        files.append(File(path, before, merged))
    return files


def write(files: list[File]) -> None:
    """Write what changes, each file at once. Raises ConfigError."""
    for file in files:
        if file.changes and not file.merged.text:
            file.path.unlink()
        elif file.changes:
            _replace(file.path, file.merged.text)


def read(path: Path) -> str | None:
    """The text of a file, None when there is none. Raises ConfigError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: byte {error.start}", "save it as UTF-8") from error


def _replace(path: Path, text: str) -> None:
    """Write the file in one step: nobody sees half of it. A link stays a link, and the permissions stay."""
    place = path.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        mode = place.stat().st_mode & 0o7777 if place.exists() else 0o666 & ~_umask()
        descriptor, name = tempfile.mkstemp(prefix=f".{place.name}-", dir=place.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8"))
            Path(name).chmod(mode)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "is the folder yours?") from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
