//! What the API, the pages, the status document, events, webhooks and metrics say of a stream, of a recording and of a
//! track: one definition of each figure and name.

mod recording;
mod stream;
mod track;

pub(crate) use self::recording::{playing, recording};
pub(crate) use self::stream::{State, StreamView};
pub(crate) use self::track::TrackView;
