//! A value that is made once, by what Python gives.
use std::os::raw::c_int;
use std::sync::OnceLock;

static LEVEL: OnceLock<c_int> = OnceLock::new();

#[no_mangle]
pub extern "C" fn level_of(load: extern "C" fn() -> c_int) -> c_int {
    *LEVEL.get_or_init(|| load())
}
