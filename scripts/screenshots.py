"""Makes the pictures of the documentation: the dashboard and commands on real sessions of the samples, as SVG.

python scripts/screenshots.py [NAME…], in the project's folder
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dualdbg.session.attaching import attach  # noqa: E402
from dualdbg.session.options import Options  # noqa: E402
from dualdbg.session.session import Session  # noqa: E402
from dualdbg.symbols.cache import cache_directory  # noqa: E402
from dualdbg.symbols.torch.operators import OperatorTable  # noqa: E402
from dualdbg.target import interpreter  # noqa: E402
from scripts import terminal_pictures  # noqa: E402
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
    """Changed values, in the C++ function that Python called."""
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
    await screen.go_on("n")
    await screen.until(lambda: bool(screen.app.views.registers.rows), "the registers")


async def some_breakpoints(screen: Screen) -> None:
    """The list of breakpoints, one of them opened, one off."""
    await screen.stopped()
    for line in ("break sample::helper", "break native_demo.py:31 if value > 5", "break raise:LookupError"):
        count = len(screen.session.breakpoints.all())
        await screen.command(line)
        await screen.until(lambda count=count: len(screen.session.breakpoints.all()) > count, line)
    await screen.press("escape", "5", "end", "space")
    await screen.until(lambda: not screen.session.breakpoints.all()[-1].enabled, "off")
    await screen.press("home", "enter")


async def a_small_terminal(screen: Screen) -> None:
    await screen.stopped()


async def attached(screen: Screen) -> None:
    """A process that hangs, what is wrong with it, and its threads."""
    await screen.stopped()
    await screen.press("3")
    await screen.until(lambda: len(screen.app.views.threads.rows) >= 2, "the threads")


PICTURES = {
    "dashboard": Picture("testdebug.py", ("randn",), both_languages, torch=True),
    "dashboard-tensor": Picture("training.py", ("training.py:6",), after_a_step, torch=True),
    "dashboard-changes": Picture("native_demo.py", ("sample::inner_loop",), a_loop),
    "dashboard-machine": Picture("native_demo.py", ("sample::inner_loop",), the_machine, (140, 40)),
    "dashboard-breakpoints": Picture("native_demo.py", ("sample::inner_loop",), some_breakpoints),
    "dashboard-small": Picture("native_demo.py", ("sample::inner_loop",), a_small_terminal, (80, 24)),
}


def take(name: str, folder: Path) -> None:
    """One picture of a program that is started for it."""
    picture = PICTURES[name]
    operators = None
    if picture.torch:
        facts = interpreter.inspect(sys.executable, dict(os.environ), None, cache_directory())
        operators = OperatorTable.load(Path(facts.torch)) if facts.torch else None

    async def work(screen: Screen) -> None:
        await picture.work(screen)
        await save(screen, name)

    script = ROOT / "samples" / picture.script
    if not script.exists():
        os.chdir(folder)  # paths are shown from here on
        script = folder / picture.script
        script.write_text(TRAINING)
    on_screen(
        work,
        folder=folder,
        script=script,
        breakpoints=picture.breakpoints,
        size=picture.size,
        operators=operators,
    )


def take_attached(folder: Path) -> None:
    """The picture of a process that hangs."""
    with hanging() as pid:

        async def start(subscribe: Callable[[Session], None]) -> Session:
            return await attach(pid, Options(), subscribe=subscribe)

        async def work(screen: Screen) -> None:
            await attached(screen)
            await save(screen, "dashboard-hang")

        on_screen(work, folder=folder, start=start, size=(120, 34), opening=lambda: findings(pid))


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


async def save(screen: Screen, name: str) -> None:
    await screen.pilot.pause()
    await asyncio.sleep(0.2)  # nothing tells that the last drawing is done, so it is given time
    write(name, screen.app.export_screenshot(title="dualdbg"))


def write(name: str, text: str) -> None:
    """The picture as a file; ends the run where it shows a path that is nobody else's business."""
    for private in {f"/{folder.parts[1]}/" for folder in (Path.home(), ROOT, Path(sys.prefix))} - {
        "/usr/",
        "/tmp/",
    }:
        if private in text:
            raise SystemExit(
                f"{name}: the picture shows a path below {private}: it is to show nobody's own folders"
            )
    (IMAGES / f"{name}.svg").write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n")
    print(f"docs/images/{name}.svg")


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    build_native()
    wanted = sys.argv[1:] or [*PICTURES, "dashboard-hang", *terminal_pictures.TERMINALS]
    for name in wanted:
        os.chdir(ROOT)
        if name in terminal_pictures.TERMINALS:
            write(name, terminal_pictures.take(name))
            continue
        with tempfile.TemporaryDirectory() as folder:
            if name == "dashboard-hang":
                take_attached(Path(folder))
            else:
                take(name, Path(folder))


if __name__ == "__main__":
    main()
