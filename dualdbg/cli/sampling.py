"""``dualdbg stacks --watch`` as a profile: many samples, drawn and summed up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..console.style import Style
from ..errors import UsageError
from ..snapshot.facts import Failure, ProcessReport
from ..snapshot.report.flame_graph import flame_graph
from ..snapshot.report.profile import Profile, folded, speedscope
from ..system.terminal_text import visible

Take = Callable[[], "tuple[list[ProcessReport], list[Failure]]"]

_SHOWN = 20  # functions of the list
_AT_ONCE = 16  # samples of which the files are looked at together


@dataclass
class Sampled:
    """A profile, in how many seconds it was made, and the processes that could not be read any more.

    ``left_out``: samples of a process that are not in it, since its libraries were others afterwards.
    """

    profile: Profile
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    left_out: int = 0

    @property
    def interval(self) -> float:
        """The seconds between two samples."""
        return self.seconds / max(self.profile.samples, 1)


def sample(
    take: Take,
    count: int,
    interval: float,
    with_idle: bool,
    deferred: Callable[[], Collection[int]] = tuple,
    confirmed: Callable[[], Collection[int]] = tuple,
) -> Sampled:
    """``count`` samples, one each ``interval`` seconds or as fast as can be; Ctrl-C and the end of all end it.

    ``deferred``: the processes of which the next sample counts only if ``confirmed`` has them when it is called later.
    """
    sampled = Sampled(Profile(with_idle))
    waiting: list[tuple[list[ProcessReport], Collection[int]]] = []
    began = time.monotonic()
    try:
        for number in range(count):
            time.sleep(max(began + number * interval - time.monotonic(), 0))
            unsure = deferred()
            reports, failures = take()
            if not reports:
                sampled.failures = failures
                break
            waiting.append((reports, unsure))
            if len(waiting) == _AT_ONCE:
                _settle(sampled, waiting, confirmed())
    except KeyboardInterrupt:
        pass  # what came so far is shown
    sampled.seconds = time.monotonic() - began
    _settle(sampled, waiting, confirmed() if waiting else ())
    return sampled


def _settle(
    sampled: Sampled,
    waiting: list[tuple[list[ProcessReport], Collection[int]]],
    confirmed: Collection[int],
) -> None:
    for reports, unsure in waiting:
        sure = [report for report in reports if report.pid not in unsure or report.pid in confirmed]
        sampled.left_out += len(reports) - len(sure)
        sampled.profile.add(sure)
    waiting.clear()


def write_files(sampled: Sampled, files: dict[str, Path], subject: str) -> None:
    """Write what was asked for: ``folded``, ``speedscope``, ``flamegraph``. Raises UsageError where that fails."""
    profile = sampled.profile
    title = f"{subject}: {profile.samples} samples in {sampled.seconds:.1f} s"
    make = {
        "folded": lambda: "".join(f"{line}\n" for line in folded(profile)),
        "speedscope": lambda: json.dumps(speedscope(profile, subject, sampled.interval)),
        "flamegraph": lambda: flame_graph(profile, title),
    }
    for kind, path in files.items():
        try:
            path.write_text(make[kind](), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}", f"name another file behind --{kind}"
            ) from error


def summary(sampled: Sampled, gil: bool, style: Style) -> str:
    """What was sampled and what that cost, the functions with most of the time, and who had the GIL."""
    profile, stops = sampled.profile, sampled.profile.stops
    rate = profile.samples / sampled.seconds if sampled.seconds else 0.0
    lines = [
        style.paint("stop", f"{profile.samples} samples in {sampled.seconds:.1f} s, {rate:.1f} a second")
    ]
    if stops:
        mean, longest, share = sum(stops) / len(stops), max(stops), sum(stops) / max(sampled.seconds, 1e-9)
        times = f"{mean * 1000:.1f} ms, {longest * 1000:.1f} ms at most"
        lines.append(f"  each stopped a process for {times}: {share:.1%} of the time")
    if sampled.left_out:
        lines.append(f"  {sampled.left_out} are left out: libraries were loaded meanwhile, or it ended")
    lines.append(f"  {profile.total} stacks of threads at work, {profile.idle} of idle ones left out")
    total = max(profile.total, 1)
    rows = profile.top()
    if rows:
        lines += ["", "   own  total  function"]
    for spot, own, within in rows[:_SHOWN]:
        lines.append(_cut(f"{own / total:6.1%} {within / total:6.1%}  {visible(spot.name)}", style.width))
    if len(rows) > _SHOWN:
        lines.append(f"  {len(rows) - _SHOWN} more functions: --folded FILE writes all")
    if gil:
        lines += ["", style.paint("stop", "The GIL"), *_gil(profile)]
    return "\n".join(lines) + "\n"


def _gil(profile: Profile) -> Sequence[str]:
    rows = sorted(profile.gil.values(), key=lambda use: (-use.held - use.waited, use.name))
    told = [
        f"  {use.held / use.samples:6.1%} held, {use.waited / use.samples:6.1%} waited for it  {visible(use.name)}"
        for use in rows
        if use.held or use.waited
    ]
    return told or ["  no thread held it or waited for it in any sample"]


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: width - 2]}.."
