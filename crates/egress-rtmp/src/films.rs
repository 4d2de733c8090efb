//! Files on demand, as their players need them. The server knows where they are, and implements these.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use ::rtmp::server::FileKind;
use media::{Item, StreamName};

/// What comes from a disk.
pub type Coming<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// All files that can be played.
pub trait Films: Send + Sync {
    /// The folder in which a file of this name would be, for which the gate is asked; `None` if it is in none.
    fn folder(&self, name: &str) -> Option<StreamName>;

    /// Opens a file; `None` if there is none of that name.
    fn open<'a>(
        &'a self,
        name: &'a str,
        kind: Option<FileKind>,
    ) -> Coming<'a, Option<Box<dyn Film>>>;
}

/// A file that one player is sent. It begins at its beginning.
pub trait Film: Send {
    /// How long it plays.
    fn length(&self) -> Duration;

    /// What a player needs first: metadata and tracks.
    fn opening(&self) -> &[Item];

    /// Goes on from the last keyframe at or before a time.
    fn seek(&mut self, to: Duration) -> Coming<'_, ()>;

    /// The items that follow, some at once, in bounded memory; none at the end.
    fn next(&mut self) -> Coming<'_, Vec<Item>>;
}
