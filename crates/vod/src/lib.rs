//! Files on demand: over HTTP, and as media for players over RTMP.
//!
//! ```text
//!  path ─► Files::find ─► Address ─► (the gate) ─► answer() ─► folder: openat2 ─► conditions, range ─► Answer
//!                                                                                                       │
//!                                          client ◄── 64 KiB ◄── Body ◄── windows ◄── reads: threads ◄──┘
//! ```
//!
//! * A [`Files`] knows folders by names; a file's address is its folder's name and its own. Nothing is listed.
//! * A name is resolved by the kernel, below its folder; what is hidden or outside does not exist.
//! * Files are read on threads of their own, a window at a time, as their client takes them: never in the threads that
//!   serve live listeners. Threads and the windows' memory are bounded for each folder, so that a disk which hangs
//!   delays its own files alone.
//!
//! * MP4 files have a playlist of HLS as well, `FILE/index.m3u8`. A plain file's segments are made of its samples when
//!   they are requested, a fragmented file's are ranges of it. Nothing is written to disk.
//! * What is in the page cache is sent to a plain socket by the kernel, from one thread for each folder: a [`Transfer`] is
//!   the [`Body`] for that.
//! * A file whose bit rate is known is sent no faster than twice that after the first ten seconds.
//! * An MP3 or AAC file has its title in between for players that ask for titles (ICY), as on a radio stream.
//! * A [`Film`] is an MP4 or FLV file as items, from any keyframe, for one player.
//!
//! The [`Past`] is the same for recordings: by their identifiers, also while they grow, and put together to what a stream
//! was from some moment on.
//!
//! The server's pages find the [`Address`] of a path, ask the gate for its [folder](Address::folder) and call
//! [`answer()`]; its players over RTMP call [`Files::film`].

mod address;
mod answer;
mod body;
mod counts;
mod film;
mod folder;
#[cfg(fuzzing)]
pub mod fuzzing;
mod indexes;
mod media_type;
mod pace;
mod past;
mod patches;
mod playlist;
mod radio;
mod range;
mod ranges;
mod reads;
mod resume;
mod segments;
mod sender;
mod text;
mod titled;
mod transfer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use base::Labelled;
use media::StreamName;
use net::holdings::Holdings;

pub use self::address::Address;
pub use self::answer::{Answer, Request, answer};
pub use self::body::Body;
pub use self::counts::{Outcome, Sums};
pub use self::film::{Film, Kind};
pub use self::past::{Copied, Found, Past, PastAddress, PastRequest, Played, is_past};
pub use self::transfer::{Count, Transfer};

use self::folder::Folder;
use self::indexes::Indexes;
use self::reads::Reads;

/// All folders that are served.
pub struct Files {
    folders: Vec<Arc<Served>>,
    requests: Labelled<Outcome>,
}

/// A folder that is served.
#[derive(Debug)]
struct Served {
    /// What the addresses of its files begin with, and what the gate is asked for.
    name: StreamName,
    folder: Folder,
    reads: Arc<Reads>,
    indexes: Indexes,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.folders.iter().map(|served| &served.name);
        f.debug_list().entries(names).finish()
    }
}

impl Files {
    /// Serves folders under names, each of which is given once. What is held for it is counted in `holdings`.
    pub fn new(
        folders: impl IntoIterator<Item = (StreamName, PathBuf)>,
        holdings: &Arc<Holdings>,
    ) -> Self {
        let folders = folders.into_iter().map(|(name, directory)| {
            Arc::new(Served {
                name,
                folder: Folder::new(directory),
                reads: Arc::new(Reads::new(holdings)),
                indexes: Indexes::new(holdings),
            })
        });
        Self {
            folders: folders.collect(),
            requests: Labelled::default(),
        }
    }

    /// What the metrics tell.
    pub fn sums(&self) -> Sums {
        let reads = self.folders.iter().map(|served| &served.reads);
        Sums {
            requests: self.requests.all(),
            bytes: reads.clone().map(|reads| reads.bytes.value()).sum(),
            late_reads: reads.map(|reads| reads.late.value()).sum(),
        }
    }
}
