// The corpus in Rust by the C API.

#![allow(non_snake_case, non_camel_case_types, dead_code)]

use std::ffi::{c_char, c_int, c_long, c_void, CString};
use std::ptr::null_mut;

mod corpus;

type Object = *mut c_void;
type Function = unsafe extern "C" fn(Object, Object) -> Object;

#[repr(C)]
struct Method {
    name: *const c_char,
    function: Option<Function>,
    flags: c_int,
    doc: *const c_char,
}

#[repr(C)]
struct Definition {
    base: [usize; 5],
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut Method,
    rest: [*mut c_void; 4],
}

extern "C" {
    fn PyModule_Create2(definition: *mut Definition, version: c_int) -> Object;
    fn PyLong_AsLong(object: Object) -> c_long;
    fn PyLong_FromLong(value: c_long) -> Object;
    fn PyUnicode_FromString(text: *const c_char) -> Object;
}

unsafe extern "C" fn module_run(_module: Object, argument: Object) -> Object {
    PyLong_FromLong(corpus::run(PyLong_AsLong(argument)))
}

unsafe extern "C" fn module_counts(_module: Object, _nothing: Object) -> Object {
    let text = CString::new(corpus::counts()).unwrap();
    PyUnicode_FromString(text.as_ptr())
}

const METH_NOARGS: c_int = 4;
const METH_O: c_int = 8;

#[no_mangle]
pub unsafe extern "C" fn PyInit_corpus_rust() -> Object {
    let method = |name: &'static [u8], function, flags| Method {
        name: name.as_ptr() as *const c_char,
        function,
        flags,
        doc: null_mut(),
    };
    let methods = Box::new([
        method(b"run\0", Some(module_run as Function), METH_O),
        method(b"counts\0", Some(module_counts as Function), METH_NOARGS),
        Method { name: null_mut(), function: None, flags: 0, doc: null_mut() },
    ]);
    let definition = Box::new(Definition {
        base: [1, 0, 0, 0, 0],
        name: b"corpus_rust\0".as_ptr() as *const c_char,
        doc: null_mut(),
        size: -1,
        methods: Box::leak(methods).as_mut_ptr(),
        rest: [null_mut(); 4],
    });
    PyModule_Create2(Box::leak(definition), 1013)
}
