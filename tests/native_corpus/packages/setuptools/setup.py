"""The corpus of the binding layer that CORPUS_LAYER names."""

import os
from pathlib import Path

from setuptools import Extension, setup

LAYER = os.environ["CORPUS_LAYER"]
MODULE = "corpus_" + LAYER


def extension():
    options = {"extra_compile_args": ["-std=c++17"]}
    sources = ["corpus.cpp", MODULE + ".cpp"]
    if LAYER == "cython":
        from Cython.Build import cythonize

        (made,) = cythonize([MODULE + ".pyx"], emit_linenums=True, language_level=3)
        return made
    if LAYER == "pybind":
        import pybind11

        options["include_dirs"] = [pybind11.get_include()]
    if LAYER == "nanobind":
        import nanobind

        root = Path(nanobind.include_dir()).parent
        options["include_dirs"] = [str(root / "include"), *map(str, root.glob("**/robin_map/include"))]
        options["extra_compile_args"] += ["-fvisibility=hidden", "-fno-strict-aliasing"]
        sources.append(os.path.relpath(root / "src" / "nb_combined.cpp"))
    return Extension(MODULE, sources, **options)


setup(py_modules=[], ext_modules=[extension()])
