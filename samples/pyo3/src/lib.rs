// A module of Python in Rust by PyO3: functions, a class with methods and a property, a callback, an error and a panic.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pyfunction]
fn tally(values: Vec<i64>, step: i64) -> i64 {
    let mut total = 0;
    for value in &values {
        total += weigh(*value, step);
    }
    total
}

#[inline(never)]
fn weigh(value: i64, step: i64) -> i64 {
    let weight = value * step;
    weight + 1
}

#[pyfunction]
fn call_back(py: Python<'_>, callback: PyObject) -> PyResult<PyObject> {
    let answer = callback.call1(py, (20,))?;
    Ok(answer)
}

#[pyfunction]
fn checked(value: i64) -> PyResult<i64> {
    if value < 0 {
        return Err(PyValueError::new_err("negative"));
    }
    let half = halved(value);
    Ok(half)
}

#[inline(never)]
fn halved(value: i64) -> i64 {
    if value % 2 == 1 {
        panic!("odd: {}", value);
    }
    value / 2
}

#[pyclass]
struct Counter {
    count: i64,
}

#[pymethods]
impl Counter {
    #[new]
    fn new(start: i64) -> Self {
        let count = start;
        Counter { count }
    }

    fn increase(&mut self, by: i64) -> i64 {
        self.count += by;
        self.count
    }

    #[staticmethod]
    fn zero() -> i64 {
        let nothing = 0;
        nothing
    }

    #[getter]
    fn doubled(&self) -> i64 {
        let twice = self.count * 2;
        twice
    }

    fn __add__(&self, other: i64) -> i64 {
        let sum = self.count + other;
        sum
    }

    fn __len__(&self) -> usize {
        let length = self.count as usize;
        length
    }
}

#[cfg(pyo3_bound)]
#[pymodule]
fn sample_pyo3(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Counter>()?;
    module.add_function(wrap_pyfunction!(tally, module)?)?;
    module.add_function(wrap_pyfunction!(call_back, module)?)?;
    module.add_function(wrap_pyfunction!(checked, module)?)
}

#[cfg(not(pyo3_bound))] // PyO3 before 0.21
#[pymodule]
fn sample_pyo3(_py: Python<'_>, module: &PyModule) -> PyResult<()> {
    module.add_class::<Counter>()?;
    module.add_function(wrap_pyfunction!(tally, module)?)?;
    module.add_function(wrap_pyfunction!(call_back, module)?)?;
    module.add_function(wrap_pyfunction!(checked, module)?)
}
