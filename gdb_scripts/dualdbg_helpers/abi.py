"""Where a function's arguments are when it is entered: the C++ ABIs of x86-64 and aarch64.

Sources: System V ABI for AMD64, 3.2.3; Procedure Call Standard for the Arm 64-bit Architecture, 6.8; Itanium C++
ABI, 3.1 (objects with a non-trivial copy are passed by address; ``this`` comes first).
"""

import re

X86_64, AARCH64 = "x86-64", "aarch64"

ARGUMENTS = {
    # architecture: registers of the integer and pointer arguments, in order
    X86_64: ("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    AARCH64: ("x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"),
}


def architecture(name):
    """:data:`X86_64` or :data:`AARCH64` for gdb's name of an architecture, None for any other."""
    if name.startswith("i386:x86-64"):
        return X86_64
    return AARCH64 if name.startswith("aarch64") else None


# Instructions with which compilers begin a function; they do not change the argument registers.
_X86_PROLOGUE = re.compile(
    rb"(?:"
    rb"\xf3\x0f\x1e\xfa"  # endbr64
    rb"|[\x50-\x57]|\x41[\x50-\x57]"  # push
    rb"|\x48\x83\xec.|\x48\x81\xec.{4}"  # sub $n, %rsp
    rb"|\x48\x83\xe4."  # and $n, %rsp
    rb"|\x48\x89\xe5"  # mov %rsp, %rbp
    rb"|[\x48\x4c]\x89[\xc3\xcb\xd3\xdb\xe3\xeb\xf3\xfb]"  # mov argument, %rbx
    rb"|[\x49\x4d]\x89[\xc4-\xc7\xcc-\xcf\xd4-\xd7\xdc-\xdf\xe4-\xe7\xec-\xef\xf4-\xf7\xfc-\xff]"  # ..., %r12 to %r15
    rb")*",
    re.DOTALL,
)
_ARM_PROLOGUE = (
    # (mask, value) of one instruction
    (0xFFFFFF3F, 0xD503241F),  # bti
    (0xFFFFFFBF, 0xD503233F),  # paciasp, pacibsp
    (0xFFC003E0, 0xA98003E0),  # stp x, x, [sp, #n]!
    (0xFFC003E0, 0xA90003E0),  # stp x, x, [sp, #n]
    (0xFFC003E0, 0x6D8003E0),  # stp d, d, [sp, #n]!
    (0xFFC003E0, 0x6D0003E0),  # stp d, d, [sp, #n]
    (0xFFC003E0, 0xF90003E0),  # str x, [sp, #n]
    (0xFFC003FF, 0x910003FD),  # add x29, sp, #n
    (0xFF8003FF, 0xD10003FF),  # sub sp, sp, #n
)
MAX_PROLOGUE = 64


def arguments_intact(arch, code):
    """Whether ``code``, the instructions from a function's entry to the program counter, leaves its arguments alone."""
    if len(code) > MAX_PROLOGUE:
        return False
    if arch == X86_64:
        return _X86_PROLOGUE.fullmatch(code) is not None
    words = [int.from_bytes(code[i : i + 4], "little") for i in range(0, len(code), 4)]
    return all(any(word & mask == value for mask, value in _ARM_PROLOGUE) for word in words)


def split_function(demangled):
    """``(name, [parameter types], suffix)`` of a demangled function; None when it has no parameter list.

    The suffix is what follows: `` const``, `` [clone .isra.0]``.
    """
    text = demangled.split(" [clone", 1)[0]
    clone = demangled[len(text) :]
    bare = text[: -len(" const")] if text.endswith(" const") else text
    if not bare.endswith(")"):
        return None
    depth = 0
    for i in range(len(bare) - 1, -1, -1):
        depth += {")": 1, ">": 1, "]": 1, "(": -1, "<": -1, "[": -1}.get(bare[i], 0)
        if depth == 0 and bare[i] == "(":
            break
    else:
        return None
    return _without_result(bare[:i]), split_list(bare[i + 1 : -1]), text[len(bare) :] + clone


def _without_result(name):
    """A function's name without the type of its result, with which the names of templates begin."""
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += {")": 1, ">": 1, "}": 1, "(": -1, "<": -1, "{": -1}.get(name[i], 0)
        if depth == 0 and name[i] == " " and not name[:i].endswith("operator"):
            return name[i + 1 :]
    return name


def split_list(text):
    """The parts of a list of types, between the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


_SCALARS = re.compile(
    r"^(?:unsigned |signed )?(?:bool|char|short|int|long|long long)$"
    r"|^c10::(?:DispatchKeySet|DispatchKey|ScalarType|Layout|MemoryFormat|Device)$"
)
_FLOATS = ("float", "double")
_BY_ADDRESS = (
    "at::Tensor",
    "c10::IValue",
    "c10::OperatorHandle",
    "c10::SymInt",
    "c10::intrusive_ptr<",
    "c10::List<",
    "c10::Dict<",
    "std::vector<",
    "std::__cxx11::basic_string<",
    "std::unique_ptr<",
    "std::shared_ptr<",
    "std::function<",
)
_TWO_WORDS = re.compile(r"^(?:c10::ArrayRef<|std::basic_string_view<)")


def integer_registers(kind):
    """How many integer registers an argument of the C++ type ``kind`` takes; None when that is not known."""
    if kind.endswith(("*", "&")) or _SCALARS.match(kind) or kind.startswith(_BY_ADDRESS):
        return 1
    if kind in _FLOATS:
        return 0
    return 2 if _TWO_WORDS.match(kind) else None


def position_of(parameters, wanted):
    """The number of integer registers before the first parameter for which ``wanted(type)`` is true, or None."""
    used = 0
    for kind in parameters:
        if wanted(kind):
            return used
        count = integer_registers(kind)
        if count is None:
            return None
        used += count
    return None
