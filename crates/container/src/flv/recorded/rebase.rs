//! Tags for a file: from zero on.

use super::metadata::{self, Facts};
use crate::flv::{FILE_HEADER_BYTES, TAG_HEADER_BYTES, TAG_SCRIPT, TAG_TRAILER_BYTES, TagHead};

/// Timestamps are signed and wrap after 24.8 days.
const TIMESTAMP_MASK: u32 = 0x7FFF_FFFF;

/// Half of that: a time that far ahead is one before.
const HALF: u32 = TIMESTAMP_MASK / 2 + 1;

/// See the module's description. It knows when its file begins, in milliseconds of the lane.
#[derive(Clone, Copy, Debug)]
pub struct Rebase(u32);

impl Rebase {
    /// Of a file whose first tag is at the front of `first`, behind what a lane's joiner is given first; and the file's
    /// beginning. `None` if they are not of FLV.
    pub fn begin(preamble: &[u8], first: &[u8]) -> Option<(Self, Vec<u8>)> {
        let rebase = Self(TagHead::read(first.first_chunk()?).millis);
        let (header, rest) = preamble.split_at_checked(FILE_HEADER_BYTES)?;
        if !header.starts_with(b"FLV") {
            return None;
        }
        let (mut own, mut headers) = (None, Vec::new());
        for tag in whole_tags(rest) {
            match tag[0] {
                TAG_SCRIPT => own = Some(&tag[TAG_HEADER_BYTES..tag.len() - TAG_TRAILER_BYTES]),
                _ => headers.push(tag),
            }
        }
        let body = metadata::body(&Facts::default(), own);
        let [_, size @ ..] = (body.len() as u32).to_be_bytes();
        let mut out = header.to_vec();
        out.push(TAG_SCRIPT);
        out.extend(size);
        out.extend([0; TAG_HEADER_BYTES - 4]);
        out.extend_from_slice(&body);
        out.extend(((TAG_HEADER_BYTES + body.len()) as u32).to_be_bytes());
        for tag in headers {
            let begin = out.len();
            out.extend_from_slice(tag);
            rebase.tags(&mut out[begin..]);
        }
        Some((rebase, out))
    }

    /// Moves whole tags to the file's own times.
    pub fn tags(&self, mut tags: &mut [u8]) {
        while let Some(head) = whole(tags) {
            let (tag, rest) = tags.split_at_mut(head.bytes() as usize);
            let since = head.millis.wrapping_sub(self.0) & TIMESTAMP_MASK;
            let since = if since >= HALF { 0 } else { since };
            let [extended, lower @ ..] = since.to_be_bytes();
            tag[4..7].copy_from_slice(&lower);
            tag[7] = extended;
            tags = rest;
        }
    }

    /// What decoders are told in a lane's preamble: files whose preambles agree in it may be one.
    pub fn codecs(preamble: &[u8]) -> Vec<u8> {
        let tags = preamble.get(FILE_HEADER_BYTES..).unwrap_or_default();
        let mut codecs = Vec::new();
        for tag in whole_tags(tags).filter(|tag| tag[0] != TAG_SCRIPT) {
            codecs.push(tag[0]);
            codecs.extend_from_slice(&tag[TAG_HEADER_BYTES..]);
        }
        codecs
    }
}

/// The tags that are there as a whole, each with its size behind it.
fn whole_tags(mut tags: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (tag, rest) = tags.split_at(whole(tags)?.bytes() as usize);
        tags = rest;
        Some(tag)
    })
}

/// The head of the tag that `tags` begins with, if all of it is there.
fn whole(tags: &[u8]) -> Option<TagHead> {
    let head = TagHead::read(tags.first_chunk()?);
    (head.bytes() <= tags.len() as u64).then_some(head)
}
