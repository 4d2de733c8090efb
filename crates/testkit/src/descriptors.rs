//! How many descriptors a test may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sees to it that this process, and what it starts, may have so many descriptors.
///
/// # Panics
/// When the system does not grant them: the hard limit is lower.
pub fn need_descriptors(count: u64) {
    let granted = getrlimit(Resource::Nofile);
    if granted.current.is_none_or(|current| current >= count) {
        return;
    }
    let wanted = Rlimit {
        current: Some(count),
        maximum: granted.maximum,
    };
    let raised = setrlimit(Resource::Nofile, wanted);
    assert!(
        raised.is_ok(),
        "this test needs {count} descriptors, and `ulimit -Hn` is {:?}",
        granted.maximum
    );
}
