"""Makes the pictures of the documentation: the dashboard and commands on real sessions of the samples, as SVG.

python scripts/screenshots.py [NAME…], in the project's folder, makes them; with --check it writes nothing and says
which one says something else now (status 1). The site's pages and Perfetto are pictures of a browser: those are only
made.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dualdbg.session.attaching import attach  # noqa: E402
from dualdbg.session.options import Options  # noqa: E402
from dualdbg.session.session import Session  # noqa: E402
from dualdbg.symbols.cache import cache_directory  # noqa: E402
from dualdbg.symbols.torch.operators import OperatorTable  # noqa: E402
from dualdbg.target import interpreter  # noqa: E402
from dualdbg.tui.terminal.pty import ENVIRONMENT  # noqa: E402
from scripts import perfetto, picture_text, site_pictures, terminal_pictures  # noqa: E402
from tests.support import build_native  # noqa: E402
from tests.tui.driver import Screen, on_screen  # noqa: E402

IMAGES = ROOT / "docs" / "images"
TRAINING = """\
import torch


def step(weights, batch, rate=0.1):
    output = batch @ weights
    loss = output.square().mean()
    loss.backward()
    with torch.no_grad():
        weights -= rate * weights.grad
    return loss.item()


torch.manual_seed(0)
weights = torch.randn(4, 3, requires_grad=True)
batches = torch.randn(8, 2, 4)
for batch in batches:
    print(step(weights, batch))
"""
Work = Callable[[Screen], Awaitable[None]]


@dataclass(frozen=True)
class Picture:
    """A program of the samples, where it stops, and what is done until the picture is taken."""

    script: str
    breakpoints: Sequence[str]
    work: Work
    size: tuple[int, int] = (120, 34)
    torch: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)  # of the session
    env: Mapping[str, str] = field(default_factory=dict)


async def both_languages(screen: Screen) -> None:
    """The stop in PyTorch's randn, the caller in Python below it."""
    await screen.stopped()


async def after_a_step(screen: Screen) -> None:
    """Tensors among the variables, one of them new."""
    await screen.stopped()
    await screen.until(
        lambda: any("float32 [2, 4]" in line for line in screen.lines(screen.app.views.variables))
    )
    await screen.go_on("n")


async def a_loop(screen: Screen) -> None:
    """Changed values, in the C++ function that Python called: at its entry no variable has a value yet."""
    await screen.stopped()
    for _ in range(3):
        await screen.go_on("n")


async def the_machine(screen: Screen) -> None:
    """Registers and memory beside the machine code."""
    await screen.stopped()
    screen.app.choose_layout("native")
    await screen.pilot.pause()
    screen.app.workspace.show_pane("registers")
    screen.app.workspace.show_pane("memory")
    await screen.press("1", "m")
    await screen.until(lambda: screen.app.views.source.listing is not None, "the machine code")
    for _ in range(3):  # then each variable has a value
        await screen.go_on("n")
    await screen.until(lambda: bool(screen.app.views.registers.rows), "the registers")


async def some_breakpoints(screen: Screen) -> None:
    """The list of breakpoints, one of them opened, one off."""
    await a_loop(screen)
    for line in ("break sample::helper", "break native_demo.py:31 if value > 5", "break raise:LookupError"):
        count = len(screen.session.breakpoints.all())
        await screen.command(line)
        view = screen.app.views.breakpoints
        await screen.until(lambda count=count, view=view: len(view.rows) > count, line)
    await screen.press("escape", "5", "end", "space")
    await screen.until(lambda: not screen.session.breakpoints.all()[-1].enabled, "off")
    await screen.press("home", "enter")


async def attached(screen: Screen) -> None:
    """A process that hangs, what is wrong with it, and its threads."""
    await screen.stopped()
    await screen.press("3")
    await screen.until(lambda: len(screen.app.views.threads.rows) >= 2, "the threads")


def after(*keys: str) -> Work:
    """What the screen shows after these keys, each of which leads to the next stop."""

    async def work(screen: Screen) -> None:
        await screen.stopped()
        for key in keys:
            await screen.go_on(key)

    return work


async def the_stack_of_ivalues(screen: Screen) -> None:
    """Journey 3: at GraphFunction::run, what is on the interpreter's stack."""
    await screen.stopped()
    await screen.command("break preset:jit-run")
    await screen.until(lambda: len(screen.session.breakpoints.all()) > 2, "the preset's places")
    await screen.press("escape")
    for _ in range(3):
        await screen.go_on("f5")
    await screen.command("ivalue-stack")
    await screen.until(lambda: "[1] Int: 5" in screen.said, "the stack")


async def bound_places(screen: Screen) -> None:
    """Journey 5: at initModule, which C++ functions the breakpoints are at."""
    await screen.stopped()
    await screen.go_on("f5")
    await screen.press("5", "home", "enter")


