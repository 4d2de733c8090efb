//! Going through a file of fragments, box by box, up to where its whole part ends.

use std::ops::Range;

use super::walk::Head;
use super::{Fragment, Init, MOOF_BYTES_MAX, MOOV_BYTES_MAX, PLACEHOLDER_BYTES};

/// Bytes wanted of a box of unknown size: the header of a usual fragment of a second, and that of its media.
const PROBE_BYTES: u64 = 4_096;

/// Bytes of the header behind a `moof`, in its longest form.
const MDAT_HEADER_BYTES: u64 = 16;

/// Boxes that may stand between fragments and mean nothing here.
const PASSED: [&[u8; 4]; 6] = [b"free", b"skip", b"styp", b"sidx", b"emsg", b"prft"];

/// See the module's description. The caller reads the bytes that it [`wants`](Self::wants), until there are none.
#[derive(Debug, Default)]
pub struct Scan {
    file_bytes: u64,
    /// Where the next box begins; all before is whole.
    at: u64,
    /// How much of it is needed.
    need: u64,
    placeholder: Option<u64>,
    /// It goes through the fragments of a finalised file as well.
    sees_through: bool,
    /// It is in the media of such a file, behind which there are no fragments.
    is_bounded: bool,
    init: Option<Init>,
    /// What it came to, once it has ended.
    outcome: Option<Outcome>,
}

/// What the bytes that were read were.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Found {
    /// What the tracks are.
    Init(Init),
    /// A whole fragment.
    Fragment(Fragment),
}

/// What a file is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// A file of fragments. What follows `whole` is none, or cut, and may be removed.
    Fragmented {
        /// Where the last whole fragment ends.
        whole: u64,
    },
    /// A file that was finalised; nothing is to be done about it.
    Finalised {
        /// Where its `moov` begins.
        moov: u64,
    },
    /// No such file, or cut before its first fragment could begin.
    Nothing,
}

impl Scan {
    /// Of a file of so many bytes.
    pub fn new(file_bytes: u64) -> Self {
        Self {
            file_bytes,
            need: PROBE_BYTES,
            ..Self::default()
        }
    }

    /// The same, but the fragments of a finalised file are found as well: they are where they were.
    pub(super) fn through(file_bytes: u64) -> Self {
        Self {
            sees_through: true,
            ..Self::new(file_bytes)
        }
    }

    /// More of the file is whole: so many bytes in all.
    pub(super) fn grow(&mut self, file_bytes: u64) {
        if !self.is_bounded {
            self.file_bytes = self.file_bytes.max(file_bytes);
        }
    }

    /// The bytes of the file that it needs next, a MiB at most; `None` at its end.
    pub fn wants(&self) -> Option<Range<u64>> {
        let end = self.at.saturating_add(self.need).min(self.file_bytes);
        (self.outcome.is_none() && self.at < end).then_some(self.at..end)
    }

    /// Takes the bytes that it wants, and says what they are once they suffice. Fewer bytes than it wants are the end.
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

    /// What the file is, once nothing is wanted.
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

    /// The fragment at hand, if all of it is in the file.
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
