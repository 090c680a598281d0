//! What a thread knows while it runs a program: its scratch memory and the pool of the run.

use std::cell::{Cell, RefCell};

use crate::error::Result;
use crate::memory::Buffer;
use crate::pool::{Pool, Task};

/// State of a thread that runs (part of) a program.
pub(crate) struct ThreadState<'a> {
    scratch: RefCell<Buffer>,
    /// The pool for parallel loops; none in a worker, whose loops are already parts of one.
    pool: Option<&'a Pool>,
    in_loop: Cell<bool>,
}

thread_local! {
    // No destructor: it would keep the library loaded until the thread ends.
    static STATE: Cell<*const ThreadState<'static>> = const { Cell::new(std::ptr::null()) };
}

impl<'a> ThreadState<'a> {
    pub(crate) fn new(pool: Option<&'a Pool>) -> ThreadState<'a> {
        ThreadState { scratch: RefCell::new(Buffer::empty()), pool, in_loop: Cell::new(false) }
    }

    /// A state that starts with the scratch memory of an earlier one.
    pub(crate) fn with_scratch(pool: &'a Pool, scratch: Buffer) -> ThreadState<'a> {
        ThreadState { scratch: RefCell::new(scratch), pool: Some(pool), in_loop: Cell::new(false) }
    }

    /// Takes the scratch memory out, for a later state.
    pub(crate) fn into_scratch(self) -> Buffer {
        self.scratch.into_inner()
    }

    /// Scratch memory of at least `bytes`; what an earlier call returned is gone.
    pub(crate) fn scratch(&self, bytes: usize) -> Result<*mut u8> {
        let mut scratch = self.scratch.borrow_mut();
        if scratch.bytes() < bytes {
            *scratch = Buffer::empty();
            *scratch = Buffer::new(bytes, "scratch memory of a kernel")?;
        }
        Ok(scratch.as_ptr())
    }

    /// Runs a parallel loop on the threads of the run. A loop in a loop runs on the thread that it is on.
    ///
    /// # Safety
    /// As for [`Pool::run`].
    pub(crate) unsafe fn parallel(&self, task: Task, env: *mut std::ffi::c_void, n: i64) {
        match self.pool {
            Some(pool) if pool.threads() > 1 && !self.in_loop.get() => {
                let _reset = SetFlag::new(&self.in_loop);
                // SAFETY: the caller's promise.
                unsafe { pool.run(task, env, n) };
            }
            // SAFETY: the caller's promise.
            _ => unsafe { task(env, 0, n) },
        }
    }
}

/// Sets a flag until dropped, so that it is reset when a loop unwinds too.
struct SetFlag<'a>(&'a Cell<bool>);

impl<'a> SetFlag<'a> {
    fn new(flag: &'a Cell<bool>) -> Self {
        flag.set(true);
        SetFlag(flag)
    }
}

impl Drop for SetFlag<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Runs `body` with `state` as the state of this thread.
pub(crate) fn with_state<T>(state: &ThreadState<'_>, body: impl FnOnce() -> T) -> T {
    struct Restore(*const ThreadState<'static>);
    impl Drop for Restore {
        fn drop(&mut self) {
            STATE.set(self.0);
        }
    }
    let _restore = Restore(STATE.replace(std::ptr::from_ref(state).cast()));
    body()
}

/// The state that [`with_state`] set; nothing outside of a run.
pub(crate) fn current<T>(body: impl FnOnce(Option<&ThreadState<'_>>) -> T) -> T {
    // SAFETY: `with_state` keeps the state borrowed for as long as the pointer is set.
    body(unsafe { STATE.get().as_ref() })
}
