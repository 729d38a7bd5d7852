"""What an open descriptor of a process is, for people: a path, a pipe, or a socket with both of its ends."""

from __future__ import annotations

import ipaddress
import re

from .procfs import descriptor_target
from .report import Descriptor

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_STATES = {"01": "established", "02": "connecting", "06": "time-wait", "08": "close-wait", "0A": "listening"}


def describe_descriptor(pid: int, number: int) -> Descriptor:
    target = descriptor_target(pid, number)
    match = _SOCKET.fullmatch(target or "")
    if match:
        target = _socket(pid, match[1]) or target
    return Descriptor(number, target)


def _socket(pid: int, inode: str) -> str | None:
    """The two ends of a TCP or UDP socket from /proc/PID/net, the path of a Unix one."""
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for fields in _rows(pid, kind):
            if len(fields) > 9 and fields[9] == inode:
                state = _STATES.get(fields[3], "") if kind.startswith("tcp") else ""
                ends = f"{_end(fields[1])} -> {_end(fields[2])}"
                return f"{kind.rstrip('6')} socket {ends}{' ' if state else ''}{state}"
    for fields in _rows(pid, "unix"):
        if len(fields) > 6 and fields[6] == inode:
            return f"unix socket {fields[7]}" if len(fields) > 7 else "unix socket"
    return None


def _rows(pid: int, kind: str) -> list[list[str]]:
    try:
        with open(f"/proc/{pid}/net/{kind}", encoding="utf-8", errors="replace") as file:
            return [line.split() for line in file.readlines()[1:]]
    except OSError:
        return []


def _end(text: str) -> str:
    """``0100007F:1F90`` is 127.0.0.1:8080: groups of four bytes, each in the machine's own order."""
    address, _, port = text.partition(":")
    raw = bytes.fromhex(address)
    ordered = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    name = ipaddress.ip_address(ordered)
    return f"{f'[{name}]' if name.version == 6 else name}:{int(port, 16)}"
