//! State shared by all groups of a worker: positions of viewers, buffers for packets and reports, and counters.

use std::sync::Arc;
use std::time::Duration;

use fanout::Books;
use webrtc::mux::Handle;

use super::viewer::PACKET_BYTES_MAX;
use crate::clock::Wall;
use crate::stats::Counters;

/// CPU time of one visit: sealing a frame, the send, the kernel's path to the network card, and a share of the packets that
/// viewers send back. With 300 viewers a visit takes 9 µs.
const VISIT_COST: Duration = Duration::from_micros(10);

/// State shared by all groups of a worker; a group receives it with each call.
pub(super) struct GroupContext {
    /// Share of a core that may be spent on audio before audio waits for video frames, or for more audio.
    pub(super) target_utilisation: f64,
    pub(super) wall: Wall,
    /// Indexed by the session's slot.
    positions: Vec<Option<ViewerPosition>>,
    pub(super) scratch: Box<[u8; PACKET_BYTES_MAX]>,
    pub(super) compound: Vec<u8>,
    /// Number of viewers.
    pub(super) viewers: u32,
    /// Books of this worker.
    pub(super) books: Arc<Books>,
    pub(super) counters: Counters,
    /// Visits that found the socket full since the last successful one.
    pub(super) blocked_in_a_row: u32,
}

/// Position of a session's viewer.
#[derive(Clone, Copy, Debug)]
struct ViewerPosition {
    generation: u32,
    group: u32,
    viewer: u32,
}

impl GroupContext {
    /// Creates the context of a worker without viewers; visits are recorded in `books`.
    pub(super) fn new(target_utilisation: f64, books: Arc<Books>) -> Self {
        Self {
            target_utilisation,
            wall: Wall::now(),
            positions: Vec::new(),
            scratch: Box::new([0; PACKET_BYTES_MAX]),
            compound: Vec::new(),
            viewers: 0,
            books,
            counters: Counters::default(),
            blocked_in_a_row: 0,
        }
    }

    pub(super) fn position(&self, session: Handle) -> Option<(usize, usize)> {
        let position = (*self.positions.get(session.slot as usize)?)?;
        let is_it = position.generation == session.generation;
        is_it.then_some((position.group as usize, position.viewer as usize))
    }

    /// Sets the group of a session's viewer, and the viewer's index there.
    pub(super) fn set(&mut self, session: Handle, position: Option<(u32, usize)>) {
        let position = position.map(|(group, viewer)| ViewerPosition {
            generation: session.generation,
            group,
            viewer: viewer as u32,
        });
        let slot = session.slot as usize;
        if slot >= self.positions.len() {
            self.positions.resize(slot + 1, None);
        }
        self.positions[slot] = position;
    }

    /// Returns the CPU time of visiting all viewers once.
    pub(super) fn turn_cost(&self) -> Duration {
        VISIT_COST.saturating_mul(self.viewers)
    }
}
