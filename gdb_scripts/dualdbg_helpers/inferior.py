"""What gdb knows of the stopped inferior: memory, mapped files, registers. Reads only."""

import codecs
import contextlib
import locale
import re

import gdb
from dualdbg_shared import page_size
from dualdbg_shared.console_text import plain
from dualdbg_shared.process_root import inside, root_link

from . import language
from .errors import HelperError, Unreadable
from .mappings import Mappings, deleted_files, parse_proc_mappings
from .memory import Memory

MASK = (1 << 64) - 1
_PAGE_SIZE = re.compile(r"^\s*6\s+AT_PAGESZ\s.*\s(\d+)\s*$", re.MULTILINE)


def require_inferior(formatting=False):
    """The selected inferior; raises :class:`HelperError` when there is nothing to read.

    ``formatting``: gdb is about to print a value, so it can read memory. This is so even in a breakpoint's ``stop``
    method, where gdb still calls the threads running.
    """
    inferior = gdb.selected_inferior()
    if not inferior.is_valid() or not inferior.threads():
        raise HelperError(
            "No process and no core file.", "Start the program, attach to one, or load a core file."
        )
    if not formatting and any(thread.is_running() for thread in inferior.threads() if thread.is_valid()):
        raise HelperError("The process is running.", "Stop it first (interrupt).")
    return inferior


def mappings(inferior):
    """The :class:`Mappings` of ``inferior``; kept while the list of its mapped files stays the same."""
    text = _quietly("info proc mappings")
    origin = (inferior.num, inferior.pid, gdb.parameter("sysroot"), text)
    if _mappings.get("origin") != origin:  # reading some hundred rows takes longer than most commands
        _mappings.update(origin=origin, value=_read_mappings(inferior, parse_proc_mappings(text)))
    return _mappings["value"]


def _read_mappings(inferior, rows):
    roots = [f"/proc/{inferior.pid}/root"] if inferior.pid else []
    sysroot = gdb.parameter("sysroot")
    if sysroot and not sysroot.startswith("target:"):
        roots.append(sysroot)
    link = root_link(inferior.pid) if inferior.pid else "/"
    rows = [row._replace(path=inside(row.path, link)) for row in rows]
    key = (inferior.num, inferior.pid, roots, [row for row in rows if row.path.startswith("/")])
    if _mappings.get("key") == key:
        return _mappings["value"]
    _mappings["key"] = key
    return Mappings(rows, page(), roots, deleted_files(inferior.pid, rows))


def page():
    """Bytes of a page of the inferior: a core may be from another machine."""
    told = _PAGE_SIZE.search(_quietly("info auxv"))
    return int(told.group(1)) if told else page_size.of_this_machine()


_mappings = {}


def _quietly(command):
    try:
        return plain(gdb.execute(command, to_string=True))
    except gdb.error:
        return ""


def memory(inferior, mapped):
    """Memory of ``inferior``; read-only data that a core file leaves out comes from the mapped file."""

    def read(address, size):
        try:
            return bytes(inferior.read_memory(address, size))
        except (gdb.error, OverflowError):
            found = mapped.file_bytes(address, size)
            if found is None:
                raise Unreadable(address) from None
            return found

    return Memory(read)


def demangle(symbol):
    """C++ text of a mangled name; for ``_ZTS`` names the class alone. The name itself if it is not mangled."""
    known = _demangled.get(symbol)
    if known is None:
        text = symbol
        if symbol.startswith("_Z"):
            # A clone's suffix (.isra.0, .cold) stays readable after the demangled name.
            # gdb may add a warning, on a line of its own.
            text = _quietly("demangle -l c++ -- " + symbol).strip().partition("\n")[0] or symbol
        for prefix in ("typeinfo name for ", "vtable for "):
            if text.startswith(prefix):
                text = text[len(prefix) :]
        known = _demangled[symbol] = text
    return known


_demangled = {}


@contextlib.contextmanager
def untouched():
    """Makes gdb refuse to call functions of the inferior and to write its memory."""
    names = ("may-call-functions", "may-write-memory")
    before = {name: gdb.parameter(name) for name in names}
    for name in names:
        gdb.execute(f"set {name} off", to_string=True)
    try:
        yield
    finally:
        for name in names:
            gdb.execute("set {} {}".format(name, "on" if before[name] else "off"), to_string=True)


_LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'")
_ASSIGNMENT = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--")


def evaluate(expression):
    """The :class:`gdb.Value` of an expression; raises :class:`HelperError` for one that would change anything.

    It is read in the language of the frame; what that cannot read is read as C++, so that an address with a cast is
    typed alike in each frame.
    """
    # gdb has no switch that forbids to write registers of a live process.
    if _ASSIGNMENT.search(_LITERAL.sub("0", expression)):
        raise HelperError(f"{expression!r} assigns; nothing is written here.")
    try:
        with untouched():
            value = _read_in_some_language(expression)
            value.fetch_lazy()
            return value
    except gdb.error as error:
        hint = "Functions are never called here; give a variable, a register or an address."
        raise HelperError(f"gdb cannot evaluate {expression!r}: {error}", hint) from None


def _read_in_some_language(expression):
    try:
        return language.evaluate_for_user(expression)
    except gdb.error:
        if language.is_like_ours():
            raise
    return language.evaluate(expression)


def host_encoding():
    """The encoding in which gdb writes; text that does not fit it would be refused."""
    name = gdb.parameter("host-charset")
    if not name or name.startswith("auto"):
        name = locale.nl_langinfo(locale.CODESET)
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "ascii"


def register(frame, name):
    """The unsigned value of a register in ``frame``."""
    return int(frame.read_register(name)) & MASK
