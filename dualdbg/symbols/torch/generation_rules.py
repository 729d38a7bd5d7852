"""What torchgen writes for each layer of an operator: into which files, from which template, by which function."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ATEN = "build/aten/src/ATen"
_AUTOGRAD = "torch/csrc/autograd/generated"
_ATEN_TEMPLATES = "torchgen/packaged/ATen/templates"
_AUTOGRAD_TEMPLATES = "torchgen/packaged/autograd/templates"
_NUMBER = re.compile(r"_\d+(?=\.cpp$)")


@dataclass(frozen=True)
class Generator:
    """A function of torchgen that writes code for one operator.

    ``file`` is its file in the folder of the installed packages, ``line`` where it begins there (None: not there).
    """

    file: str
    function: str
    line: int | None = None


@dataclass(frozen=True)
class Rule:
    """What torchgen does for one layer. ``files`` are the names of its files; the first number in one is the shard.

    ``only``: a function of the name that is in another file is none of this layer's. Elsewhere it is written by hand.
    """

    layer: str
    files: str
    folder: str
    templates: str
    generator: Generator
    template: str | None = None  # where the file's name does not tell it
    only: bool = False

    def template_of(self, file: str) -> str:
        """The template of one of its files, in the folder of the installed packages."""
        return f"{self.templates}/{self.template or _NUMBER.sub('', file)}"


def _tools(file: str, function: str) -> Generator:
    return Generator(f"torchgen/packaged/autograd/{file}", function)


SCHEMA = Rule(
    "Schema",
    "RegisterSchema.cpp",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/gen.py", "get_native_function_schema_registrations"),
)
BINDING = Rule(
    "Python binding",
    r"python_(?:torch_functions_\d+|variable_methods|[a-z]+_functions)\.cpp",
    _AUTOGRAD,
    _AUTOGRAD_TEMPLATES,
    _tools("gen_python_functions.py", "method_impl"),
)
DISPATCHER = Rule(
    "Dispatcher",
    r"Operators_\d+\.cpp",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/gen.py", "ComputeOperators"),
)
BACKEND = Rule(
    "Backend by arguments",
    r"RegisterBackendSelect\.cpp",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/gen.py", "ComputeBackendSelect"),
    only=True,
)
TRACE = Rule(
    "Tracing (torch.jit.trace)",
    r"TraceType_\d+\.cpp",
    _AUTOGRAD,
    _AUTOGRAD_TEMPLATES,
    _tools("gen_trace_type.py", "gen_trace_type_func"),
)
VARIABLE = Rule(
    "Autograd (records the call)",
    r"VariableType_\d+\.cpp",
    _AUTOGRAD,
    _AUTOGRAD_TEMPLATES,
    _tools("gen_variable_type.py", "gen_variable_type_func"),
)
INPLACE = Rule(
    "Views and versions",
    r"ADInplaceOrViewType_\d+\.cpp",
    _AUTOGRAD,
    _AUTOGRAD_TEMPLATES,
    _tools("gen_inplace_or_view_type.py", "gen_inplace_or_view_type_env"),
)
FUNCTIONALIZATION = Rule(
    "Functionalization",
    r"RegisterFunctionalization_\d+\.cpp",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/gen_functionalization_type.py", "gen_functionalization_definition"),
)
KERNEL_KEY = Rule(
    "Kernels by dispatch key",
    r"Register\w+_\d+\.cpp",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/dest/register_dispatch_key.py", "RegisterDispatchKey"),
    "RegisterDispatchKey.cpp",
)
VIEW_COPY, FUNCTIONAL, OUT = (
    Rule(
        "Kernels that torchgen writes",
        r"CompositeViewCopyKernels\.cpp",
        _ATEN,
        _ATEN_TEMPLATES,
        Generator(file, function),
        only=True,
    )
    for file, function in (
        ("torchgen/gen_functionalization_type.py", "GenCompositeViewCopyKernel"),
        ("torchgen/native_function_generation.py", "gen_composite_functional_kernel"),
        ("torchgen/native_function_generation.py", "gen_composite_out_kernel"),
    )
)
UFUNC = Rule(
    "Kernels from a formula (ufunc)",
    r"UfuncCPU_\w+\.cpp",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/dest/ufunc.py", "compute_ufunc_cpu"),
    "UfuncCPU.cpp",
    only=True,
)
UFUNC_KERNEL = Rule(
    "Vectorised kernels from a formula, one a processor",
    r"UfuncCPUKernel_\w+\.cpp.*",
    _ATEN,
    _ATEN_TEMPLATES,
    Generator("torchgen/dest/ufunc.py", "compute_ufunc_cpu_kernel"),
    "UfuncCPUKernel.cpp",
    only=True,
)
NODE = Rule(
    "Backward nodes",
    r"Functions\.cpp",
    _AUTOGRAD,
    _AUTOGRAD_TEMPLATES,
    _tools("gen_autograd_functions.py", "process_function"),
    "Functions.cpp",
)
PYTHON_NODE = Rule(
    "Backward nodes, as Python sees them",
    r"python_functions_\d+\.cpp",
    _AUTOGRAD,
    _AUTOGRAD_TEMPLATES,
    _tools("gen_autograd_functions.py", "process_function"),
)
ORDER = (
    SCHEMA,
    BINDING,
    DISPATCHER,
    BACKEND,
    TRACE,
    VARIABLE,
    INPLACE,
    FUNCTIONALIZATION,
    KERNEL_KEY,
    VIEW_COPY,
    FUNCTIONAL,
    OUT,
    UFUNC,
    UFUNC_KERNEL,
    NODE,
    PYTHON_NODE,
)
