//! FLV from the middle: `?start=BYTES`, as nginx and lighttpd answer it, for players that seek by the list of keyframes
//! in the file's metadata.
//!
//! The answer is a file of its own: header, metadata and codec headers, then the tags from that byte on.

use std::fs::File;
use std::io;

use crate::film;

/// The name of the parameter.
const START: &str = "start=";

/// Where a query wants a file to begin.
pub(crate) fn start(query: &str) -> Option<u64> {
    let mut pairs = query.split('&');
    let start = pairs.find_map(|pair| pair.strip_prefix(START))?;
    start.parse().ok()
}

/// What comes before the tags from that byte on. `None` if no tag of the file begins there, or if these are all: then
/// the file is sent as it is. Blocks.
pub(crate) fn head(file: &File, length: u64, start: u64) -> io::Result<Option<Vec<u8>>> {
    if film::tag_at(file, length, start)?.is_none() {
        return Ok(None);
    }
    match film::head(file, length) {
        Ok(head) => Ok((start > head.end).then_some(head.bytes)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error),
    }
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
