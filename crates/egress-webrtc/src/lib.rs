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
//! * [`agree()`] finds the tracks of a stream that an offer can receive, and their formats.
//! * [`packagers::rtp::packager`] makes the RTP lane. Each unit is a frame, stored as unencrypted packets.
//! * [`Viewers`] serves the viewers of one worker thread of the WebRTC port: it follows lanes and seals each packet straight
//!   from the log into the send buffer.
//!
//! All viewers of a stream receive the same packets except for the key, the payload type and the sequence number. Each viewer's
//! own start and skips are subtracted from the sequence number, so every viewer sees contiguous numbers from its first packet
//! on, whenever it joined and wherever it skipped to.

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
pub use viewers::{ViewerTicket, Viewers};
