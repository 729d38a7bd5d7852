// A module of Python in Rust, against the C API: functions, a generic, a trait, a closure, a callback and a panic.

#![allow(non_snake_case, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_long, c_void, CString};
use std::panic;
use std::ptr::null_mut;

#[repr(C)]
pub struct PyObject {
    _private: [u8; 0],
}

type Function = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;

#[repr(C)]
pub struct PyMethodDef {
    name: *const c_char,
    function: Option<Function>,
    flags: c_int,
    doc: *const c_char,
}

#[repr(C)]
pub struct PyModuleDef {
    base: [usize; 5], // PyModuleDef_HEAD_INIT: a reference count and zeros
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut PyMethodDef,
    slots: *mut c_void,
    traverse: *mut c_void,
    clear: *mut c_void,
    free: *mut c_void,
}

extern "C" {
    static mut PyExc_RuntimeError: *mut PyObject;
    fn PyModule_Create2(def: *mut PyModuleDef, version: c_int) -> *mut PyObject;
    fn PyLong_AsLong(object: *mut PyObject) -> c_long;
    fn PyLong_FromLong(value: c_long) -> *mut PyObject;
    fn PyObject_CallFunctionObjArgs(callable: *mut PyObject, ...) -> *mut PyObject;
    fn PyErr_SetString(kind: *mut PyObject, text: *const c_char);
    fn Py_DecRef(object: *mut PyObject);
}

pub mod shapes {
    pub trait Shape {
        fn area(&self) -> i64;
    }

    pub struct Square {
        pub side: i64,
    }

    impl Square {
        #[inline(never)]
        pub fn grown(&self, by: i64) -> Square {
            let side = self.side + by;
            Square { side }
        }
    }

    impl Shape for Square {
        #[inline(never)]
        fn area(&self) -> i64 {
            let area = self.side * self.side;
            area
        }
    }
}

use shapes::{Shape, Square};

#[inline(never)]
pub fn tally(values: &[i64], step: i64) -> i64 {
    let mut total = 0;
    for value in values {
        total += weigh(*value, step);
    }
    total
}

#[inline(never)]
fn weigh(value: i64, step: i64) -> i64 {
    let weight = value * step;
    weight + 1
}

#[inline(never)]
pub fn largest<T: PartialOrd + Copy>(values: &[T]) -> T {
    let mut best = values[0];
    for value in values {
        if *value > best {
            best = *value;
        }
    }
    best
}

#[inline(never)]
fn check(value: i64) -> i64 {
    if value < 0 {
        panic!("negative: {}", value);
    }
    value
}

unsafe extern "C" fn rust_tally(_module: *mut PyObject, argument: *mut PyObject) -> *mut PyObject {
    let step = PyLong_AsLong(argument) as i64;
    let values = vec![1, 2, 3];
    let total = tally(&values, step);
    PyLong_FromLong(total as c_long)
}

unsafe extern "C" fn rust_area(_module: *mut PyObject, argument: *mut PyObject) -> *mut PyObject {
    let square = Square { side: PyLong_AsLong(argument) as i64 };
    let shape: Box<dyn Shape> = Box::new(square.grown(1));
    PyLong_FromLong((shape.area() + largest(&[1i64, 5, 2])) as c_long)
}

unsafe extern "C" fn rust_call_back(_module: *mut PyObject, callback: *mut PyObject) -> *mut PyObject {
    let argument = PyLong_FromLong(20);
    let answer = PyObject_CallFunctionObjArgs(callback, argument, null_mut::<PyObject>());
    Py_DecRef(argument);
    answer
}

unsafe extern "C" fn rust_checked(_module: *mut PyObject, argument: *mut PyObject) -> *mut PyObject {
    let value = PyLong_AsLong(argument) as i64;
    match panic::catch_unwind(move || check(value)) {
        Ok(value) => PyLong_FromLong(value as c_long),
        Err(payload) => {
            let text = match payload.downcast_ref::<String>() {
                Some(text) => text.clone(),
                None => String::from("a panic"),
            };
            let text = CString::new(text).unwrap();
            PyErr_SetString(PyExc_RuntimeError, text.as_ptr());
            null_mut()
        }
    }
}

const METH_O: c_int = 8;

const fn method(name: &'static [u8], function: Function) -> PyMethodDef {
    PyMethodDef { name: name.as_ptr() as *const c_char, function: Some(function), flags: METH_O, doc: null_mut() }
}

static mut METHODS: [PyMethodDef; 5] = [
    method(b"tally\0", rust_tally),
    method(b"area\0", rust_area),
    method(b"call_back\0", rust_call_back),
    method(b"checked\0", rust_checked),
    PyMethodDef { name: null_mut(), function: None, flags: 0, doc: null_mut() },
];

static mut MODULE: PyModuleDef = PyModuleDef {
    base: [1, 0, 0, 0, 0],
    name: b"sample_rust\0".as_ptr() as *const c_char,
    doc: null_mut(),
    size: -1,
    methods: null_mut(),
    slots: null_mut(),
    traverse: null_mut(),
    clear: null_mut(),
    free: null_mut(),
};

#[no_mangle]
pub unsafe extern "C" fn PyInit_sample_rust() -> *mut PyObject {
    MODULE.methods = &raw mut METHODS as *mut PyMethodDef;
    PyModule_Create2(&raw mut MODULE, 1013)
}
