//! Listeners over WebRTC.
//!
//! ```text
//! offer, tracks ─ agree ─► Agreed ─► the answer                            control plane
//!                            │
//!                            └─ ViewerTicket { agreed, handle } ─┐
//!                                                        ▼ connected
//! samples ─ packager ─► the RTP lane's log ─ Follower ─► Viewers ─ seal ─► ViewerOutbox   a worker
//!           once per stream                              rtcp: NACK, PLI, reports
//! ```
//!
//! * [`agree()`] finds which of a stream's tracks an offer can take, and as what.
//! * [`formats::rtp::packager`] makes the RTP lane: a unit is a frame, as packets in the clear.
//! * [`Viewers`] is what one worker thread of the WebRTC port runs for its viewers: it follows lanes
//!   and seals each packet straight from the log into the send buffer.
//!
//! A stream's packets are the same for all its viewers but for the key, the payload type, and the sequence
//! number, from which each viewer's own start and skips are subtracted: so each viewer sees contiguous
//! numbers from its first packet on, whenever it joined and wherever it skipped to.

mod agree;
mod clock;
mod out;
mod stats;
#[cfg(test)]
mod testing;
mod viewers;

pub use agree::{Agreed, Unplayable, agree};
pub use out::{Sent, ViewerOutbox};
pub use stats::Counters;
pub use viewers::{Rules, ViewerTicket, Viewers};
