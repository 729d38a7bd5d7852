"""Finds the kernels that torch.compile has made of a function, in Inductor's folder or in a package of AOTInductor; and
the way back, from a kernel or a line of generated code."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath

from ...errors import SymbolError
from ...known.generated_code import KERNEL, is_generated, is_model_library
from .compiled_code import LARGEST, OF_MODEL, CompiledCode, Kernel, KernelCall, default_folder, text_of
from .compiled_report import KernelFiles, computes, place_in
from .generated_text import Definition, definitions_in, function_at, handles_in, traces_of_model

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


def find_kernels(wanted: str, where: Path | None = None) -> list[KernelFiles]:
    """Kernels that compute something of ``wanted``: a function, a file of Python, or FILE:LINE. Or ``wanted`` is
    generated: a kernel's name, a file or FILE:LINE. ``where``: a folder of Inductor's, or a package; None for the
    folder that the generated file is in, or that of this user and environment.

    Raises SymbolError where none is known.
    """
    place = where if where is not None else _folder_around(wanted) or default_folder()
    code = CompiledCode(place)
    is_package = place.is_file()
    known = kernels_of_package(place) if is_package else [KernelFiles(one) for one in code.kernels()]
    file, line = place_in(wanted)
    if is_generated(file):
        found = list(_of_file(known if is_package else _around(file, known, code), file, line))
    else:
        found = [one for one in known if computes(one.kernel, wanted) or _is_called(one.kernel, wanted)]
    if not found:
        raise SymbolError(*_why_none(wanted, place, [one.kernel for one in known]))
    return found if is_package else [one if one.source else _with_files(one.kernel, code) for one in found]


def is_place(wanted: str) -> bool:
    """Whether a text is FILE:LINE, or a file that was generated: no name of Python is."""
    file, line = place_in(wanted)
    return line is not None or is_generated(file)


def _is_called(kernel: Kernel, name: str) -> bool:
    """Whether a kernel has this name, with its parameters or without. All libraries of one have the same function."""
    plain = name.partition("(")[0].rstrip()
    return plain in (kernel.name, kernel.function) and plain != KERNEL


def _folder_around(wanted: str) -> Path | None:
    """Inductor's folder, for the path of a generated file in it."""
    file = Path(place_in(wanted)[0])
    return file.absolute().parent.parent if is_generated(file.name) and file.exists() else None


def _around(file: str, known: Sequence[KernelFiles], code: CompiledCode) -> Iterator[KernelFiles]:
    """The kernels that a file may be of, with their files."""
    name = PurePath(file).name
    for one in known:
        if PurePath(one.kernel.module).name == name:
            yield one
        elif one.kernel.is_triton and name.endswith(".py"):
            yield _with_files(one.kernel, code)
    for library in code.folder.glob(f"*/{PurePath(name).stem}.so"):
        for kernel in code.of_library(str(library)):
            yield KernelFiles(kernel, str(library.with_suffix(".cpp")), str(library))


def _of_file(
    known: Sequence[KernelFiles] | Iterator[KernelFiles], file: str, line: int | None
) -> Iterator[KernelFiles]:
    """Those that are in a generated file, or are called there; of a line, only what is of that line."""
    name = PurePath(file).name
    for one in known:
        own = [PurePath(path).name for path in (one.source, one.library) if path is not None]
        if line is None:
            is_there = name in (PurePath(one.kernel.module).name, *own)
            kernel = one.kernel if is_there else None
        elif name == PurePath(one.kernel.module).name:
            kernel = _called(one.kernel, line, of_source=False)
        else:
            kernel = _at_line(one, line) if name in own else None
        if kernel is not None:
            yield replace(one, kernel=kernel)


def _called(kernel: Kernel, line: int, of_source: bool) -> Kernel | None:
    """A kernel with its calls in a line alone; None where there are none."""
    calls = tuple(call for call in kernel.calls if (call.source_line if of_source else call.line) == line)
    return replace(kernel, calls=calls) if calls else None


def _at_line(found: KernelFiles, line: int) -> Kernel | None:
    """What a line of a kernel's source is of."""
    kernel = found.kernel
    text = text_of(found.source) or kernel.source or ""
    if not 0 < line <= text.count("\n") + 1:
        return None
    if kernel.function == KERNEL:  # alone, it is the whole file
        return kernel
    return kernel if function_at(text, line) == kernel.function else _called(kernel, line, of_source=True)


def _with_files(kernel: Kernel, code: CompiledCode) -> KernelFiles:
    if kernel.is_triton:
        text, compiled = code.triton_files(kernel)
        return KernelFiles(kernel, None if text is None else str(text), compiled=tuple(map(str, compiled)))
    library = code.library_of(kernel)
    if library is None:
        return KernelFiles(kernel)
    return KernelFiles(kernel, str(library.with_suffix(".cpp")), str(library))


def _why_none(wanted: str, place: Path, kernels: Sequence[Kernel]) -> tuple[str, str]:
    """Message and hint."""
    if not kernels:
        return (
            f"{place} has no record of compiled code",
            "run the program with dualdbg run --compiled-debug first; --cache PATH names another folder or package",
        )
    file, line = place_in(wanted)
    if is_generated(file):
        called = sorted(
            {
                call.line
                for one in kernels
                for call in one.calls
                if PurePath(one.module).name == PurePath(file).name
            }
        )
        if line is None:
            return (
                f"{place} has no record of {file}",
                "--cache PATH names the folder or package that it is of",
            )
        if called:
            return f"no kernel is called in line {line} of {file}", f"lines that call some: {_listed(called)}"
        return (
            f"line {line} of {file} is in no kernel that {place} has a record of, and calls none",
            f"all kernels of the file: dualdbg ops --compiled {file}",
        )
    known = sorted({line.function for kernel in kernels for line in kernel.lines or ()})
    if not known:
        return (
            f"the {len(kernels)} kernels in {place} have no record of what they compute",
            "compile them once more with dualdbg run --compiled-debug, without TORCHINDUCTOR_FORCE_DISABLE_CACHES",
        )
    names = sorted({kernel.name for kernel in kernels})
    if wanted == KERNEL:
        return (
            f"{KERNEL} is what the function of every library is called",
            f"name its file, FILE:LINE of a stop, or the kernel's own name: {_listed(names)}",
        )
    return (
        f"no kernel in {place} computes {wanted}, and none is called so",
        f"functions that have some: {_listed(known)}; kernels: {_listed(names)}",
    )


def _listed(names: Sequence[object]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(map(str, names[:8])) + more
