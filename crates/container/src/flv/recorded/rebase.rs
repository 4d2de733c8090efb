//! Rebasing of tags for a file, so that times begin at zero.

use super::metadata::{self, Facts};
use crate::flv::{FILE_HEADER_BYTES, TAG_HEADER_BYTES, TAG_SCRIPT, TAG_TRAILER_BYTES, TagHead};

/// Mask of timestamps, which are signed and wrap after 24.8 days.
const TIMESTAMP_MASK: u32 = 0x7FFF_FFFF;

/// Half of the timestamp range: a time that far ahead counts as one before.
const HALF: u32 = TIMESTAMP_MASK / 2 + 1;

/// Time shift of one file: the lane's time at which the file begins, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Rebase(u32);

impl Rebase {
    /// Begins a file at the first tag of `first`; `preamble` is the data that a lane's joiner is sent first. Returns
    /// the beginning of the file as well. `None` if they are not FLV.
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

    /// Returns the decoder configuration in a lane's preamble: media whose preambles agree in it may share a file.
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

/// Returns the whole tags, each with its trailing size.
fn whole_tags(mut tags: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (tag, rest) = tags.split_at(whole(tags)?.bytes() as usize);
        tags = rest;
        Some(tag)
    })
}

/// Returns the head of the tag at the start of `tags`, if the whole tag is there.
fn whole(tags: &[u8]) -> Option<TagHead> {
    let head = TagHead::read(tags.first_chunk()?);
    (head.bytes() <= tags.len() as u64).then_some(head)
}
