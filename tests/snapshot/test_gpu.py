"""Threads in a GPU's driver, and threads of NCCL: made-up stacks, like those of driver 580 and NCCL 2.28. Pure."""

from __future__ import annotations

import pytest

from dualdbg.known.gpu_calls import waits_for_gpu
from dualdbg.model import Frame, NativeFrame, Role, Stack
from dualdbg.model.frames import Quality
from dualdbg.snapshot.facts import Descriptor, ProcessReport, SystemCall, ThreadReport
from dualdbg.snapshot.report.diagnose import diagnose, one_look_cannot_tell
from dualdbg.snapshot.report.gpu_waits import gpu_call
from dualdbg.snapshot.report.waits import Earlier
from dualdbg.snapshot.report.wording import activity
from dualdbg.stacks.roles import RoleRules, assign_roles

from .test_pure import process, python, thread

DRIVER, RUNTIME, TORCH = (
    "/usr/lib/libcuda.so.580.159.04",
    "/venv/lib/libcudart.so.13",
    "/venv/lib/libtorch_cuda.so",
)
LIBC, NCCL = "/lib/libc.so.6", "/venv/lib/libnccl.so.2"
ITEM = "at::native::_local_scalar_dense_cuda"


def native(function: str | None, library: str, pc: int = 0) -> NativeFrame:
    return NativeFrame(0, pc, function, library)


def waiting(*inside: NativeFrame) -> list[Frame]:
    """A call of ``item()``, the innermost frame first."""
    return [
        *inside,
        native(None, DRIVER, 1),
        native("cuStreamSynchronize", DRIVER),
        native(None, RUNTIME, 2),
        native("cudaStreamSynchronize", RUNTIME),
        native(ITEM, TORCH),
        python("step", 36),
    ]


def test_the_call_of_the_program_is_told() -> None:
    for inside in ([], [native(None, DRIVER, 9)], [native("clock_gettime", LIBC)]):
        one = thread(1, *waiting(*inside), state="R")  # type: ignore[arg-type]
        assert gpu_call(one) == "cudaStreamSynchronize"
        assert activity(one) == "running, waits for the GPU (cudaStreamSynchronize)"
    launch = thread(
        1, native("cuLaunchKernel", DRIVER), native("cudaLaunchKernel", RUNTIME), python("step"), state="R"
    )
    assert activity(launch) == "running, in the GPU's driver (cudaLaunchKernel)"


@pytest.mark.parametrize(
    "frames",
    [
        [native("poll", LIBC), python("step")],
        [native("cudaGetDevice", RUNTIME), python("step")],  # which needs no driver
        [
            native("poll", LIBC),
            native(None, DRIVER, 1),
            native("clone3", LIBC),
        ],  # a thread of the driver's own
        [python("callback"), native("cuLaunchHostFunc", DRIVER)],
    ],
)
def test_other_threads_are_in_none(frames: list[Frame]) -> None:
    assert gpu_call(thread(1, *frames)) is None  # type: ignore[arg-type]


def test_versions_of_a_call() -> None:
    assert waits_for_gpu("cuCtxSynchronize_v2") and waits_for_gpu("cudaStreamSynchronize_ptsz")
    assert not waits_for_gpu("cudaLaunchKernel") and not waits_for_gpu("cudaStreamQuery")


def test_what_the_driver_does_is_folded_away() -> None:
    frames = assign_roles(waiting(native("clock_gettime", LIBC), native(None, DRIVER, 7)), RoleRules())
    shown = Stack(1, tuple(frames), Quality.FULL).visible()
    assert [frame.function for frame in shown] == [
        "cuStreamSynchronize",
        "cudaStreamSynchronize",
        ITEM,
        "step",
    ]
    own = assign_roles([native("poll", LIBC), native(None, DRIVER, 1), native(None, DRIVER, 2)], RoleRules())
    assert all(
        frame.role is Role.USER for frame in own
    )  # nothing else would be left of the driver's own thread


def look(state: str, cpu: float, pc: int, line: int = 36, **more: object) -> ProcessReport:
    frames = waiting(native(None, DRIVER, pc))[:-1]
    return process(7, thread(7, *frames, python("step", line), state=state, cpu=cpu, **more))  # type: ignore[arg-type]


def test_a_wait_for_the_gpu_is_not_called_busy() -> None:
    before, now = look("R", 1.0, 5), look("R", 2.0, 6)
    assert one_look_cannot_tell([now], [])
    (finding,) = diagnose([now], (), Earlier([before], 1.0))
    assert finding.kind == "gpu"
    first, second = finding.text.splitlines()
    at = f"{ITEM} (libtorch_cuda.so), called in step (train.py:36)"
    assert first == f"thread 7 python waits for the GPU (cudaStreamSynchronize), in {at}"
    assert second == "it was there 1 s ago too: in the same call, or in the next one of a loop"
    assert diagnose([now], (), Earlier([look("R", 1.5, 5, line=30)], 1.0)) == []  # it goes on


def test_a_blocking_wait_for_the_gpu() -> None:
    """cudaDeviceScheduleBlockingSync, or an event with cudaEventBlockingSync."""
    call = SystemCall("futex", (1, 0, 0, 0))
    before, now = (look("S", 1.0, 5, system_call=call, sleeps=sleeps) for sleeps in (4, 6))
    assert one_look_cannot_tell([now], [])
    (finding,) = diagnose([now], (), Earlier([before], 1.0))
    assert finding.kind == "gpu" and finding.text.endswith("\nit has not moved in 1 s")


def test_threads_of_nccl_wait_for_something_to_do() -> None:
    accepting = thread(
        8,
        native("accept", LIBC),
        native("socketTryAccept", NCCL),
        native("bootstrapRoot", NCCL),
        system_call=SystemCall("accept", (58, 0, 0), Descriptor(58, "tcp socket listening")),
    )

    def kinds(of: ThreadReport) -> list[str]:
        return [finding.kind for finding in diagnose([process(7, thread(7, python("step")), of)])]

    assert kinds(accepting) == []
    of_user = thread(
        8, native("accept", LIBC), native("serve", "/home/me/serve.so"), system_call=accepting.system_call
    )
    assert kinds(of_user) == ["io"]
