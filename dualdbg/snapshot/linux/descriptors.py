"""What an open descriptor of a process is, for people: a path, a pipe, or a socket with both of its ends."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..facts import Descriptor, ProcessReport, ThreadReport
from .procfs import descriptor_target
from .system_calls import READS

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_STATES = {"01": "established", "02": "connecting", "06": "time-wait", "08": "close-wait", "0A": "listening"}


def describe_descriptor(pid: int, number: int, target: str | None) -> Descriptor:
    """A descriptor and what it leads to: a path, a pipe, or the two ends of a socket. ``target`` is its link."""
    match = _SOCKET.fullmatch(target or "")
    if match:
        target = _socket(pid, match[1]) or target
    return Descriptor(number, target)


def with_other_ends(reports: Sequence[ProcessReport]) -> list[ProcessReport]:
    """The same reports. A pipe that a thread waits on names the processes that have its other end open."""
    wanted = {
        call.descriptor.target
        for report in reports
        for thread in report.threads
        if (call := thread.system_call) and call.descriptor and _is_pipe(call.descriptor)
    }
    ends = _pipe_ends({target for target in wanted if target})
    return [replace(report, threads=tuple(_with_ends(t, ends) for t in report.threads)) for report in reports]


def _is_pipe(descriptor: Descriptor) -> bool:
    return descriptor.target is not None and descriptor.target.startswith("pipe:")


def _with_ends(thread: ThreadReport, ends: Mapping[tuple[str, int], tuple[int, ...]]) -> ThreadReport:
    call = thread.system_call
    if call is None or call.descriptor is None or not _is_pipe(call.descriptor):
        return thread
    other = os.O_WRONLY if call.name in READS or call.sends is False else os.O_RDONLY
    assert call.descriptor.target is not None
    descriptor = replace(call.descriptor, others=ends.get((call.descriptor.target, other), ()))
    return replace(thread, system_call=replace(call, descriptor=descriptor))


def _pipe_ends(wanted: set[str]) -> dict[tuple[str, int], tuple[int, ...]]:
    """(pipe, access mode) -> the processes that have it open so, as far as we may look."""
    found: dict[tuple[str, int], dict[int, None]] = {}
    for name in filter(str.isdigit, os.listdir("/proc") if wanted else []):
        folder = f"/proc/{name}/fd"
        try:
            numbers = os.listdir(folder)
        except OSError:
            continue  # it belongs to another user, or has ended
        for number in numbers:
            target = descriptor_target(int(name), int(number))
            if target in wanted:
                found.setdefault((target, _access_mode(name, number)), {})[int(name)] = None
    return {key: tuple(pids) for key, pids in found.items()}


def _access_mode(pid: str, number: str) -> int:
    """proc(5), /proc/pid/fdinfo: ``flags`` in octal."""
    try:
        with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
            flags = next(line.split()[1] for line in file if line.startswith("flags:"))
    except (OSError, StopIteration):
        return -1
    return int(flags, 8) & os.O_ACCMODE


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
