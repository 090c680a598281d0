//! The threads of a model: a parallel loop is cut into one chunk a thread, and the calling thread works too.
//!
//! Several runs may share one pool: each posts a job, and workers take chunks of whichever job is in front. A run never
//! waits for a worker to start, since its own thread takes every chunk that no worker took.

use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::thread::{ThreadState, with_state};

/// The body of a parallel loop: does the part `[lo, hi)`.
pub type Task = unsafe extern "C-unwind" fn(env: *mut c_void, lo: i64, hi: i64);

/// The most threads that can be asked for.
pub const MAX_THREADS: usize = 1024;

/// How often an idle thread looks for work before it sleeps: some tens of microseconds, the gap between two kernels.
const SPINS: usize = 2000;

/// Threads that wait for parallel loops.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Jobs in the queue; read without the lock while spinning.
    posted: AtomicUsize,
}

struct Queue {
    jobs: VecDeque<Arc<Job>>,
    stop: bool,
}

struct Job {
    task: Task,
    env: *mut c_void,
    n: i64,
    chunks: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    failure: Mutex<Option<Box<dyn Any + Send>>>,
    /// Tells the run that all chunks are done.
    finished: Condvar,
}

// SAFETY: `env` is only handed to `task`, which the program declares fit to run on several threads.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Pool {
    /// A pool in which a loop runs on `threads` threads, the calling one among them.
    pub fn new(threads: usize) -> Result<Pool> {
        if threads == 0 || threads > MAX_THREADS {
            return Err(Error::Argument(format!("threads must be 1..{MAX_THREADS}, found {threads}")));
        }
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue { jobs: VecDeque::new(), stop: false }),
            wake: Condvar::new(),
            posted: AtomicUsize::new(0),
        });
        let mut pool = Pool { shared, workers: Vec::with_capacity(threads - 1) };
        for _ in 1..threads {
            let worker = Worker::start(Arc::clone(&pool.shared))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Threads of a loop, the calling one among them.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `task` over `[0, n)` and returns when all is done. A failure of any part unwinds from here.
    ///
    /// # Safety
    /// `task` may be called with `env` and disjoint parts of `[0, n)` on several threads at a time.
    pub unsafe fn run(&self, task: Task, env: *mut c_void, n: i64) {
        let chunks = usize::try_from(n).unwrap_or(0).min(self.threads());
        if chunks <= 1 {
            // SAFETY: the caller's promise.
            unsafe { task(env, 0, n) };
            return;
        }
        let job = Arc::new(Job {
            task,
            env,
            n,
            chunks,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            failure: Mutex::new(None),
            finished: Condvar::new(),
        });
        self.shared.post(&job);
        job.work();
        self.shared.withdraw(&job);
        job.wait();
        if let Some(payload) = lock(&job.failure).take() {
            resume_unwind(payload);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.queue).stop = true;
        self.shared.wake.notify_all();
        self.workers.drain(..).for_each(Worker::join);
    }
}

impl Shared {
    fn post(&self, job: &Arc<Job>) {
        lock(&self.queue).jobs.push_back(Arc::clone(job));
        self.posted.fetch_add(1, Ordering::Release);
        self.wake.notify_all();
    }

    fn withdraw(&self, job: &Arc<Job>) {
        lock(&self.queue).jobs.retain(|other| !Arc::ptr_eq(other, job));
        self.posted.fetch_sub(1, Ordering::Release);
    }

