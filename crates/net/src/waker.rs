//! Waker that ends a back-end's sleep from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// A cheap handle that wakes one worker. Waking an awake worker makes its next sleep short, so a wake-up is
/// never lost.
#[derive(Clone, Debug)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    /// Creates a waker over a new eventfd.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Ends the current or the next sleep.
    pub fn wake(&self) {
        // The only failure of this write is a counter at its maximum, which wakes just as well.
        rustix::io::write(&self.fd, &1_u64.to_ne_bytes()).ok();
    }

    /// Clears the wake-ups so far.
    pub(crate) fn drain(&self) {
        let mut count = [0_u8; 8];
        rustix::io::read(&self.fd, &mut count).ok();
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
