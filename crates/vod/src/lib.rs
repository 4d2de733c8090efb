//! Files on demand: over HTTP, and as media for players over RTMP.
//!
//! ```text
//!  path ─► Files::find ─► Address ─► (the gate) ─► answer() ─► folder: openat2 ─► conditions, range ─► Answer
//!                                                                                                       │
//!                                          client ◄── 64 KiB ◄── Body ◄── windows ◄── reads: threads ◄──┘
//! ```
//!
//! * A [`Files`] owns folders, each under a name; a file's address is its folder's name and its own. There are no
//!   listings.
//! * The kernel resolves a name below its folder; hidden files, and anything outside, do not exist.
//! * Files are read on separate threads, one window at a time, as their clients take them; the threads of live
//!   listeners never read files. Threads and the memory of windows are bounded for each folder, so that a disk that
//!   hangs delays only its own files.
//!
//! * MP4 files also have an HLS playlist, `FILE/index.m3u8`. The segments of a plain file are made from its samples on
//!   request; those of a fragmented file are ranges of it. Nothing is written to disk.
//! * The kernel sends pages from its page cache to a plain socket, from one thread for each folder: that is a
//!   [`Transfer`] instead of a [`Body`].
//! * After its first ten seconds, a file with a known bit rate is sent no faster than twice that rate.
//! * An MP3 or AAC file carries its title in between for players that request titles (ICY), as on a radio stream.
//! * A [`Film`] is an MP4 or FLV file as items, from any keyframe, for one player.
//!
//! The [`Past`] is the counterpart for recordings: it finds them by their identifiers, also while they grow, and joins
//! them to play a stream from a given moment on.
//!
//! The server's pages parse a path into an [`Address`], consult the gate about its [folder](Address::folder) and call
//! [`answer()`]; players over RTMP call [`Files::film`].

mod address;
mod answer;
mod body;
mod counts;
mod film;
mod folder;
#[cfg(fuzzing)]
pub mod fuzzing;
mod indexes;
mod media_file;
mod media_type;
mod pace;
mod past;
mod patches;
mod playlist;
mod radio;
mod range;
mod reads;
mod resume;
mod segments;
mod sender;
mod text;
mod titled;
mod transfer;

use std::path::PathBuf;
use std::sync::Arc;

use base::Labelled;
use base::holdings::Holdings;
use media::StreamName;

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

/// Folders that are served; [`find`](Self::find) parses an address, and [`answer()`] serves it.
pub struct Files {
    folders: Vec<Arc<Served>>,
    requests: Labelled<Outcome>,
}

/// A folder that is served.
#[derive(Debug)]
struct Served {
    /// Prefix of its files' addresses, and the name that the gate decides about.
    name: StreamName,
    folder: Folder,
    reads: Arc<Reads>,
    indexes: Indexes,
}

base::debug!(Files {});

impl Files {
    /// Serves folders under names, each given once. The memory in use is counted in `holdings`.
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

    /// Returns the totals for the metrics.
    pub fn sums(&self) -> Sums {
        let reads = self.folders.iter().map(|served| &served.reads);
        Sums {
            requests: self.requests.all(),
            bytes: reads.clone().map(|reads| reads.bytes.value()).sum(),
            late_reads: reads.map(|reads| reads.late.value()).sum(),
        }
    }
}
