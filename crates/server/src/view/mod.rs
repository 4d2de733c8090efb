//! What the API, the pages, the status document, events and metrics say of a stream: one definition of each
//! figure and name.

mod stream;
mod track;

pub(crate) use self::stream::{State, StreamView};
pub(crate) use self::track::TrackView;
