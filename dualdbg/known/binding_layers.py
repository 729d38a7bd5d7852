"""Binding layers by the names of their functions: pybind11, nanobind, Cython, PyO3, PyTorch's own.

One row a layer serves both kinds of names: demangled names show that a frame is glue; linkage names let a step
distinguish an extension's own code from what a layer has put into the same library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..shared.toolchains.cython import CYTHON_AUTHORS, CYTHON_FUSED
from ..toolchains.cython.names import constructor, implementation_of


@dataclass(frozen=True)
class BindingLayer:
    """``namespace`` is the namespace of its C++ code; ``functions`` are patterns of its names outside of that."""

    name: str
    namespace: str | None = None
    functions: tuple[str, ...] = ()

    @property
    def demangled(self) -> tuple[str, ...]:
        """Patterns of its functions' demangled names."""
        own = (rf"(?:void )?{self.namespace}::",) if self.namespace else ()
        return (*own, *self.functions)

    @property
    def linkage(self) -> tuple[str, ...]:
        """Patterns of its functions' linkage names: mangled (Itanium C++ ABI, 5.1), or C's."""
        own = (f"{_NESTED}{len(self.namespace)}{self.namespace}",) if self.namespace else ()
        return (*own, *(rf"(?:_Z+L?\d+)?{pattern}" for pattern in self.functions))


# What a mangled name begins with, before the first name: local entities, const and reference qualifiers of members.
_NESTED = "_Z+(?:N[rVK]*[RO]?)?"

LAYERS = (
    # PYBIND11_MODULE: pybind11_init_NAME is the body that the author writes, pybind11_exec_NAME calls it.
    BindingLayer("pybind11", "pybind11", ("pybind11_(?!init_)",)),
    BindingLayer("nanobind", "nanobind"),
    BindingLayer(
        "Cython", None, ("__Pyx_", f"(?!(?:{CYTHON_FUSED}[\\d_]+?)?(?:{'|'.join(CYTHON_AUTHORS)}))__pyx_")
    ),
    # #[pyfunction] and #[pymethods]: each gets a function of this name, which takes the arguments apart.
    BindingLayer("PyO3", "pyo3", (r"<?pyo3(?:_ffi)?::", r"[\w:<>, {}#&]*::__py(?:method|function)_\w+")),
)

# Rust's own library and its runtime, by what rustc calls their functions.
RUST_RUNTIME = re.compile(
    r"_*rust_(?:try|panic|eh_personality|alloc|dealloc|realloc|begin_\w+|end_\w+|\w*panic\w*)$"
)
RUST_LIBRARY = re.compile(
    r"<*(?:&(?:mut )?)?(?:std|core|alloc|__rustc)::|_*rust_\w+$|<[\[(]?[^<]* as (?:core|alloc|std)::"
)

# PyTorch's way from Python to a kernel: bindings, dispatcher, autograd's and tracing's wrappers, casters of kernels.
_PYTORCH_GLUE = (
    r"THPVariable_",
    r"THPModule_\w+_wrap",
    r"dynamo__?(custom_eval_frame|eval_custom_code|set_eval_frame|eval_frame_default)",
    r"torch::autograd::(\(anonymous namespace\)::)?THPVariable_",
    r"torch::(autograd::)?TypeError_to_NotImplemented_",
    r"c10::impl::(wrap_kernel_functor|make_boxed_from_unboxed|BoxedKernelWrapper|call_functor_with_args)",
    r"c10::(KernelFunction|BoxedKernel|Dispatcher|OperatorHandle|TypedOperatorHandle)\b",
    r"at::_ops::[^:]+::(redispatch|call)\b",
    r"at::\(anonymous namespace\)::\(anonymous namespace\)::wrapper_",
    r"at::\(anonymous namespace\)::wrapper_",
    r"torch::(autograd::VariableType|ADInplaceOrView|TraceType)::",
)

# Demangled names of functions that only pass a call on.
GLUE_PATTERNS = (
    *(pattern for layer in LAYERS for pattern in layer.demangled),
    *_PYTORCH_GLUE,
    r"(?:cpython|cfunc)\.",  # numba: what takes the arguments of a call apart, and what C calls
    r"std::(function|_Function_handler|__invoke|thread::_)",
)

# Linkage names in an extension that its author has not written: the C++ library, functions of the compiler and the
# linker, and what the interpreter calls to load a module.
_NOBODYS = (
    f"{_NESTED}(?:St|S[absiod]|9__gnu_cxx|10__cxxabiv1)",
    "_Z(?:nw|na|dl|da|T|GV)",
    "_Unwind_",
    r"_init$|_fini$|frame_dummy|deregister_tm|register_tm|__do_global|_GLOBAL__|.*\.cold|__(?!pyx_)",
    "PyInit_|_?Py[A-Z_]",
)
_LIBRARY_CODE = re.compile(
    "|".join((*_NOBODYS, *(pattern for layer in LAYERS for pattern in layer.linkage))).encode()
)

# Linkage names of PyTorch's code, which its headers also put into an extension: c10, at, torch, caffe2, TORCH_LIBRARY.
_PYTORCH_CODE = re.compile(rb"_Z+N?K?(3c10|2at|5torch|6caffe2)|_ZN\d*at|_ZL\d+TORCH_LIBRARY")

