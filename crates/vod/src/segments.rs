//! What an MP4 file has over HLS: its playlist, the initialization segment, and segments that are made of its samples.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use container::mp4_file::index::{Index, Packaged, Purpose};

use crate::address::Resource;
use crate::body::Body;
use crate::folder::Opened;
use crate::indexes::Found;
use crate::{Served, playlist};

/// The media type of segments.
const SEGMENT_TYPE: &str = "video/mp4";

/// A resource over HLS.
pub(crate) struct Piece {
    pub(crate) media_type: &'static str,
    pub(crate) body: Body,
}

/// Reads the index of a file for its segments, if it has one.
///
/// # Errors
/// When the disk does not give it.
pub(crate) async fn index(served: &Served, opened: &Opened) -> io::Result<Found> {
    let wanted = (opened.tag.as_str(), Purpose::Segments);
    let file = (&opened.file, opened.length);
    served.indexes.of(wanted, file, &served.reads).await
}

/// A resource of a file; `None` if it has no such segment.
pub(crate) fn piece(
    (index, resource): (&Index, Resource),
    (name, query): (&str, &str),
    (served, opened): (&Served, &Opened),
) -> Option<Piece> {
    let (media_type, body) = match resource {
        Resource::File => return None,
        Resource::Playlist => {
            let text = playlist::write(name, &index.segments(), query);
            (playlist::MEDIA_TYPE, Body::of(text))
        }
        Resource::Init => {
            let bytes = Bytes::copy_from_slice(index.init());
            (SEGMENT_TYPE, Body::of(bytes))
        }
        Resource::Segment(number) => {
            let Packaged { head, ranges } = index.packaged(number)?;
            let source = (Arc::clone(&opened.file), Arc::clone(&served.reads));
            let body = Body::of(head).followed_by(source, ranges);
            (SEGMENT_TYPE, body)
        }
    };
    Some(Piece { media_type, body })
}
