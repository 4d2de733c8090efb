//! Reader that turns bytes into lines, and lines into a [`Head`].
//!
//! ```text
//!   push ──► line under way ──'\n'──► HeadBuilder ──empty line──► Head, rest of the push
//! ```
//!
//! A reader holds one unfinished line and the fields of the lines before it, together never more than twice
//! [`HeadLimits::bytes_max`].

use std::mem;

use crate::head::HeadBuilder;
use crate::{Error, Head};

/// Size limits of a head.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HeadLimits {
    /// Maximum number of bytes, line ends and leading empty lines included.
    pub bytes_max: usize,
    /// Maximum number of header lines, the request line not counted.
    pub lines_max: usize,
}

impl Default for HeadLimits {
    /// Returns 16 KiB and 100 lines: twice what a browser with cookies sends, and little enough that ten thousand connections
    /// that never finish their head cost 320 MiB at the very worst.
    fn default() -> Self {
        Self {
            bytes_max: 16 * 1024,
            lines_max: 100,
        }
    }
}

/// Reader of heads from a byte stream, one after another; call [`push`](Self::push) with the bytes of each read.
#[derive(Debug, Default)]
pub struct HeadReader {
    limits: HeadLimits,
    /// Line that has no end yet.
    line: Vec<u8>,
    /// Bytes of this head so far.
    used: usize,
    /// Header lines of this head so far.
    lines: usize,
    /// Empty lines before the request line.
    empty_lines: usize,
    /// First element in this head that only a source client may use.
    quirk: Option<Error>,
    /// Fields of the finished lines; `None` until the request line.
    builder: Option<HeadBuilder>,
}

impl HeadReader {
    /// Creates a reader before the first byte of a head.
    pub fn new(limits: HeadLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Creates a reader of the headers of a head that has begun.
    pub(crate) fn of(builder: HeadBuilder) -> Self {
        Self {
            builder: Some(builder),
            ..Self::default()
        }
    }

    /// Whether nothing of a head has arrived, so that a peer that closes now truncates nothing.
    pub fn is_idle(&self) -> bool {
        self.builder.is_none() && self.line.is_empty()
    }

    /// Takes the next bytes. Once a head is complete, returns it with the number of bytes of *this push* that belong to it; the
    /// bytes after them are body, or the next head, for which the reader is ready.
    ///
    /// # Errors
    /// The peer's error. The connection cannot be understood any further: reply with [`status_of`](crate::status_of), close it,
    /// and drop the reader.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, Error> {
        let mut consumed = 0;
        while let Some(end) = bytes[consumed..].iter().position(|byte| *byte == b'\n') {
            let piece = &bytes[consumed..consumed + end];
            consumed += end + 1;
            self.count(end + 1)?;
            let mut line = mem::take(&mut self.line);
            let complete = if line.is_empty() {
                self.end_line(piece)?
            } else {
                line.extend_from_slice(piece);
                self.end_line(&line)?
            };
            if complete && let Some(builder) = self.builder.take() {
                (self.used, self.lines, self.empty_lines) = (0, 0, 0);
                let head = builder.finish(self.quirk.take())?;
                return Ok(Some((head, consumed)));
            }
        }
        self.count(bytes.len() - consumed)?;
        self.line.extend_from_slice(&bytes[consumed..]);
        Ok(None)
    }

    fn count(&mut self, bytes: usize) -> Result<(), Error> {
        self.used += bytes;
        if self.used > self.limits.bytes_max {
            Err(Error::HeadTooLong)
        } else {
            Ok(())
        }
    }

    /// Takes a line without its LF; returns true if the line ends the head.
    fn end_line(&mut self, line: &[u8]) -> Result<bool, Error> {
        // CRLF is the rule; DarkIce sends LF alone, nsvcap CR CR LF.
        let (line, is_regular) = match line.strip_suffix(b"\r") {
            None => (line, false),
            Some(line) => match line.strip_suffix(b"\r") {
                None => (line, true),
                Some(line) => (line, false),
            },
        };
        if line.iter().any(|byte| matches!(byte, b'\r' | 0)) {
            return Err(Error::ControlByte);
        }
        if !is_regular {
            self.quirk.get_or_insert(Error::LineEndMalformed);
        }
        match &mut self.builder {
            // One empty line is ignored (RFC 9112 §2.2); from a source, all are.
            None if line.is_empty() => {
                self.empty_lines += 1;
                if self.empty_lines > 1 {
                    self.quirk.get_or_insert(Error::EmptyLines);
                }
                Ok(false)
            }
            None => {
                self.builder = Some(HeadBuilder::new(line)?);
                Ok(false)
            }
            Some(_) if line.is_empty() => Ok(true),
            Some(_) if self.lines == self.limits.lines_max => Err(Error::LinesTooMany),
            Some(builder) => {
                self.lines += 1;
                builder.field(line)?;
                Ok(false)
            }
        }
    }
}

#[cfg(test)]
mod tests;
