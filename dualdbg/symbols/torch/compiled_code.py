"""What PyTorch's compiler has written for the CPU: kernels, and the lines of the program that each of them computes.

Inductor keeps all of it in one folder, ``TORCHINDUCTOR_CACHE_DIR`` or ``torchinductor_USER`` in the folder for
temporary files (torch/_inductor/codecache.py and runtime/cache_dir_utils.py of PyTorch 2.13): modules of Python,
``xx/HASH.py``, which call kernels; the source and the library of each kernel, ``xx/HASH.main.cpp`` and ``.main.so``
(with ``config.cpp_wrapper`` of each graph, with all its kernels in it); and a record of each graph, a pickle below
``fxgraph``, which has the text of its module. With INDUCTOR_PROVENANCE the record also says from which lines of the
program each kernel came. A package of AOTInductor has the same as JSON, beside the library of its model. A pickle is
looked through for its texts; it is never loaded, because to load one is to run what it says.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from ...known.generated_code import KERNEL, is_generated_module, is_kernel_library, is_model_library
from ...model import Frame, NativeFrame, ProgramLine, PythonFrame, Stack
from ...system.source_files import read_regular
from .generated_text import (
    PYTORCHS,
    definitions_of,
    handles_in,
    in_order,
    lines_that_call,
    traces_of,
    traces_of_model,
)

# The members of torch._inductor.output_code.CompiledFxGraph that are wanted, in the order in which they are pickled.
_KEY, _SOURCE, _TRACES = "cache_key", "source_code", "inductor_provenance_stack_traces_str"
OF_MODEL = "kernel_information.json"  # create_kernel_information_json in torch/_inductor/debug.py
_NO_VALUES = ("MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "FRAME")
LARGEST = 64_000_000  # bytes of a record that is read


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel. ``line`` is that of the module; ``computes`` are the lines of the program that the call
    computes, in the order of files and lines; None where that was not recorded. ``source_line`` is the call's line in
    the source of the library, where the library has it.
    """

    line: int
    computes: tuple[ProgramLine, ...] | None
    source_line: int | None = None


@dataclass(frozen=True)
class Kernel:
    """A function that Inductor has generated, or one of PyTorch's own that a generated module calls.

    ``name`` is what the module calls it; ``module`` the module, and ``calls`` are there. ``source`` is the text of its
    library; None where it is PyTorch's own. ``arguments`` are the types of its parameters, as C++ has them.
    ``function`` is what it is called in its library, which it may share with others of its graph. ``is_triton``: it has
    no library; Triton compiles it for a GPU.
    """

    name: str
    module: str
    calls: tuple[KernelCall, ...]
    source: str | None = None
    arguments: tuple[str, ...] = ()
    function: str = KERNEL
    is_triton: bool = False

    @property
    def lines(self) -> tuple[ProgramLine, ...] | None:
        """What all its calls compute; None where that was not recorded."""
        known = [call.computes for call in self.calls if call.computes is not None]
        return in_order(line for lines in known for line in lines) if known else None


def default_folder() -> Path:
    """Inductor's folder for programs of this user and environment."""
    import getpass
    import tempfile

    named = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    return Path(named) if named else Path(tempfile.gettempdir()) / f"torchinductor_{user}"


