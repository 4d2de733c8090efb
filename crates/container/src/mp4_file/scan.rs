//! Scan of a file of fragments, box by box, up to the end of its whole part.

use std::ops::Range;

use super::walk::Head;
use super::{Fragment, Init, MOOF_BYTES_MAX, MOOV_BYTES_MAX, PLACEHOLDER_BYTES};

/// Bytes wanted for a box of unknown size: the header of a usual one-second fragment, and that of its media.
const PROBE_BYTES: u64 = 4_096;

/// Bytes of the header after a `moof`, in its longest form.
const MDAT_HEADER_BYTES: u64 = 16;

/// Boxes that may stand between fragments and are ignored.
const PASSED: [&[u8; 4]; 6] = [b"free", b"skip", b"styp", b"sidx", b"emsg", b"prft"];

/// Scan of a file. The caller reads the bytes that it [`wants`](Self::wants) and passes them to [`take`](Self::take),
/// until there are none.
#[derive(Debug, Default)]
pub struct Scan {
    file_bytes: u64,
    /// Offset of the next box; everything before it is whole.
    at: u64,
    /// Bytes needed from there.
    need: u64,
    placeholder: Option<u64>,
    /// Also goes through the fragments of a finalised file.
    sees_through: bool,
    /// Inside the media of a finalised file, after which there are no fragments.
    is_bounded: bool,
    init: Option<Init>,
    /// Outcome, once the scan has ended.
    outcome: Option<Outcome>,
}

/// Part of a file found in the bytes that were read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Found {
    /// Description of the tracks.
    Init(Init),
    /// One whole fragment.
    Fragment(Fragment),
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// A fragmented file. Anything after `whole` is foreign or truncated, and may be removed.
    Fragmented {
        /// End of the last whole fragment, in bytes.
        whole: u64,
    },
    /// A finalised file; nothing needs to be done.
    Finalised {
        /// Offset of its `moov`.
        moov: u64,
    },
    /// No such file, or truncated before its first fragment could begin.
    Nothing,
}

impl Scan {
    /// Creates a scan of a file of `file_bytes` bytes.
    pub fn new(file_bytes: u64) -> Self {
        Self {
            file_bytes,
            need: PROBE_BYTES,
            ..Self::default()
        }
    }

    /// Creates a scan that also finds the fragments of a finalised file, at their original offsets.
    pub(super) fn through(file_bytes: u64) -> Self {
        Self {
            sees_through: true,
            ..Self::new(file_bytes)
        }
    }

    /// Extends the whole part of the file to `file_bytes` bytes.
    pub(super) fn grow(&mut self, file_bytes: u64) {
        if !self.is_bounded {
            self.file_bytes = self.file_bytes.max(file_bytes);
        }
    }

    /// Returns the range of the file to read next, a MiB at most; `None` at its end.
    pub fn wants(&self) -> Option<Range<u64>> {
        let end = self.at.saturating_add(self.need).min(self.file_bytes);
        (self.outcome.is_none() && self.at < end).then_some(self.at..end)
    }

    /// Takes the wanted bytes, and returns their part of the file once they suffice. Fewer bytes than wanted mean the
    /// end.
    pub fn take(&mut self, bytes: &[u8]) -> Option<Found> {
        let range = self.wants()?;
        if (bytes.len() as u64) < range.end - range.start {
            return self.end();
        }
        let left = self.file_bytes - self.at;
        let Some(head) = Head::read_sized(bytes, left) else {
            return self.end();
        };
        if head.kind == *b"mdat" && self.init.is_none() && self.at > 0 {
            if self.sees_through
                && !self.is_bounded
                && head.header_bytes == PLACEHOLDER_BYTES
                && head.bytes <= left
            {
                self.is_bounded = true;
                self.file_bytes = self.at + head.bytes;
                self.at += PLACEHOLDER_BYTES as u64;
                self.need = PROBE_BYTES;
                return None;
            }
            self.outcome = Some(match head.bytes < left {
                true => Outcome::Finalised {
                    moov: self.at + head.bytes,
                },
                false => Outcome::Nothing,
            });
            return None;
        }
        match (&head.kind, self.init.is_some()) {
            (b"moof", true) => self.fragment(head, bytes),
            (b"moov", false) => self.moov(head, bytes),
            (b"ftyp", false) if self.at == 0 => self.pass(head),
            (kind, has_init) if self.at > 0 && PASSED.contains(&kind) => {
                let is_first = !has_init && self.placeholder.is_none();
                if is_first && *kind == *b"free" && head.bytes == PLACEHOLDER_BYTES as u64 {
                    self.placeholder = Some(self.at);
                }
                self.pass(head)
            }
            _ => self.end(),
        }
    }

    /// Returns the kind of the file, once nothing is wanted.
    pub fn outcome(&self) -> Outcome {
        self.outcome.unwrap_or_else(|| self.so_far())
    }

    fn so_far(&self) -> Outcome {
        match self.init {
            Some(_) => Outcome::Fragmented { whole: self.at },
            None => Outcome::Nothing,
        }
    }

    fn end(&mut self) -> Option<Found> {
        self.outcome = Some(self.so_far());
        None
    }

    fn pass(&mut self, head: Head) -> Option<Found> {
        self.at += head.bytes;
        self.need = PROBE_BYTES;
        None
    }

    fn moov(&mut self, head: Head, bytes: &[u8]) -> Option<Found> {
        if head.bytes > MOOV_BYTES_MAX as u64 {
            return self.end();
        }
        let Some(content) = bytes.get(head.header_bytes..head.bytes as usize) else {
            self.need = head.bytes;
            return None;
        };
        let Some(init) = Init::parse(content, self.placeholder) else {
            return self.end();
        };
        self.init = Some(init.clone());
        self.pass(head);
        Some(Found::Init(init))
    }

    fn fragment(&mut self, head: Head, bytes: &[u8]) -> Option<Found> {
        let need = head.bytes + MDAT_HEADER_BYTES;
        if head.bytes > MOOF_BYTES_MAX as u64 {
            return self.end();
        }
        if (bytes.len() as u64) < need && self.at + (bytes.len() as u64) < self.file_bytes {
            self.need = need;
            return None;
        }
        let Some(fragment) = self.whole(head, bytes) else {
            return self.end();
        };
        self.at = fragment.range.end;
        self.need = PROBE_BYTES;
        Some(Found::Fragment(fragment))
    }

    /// Parses the fragment that begins at `bytes`, if all of it is in the file.
    fn whole(&self, head: Head, bytes: &[u8]) -> Option<Fragment> {
        let (moof, rest) = bytes.split_at_checked(head.bytes as usize)?;
        let mdat_at = self.at + head.bytes;
        let mdat = Head::read_sized(rest, self.file_bytes - mdat_at);
        let mdat = mdat.filter(|mdat| mdat.kind == *b"mdat")?;
        let end = mdat_at + mdat.bytes;
        let media = mdat_at + mdat.header_bytes as u64..end;
        let content = moof.get(head.header_bytes..)?;
        let init = self.init.as_ref()?;
        Fragment::parse(init, content, self.at, &media)
    }
}
