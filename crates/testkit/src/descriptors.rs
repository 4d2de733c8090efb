//! Descriptor limit of a test.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Ensures that this process, and its children, may have `count` descriptors.
///
/// # Panics
/// Panics if the hard limit of the system is lower.
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
