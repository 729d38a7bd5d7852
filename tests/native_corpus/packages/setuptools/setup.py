from setuptools import Extension, setup

sources = ["corpus.cpp", "corpus_capi.cpp"]
setup(py_modules=[], ext_modules=[Extension("corpus_capi", sources, extra_compile_args=["-std=c++17"])])
