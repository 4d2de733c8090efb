//! The core of the relay: a stream is a log, a listener is a socket and an offset.
//!
//! ```text
//!  Publisher ──items──► Stream ──► Lane: Packager ──units──► Log ◄──offset── Worker's listener
//!                         │                                    ◄──offset── LogReader
//!                         └──► Lane: …
//! ```
//!
//! * [`Registry`] owns all streams; [`Publisher`] writes one epoch of a stream.
//! * A lane is one wire format of one stream. It opens with its first listener, and its [`Packager`] comes from the
//!   caller, so the core knows no format.
//! * Code that needs the samples themselves reads a [`Tap`]; what it produces returns to the same stream as its derived
//!   track ([`Stream::derive`]), for the lanes that take it.
//! * [`Fanout`] owns the workers: threads that own plain sockets ([`Fanout::attach`]); anything else follows a lane
//!   through a [`LogReader`] ([`Fanout::follow`]). A thread that serves many listeners by itself has a
//!   [`ListenerHandle`] for each ([`Fanout::handle`]), a [`Follower`] for each lane, and [`Books`] of its own
//!   ([`Fanout::open_books`]).
//! * A lane made of segments has an index and is read by ranges ([`Stream::ranges`]). A reader that must not lose
//!   anything is an [`ArchiveReader`] ([`Stream::archive`]). Neither counts as a listener.
//! * A listener of a recording follows no lane: a [`Guest`] is its entry in the books.
//! * A listener may send while it listens; its [`Conversation`] replies.
//! * A listener of any protocol joins through [`join()`]: permission, stream, tracks; the result opens lanes. The
//!   registry's [`Origin`] may fetch streams that are not on this server.
//! * Changes are reported to readers of [`events`]. Code that runs one task per stream uses [`StreamTasks`].
//! * No publisher and no listener is attached without an [`Authorized`](gate::Authorized) value from the [`gate`].
//!
//! The laws of the data plane hold here: per listener and visit no allocation, no lock, no look-up and one send; one
//! owner for each piece of state; a bound for each loop, queue and buffer.

mod archive;
mod blocks;
pub mod books;
mod checkup;
mod clock;
mod conversation;
mod cursor;
mod directory;
pub mod events;
mod fanout;
mod follower;
mod format;
pub mod gate;
mod guest;
mod handle;
mod index;
mod join;
mod keyframe;
mod lane;
mod listener;
mod origin;
mod packager;
mod placement;
mod policy;
#[cfg(any(test, feature = "testing"))]
pub mod probe;
mod ranges;
mod reader;
mod readers_window;
mod registry;
mod retention;
pub mod stats;
mod stream;
mod stream_tasks;
mod takeover;
mod task_bells;
#[cfg(feature = "testing")]
pub mod testing;
mod worker;

pub use archive::{ARCHIVE_BYTES_MAX, ArchiveReader, Archived, AtEnd, Lost};
pub use blocks::{BLOCK_MAX, BLOCKS_MAX, TooManyBlocks};
pub use books::{Books, Plane};
pub use conversation::{Conversation, Heard, Released};
pub use cursor::Reason;
pub use directory::{Departed, Directory, ListenerRecord, Permit};
pub use fanout::{AttachRefused, Config, Fanout, NewListener};
pub use follower::{Follower, Judgement, LaneUnit};
pub use format::{Format, LaneId, Protocol};
pub use guest::Guest;
pub use handle::ListenerHandle;
pub use index::{
    LaneIndex, ListedPart, Part, PartState, Segment, SegmentStart, Segmentation, TitleChange,
};
pub use join::{
    Choice, Introduction, JoinRefused, Joined, Presence, Subscription, Waits, Wish, join,
};
pub use lane::LaneGuard;
pub use listener::{Departure, ListenerId, ListenerReport};
pub use log::{Entry, Lead, Preamble};
pub use origin::{Expected, Located, Origin, UNKNOWN_KEPT};
pub use packager::{LaneSink, Packager};
pub use policy::{BURST_MARGIN, BURST_SPAN_MAX, Class, Policy};
pub use ranges::RangeReader;
pub use reader::LogReader;
pub use registry::{Registry, Rules, STREAMS_MAX};
pub use retention::{LIVE_BYTES_MAX, Retention};
pub use stream::{
    Derivation, DerivedOffer, DerivedWriter, Deriver, EpochOver, EpochWatch, Follows, Info,
    Keyframes, LaneRefused, PLAYED_MAX, Phase, PictureOrder, Played, Publisher, RENDITIONS_MAX,
    Rate, RenditionRefused, Settings, Source, Spool, Spooled, Stream, Tap, Tapped,
};
pub use stream_tasks::{StreamChange, StreamTasks};
pub use takeover::{PublishRefused, STALLED_AFTER, Takeover};
