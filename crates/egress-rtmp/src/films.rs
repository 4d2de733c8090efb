//! Files on demand, as their players need them. The server knows where they are, and implements these traits.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use ::rtmp::server::FileKind;
use media::{Item, StreamName};

/// Future of data read from a disk.
pub type Coming<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// All files that can be played.
pub trait Films: Send + Sync {
    /// Returns the folder in which a file of this name would be, for the gate's decision; `None` if the name
    /// lies in none.
    fn folder(&self, name: &str) -> Option<StreamName>;

    /// Opens a file; `None` if there is none of that name.
    fn open<'a>(
        &'a self,
        name: &'a str,
        kind: Option<FileKind>,
    ) -> Coming<'a, Option<Box<dyn Film>>>;
}

/// An open file for one player. It begins at its beginning.
pub trait Film: Send {
    /// Returns the playing time.
    fn length(&self) -> Duration;

    /// Returns the items that a player needs first: metadata and tracks.
    fn opening(&self) -> &[Item];

    /// Continues from the last keyframe at or before a time.
    fn seek(&mut self, to: Duration) -> Coming<'_, ()>;

    /// Returns the items that follow, some at once, in bounded memory; none at the end.
    fn next(&mut self) -> Coming<'_, Vec<Item>>;
}