JIT_LOG = {"PYTORCH_JIT_LOG_LEVEL": "profiling_graph_executor_impl"}
JOURNEYS = {
    "journey-1": Picture(
        "testdebug.py", ("THPModule_initExtension", "randn@all"), after("f5", "f5", "f5"), torch=True
    ),
    "journey-2": Picture(
        "jit_script.py",
        ("preset:jit-script",),
        after("f5", "f5"),
        torch=True,
        options={"just_my_code": False},
    ),
    "journey-3": Picture(
        "jit_script.py", ("jit_script.py:19",), the_stack_of_ivalues, torch=True, env=JIT_LOG
    ),
    "journey-4": Picture("testdebug.py", ("randn@dispatch",), both_languages, torch=True),
    "journey-5": Picture("testdebug.py", ("PyInit__C", "preset:torch-init"), bound_places, torch=True),
}
PICTURES = {
    **JOURNEYS,
    "dashboard": Picture("testdebug.py", ("randn",), both_languages, torch=True),
    "dashboard-tensor": Picture("weights.py", ("weights.py:6",), after_a_step, torch=True),
    "dashboard-changes": Picture("native_demo.py", ("sample::inner_loop",), a_loop),
    "dashboard-machine": Picture("native_demo.py", ("sample::inner_loop",), the_machine, (140, 40)),
    "dashboard-breakpoints": Picture("native_demo.py", ("sample::inner_loop",), some_breakpoints, (120, 40)),
    "dashboard-small": Picture("native_demo.py", ("sample::inner_loop",), a_loop, (80, 24)),
}


def take(name: str, folder: Path) -> str:
    """One picture of a program that is started for it."""
    picture = PICTURES[name]
    operators = None
    if picture.torch:
        facts = interpreter.inspect(sys.executable, dict(os.environ), None, cache_directory())
        operators = OperatorTable.load(Path(facts.torch)) if facts.torch else None

    async def work(screen: Screen) -> str:
        await picture.work(screen)
        return await drawn(screen)

    script = ROOT / "samples" / picture.script
    if not script.exists():
        os.chdir(folder)  # paths are shown from here on
        script = folder / picture.script
        script.write_text(TRAINING)
    return on_screen(
        work,
        folder=folder,
        script=script,
        breakpoints=picture.breakpoints,
        size=picture.size,
        operators=operators,
        launch_options={"env": {**ENVIRONMENT, "PYTHONPATH": str(ROOT / "samples"), **picture.env}},
        **picture.options,
    )


def take_attached(folder: Path) -> str:
    """The picture of a process that hangs."""
    with hanging() as pid:

        async def start(subscribe: Callable[[Session], None]) -> Session:
            return await attach(pid, Options(), subscribe=subscribe)

        async def work(screen: Screen) -> str:
            await attached(screen)
            return await drawn(screen)

        return on_screen(work, folder=folder, start=start, size=(120, 34), opening=lambda: findings(pid))


def findings(pid: int) -> str:
    from dualdbg.cli.attach_session import findings_in

    return findings_in(pid)


@contextmanager
def hanging() -> Iterator[int]:
    command = [sys.executable, str(ROOT / "samples" / "hangs" / "gil_deadlock.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "samples")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready"), line
            yield process.pid
        finally:
            process.kill()


async def drawn(screen: Screen) -> str:
    await screen.pilot.pause()
    await asyncio.sleep(0.2)  # nothing tells that the last drawing is done, so it is given time
    return screen.app.export_screenshot(title="dualdbg")


def draw(name: str) -> str:
    """The picture as SVG, of a session of now; ends the run where it shows a path that is nobody else's business."""
    os.chdir(ROOT)
    if name in terminal_pictures.TERMINALS:
        text = terminal_pictures.take(name)
    else:
        with tempfile.TemporaryDirectory() as folder:
            text = take_attached(Path(folder)) if name == HANG else take(name, Path(folder))
    for private in {f"/{folder.parts[1]}/" for folder in (Path.home(), ROOT, Path(sys.prefix))} - {
        "/usr/",
        "/tmp/",
    }:
        if private in text:
            raise SystemExit(
                f"{name}: the picture shows a path below {private}: it is to show nobody's own folders"
            )
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


HANG = "dashboard-hang"
DRAWN = (*PICTURES, HANG, *terminal_pictures.TERMINALS)
"""Pictures of text, which can be compared."""
BROWSED: Mapping[str, Callable[[str], bytes]] = {
    **dict.fromkeys(site_pictures.SITES, site_pictures.take),
    **dict.fromkeys(perfetto.PICTURES, perfetto.take),
}
"""Pictures of a browser, as PNG."""


def is_as_there(name: str) -> bool:
    """Whether the picture says what one says that is made now; tells what does not."""
    told = [*picture_text.differences((IMAGES / f"{name}.svg").read_text(), draw(name))]
    if told:
        print(f"docs/images/{name}.svg:", *told, sep="\n")
    return not told


def make(name: str) -> None:
    if name in BROWSED:
        path = IMAGES / f"{name}.png"
        path.write_bytes(BROWSED[name](name))
    else:
        path = IMAGES / f"{name}.svg"
        path.write_text(draw(name))
    print(path.relative_to(ROOT))


def main() -> int:
    parser = argparse.ArgumentParser(description="make the pictures of the documentation, or compare them")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*DRAWN, *BROWSED)))
    parser.add_argument("--check", action="store_true", help="compare with what is there; write nothing")
    given = parser.parse_args()
    build_native()
    if given.check:
        told = [is_as_there(name) for name in given.names or DRAWN]  # all of them, not up to the first
        return 0 if all(told) else 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in given.names or (*DRAWN, *BROWSED):
        make(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
