//! For threads that the process cannot do without.

use std::fmt::Display;

/// Ends the process when it is dropped by a panic, having said which thread that was: its supervisor starts
/// the process anew, while a process without the thread would live on deaf.
#[derive(Debug)]
pub struct AbortOnPanic<T: Display>(pub T);

impl<T: Display> Drop for AbortOnPanic<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(
                "{} has panicked; the process cannot go on without it",
                self.0
            );
            std::process::abort();
        }
    }
}
