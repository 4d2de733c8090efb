//! Position of a listener in a worker.
//!
//! The worker's slab has a [`Position`] for each socket, under the slot that the back-end's events name: an event finds
//! its listener without a look-up by hash, and an event of a socket long closed finds none.

/// Location of a listener: lane, subgroup, index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Position {
    pub(super) lane: u32,
    pub(super) group: u32,
    pub(super) index: u32,
}
