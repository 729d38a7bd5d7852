"""NVIDIA's libraries below a program: the driver, CUDA's runtime and NCCL; and the calls that wait for the GPU. Pure.

Names: the CUDA Runtime API and Driver API; ``_v2``, ``_ptsz`` and ``_ptds`` are versions of one call.
"""

from __future__ import annotations

import re

from ..shared.proc_files import without_mark

_DRIVER, _RUNTIME, _NCCL = "libcuda.so", "libcudart", "libnccl"
_VERSION = re.compile(r"(?:_v\d+)?(?:_ptsz|_ptds)?$")
_WAITS = frozenset(
    (
        *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy"),
        *("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"),
    )
)


def is_driver(path: str | None) -> bool:
    """True for the library of the driver, which has no symbols but those of its API."""
    return _name(path).startswith(_DRIVER)


def is_gpu_library(path: str | None) -> bool:
    """True for the driver's library and for CUDA's runtime."""
    return _name(path).startswith((_DRIVER, _RUNTIME))


def is_nccl(path: str | None) -> bool:
    """True for NCCL."""
    return _name(path).startswith(_NCCL)


def waits_for_gpu(function: str) -> bool:
    """Whether a function of the API returns when the GPU has done what it was given."""
    return _VERSION.sub("", function) in _WAITS


def _name(path: str | None) -> str:
    return without_mark(path or "").rpartition("/")[2]