    /// The next job with work left; nothing when the pool ends.
    fn next(&self) -> Option<Arc<Job>> {
        for _ in 0..SPINS {
            if self.posted.load(Ordering::Acquire) > 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut queue = lock(&self.queue);
        loop {
            if queue.stop {
                return None;
            }
            if let Some(job) = queue.jobs.iter().find(|job| job.has_work()) {
                return Some(Arc::clone(job));
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Job {
    fn has_work(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.chunks
    }

    /// Does chunks until none is left.
    fn work(&self) {
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= self.chunks {
                return;
            }
            let (lo, hi) = bounds(self.n, self.chunks, chunk);
            // SAFETY: each chunk is taken once, and the promise of `Pool::run` holds until all are done.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| unsafe { (self.task)(self.env, lo, hi) })) {
                lock(&self.failure).get_or_insert(payload);
            }
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.chunks {
                // Under the lock, so that the run either sees the count or waits for this.
                let _failure = lock(&self.failure);
                self.finished.notify_one();
            }
        }
    }

    /// Waits until every chunk is done.
    fn wait(&self) {
        for _ in 0..SPINS {
            if self.is_done() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut failure = lock(&self.failure);
        while !self.is_done() {
            failure = self.finished.wait(failure).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.chunks
    }
}

/// A thread of the pool. Made without `std::thread`, which leaves something to drop in the thread that starts another:
/// that would keep the library loaded until that thread ends.
struct Worker(libc::pthread_t);

impl Worker {
    fn start(shared: Arc<Shared>) -> Result<Worker> {
        let argument = Arc::into_raw(shared).cast_mut().cast::<c_void>();
        let mut thread = 0;
        // SAFETY: `work` takes the argument over.
        let status = unsafe { libc::pthread_create(&mut thread, std::ptr::null(), work, argument) };
        if status == 0 {
            return Ok(Worker(thread));
        }
        // SAFETY: no thread took the argument over.
        drop(unsafe { Arc::from_raw(argument.cast::<Shared>()) });
        let cause = std::io::Error::from_raw_os_error(status);
        Err(Error::Unsupported(format!("cannot start a thread: {cause}")))
    }

    fn join(self) {
        // SAFETY: the thread was started joinable and is joined once.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }
}

/// The life of a worker.
extern "C" fn work(argument: *mut c_void) -> *mut c_void {
    // SAFETY: what `Worker::start` made of an Arc.
    let shared = unsafe { Arc::from_raw(argument.cast_const().cast::<Shared>()) };
    let state = ThreadState::new(None);
    with_state(&state, || {
        while let Some(job) = shared.next() {
            job.work();
        }
    });
    std::ptr::null_mut()
}

/// Chunk `i` of `[0, n)` cut into `chunks` parts that differ by at most one.
fn bounds(n: i64, chunks: usize, i: usize) -> (i64, i64) {
    let (chunks, i) = (chunks as i64, i as i64);
    let (part, rest) = (n / chunks, n % chunks);
    let lo = i * part + i.min(rest);
    (lo, lo + part + i64::from(i < rest))
}

/// Locks; a thread that panicked under the lock left nothing half done, since no lock here is held over foreign code.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI64;

    use super::*;

    unsafe extern "C-unwind" fn count(env: *mut c_void, lo: i64, hi: i64) {
        // SAFETY: the tests pass an AtomicI64 that outlives the loop.
        let sum = unsafe { &*env.cast::<AtomicI64>() };
        sum.fetch_add((lo..hi).sum(), Ordering::Relaxed);
    }

    unsafe extern "C-unwind" fn fail_late(_env: *mut c_void, _lo: i64, hi: i64) {
        if hi == 100 {
            Error::Argument("part failed".into()).unwind();
        }
    }

    #[test]
    fn parts_cover_the_range() {
        for (n, chunks) in [(10, 3), (3, 3), (7, 2), (i64::MAX, 5)] {
            let mut at = 0;
            for i in 0..chunks {
                let (lo, hi) = bounds(n, chunks, i);
                assert_eq!(lo, at);
                at = hi;
            }
            assert_eq!(at, n);
        }
    }

    #[test]
    fn loops_from_several_threads() {
        let pool = Pool::new(3).expect("threads");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let sum = AtomicI64::new(0);
                        // SAFETY: `count` adds atomically to `sum`, which outlives the call.
                        unsafe { pool.run(count, std::ptr::from_ref(&sum).cast_mut().cast(), 100) };
                        assert_eq!(sum.load(Ordering::Relaxed), 4950);
                    }
                });
            }
        });
    }

    #[test]
    fn a_failing_part_fails_the_loop() {
        let pool = Pool::new(2).expect("threads");
        for _ in 0..50 {
            let caught = crate::error::catch(|| {
                // SAFETY: `fail_late` touches nothing.
                unsafe { pool.run(fail_late, std::ptr::null_mut(), 100) };
                Ok(())
            });
            assert!(matches!(caught, Err(Error::Argument(_))));
        }
    }

    #[test]
    fn thread_counts_are_checked() {
        assert!(Pool::new(0).is_err());
        assert!(Pool::new(MAX_THREADS + 1).is_err());
    }
}
