"""Which call of a GPU's driver a thread is in. Pure.

A thread that waits for the GPU spins on a processor, unless the program has asked for a blocking wait: what it does in
the driver differs from look to look, and says nothing.
"""

from __future__ import annotations

from ...known.gpu_calls import is_driver, is_gpu_library, waits_for_gpu
from ...model import NativeFrame
from ...shared.libraries import is_c_library
from ..facts import ThreadReport


def gpu_call(thread: ThreadReport) -> str | None:
    """The function of CUDA that the program has called, and that the driver has not returned from yet; else None."""
    name, in_driver = None, False
    for frame in thread.stack.frames:
        if not isinstance(frame, NativeFrame):
            break
        if is_gpu_library(frame.library):
            in_driver = in_driver or is_driver(frame.library)
            name = frame.function or name
        elif in_driver or not is_c_library(frame.library):
            break
    return name if in_driver else None


def in_words(call: str) -> str:
    """``waits for the GPU (cudaStreamSynchronize)``; of a call that need not wait, where it is."""
    return f"waits for the GPU ({call})" if waits_for_gpu(call) else f"in the GPU's driver ({call})"
