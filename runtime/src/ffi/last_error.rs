//! The text of a thread's last failure.

use std::cell::UnsafeCell;
use std::ffi::c_char;

use crate::error::{Result, Status, catch};

/// Longer texts are cut.
const CAPACITY: usize = 2048;

thread_local! {
    // An array, which has no destructor: one would keep the library loaded until the thread ends.
    static TEXT: UnsafeCell<[u8; CAPACITY]> = const { UnsafeCell::new([0; CAPACITY]) };
}

/// Runs the body of an exported function: keeps the text of its error and returns the status.
pub(super) fn status(body: impl FnOnce() -> Result<()>) -> i32 {
    match catch(body) {
        Ok(()) => Status::Ok as i32,
        Err(error) => {
            set(&error.to_string());
            error.status() as i32
        }
    }
}

/// Keeps a text: one line, without NUL, cut at a character where it is too long.
fn set(text: &str) {
    let mut end = text.len().min(CAPACITY - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    TEXT.with(|kept| {
        // SAFETY: only this thread sees the array, and no reference to it is kept.
        let kept = unsafe { &mut *kept.get() };
        kept.fill(0);
        for (to, from) in kept.iter_mut().zip(text.bytes().take(end)) {
            *to = if from < b' ' { b' ' } else { from };
        }
    });
}

/// The kept text.
pub(super) fn get() -> *const c_char {
    TEXT.with(|kept| kept.get().cast())
}
