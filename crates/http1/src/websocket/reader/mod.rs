//! Incoming frames (RFC 6455 §5): a parser that owns no more than one control frame.

use crate::websocket::close::{CloseCode, is_sendable};
use crate::websocket::frame::{
    CONTROL_BYTES_MAX, FIN, FrameHead, LENGTH_16, LENGTH_64, MASKED, Opcode, RESERVED, Short, mask,
};

/// Sender of the frames that are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Peer {
    /// A client, which must mask each of its frames (§5.1).
    Client,
    /// A server, which must mask none of its frames.
    Server,
}

/// Protocol violation by the peer, which ends the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Violation {
    /// A client's frame without a mask, or a server's with one.
    #[error("a frame is masked or not against the rule for its sender")]
    Masking,
    /// A reserved bit, which belongs to an extension, although none was agreed on.
    #[error("a frame has reserved bits")]
    ReservedBits,
    /// An opcode without a meaning.
    #[error("a frame has an unknown opcode")]
    UnknownOpcode,
    /// A control frame in pieces, or with more than 125 bytes.
    #[error("a control frame is in pieces or too long")]
    ControlFrame,
    /// A continuation of nothing, or a new message within another.
    #[error("a message is continued that was not begun, or begun before the last has ended")]
    Fragmentation,
    /// A length in more bytes than it needs, or of more than 63 bits (§5.2).
    #[error("a frame has a malformed length")]
    Length,
    /// A close frame with one byte, or with a number that is not for the wire.
    #[error("a close frame has a malformed payload")]
    ClosePayload,
    /// A message beyond the reader's limit.
    #[error("a message is too large")]
    TooLarge,
}

impl Violation {
    /// Returns the code with which the connection must be closed.
    pub const fn code(self) -> CloseCode {
        match self {
            Self::TooLarge => CloseCode::TOO_LARGE,
            Self::Masking
            | Self::ReservedBits
            | Self::UnknownOpcode
            | Self::ControlFrame
            | Self::Fragmentation
            | Self::Length
            | Self::ClosePayload => CloseCode::PROTOCOL_ERROR,
        }
    }
}

/// Payload of a control frame, without its mask.
pub type Control = Short<CONTROL_BYTES_MAX>;

/// Next item that was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event<'a> {
    /// Bytes of a message, as on the wire: a client's are masked. Never empty.
    Data(&'a [u8]),
    /// Request for a pong with the same payload.
    Ping(Control),
    /// Sign of life.
    Pong,
    /// Close by the peer, with this number if it gave one. The bytes after it must not be read.
    Close(Option<u16>),
}

/// Reader of frames that arrive in pieces; call [`next`](Self::next) until it returns `None`. It must not be used any more
/// after a violation or a close frame.
#[derive(Debug)]
pub struct FrameReader {
    peer: Peer,
    /// Maximum payload of a message in bytes, all frames together.
    message_bytes_max: u64,
    /// Payload of the current message so far in bytes, the announced length of its last frame included.
    message_bytes: u64,
    /// Whether a message has begun whose last frame has yet to arrive.
    is_in_message: bool,
    state: State,
    control: Control,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Received bytes of a head.
    Head(FrameHead),
    /// Payload of a data frame, with this many bytes left; at least one.
    Data(u64),
    /// Payload of a control frame: opcode, mask and length.
    Control(Opcode, [u8; 4], u8),
}

const BETWEEN_FRAMES: State = State::Head(FrameHead::EMPTY);

/// Completely read head.
struct Head {
    opcode: Opcode,
    is_last: bool,
    length: u64,
    key: [u8; 4],
}

impl FrameReader {
    /// Creates a reader of frames of `peer`, whose messages may have up to `message_bytes_max` bytes.
    pub const fn new(peer: Peer, message_bytes_max: u64) -> Self {
        Self {
            peer,
            message_bytes_max,
            message_bytes: 0,
            is_in_message: false,
            state: BETWEEN_FRAMES,
            control: Control::EMPTY,
        }
    }