class CompiledCode:
    """The records of one folder of Inductor's. They are read when they are asked for, each once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[
            Path, tuple[int, tuple[Kernel, ...]]
        ] = {}  # by file: when it was written, and its kernels

    def kernels(self) -> list[Kernel]:
        """All kernels of all graphs that were compiled."""
        for path in self.folder.glob("fxgraph/*/*/*"):
            try:
                written = path.stat().st_mtime_ns
                if self._read.get(path, (None,))[0] != written:
                    self._read[path] = written, tuple(_kernels_of(self.folder, path))
            except OSError:  # it was removed, or belongs to somebody else
                self._read.pop(path, None)
        return [kernel for _, kernels in self._read.values() for kernel in kernels]

    def of_library(self, path: str) -> list[Kernel]:
        """The kernels of which a library was made: graphs with the same kernel share it."""
        try:
            source = _text(Path(path.removesuffix(".so") + ".cpp"))
        except OSError:
            return []
        return [one for one in self.kernels() if one.source is not None and source.startswith(one.source)]

    def at_line(self, module: str, line: int) -> tuple[ProgramLine, ...]:
        """What a line of a module computes."""
        calls = (call for kernel in self.kernels() if kernel.module == module for call in kernel.calls)
        return in_order(one for call in calls if call.line == line for one in call.computes or ())

    def library_of(self, kernel: Kernel) -> Path | None:
        """The library of a kernel. None where it has none, or it is not there."""
        for source in self.folder.glob("*/*.main.cpp") if _is_of_cpp(kernel) else ():
            library = source.with_suffix(".so")
            if _begins_with(source, kernel.source or "") and library.exists():
                return library
        return None

    def triton_files(self, kernel: Kernel) -> tuple[Path | None, tuple[Path, ...]]:
        """The source of a kernel for Triton, and what Triton has compiled of it: each form of it is a file."""
        source = next((one for one in self.folder.glob("*/c*.py") if _is_text(one, kernel.source)), None)
        if source is None or not kernel.is_triton:
            return None, ()
        place = f'{source.parent.name}/{source.name}"'  # where the first form says that it comes from
        found = (one for one in self.folder.glob(f"triton/*/*/{kernel.name}.source") if _contains(one, place))
        return source, tuple(
            file for one in sorted(found) for file in sorted(one.parent.glob(f"{one.stem}.*"))
        )


def _is_of_cpp(kernel: Kernel) -> bool:
    return kernel.source is not None and not kernel.is_triton


def _is_text(file: Path, text: str | None) -> bool:
    try:
        return text is not None and _text(file) == text
    except OSError:  # it was removed, or belongs to somebody else
        return False


def _contains(file: Path, text: str) -> bool:
    try:
        return text in _text(file)
    except OSError:
        return False


def _begins_with(source: Path, text: str) -> bool:
    """Whether a file of Inductor's was made of this text."""
    try:
        return _text(source).startswith(text)
    except OSError:  # it was removed, or belongs to somebody else
        return False


_folders: dict[Path, CompiledCode] = {}


def beside(path: str) -> CompiledCode:
    """The records of the folder in which a generated module or library is."""
    folder = Path(path).parent.parent
    return _folders.setdefault(folder, CompiledCode(folder))


def of_model(library: str) -> dict[str, tuple[ProgramLine, ...]]:
    """What each kernel in the library of a model computes, by its function. Empty where the package does not say."""
    try:
        traces = traces_of_model(_data(Path(library).with_name(OF_MODEL)).decode(errors="replace"))
    except OSError:
        return {}
    names = {handle.rpartition(":")[0] for handle in traces}
    return {
        name: in_order(
            line for handle in traces if handle.rpartition(":")[0] == name for line in traces[handle]
        )
        for name in names
    }


def with_program_lines(stack: Stack) -> Stack:
    """The same stack; each frame of generated code has the lines of the program that it computes."""
    frames = tuple(map(with_computed, stack.frames))
    return stack if frames == stack.frames else replace(stack, frames=frames)


def with_computed(frame: Frame) -> Frame:
    """The same frame; one of generated code has the lines of the program that it computes."""
    if isinstance(frame, PythonFrame):
        if frame.file is None or frame.line is None or not is_generated_module(frame.file):
            return frame
        return replace(frame, computes=beside(frame.file).at_line(frame.file, frame.line))
    if frame.library is None:
        return frame
    if is_model_library(frame.library):
        return replace(frame, computes=of_model(frame.library).get(_plain_name(frame), ()))
    if is_kernel_library(frame.library):
        return replace(frame, computes=_of_kernels(frame, beside(frame.library).of_library(frame.library)))
    return frame


