//! Reader of an FLV byte stream.

use bytes::{Buf, Bytes, BytesMut};
use media::{Item, Script, Timestamp};
use thiserror::Error;

use super::{
    Depacketizer, TAG_AUDIO, TAG_HEADER_BYTES, TAG_SCRIPT, TAG_TRAILER_BYTES, TAG_VIDEO, TagHead,
};

/// Upper bound on the bytes of a tag body: the size limit of a live stream's keyframe.
pub const TAG_BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Upper bound on the bytes of a script tag body that is passed on, as for RTMP. Metadata is held for joiners and
/// copied to each; a longer body is not metadata.
pub const SCRIPT_BODY_BYTES_MAX: usize = 256 * 1024;

/// Upper bound on the bytes of a file header that is skipped; it has had nine bytes since 2008.
const HEADER_BYTES_MAX: usize = 1_024;

/// AMF0 string marker and length, and the name that makes a script tag stream metadata.
pub(super) const ON_METADATA: &[u8] = b"\x02\x00\x0AonMetaData";

/// Reason why a byte stream cannot be read as FLV. Each is the sender's fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum ReadError {
    /// The stream does not begin with the FLV signature.
    #[error("the stream does not begin with the FLV signature")]
    NotFlv,
    /// The file header announces an impossible length.
    #[error("the file header announces {0} bytes")]
    HeaderLength(u32),
    /// A tag is longer than [`TAG_BODY_BYTES_MAX`].
    #[error("a tag announces {0} bytes, more than the {TAG_BODY_BYTES_MAX} accepted")]
    TagTooLong(usize),
}

/// Push reader: takes bytes, however they were cut, and returns items.
///
/// Timestamps are the file's own, in milliseconds from its start.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: BytesMut,
    header_read: bool,
    /// Remaining bytes of a tag that is skipped.
    unwanted_bytes: usize,
    depacketizer: Depacketizer,
}

impl Reader {
    /// Takes `bytes` and appends the items they complete to `out`. After an error the reader is unusable.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) -> Result<(), ReadError> {
        let wanted = self.pass_over(bytes);
        self.buffer.extend_from_slice(wanted);
        if !self.header_read && !self.take_header()? {
            return Ok(());
        }
        while self.take_tag(out)? {}
        Ok(())
    }

    /// Skips the rest of an unwanted tag, and returns the bytes after it.
    fn pass_over<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (unwanted, rest) = bytes.split_at(self.unwanted_bytes.min(bytes.len()));
        self.unwanted_bytes -= unwanted.len();
        rest
    }

    /// Returns the bytes held until their tag is complete.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn take_header(&mut self) -> Result<bool, ReadError> {
        let signature = b"FLV";
        let seen = self.buffer.len().min(signature.len());
        if self.buffer[..seen] != signature[..seen] {
            return Err(ReadError::NotFlv);
        }
        let Some(length) = self.buffer.get(5..9).and_then(|bytes| bytes.first_chunk()) else {
            return Ok(false);
        };
        let announced = u32::from_be_bytes(*length);
        let length = announced as usize;
        if !(9..=HEADER_BYTES_MAX).contains(&length) {
            return Err(ReadError::HeaderLength(announced));
        }
        if self.buffer.len() < length + TAG_TRAILER_BYTES {
            return Ok(false);
        }
        self.buffer.advance(length + TAG_TRAILER_BYTES);
        self.header_read = true;
        Ok(true)
    }

    fn take_tag(&mut self, out: &mut Vec<Item>) -> Result<bool, ReadError> {
        let Some(head) = self.buffer.first_chunk().map(TagHead::read) else {
            return Ok(false);
        };
        let length = head.body_bytes as usize;
        if length > TAG_BODY_BYTES_MAX {
            return Err(ReadError::TagTooLong(length));
        }
        let whole = TAG_HEADER_BYTES + length + TAG_TRAILER_BYTES;
        if head.kind == TAG_SCRIPT && length > SCRIPT_BODY_BYTES_MAX {
            let here = whole.min(self.buffer.len());
            self.buffer.advance(here);
            self.unwanted_bytes = whole - here;
            return Ok(self.unwanted_bytes == 0);
        }
        if self.buffer.len() < whole {
            return Ok(false);
        }
        let at = Timestamp::from_millis(head.millis.into());
        self.buffer.advance(TAG_HEADER_BYTES);
        let body = self.buffer.split_to(length).freeze();
        self.buffer.advance(TAG_TRAILER_BYTES);
        // The upper bits mark reserved use and encrypted bodies, which no player can decode.
        match head.kind {
            TAG_AUDIO => self.depacketizer.audio(at, body, out),
            TAG_VIDEO => self.depacketizer.video(at, body, out),
            // The body is copied, because it is held for long, and may be a small part of its buffer.
            TAG_SCRIPT => out.push(script(at, Bytes::copy_from_slice(&body))),
            _ => {}
        }
        Ok(true)
    }
}

fn script(at: Timestamp, body: Bytes) -> Item {
    let is_metadata = body.starts_with(ON_METADATA);
    let script = Script { at, body };
    if is_metadata {
        Item::Metadata(script)
    } else {
        Item::Script(script)
    }
}
