// The corpus in Rust by PyO3.

#![allow(dead_code)]

use pyo3::prelude::*;

mod corpus;

#[pyfunction]
fn run(n: i64) -> i64 {
    corpus::run(n)
}

#[pyfunction]
fn counts() -> String {
    corpus::counts()
}

#[cfg(pyo3_bound)]
#[pymodule]
fn corpus_pyo3(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(counts, module)?)
}

#[cfg(not(pyo3_bound))] // PyO3 before 0.21
#[pymodule]
fn corpus_pyo3(_py: Python<'_>, module: &PyModule) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(counts, module)?)
}
