//! Views of a stream, a recording and a track, shared by the API, the pages, the status document, events, webhooks and metrics:
//! one definition of each figure and name.

mod recording;
mod stream;
mod track;

pub use self::recording::{playing, recording};
pub use self::stream::{State, StreamView};
pub use self::track::TrackView;
