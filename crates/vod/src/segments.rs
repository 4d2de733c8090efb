//! HLS resources of an MP4 file: its playlist, its initialization segment, and segments made from its samples.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use container::mp4_file::index::{Error, Index, Packaged, Purpose};

use crate::Served;
use crate::address::Resource;
use crate::body::Body;
use crate::folder::Opened;
use crate::indexes::Found;
use crate::playlist::{self, Playlist, Suffix};
use crate::reads::Read;
use crate::text::Text;

/// Media type of segments.
const SEGMENT_TYPE: &str = "video/mp4";

/// HLS resource, ready to be sent.
pub(crate) struct Piece {
    pub(crate) media_type: &'static str,
    pub(crate) body: Body,
}

/// Reason for a missing resource.
pub(crate) enum Absent {
    /// File without segments.
    Segments(Error),
    /// File without this segment.
    Segment,
}

/// Reads the index of a file for its segments, if it has one.
///
/// # Errors
/// If the disk does not deliver it.
pub(crate) async fn index(served: &Served, opened: &Opened) -> io::Result<Found> {
    let wanted = (opened.tag.as_str(), Purpose::Segments);
    let file = (&opened.file, opened.length);
    served.indexes.of(wanted, file, &served.reads).await
}

/// Returns a resource of a file. The addresses in a playlist end with `suffix`.
///
/// # Errors
/// If there is no memory for it.
pub(crate) async fn piece(
    (index, resource): (&Arc<Index>, Resource),
    (name, suffix): (&str, Suffix),
    (served, opened): (&Served, &Opened),
) -> io::Result<Result<Piece, Absent>> {
    let segments = match index.segments() {
        Ok(segments) => segments,
        Err(error) => return Ok(Err(Absent::Segments(error))),
    };
    let (media_type, body) = match resource {
        Resource::File => return Ok(Err(Absent::Segment)),
        Resource::Playlist => {
            let playlist = Playlist::new(name, Arc::clone(segments), suffix);
            // The index contains the list of segments.
            let text = Text::of(playlist, served.reads.list(0)?).await;
            (playlist::MEDIA_TYPE, Body::written(text))
        }
        Resource::Init => {
            let bytes = Bytes::copy_from_slice(index.init());
            (SEGMENT_TYPE, Body::of(bytes))
        }
        Resource::Segment(number) => match packaged(index, number, served).await? {
            Some((head, ranges)) => {
                let source = (Arc::clone(&opened.file), Arc::clone(&served.reads));
                (SEGMENT_TYPE, Body::made(head).followed_by(source, ranges))
            }
            None => return Ok(Err(Absent::Segment)),
        },
    };
    Ok(Ok(Piece { media_type, body }))
}

/// Makes a segment, which may have a hundred thousand samples, on a thread that nobody waits for.
async fn packaged(
    index: &Arc<Index>,
    number: usize,
    served: &Served,
) -> io::Result<Option<(Read, Vec<Range<u64>>)>> {
    let Some(bytes) = index.packaged_memory(number) else {
        return Ok(None);
    };
    let memory = served.reads.room(bytes as u64)?;
    let index = Arc::clone(index);
    let make = move || Ok(index.packaged(number));
    let made = served.reads.make(bytes as u64, make).await?;
    Ok(made.map(|Packaged { head, ranges }| {
        let head = Read {
            bytes: head.into(),
            _memory: memory,
        };
        (head, ranges)
    }))
}
