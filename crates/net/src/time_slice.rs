//! Request to the kernel to run a thread soon after it wakes.
//!
//! A thread of live media works for some tens of microseconds at a time. On busy cores it would have to wait
//! until the running thread, perhaps a recorder's, has used up its slice, which is milliseconds long; a
//! thread that requests a shorter slice than that one's is run at once (Linux,
//! `Documentation/scheduler/sched-eevdf.rst`). Its share of the core stays unchanged.
//!
//! Called by the threads of `intake`, `fanout` and `webrtc` when they start.

use std::io;
use std::mem::MaybeUninit;

/// Shortest slice that the kernel grants, in nanoseconds.
const SLICE_NS: u64 = 100_000;

/// Makes the kernel run the calling thread soon after it wakes. On failure the thread runs as before.
///
/// Takes Linux 6.12; older kernels ignore the request. A thread whose policy is not the usual one, as an
/// operator may have set it, is left alone.
pub fn request_short() {
    if let Err(error) = try_request_short() {
        tracing::debug!(%error, "the kernel grants no short slices");
    }
}

fn try_request_short() -> io::Result<()> {
    let mut attributes = attributes()?;
    if attributes.sched_policy != libc::SCHED_OTHER.unsigned_abs() {
        return Ok(());
    }
    attributes.sched_runtime = SLICE_NS;
    // SAFETY: it reads as many bytes as `size` states, which the kernel has set to no more than there are.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the scheduling attributes of the calling thread (sched_getattr(2)).
fn attributes() -> io::Result<libc::sched_attr> {
    let mut attributes = MaybeUninit::<libc::sched_attr>::zeroed();
    let size = size_of::<libc::sched_attr>();
    // SAFETY: it writes no more than `size` bytes.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), size, 0) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: made of integers, all of which were set above or by the kernel.
    Ok(unsafe { attributes.assume_init() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_of_a_thread_is_changed() {
        let thread = std::thread::spawn(|| {
            rustix::process::setpriority_process(Some(rustix::thread::gettid()), 5).unwrap();
            let before = attributes().unwrap();
            try_request_short().unwrap();
            (before, attributes().unwrap())
        });
        let (before, after) = thread.join().unwrap();
        assert_eq!((before.sched_nice, after.sched_nice), (5, 5));
        assert_eq!(after.sched_policy, before.sched_policy);
        // Kernels without slices report 0.
        assert!([0, SLICE_NS].contains(&after.sched_runtime));
    }
}
