"""What Cython calls the C functions and lines of a module, and what their author does."""

from __future__ import annotations

import pytest

from dualdbg.toolchains.cython.names import Part, constructor, cython_function
from dualdbg.toolchains.cython.source_text import Function, function_at, functions_of, statements_of

TABLE = frozenset(
    {
        *("__pyx_pf_5fastc_poly_sum", "__pyx_pw_5fastc_1poly_sum"),
        *("__pyx_pf_5fastc_2is_prime", "__pyx_pw_5fastc_3is_prime"),
        *("__pyx_pf_5fastc_5outer_inner", "__pyx_pw_5fastc_5outer_1inner"),
        *("__pyx_pf_5fastc_11outer", "__pyx_pw_5fastc_12outer"),
        *("__pyx_pf_5fastc_2is_prime2", "__pyx_pw_5fastc_2is_1prime2"),  # a scope called `is`
    }
)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("__pyx_f_5fastc_term", "fastc.term", Part.C_FUNCTION),
        ("__pyx_f_5fastc_7Counter_hidden", "fastc.Counter.hidden", Part.C_FUNCTION),
        ("__pyx_pf_5fastc_poly_sum", "fastc.poly_sum", Part.BODY),
        ("__pyx_pw_5fastc_1poly_sum", "fastc.poly_sum", Part.WRAPPER),
        ("__pyx_pf_5fastc_2is_prime", "fastc.is_prime", Part.BODY),
        ("__pyx_pf_5fastc_2is_prime2", "fastc.is.prime2", Part.BODY),
        ("__pyx_pf_5fastc_11outer", "fastc.outer", Part.BODY),
        ("__pyx_pw_5fastc_12outer", "fastc.outer", Part.WRAPPER),
        ("__pyx_pf_5fastc_5outer_inner", "fastc.outer.inner", Part.BODY),
        ("__pyx_pf_5fastc_7Counter_5value___get__", "fastc.Counter.value.__get__", Part.BODY),
        ("__pyx_getprop_5fastc_7Counter_value", "fastc.Counter.value.__get__", Part.WRAPPER),
        ("__pyx_setprop_5fastc_7Counter_value", "fastc.Counter.value.__set__", Part.WRAPPER),
        ("__pyx_pf_3pkg_5fastc_4__pyx_fuse_0poly", "pkg.fastc.poly", Part.BODY),
        ("__pyx_fuse_0_1__pyx_pw_5fastc_27both", "fastc.both", Part.WRAPPER),
        ("__pyx_pw_5fastc_19__pyx_fuse_1__pyx_f_5fastc_thrice", "fastc.thrice", Part.WRAPPER),
        ("__pyx_fuse_1__pyx_f_5fastc_thrice", "fastc.thrice", Part.C_FUNCTION),
        ("__pyx_pymod_exec_fastc", "fastc.<module>", Part.BODY),
    ],
)
def test_a_c_function_is_what_its_author_calls_it(name: str, text: str, part: Part) -> None:
    found = cython_function(name, TABLE.__contains__)
    assert found is not None
    assert (found.text, found.part) == (text, part)


@pytest.mark.parametrize(
    "name", ["__Pyx_GetItem", "__pyx_tp_new_5fastc_Counter", "poly_sum", "__pyx_pf_", "__pyx_pf_9x"]
)
def test_what_cython_made_for_itself_is_nobodys(name: str) -> None:
    assert cython_function(name) is None


def test_the_slot_of_a_class_leads_to_its_constructor() -> None:
    assert constructor("__pyx_tp_init_3pkg_5fastc_Counter") == "pkg.fastc.Counter.__init__"
    assert constructor("__pyx_tp_new_5fastc_Counter") is None
    assert constructor("__pyx_tp_init_Counter") is None


SOURCE = '''\
"""A module.

def not_this(): pass
"""
import os

def plain(a,
          b=(1, 2)):
    """Text
def nor_this():
    """
    return a

cdef class Box:
    cdef int size

    def grow(self, int by):
        self.size += by  # def neither(

        return self.size

    cdef inline double area(self) nogil:
        return self.size * 2.0

    @property
    def value(self):
        return 1

cpdef int twice(int n): return n * 2

async def wait():
    def inner():
        yield 1
    await inner()

x = 1
'''


def test_each_line_of_a_source_belongs_to_a_function() -> None:
    functions = functions_of(SOURCE.splitlines())
    lines = SOURCE.splitlines()
    assert [(one.path, lines[one.first - 1].split("(")[0].strip()) for one in functions] == [
        (("plain",), "def plain"),
        (("Box", "grow"), "def grow"),
        (("Box", "area"), "cdef inline double area"),
        (("Box", "value"), "def value"),
        (("twice",), "cpdef int twice"),
        (("wait",), "async def wait"),
        (("wait", "inner"), "def inner"),
    ]

    def owner(text: str) -> tuple[str, ...] | None:
        found = function_at(functions, next(n for n, line in enumerate(lines, 1) if text in line))
        return found.path if found is not None else None

    assert owner("import os") is None and owner("x = 1") is None and owner("cdef int size") is None
    assert owner("return a") == ("plain",)
    assert owner("return self.size") == ("Box", "grow")
    assert owner("yield 1") == ("wait", "inner")
    assert owner("await inner") == ("wait",)
    assert Function(("twice",), 29, 29) in functions


RUN = '''\
def run(x: int,
        y=1):  #
    """Text
    a = 1
    """
    cdef int declared, other
    cdef int given = 0  #
    total: cython.double
    kept: cython.double = 0  #
    try:  # nothing
        if x:  #
            x = [1,  #
                 2]
        else:
            pass  #
    finally:
        # a = 1
        continue  #

    else: x()  #
'''


def test_the_statements_that_run() -> None:
    """What only declares something has no code, nor have the words before a block."""
    lines = RUN.splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if line.endswith("  #")}
    assert statements_of(lines) == (wanted | {1}) - {2}
