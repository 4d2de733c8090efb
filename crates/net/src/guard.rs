//! Guard of threads that the process cannot run without.

use std::fmt::Display;

/// Aborts the process when it is dropped by a panic, after logging the thread's name: the supervisor restarts
/// the process, which without the thread would stay up and serve none of its connections.
#[derive(Debug)]
pub struct AbortOnPanic<T: Display>(pub T);

impl<T: Display> Drop for AbortOnPanic<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(
                "{} has panicked; the process cannot continue without it",
                self.0
            );
            std::process::abort();
        }
    }
}
