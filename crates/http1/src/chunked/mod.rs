//! Chunked transfer coding (RFC 9112 §7.1), decoded in place.
//!
//! ```text
//!   Size ─► Extension ─► Data ─► DataEnd ─► Size …
//!     └──── size 0 ────► Trailer line … empty line ─► Done
//! ```
//!
//! The decoder keeps counters and no bytes: data is handed out as slices of the input.

use crate::Error;

/// Maximum length in bytes of a size line with its extensions; extensions are allowed but no client sends them.
const LINE_BYTES_MAX: usize = 256;

/// Maximum length in bytes of all trailers together; they are skipped, so they cost time only.
const TRAILER_BYTES_MAX: usize = 4 * 1024;

/// Maximum number of hexadecimal digits: those of a 64-bit size.
const SIZE_DIGITS_MAX: usize = 16;

/// Decoder that removes the chunked coding of a body.
#[derive(Debug)]
pub struct ChunkedDecoder {
    state: State,
    strictness: Strictness,
    /// Bytes of the size line or of the trailers so far.
    line_bytes: usize,
}

/// Result of [`ChunkedDecoder::step`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step<'a> {
    /// Next bytes of the body, never empty.
    Data(&'a [u8]),
    /// The input is used up, and the body continues.
    NeedMore,
    /// The body is over. The rest of the input is not part of it.
    End,
}

/// Accepted forms of the coding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Strictness {
    /// Lines end with LF or CR LF; extensions and trailers are skipped.
    Lenient,
    /// Lines end with CR LF, and extensions and trailers are refused.
    Strict,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Size {
        size: u64,
        digits: usize,
    },
    /// Spaces after the digits, and extensions, up to the line's LF. `cr` if the last byte was CR.
    Extension {
        size: u64,
        cr: bool,
    },
    Data {
        left: u64,
    },
    /// Line end after a chunk's data.
    DataEnd {
        cr: bool,
    },
    /// Trailer line, or the empty line that ends the body.
    Trailer {
        empty: bool,
        cr: bool,
    },
    Done,
}

impl State {
    /// Whether a byte that is not data belongs to the plainest coding in this state: digits, CR LF.
    const fn is_plain(self, byte: u8) -> bool {
        match self {
            Self::Size { digits: 0, .. } => byte.is_ascii_hexdigit(),
            Self::Size { .. } => byte.is_ascii_hexdigit() || byte == b'\r',
            Self::Extension { cr: true, .. }
            | Self::DataEnd { cr: true }
            | Self::Trailer { cr: true, .. } => byte == b'\n',
            Self::Extension { cr: false, .. } => false,
            Self::DataEnd { cr: false } | Self::Trailer { cr: false, .. } => byte == b'\r',
            Self::Data { .. } | Self::Done => true,
        }
    }
}

impl Default for ChunkedDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl ChunkedDecoder {
    /// Creates a decoder before the first chunk of a source's body. No request follows the body, so a form that another reader
    /// does not understand does no harm.
    pub const fn new() -> Self {
        Self::with(Strictness::Lenient)
    }

    /// Creates a decoder for a body that another request may follow. Requests are smuggled through proxies and servers that
    /// read line ends, extensions or trailers differently, and no client of ours sends any of these forms, so the limit for
    /// extensions and trailers that RFC 9112 §7.1 calls for is 0.
    pub const fn strict() -> Self {
        Self::with(Strictness::Strict)
    }

    const fn with(strictness: Strictness) -> Self {
        Self {
            state: State::Size { size: 0, digits: 0 },
            strictness,
            line_bytes: 0,
        }
    }

    /// Whether the last chunk has been read, so that a peer that closes now truncates nothing.
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Finds the next piece of the body in `input` and removes the used bytes from `input`.
    ///
    /// # Errors
    /// The coding is broken, or a line of it is too long. The position where the body continues is then unknown, so the
    /// connection is of no further use.
    pub fn step<'a>(&mut self, input: &mut &'a [u8]) -> Result<Step<'a>, Error> {
        loop {
            match self.state {
                State::Done => return Ok(Step::End),
                State::Data { left } if !input.is_empty() => {
                    let here = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let (data, rest) = input.split_at(here);
                    *input = rest;
                    self.state = match left - here as u64 {
                        0 => State::DataEnd { cr: false },
                        left => State::Data { left },
                    };
                    return Ok(Step::Data(data));
                }
                _ => {
                    let Some((&byte, rest)) = input.split_first() else {
                        return Ok(Step::NeedMore);
                    };
                    *input = rest;
                    self.state = self.control(byte)?;
                }
            }
        }
    }

    /// Returns the state after one byte that is not data.
    fn control(&mut self, byte: u8) -> Result<State, Error> {
        if self.strictness == Strictness::Strict && !self.state.is_plain(byte) {
            return Err(Error::ChunkMalformed);
        }
        self.line_bytes += 1;
        match self.state {
            State::Size { size, digits } => match char::from(byte).to_digit(16) {
                Some(_) if digits == SIZE_DIGITS_MAX => Err(Error::ChunkTooLarge),
                Some(digit) => Ok(State::Size {
                    size: size << 4 | u64::from(digit),
                    digits: digits + 1,
                }),
                None if digits == 0 => Err(Error::ChunkMalformed),
                None if !matches!(byte, b'\r' | b'\n' | b' ' | b'\t' | b';') => {
                    Err(Error::ChunkMalformed)
                }
                None => self.extension(size, false, byte),
            },
            State::Extension { size, cr } => self.extension(size, cr, byte),
            State::DataEnd { cr } => match byte {
                b'\n' => Ok(self.new_line(State::Size { size: 0, digits: 0 })),
                b'\r' if !cr => Ok(State::DataEnd { cr: true }),
                _ => Err(Error::ChunkMalformed),
            },
            State::Trailer { empty, cr } => self.trailer(empty, cr, byte),
            State::Data { .. } | State::Done => Ok(self.state),
        }
    }

    fn extension(&mut self, size: u64, cr: bool, byte: u8) -> Result<State, Error> {
        if self.line_bytes > LINE_BYTES_MAX {
            return Err(Error::ChunkLineTooLong);
        }
        match byte {
            b'\n' if size == 0 => Ok(self.new_line(State::Trailer {
                empty: true,
                cr: false,
            })),
            b'\n' => Ok(self.new_line(State::Data { left: size })),
            0 => Err(Error::ChunkMalformed),
            _ if cr => Err(Error::ChunkMalformed),
            _ => Ok(State::Extension {
                size,
                cr: byte == b'\r',
            }),
        }
    }

    fn trailer(&self, empty: bool, cr: bool, byte: u8) -> Result<State, Error> {
        if self.line_bytes > TRAILER_BYTES_MAX {
            return Err(Error::TrailersTooLong);
        }
        match byte {
            b'\n' if empty => Ok(State::Done),
            b'\n' => Ok(State::Trailer {
                empty: true,
                cr: false,
            }),
            0 => Err(Error::ChunkMalformed),
            _ if cr => Err(Error::ChunkMalformed),
            b'\r' => Ok(State::Trailer { empty, cr: true }),
            _ => Ok(State::Trailer {
                empty: false,
                cr: false,
            }),
        }
    }

    fn new_line(&mut self, state: State) -> State {
        self.line_bytes = 0;
        state
    }
}

#[cfg(test)]
mod tests;
