//! Tags for a file: from zero on.

use super::metadata::{self, Facts};
use crate::flv::{FILE_HEADER_BYTES, TAG_HEADER_BYTES, TAG_SCRIPT, TAG_TRAILER_BYTES};

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
        let rebase = Self(time(first)?);
        let (header, mut rest) = preamble.split_at_checked(FILE_HEADER_BYTES)?;
        if !header.starts_with(b"FLV") {
            return None;
        }
        let (mut own, mut headers) = (None, Vec::new());
        while let Some(bytes) = whole(rest) {
            let (tag, next) = rest.split_at(bytes);
            match tag[0] {
                TAG_SCRIPT => own = Some(&tag[TAG_HEADER_BYTES..bytes - TAG_TRAILER_BYTES]),
                _ => headers.push(tag),
            }
            rest = next;
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
        while let (Some(bytes), Some(at)) = (whole(tags), time(tags)) {
            let (tag, rest) = tags.split_at_mut(bytes);
            let since = at.wrapping_sub(self.0) & TIMESTAMP_MASK;
            let since = if since >= HALF { 0 } else { since };
            let [extended, lower @ ..] = since.to_be_bytes();
            tag[4..7].copy_from_slice(&lower);
            tag[7] = extended;
            tags = rest;
        }
    }

    /// What decoders are told in a lane's preamble: files whose preambles agree in it may be one.
    pub fn codecs(preamble: &[u8]) -> Vec<u8> {
        let mut rest = preamble.get(FILE_HEADER_BYTES..).unwrap_or_default();
        let mut codecs = Vec::new();
        while let Some(bytes) = whole(rest) {
            let (tag, next) = rest.split_at(bytes);
            if tag[0] != TAG_SCRIPT {
                codecs.push(tag[0]);
                codecs.extend_from_slice(&tag[TAG_HEADER_BYTES..]);
            }
            rest = next;
        }
        codecs
    }
}

/// The time of the tag that `tag` begins with.
fn time(tag: &[u8]) -> Option<u32> {
    let [high, middle, low, extended] = *tag.get(4..)?.first_chunk()?;
    Some(u32::from_be_bytes([extended, high, middle, low]) & TIMESTAMP_MASK)
}

/// Bytes of the tag that `tags` begins with, if all of it is there.
fn whole(tags: &[u8]) -> Option<usize> {
    let [_, high, middle, low] = *tags.first_chunk()?;
    let body = u32::from_be_bytes([0, high, middle, low]) as usize;
    let bytes = TAG_HEADER_BYTES + body + TAG_TRAILER_BYTES;
    (bytes <= tags.len()).then_some(bytes)
}
