"""Names of files: the client's names, and the names in the target and its debug information."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlsplit

_WINDOWS = re.compile(r"^(?:[A-Za-z]:[\\/]|\\\\)")


@dataclass(frozen=True)
class Mapping:
    """``local`` is a folder of the client, ``remote`` the same folder as the target names it.

    ``of_compiler``: ``remote`` is rather how the debug information names it (``sourceFileMap``).
    ``only_to_client``: files that the client names keep their names; breakpoints are not mapped.
    """

    local: str
    remote: str
    of_compiler: bool = False
    only_to_client: bool = False


@dataclass(frozen=True)
class PathMap:
    """Turns the client's paths into the target's and back; the longest folder that fits decides."""

    mappings: tuple[Mapping, ...] = ()
    uris: bool = False

    def inside(self, folder: str) -> PathMap:
        """The same, where the target runs in ``folder``: that is what ``"remoteRoot": "."`` means."""
        return replace(
            self, mappings=tuple(replace(one, remote=_resolved(one.remote, folder)) for one in self.mappings)
        )

    def lacks(self, file: str) -> bool:
        """Whether the client may have no such file: its folders have other names than the target's, and none fits."""
        elsewhere = any(not one.of_compiler for one in self.mappings)
        return elsewhere and all(_below(file, one.remote) is None for one in self.mappings)

    def to_target(self, path: str) -> str:
        """The target's name of a file that the client names by a path or a URI."""
        if self.uris:
            path = _from_uri(path)
        both_ways = (one for one in self.mappings if not one.only_to_client)
        for mapping in sorted(both_ways, key=lambda one: -len(one.local)):
            rest = _below(path, mapping.local)
            if rest is not None:
                return _joined(mapping.remote, rest)
        return path

    def to_client(self, path: str) -> str:
        """The client's name of a file of the target: a path, or a URI if it speaks in URIs."""
        for mapping in sorted(self.mappings, key=lambda one: -len(one.remote)):
            rest = _below(path, mapping.remote)
            if rest is not None:
                path = _joined(mapping.local, rest)
                break
        return _to_uri(path) if self.uris else path


def _resolved(remote: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, remote)) if remote.partition("/")[0] == "." else remote


def _below(path: str, folder: str) -> str | None:
    """What follows ``folder`` in ``path``, with slashes; None when it does not lie there."""
    windows = bool(_WINDOWS.match(folder))
    name, start = (path.replace("\\", "/"), folder.replace("\\", "/")) if windows else (path, folder)
    start = start.rstrip("/")
    compared, wanted = (name.lower(), start.lower()) if windows else (name, start)
    if compared == wanted:
        return ""
    return name[len(start) + 1 :] if compared.startswith(wanted + "/") else None


def _joined(folder: str, rest: str) -> str:
    if _WINDOWS.match(folder) and "\\" in folder:
        return folder.rstrip("\\/") + "\\" + rest.replace("/", "\\") if rest else folder
    return folder.rstrip("/") + "/" + rest if rest else folder


def _from_uri(text: str) -> str:
    return unquote(urlsplit(text).path) if text.startswith("file:") else text


def _to_uri(path: str) -> str:
    return "file://" + quote(path)