    /// Takes the bytes of the next event from the beginning of `input`; returns `None` when all bytes were taken and more are
    /// needed.
    ///
    /// # Errors
    /// The peer's violation.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, Violation> {
        loop {
            let event = match self.state {
                State::Head(head) => {
                    if !self.read_head(head, input)? {
                        return Ok(None);
                    }
                    None
                }
                State::Data(left) => {
                    let taken = take(input, left);
                    if taken.is_empty() {
                        return Ok(None);
                    }
                    self.state = match left - taken.len() as u64 {
                        0 => BETWEEN_FRAMES,
                        left => State::Data(left),
                    };
                    Some(Event::Data(taken))
                }
                State::Control(opcode, key, length) => {
                    let missing = length - self.control.length;
                    self.control.push(take(input, missing.into()));
                    if self.control.length < length {
                        return Ok(None);
                    }
                    mask(&mut self.control.bytes[..usize::from(length)], key, 0);
                    self.state = BETWEEN_FRAMES;
                    Some(self.heard(opcode)?)
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// Continues a head that has begun. Returns false when the head is not complete yet.
    fn read_head(&mut self, mut begun: FrameHead, input: &mut &[u8]) -> Result<bool, Violation> {
        loop {
            let have = begun.as_bytes().len();
            let needed = head_bytes(begun.as_bytes());
            if have == needed {
                break;
            }
            let taken = take(input, (needed - have) as u64);
            begun.push(taken);
            self.state = State::Head(begun);
            if let [first, second, ..] = *begun.as_bytes() {
                // Checked as soon as these bytes are known, without waiting for the end of the head.
                self.check(first, second)?;
            }
            if taken.is_empty() {
                return Ok(false);
            }
        }
        let head = parse(begun.as_bytes())?;
        self.enter(&head)?;
        Ok(true)
    }

    /// Checks the first two bytes of a frame, and returns its opcode.
    fn check(&self, first: u8, second: u8) -> Result<Opcode, Violation> {
        if first & RESERVED != 0 {
            return Err(Violation::ReservedBits);
        }
        let opcode = Opcode::of(first & 0x0F).ok_or(Violation::UnknownOpcode)?;
        if (second & MASKED != 0) != (self.peer == Peer::Client) {
            return Err(Violation::Masking);
        }
        let is_long = second & !MASKED > CONTROL_BYTES_MAX as u8;
        if opcode.is_control() && (is_long || first & FIN == 0) {
            return Err(Violation::ControlFrame);
        }
        if !opcode.is_control() && (opcode == Opcode::Continuation) != self.is_in_message {
            return Err(Violation::Fragmentation);
        }
        Ok(opcode)
    }

    fn enter(&mut self, head: &Head) -> Result<(), Violation> {
        if head.opcode.is_control() {
            self.control = Control::EMPTY;
            // At most 125, which was checked.
            self.state = State::Control(head.opcode, head.key, head.length as u8);
            return Ok(());
        }
        if head.opcode != Opcode::Continuation {
            self.message_bytes = 0;
        }
        self.is_in_message = !head.is_last;
        self.message_bytes = self.message_bytes.saturating_add(head.length);
        if self.message_bytes > self.message_bytes_max {
            return Err(Violation::TooLarge);
        }
        self.state = match head.length {
            0 => BETWEEN_FRAMES,
            length => State::Data(length),
        };
        Ok(())
    }

    /// Returns the event of a complete control frame.
    fn heard(&self, opcode: Opcode) -> Result<Event<'static>, Violation> {
        Ok(match (opcode, self.control.as_bytes()) {
            (Opcode::Ping, _) => Event::Ping(self.control),
            (Opcode::Close, []) => Event::Close(None),
            (Opcode::Close, [high, low, ..]) => {
                let number = u16::from_be_bytes([*high, *low]);
                if !is_sendable(number) {
                    return Err(Violation::ClosePayload);
                }
                Event::Close(Some(number))
            }
            (Opcode::Close, _) => return Err(Violation::ClosePayload),
            _ => Event::Pong,
        })
    }
}

/// Takes up to `max` bytes from the beginning of `input`.
fn take<'a>(input: &mut &'a [u8], max: u64) -> &'a [u8] {
    let count = usize::try_from(max).map_or(input.len(), |max| max.min(input.len()));
    let (taken, rest) = input.split_at(count);
    *input = rest;
    taken
}

/// Returns the length in bytes of a head that begins like this.
fn head_bytes(begun: &[u8]) -> usize {
    let Some(second) = begun.get(1) else {
        return 2;
    };
    let length = match second & !MASKED {
        LENGTH_16 => 2,
        LENGTH_64 => 8,
        _ => 0,
    };
    let key = if second & MASKED != 0 { 4 } else { 0 };
    2 + length + key
}

/// Parses a complete head whose first two bytes were checked.
fn parse(bytes: &[u8]) -> Result<Head, Violation> {
    let (least, length) = match bytes[1] & !MASKED {
        LENGTH_16 => (u64::from(LENGTH_16), big_endian(&bytes[2..4])),
        LENGTH_64 => (1 << 16, big_endian(&bytes[2..10])),
        length => (0, u64::from(length)),
    };
    // The length must be in the shortest field that holds it, and its highest bit must be zero.
    if length < least || length > i64::MAX as u64 {
        return Err(Violation::Length);
    }
    let mut key = [0; 4];
    if bytes[1] & MASKED != 0 {
        key.copy_from_slice(&bytes[bytes.len() - 4..]);
    }
    Ok(Head {
        // Checked before.
        opcode: Opcode::of(bytes[0] & 0x0F).ok_or(Violation::UnknownOpcode)?,
        is_last: bytes[0] & FIN != 0,
        length,
        key,
    })
}

fn big_endian(field: &[u8]) -> u64 {
    field
        .iter()
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests;
