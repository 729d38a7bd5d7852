"""Who is at the other end of a connection, as the kernel knows it. What the other end says does not count."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

_CREDENTIALS = struct.Struct("iII")  # struct ucred (unix(7)): pid, uid, gid
_ESTABLISHED = 1  # include/net/tcp_states.h
_EVERY_USER = ["0", "0", "4294967295"]  # the uid_map of a process that is in no user namespace


@dataclass(frozen=True)
class Peer:
    """A process that called connect(2), and its user. ``pid`` is 0 when the process is not in our PID namespace."""

    pid: int
    uid: int | None


def of_unix_socket(connection: socket.socket) -> Peer:
    """The caller of connect(2) (SO_PEERCRED, unix(7))."""
    pid, uid, _ = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return Peer(pid, _told(uid))


class PeerGone(Exception):
    """The client has hung up already."""


def user_of_client(connection: socket.socket) -> int | None:
    """The user of a TCP client that is connected. None when the kernel does not say, so that it is a stranger.

    Raises PeerGone when the client has gone and its user cannot be found any more.
    """
    try:
        ours, theirs = connection.getsockname(), connection.getpeername()
        uid = user_of_loopback(ours[:2], theirs[:2])
        state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]  # tcpi_state (tcp(7))
    except OSError as error:
        raise PeerGone from error
    if uid is None and state != _ESTABLISHED:
        raise PeerGone
    return uid


def user_of_loopback(ours: tuple[str, int], theirs: tuple[str, int]) -> int | None:
    """The user who opened the other end of a TCP connection of this machine.

    ``ours`` and ``theirs`` are the ends as getsockname(2) and getpeername(2) have them here. None when the connection
    comes from elsewhere or from another network namespace, or is closed by now. Source: /proc/net/tcp (proc(5)), whose
    column ``uid`` is the creator's. A socket without an owner has uid 0 there. It has no inode, so it is left out.
    """
    wanted = (_plain(*theirs), _plain(*ours))
    for local, remote, uid in _connections():
        if (local, remote) == wanted:
            return _told(uid)
    return None


def is_loopback(address: str) -> bool:
    """Whether packets to ``address`` stay on this machine."""
    found, _ = _plain(address, 0)
    return found.is_loopback


if TYPE_CHECKING:
    _End = tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]


def _connections() -> Iterator[tuple[_End, _End, int]]:
    """Every established TCP connection with an owner: this end, that end, and the user at this end."""
    for name in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", name).read_text().splitlines()[1:]
        except OSError:  # no procfs, or no IPv6
            continue
        for line in lines:
            _, local, remote, state, _, _, _, uid, _, inode, *_ = line.split()
            if int(state, 16) == _ESTABLISHED and inode != "0":
                yield _read_end(local), _read_end(remote), int(uid)


def _read_end(text: str) -> _End:
    """``0100007F:1F90``: words of 32 bits in the machine's order, then the port."""
    digits, port = text.split(":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    return _plain(str(ipaddress.ip_address(packed)), int(port, 16))


def _plain(address: str, port: int) -> _End:
    """The address; an IPv4 address in the form of IPv6 becomes plain."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found, port


def _told(uid: int) -> int | None:
    """The user; None for the number that stands for all users outside of our user namespace (user_namespaces(7))."""
    try:
        stand_in = int(Path("/proc/sys/kernel/overflowuid").read_text())
        everybody = Path("/proc/self/uid_map").read_text().split() == _EVERY_USER
    except (OSError, ValueError):
        return uid
    return uid if everybody or uid != stand_in else None


def user_of(pid: int) -> int:
    """The effective user, who owns the folder in /proc (proc(5)). Raises OSError when the process is gone."""
    return Path(f"/proc/{pid}").stat().st_uid


def is_ours(uid: int | None) -> bool:
    """Whether that user can do everything that we can anyway: our own user, or root."""
    return uid is not None and uid in (0, os.geteuid())
