//! FLV from the middle: `?start=BYTES`, as nginx and lighttpd serve it, for players that seek by the list of keyframes
//! in the file's metadata.
//!
//! The answer is a complete file: header, metadata and codec headers, then the tags from that byte on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use container::flv::{FILE_HEAD_BYTES, FileHead, TagHead};
use files::blocking;

use crate::reads::malformed;

/// Name of the query parameter.
const START: &str = "start=";

/// Returns the byte at which a query wants a file to begin.
pub(crate) fn start(query: &str) -> Option<u64> {
    let mut pairs = query.split('&');
    let start = pairs.find_map(|pair| pair.strip_prefix(START))?;
    start.parse().ok()
}

/// Returns the bytes that precede the tags from `start` on. `None` if no tag begins there, or if those are all the
/// tags: the file is then sent unchanged. Blocks.
pub(crate) fn head(file: &File, length: u64, start: u64) -> io::Result<Option<Vec<u8>>> {
    if tag_at(file, length, start)?.is_none() {
        return Ok(None);
    }
    match file_head(file, length) {
        Ok(head) => Ok((start > head.end).then_some(head.bytes)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error),
    }
}

/// Parses the head. Blocks.
fn file_head(file: &File, length: u64) -> io::Result<FileHead> {
    let bytes = blocking::read(file, 0..length.min(FILE_HEAD_BYTES as u64))?;
    FileHead::read(&bytes).map_err(malformed)
}

/// Returns the tag that begins at a position, if one does. Blocks.
fn tag_at(file: &File, length: u64, at: u64) -> io::Result<Option<TagHead>> {
    let read = |at: u64, bytes: &mut [u8]| {
        let end = at.saturating_add(bytes.len() as u64);
        match end <= length {
            true => file.read_exact_at(bytes, at).map(|()| true),
            false => Ok(false),
        }
    };
    let (mut head, mut trailer) = ([0; 11], [0; 4]);
    if !read(at, &mut head)? {
        return Ok(None);
    }
    let Some(tag) = TagHead::parse(&head) else {
        return Ok(None);
    };
    let is_whole = read(at + tag.bytes() - 4, &mut trailer)? && tag.is_closed_by(trailer);
    Ok(is_whole.then_some(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_where_to_begin() {
        for (query, expected) in [
            ("start=4711", Some(4_711)),
            ("key=k&start=0", Some(0)),
            ("start=", None),
            ("start=-5", None),
            ("start=5.5", None),
            ("restart=5", None),
            ("", None),
        ] {
            assert_eq!(start(query), expected, "{query}");
        }
    }
}
