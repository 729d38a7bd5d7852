"""Code: where functions and lines begin in what gdb has read, instructions, calls; and what gdb is to read."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from .base import Request


class CodeAddress(NamedTuple):
    """An address in code. With debug info it has its source line and its function, if they were asked for.

    ``begins`` is the line at which the function is declared, ``hides`` whether other functions were inlined just there,
    and ``inlined_in`` the function into which it was inlined itself. ``is_sure``: the line begins there, as debug info
    has it; else code of it is there, mixed with that of others.
    """

    address: int
    file: Optional[str] = None
    line: Optional[int] = None
    function: Optional[str] = None
    begins: Optional[int] = None
    hides: bool = False
    inlined_in: Optional[str] = None
    is_sure: bool = True


class Visit(NamedTuple):
    """An address at which control comes to a line of Cython; ``function`` is the C name of the author's function.

    ``hides``: code that is not the author's was inlined just there; ``is_inlined``: the function was, into another.
    ``is_inner``: of the lines around an address, those of what was inlined into the function there. ``is_sure``: the
    line is run at its addresses and nowhere else, as far as machine code and debug info tell.
    """

    address: int
    file: Optional[str]
    line: Optional[int]
    function: Optional[str]
    hides: bool = False
    is_inlined: bool = False
    is_inner: bool = False
    is_sure: bool = True


class FunctionAddress(NamedTuple):
    """Where a breakpoint on a function belongs, with its source line where debug info has one.

    ``hides``: code of other functions was inlined just there. ``function`` is set in answers about a name: the
    function's, with parameters where they are known; ``linkage`` its linkage name, ``inlined_in`` the function into
    which it was inlined; ``parameters`` its parameters in brackets, as far as debug info has them, with typedefs and
    without. ``is_sure``: each call of it there passes one of its places, and once.
    """

    address: int
    file: Optional[str] = None
    line: Optional[int] = None
    hides: bool = False
    function: Optional[str] = None
    inlined_in: Optional[str] = None
    linkage: Optional[str] = None
    is_sure: bool = True
    parameters: Sequence[str] = ()


class CallSite(NamedTuple):
    """A call instruction, and the address that it calls; None when that is in a register or in memory."""

    site: int
    target: Optional[int]


class DecodedInstruction(NamedTuple):
    """One instruction; ``bytes`` is hexadecimal."""

    address: int
    text: str
    bytes: str
    file: Optional[str]
    line: Optional[int]


class LibraryOfProcess(NamedTuple):
    """A library that the process has loaded: its path there, links resolved, and the address of some of its code; the
    file as gdb can open it, and by how many bytes its code lies above its link-time addresses.
    """

    path: str
    address: int
    file: str
    bias: int


class Disassemble(Request[List[DecodedInstruction]], module="disassembly"):
    """Return ``limit`` instructions from ``start`` on, fewer where memory ends."""

    start: int
    limit: int


class DisassembleUntil(Request[List[DecodedInstruction]], module="disassembly"):
    """Return the instructions that begin in [``start``, ``end``)."""

    start: int
    end: int


class FindCalls(Request[List[CallSite]], module="disassembly"):
    """Return the call instructions that begin in [``start``, ``end``)."""

    start: int
    end: int


class FindCallTarget(Request[Optional[int]], module="disassembly"):
    """Return where the call instruction goes at which the thread stands; None at any other instruction."""

    gdb_thread: int


class FindFunctionBody(Request[FunctionAddress], module="function_locations"):
    """Return where a breakpoint on the function at ``address`` belongs, as debug info has it."""

    address: int


class FindFunctionBodies(Request[List[int]], module="symbols"):
    """Return the addresses of :class:`FindFunctionBody`, in the order of ``addresses``."""

    addresses: Sequence[int]


class FindFunctionInstances(Request[List[FunctionAddress]], module="function_locations", takes_long=True):
    """Return where breakpoints on the functions of these names belong, inlined instances too, in what gdb has read.

    First gdb reads the debug info of all functions whose names are in ``expand``, without scopes, and that of the code
    at the addresses ``read``. What begins ``at`` these addresses is meant too. ``linked_whole`` are the functions in
    which something may have been inlined while linking.
    """

    names: Sequence[str]
    expand: Sequence[str]
    read: Sequence[int]
    at: Sequence[int] = ()
    linked_whole: Sequence[int] = ()


class FindLinesOfSource(Request[List[int]], module="symbols"):
    """Return where lines begin of the source in which the function at an address is declared, in all of its code."""

    address: int


class FindLineLocations(Request[List[CodeAddress]], module="symbols"):
    """Return every address at which ``file:line`` begins, in the symbols that gdb has read."""

    file: str
    line: int


class FindLineVisits(Request[List[Visit]], module="visits"):
    """Return where control comes to ``file:line`` in functions of a Cython module's author, inlined ones too.

    ``whole``: where it comes to those functions that have the line.
    """

    file: str
    line: int
    whole: bool


class FindFunctionVisits(Request[List[Visit]], module="visits"):
    """Return where control comes to functions that were inlined.

    Each has start and end of the function around it, and its C name. ``is_sure``: each call passes exactly one.
    """

    functions: Sequence[Tuple[int, int, str]]


class FindInstanceVisits(Request[List[Visit]], module="visits", takes_long=True):
    """The same for every function into which one of these C names was inlined, in what gdb has read.

    First it reads the debug info of the code at the addresses ``read``.
    """

    names: Sequence[str]
    read: Sequence[int]


class FindOtherLines(Request[List[Visit]], module="step_lines"):
    """Return where control comes to lines of the author in the Cython function around ``pc``, inlined ones included.

    Empty where no code of the author's is there.
    """

    pc: int


class LoadLibrary(Request[bool], module="symbols", takes_long=True):
    """Let gdb read all symbols of a library of the process, which has code at ``address``.

    False where gdb did not find its file.
    """

    path: str
    address: int


class ReadWhole(Request[bool], module="symbols", takes_long=True):
    """Let gdb read all symbols of libraries, instead of the files that were given for their code.

    False where gdb cannot do without those files at this stop.
    """

    libraries: Sequence[LibraryOfProcess]