# An exception of Python on its way through C++.
PYTHON_EXCEPTION = "pybind11::error_already_set"

# A function that is the argument of a template of c10 or pybind11: make_boxed_function<&sample::echo>.
FUNCTION_ARGUMENT = re.compile(
    r"(?<=[<, ])&((?:\(anonymous namespace\)::|[A-Za-z_]\w*::)*[A-Za-z_]\w*)(?=>|\))"
)
# ... and an instance of a template, which is written with its types: &(at::Tensor at::native::qadd<false>(at::Tensor)).
INSTANCE_ARGUMENT = re.compile(
    r"(?<=[<, ])&\([^&]*?\b((?:\(anonymous namespace\)::|[A-Za-z_]\w*::)+[A-Za-z_]\w*(?:<[^<>()]*>)?)\("
)
# What the compiler has made of one kernel, to call it: the kernel is in its name (WrapFunctionIntoFunctor.h). Whatever
# serves many operators, such as a fallback, is called boxed or through a pointer, by other templates.
CALLER_OF_ONE_KERNEL = re.compile(
    r"c10::impl::(?:make_boxed_from_unboxed_functor|wrap_kernel_functor_unboxed_)<"
    r"c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer<"
)
# The names of nanobind's casters of function pointers and member functions; casters of lambdas name the lambda.
CASTER_OF_POINTER = re.compile(r"func_create<\w+, \w+, (?:[^{}]*?\(\*&?\)\(|nanobind::cpp_function_def<)")

_PYBIND11_CASTER = "pybind11::cpp_function::initialize<"
_NOT_IMPLEMENTED = re.compile(r"TypeError_to_NotImplemented_<&([\w:]+)>")
_IMPLEMENTATION = re.compile(r"^.*::<impl ([\w:]+)(?:<.*>)?>::$")  # a method by the legacy name of its impl
_PYO3_WRAPPER = re.compile(r"(?P<scope>.*::)__py(?:function_(?P<function>\w+)|method_(?P<method>\w+)__)$")


def is_library_code(linkage: bytes) -> bool:
    """Whether a function in an extension is not its author's own, by its linkage name."""
    return _LIBRARY_CODE.match(linkage) is not None


def is_rust_library(language: str | None, function: str | None) -> bool:
    """Whether a function is one of Rust's own library, by the language of its source and its demangled name."""
    return language == "rust" and RUST_LIBRARY.match(function or "") is not None


def is_pytorch_code(linkage: bytes) -> bool:
    """Whether a function in an extension comes from PyTorch's headers, by its linkage name."""
    return _PYTORCH_CODE.match(linkage) is not None


def bodies_behind(name: str) -> tuple[str, ...]:
    """What the author's function behind a binding layer's wrapper may be called, by the wrapper's demangled name.

    The likeliest first; nothing for what is no wrapper.
    """
    body = lambda_of_caster(name) or implementation_of(name) or operand_of(name) or constructor(name)
    return (body,) if body is not None else functions_of_macro(name)


def lambda_of_caster(name: str) -> str | None:
    """The lambda that a pybind11 function was made from, by the name of its caster.

    ``pybind11::cpp_function::initialize<f(x)::{lambda(int)#1}, ...>`` -> ``f(x)::{lambda(int)#1}::operator()``.
    """
    if not name.startswith(_PYBIND11_CASTER):
        return None
    depth = 0
    for index, character in enumerate(name[len(_PYBIND11_CASTER) :], len(_PYBIND11_CASTER)):
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        if depth < 0 or (character == "," and depth == 0):
            first = name[len(_PYBIND11_CASTER) : index].rstrip("& ")
            return f"{first}::operator()" if first.endswith("}") and "{lambda(" in first else None
    return None


def is_trampoline(name: str) -> bool:
    """Whether a function of PyO3 is what Python calls: it passes a call on to a wrapper of PyO3's macros."""
    return name.startswith("pyo3::impl_::trampoline::")


def functions_of_macro(name: str) -> tuple[str, ...]:
    """What the author's function behind a wrapper of PyO3's macros may be called; the likeliest first.

    ``<Stream>::__pymethod_step__`` -> ``Stream::step``. The wrapper of a property ``size`` is named as that of a method
    ``get_size``, and that of a constructor after Python's ``__new__``. Nothing for what is no such wrapper.
    """
    match = _PYO3_WRAPPER.match(name)
    if match is None:
        return ()
    scope = _IMPLEMENTATION.sub(r"\1::", match["scope"]).replace("<", "").replace(">", "")
    scope = scope.replace("::_::", "::")  # the macros write into constants without a name
    own = match["function"] or match["method"]
    of_property = re.sub(r"^[gs]et_", "", own) if match["method"] else own
    if own.startswith(("get_get_", "set_set_")):
        own = of_property
    return tuple(dict.fromkeys(scope + one for one in (own, of_property, own.strip("_"))))


def operand_of(name: str) -> str | None:
    """The binding of an operator (``a + b``) behind PyTorch's wrapper, which turns TypeError into NotImplemented."""
    match = _NOT_IMPLEMENTED.search(name)
    return match[1] if match is not None else None
