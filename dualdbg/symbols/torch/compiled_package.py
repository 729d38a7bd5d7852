"""The kernels in a package of AOTInductor, as its own files tell: a ZIP archive, which is read and not unpacked."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ...errors import SymbolError
from ...known.generated_code import is_model_library
from .compiled_code import LARGEST, OF_MODEL, Kernel, KernelCall
from .compiled_report import KernelFiles
from .generated_text import Definition, definitions_in, handles_in, traces_of_model

_NOT_ONE = "torch._inductor.aoti_compile_and_package makes one"


def kernels_of_package(path: Path) -> list[KernelFiles]:
    """All kernels of all models in a package. Raises SymbolError where it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return [one for name in names if is_model_library(name) for one in _of_model(path, archive, name)]
    except OSError as error:
        raise SymbolError(f"{path} cannot be read: {error.strerror or error}", _NOT_ONE) from error
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
    ) as error:  # damaged, or packed in another way
        raise SymbolError(f"{path} is no package of AOTInductor: {error}", _NOT_ONE) from error


def _of_model(path: Path, archive: zipfile.ZipFile, library: str) -> Iterator[KernelFiles]:
    """The kernels of one model: what calls them is its wrapper, and what they compute its record says."""
    folder = PurePosixPath(library).parent
    sources = {
        name: _text(archive, name)
        for name in archive.namelist()
        if PurePosixPath(name).parent == folder and name.endswith(".cpp")
    }
    record = str(folder / OF_MODEL)
    traces = traces_of_model(_text(archive, record)) if record in archive.namelist() else {}
    wrapper = library.removesuffix(".so") + ".cpp"
    calls = handles_in(sources.get(wrapper, ""))
    defined: dict[str, tuple[str, Definition]] = {}
    for source, text in sources.items():
        defined.update((name, (source, made)) for name, made in definitions_in(text).items())
    for name in dict.fromkeys(handle.rpartition(":")[0] for handle in [*calls, *traces]):
        own = sorted((line, handle) for handle, line in calls.items() if handle.rpartition(":")[0] == name)
        rows = tuple(KernelCall(line, traces.get(handle)) for line, handle in own)
        module = str(path / wrapper)
        if name not in defined:
            yield KernelFiles(Kernel(name, module, rows))
            continue
        source, made = defined[name]
        kernel = Kernel(name, module, rows, made.source, made.arguments, made.function)
        yield KernelFiles(kernel, str(path / source), str(path / library))


def _text(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as file:
        return file.read(LARGEST).decode(errors="replace")