def _of_kernels(frame: NativeFrame, kernels: Sequence[Kernel]) -> tuple[ProgramLine, ...]:
    """What a frame computes in a library that is made of these kernels."""
    name = _plain_name(frame)
    found = lines_of(
        one for one in kernels if one.function in (name, KERNEL)
    )  # alone, it is the whole library
    if found or not _is_source(frame):
        return found
    calls = (call for one in kernels for call in one.calls if call.source_line == frame.line)
    return in_order(line for call in calls for line in call.computes or ())


def _is_source(frame: NativeFrame) -> bool:
    """Whether the line of a frame is one of the source of its library, and none of a header's."""
    stem = (frame.library or "").removesuffix(".so")
    return frame.line is not None and PurePath(frame.file or "").name == f"{PurePath(stem).name}.cpp"


def _plain_name(frame: NativeFrame) -> str:
    """The name of a function without its parameters; one of a parallel region says so behind it."""
    return re.split(r"[ (]", frame.function or "", maxsplit=1)[0]


def names_file(named: str, file: str) -> bool:
    """Whether a file's name, or the end of its path, is what the user has named."""
    wanted = PurePath(named).parts
    return PurePath(file).parts[-len(wanted) :] == wanted


def lines_of(kernels: Iterable[Kernel]) -> tuple[ProgramLine, ...]:
    """The lines of the program that any of some kernels computes, each once."""
    return in_order(line for kernel in kernels for line in kernel.lines or ())


def _text(source: Path) -> str:
    """A generated source. Raises OSError."""
    return _data(source).decode(errors="replace").strip()


def text_of(source: str | None) -> str | None:
    """A generated source, line by line as it is; None where it cannot be read."""
    try:
        return None if source is None else _data(Path(source)).decode(errors="replace")
    except OSError:  # it was removed, belongs to somebody else, or is in a package
        return None


def _data(path: Path) -> bytes:
    """What is in a file, which others may write too. Raises OSError."""
    return read_regular(path, LARGEST)


# -- records ----------------------------------------------------------------------------------------


def _kernels_of(folder: Path, record: Path) -> Iterator[Kernel]:
    texts = _texts(_data(record))
    key, source = texts.get(_KEY), texts.get(_SOURCE)
    if key is None or source is None or not is_generated_module(f"{key}.py"):
        return
    module = str(folder / key[1:3] / f"{key}.py")
    traces = traces_of(_json(texts.get(_TRACES)))
    handles = handles_in(source)
    definitions = definitions_of(source)
    for name in dict.fromkeys([*definitions, *(handle.rpartition(":")[0] for handle in handles)]):
        made = definitions.get(name, PYTORCHS)
        own = [(line, handle) for handle, line in handles.items() if handle.rpartition(":")[0] == name]
        calls = [KernelCall(line, traces.get(handle), made.calls.get(handle)) for line, handle in sorted(own)]
        yield Kernel(
            name,
            module,
            tuple(calls or (KernelCall(line, None) for line in lines_that_call(source, name))),
            made.source.strip() if made.source is not None else None,
            made.arguments,
            made.function,
            made.is_triton,
        )


def _texts(data: bytes) -> dict[str, str]:
    """The members of a pickled object that are texts, of those that are wanted. The pickle is not loaded."""
    import pickletools  # few programs have generated code

    found: dict[str, str] = {}
    member: str | None = None
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _NO_VALUES:
                continue
            if member is not None:
                if isinstance(argument, str):
                    found[member] = argument
                if member == _TRACES:
                    break
                member = None
            elif argument in (_KEY, _SOURCE, _TRACES) and argument not in found:
                member = argument
    except ValueError:  # it is not a pickle to its end
        return {}
    return found


def _json(text: str | None) -> object:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
