//! Outgoing frames: the head before a payload of known length (RFC 6455 §5.2).

/// Maximum payload of a control frame in bytes (§5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// Maximum length of a head in bytes: two bytes, a length of 64 bits, a mask.
const HEAD_BYTES_MAX: usize = 14;

/// Few bytes in place: no more than `MAX`, which is below 256.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Short<const MAX: usize> {
    pub(crate) bytes: [u8; MAX],
    pub(crate) length: u8,
}

impl<const MAX: usize> Short<MAX> {
    /// No bytes.
    pub const EMPTY: Self = Self {
        bytes: [0; MAX],
        length: 0,
    };

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Appends bytes, for which there must be room.
    pub fn push(&mut self, more: &[u8]) {
        let begin = usize::from(self.length);
        self.bytes[begin..begin + more.len()].copy_from_slice(more);
        self.length += more.len() as u8;
    }
}

impl<const MAX: usize> Default for Short<MAX> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const MAX: usize> std::fmt::Debug for Short<MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Short({} bytes)", self.length)
    }
}

/// Maximum payload length that fits the second byte; the values above it mark a longer length field.
const SHORT_MAX: u64 = 125;
pub(crate) const LENGTH_16: u8 = 126;
pub(crate) const LENGTH_64: u8 = 127;

pub(crate) const FIN: u8 = 0x80;
pub(crate) const RESERVED: u8 = 0x70;
pub(crate) const MASKED: u8 = 0x80;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Opcode {
    /// Rest of a message.
    Continuation = 0,
    /// Beginning of a text message.
    Text = 1,
    /// Beginning of a binary message.
    Binary = 2,
    /// Close of the connection by the sender.
    Close = 8,
    /// Request for a pong with the same payload.
    Ping = 9,
    /// Reply to a ping, or a sign of life.
    Pong = 10,
}

impl Opcode {
    pub(crate) const fn of(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    pub(crate) const fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// Head of a frame; a sent frame is a whole message, or a control frame.
pub type FrameHead = Short<HEAD_BYTES_MAX>;

impl FrameHead {
    /// Creates the head of a server's frame with a payload of `payload_bytes`.
    pub fn server(opcode: Opcode, payload_bytes: usize) -> Self {
        Self::new(opcode, payload_bytes, None)
    }

    /// Creates the head of a client's frame, whose payload is to be [masked](mask()) with the same key.
    pub fn client(opcode: Opcode, payload_bytes: usize, key: [u8; 4]) -> Self {
        Self::new(opcode, payload_bytes, Some(key))
    }

    fn new(opcode: Opcode, payload_bytes: usize, key: Option<[u8; 4]>) -> Self {
        let mut head = Self::EMPTY;
        let masked = if key.is_some() { MASKED } else { 0 };
        let payload_bytes = payload_bytes as u64;
        head.push(&[FIN | opcode as u8]);
        if payload_bytes <= SHORT_MAX {
            head.push(&[masked | payload_bytes as u8]);
        } else if let Ok(short) = u16::try_from(payload_bytes) {
            head.push(&[masked | LENGTH_16]);
            head.push(&short.to_be_bytes());
        } else {
            head.push(&[masked | LENGTH_64]);
            head.push(&payload_bytes.to_be_bytes());
        }
        if let Some(key) = key {
            head.push(&key);
        }
        head
    }
}

/// Masks a payload, or removes the mask (§5.3). `at` is the offset of its first byte in the frame's payload.
pub fn mask(payload: &mut [u8], key: [u8; 4], at: usize) {
    for (index, byte) in payload.iter_mut().enumerate() {
        *byte ^= key[(at + index) % key.len()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_those_of_the_standard() {
        for (length, expected) in [
            (0, &[0x82, 0][..]),
            (125, &[0x82, 125]),
            (126, &[0x82, 126, 0, 126]),
            (256, &[0x82, 126, 1, 0]),
            (65_535, &[0x82, 126, 0xFF, 0xFF]),
            (65_536, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let head = FrameHead::server(Opcode::Binary, length);
            assert_eq!(head.as_bytes(), expected, "{length}");
        }
        // RFC 6455 §5.7: a masked "Hello".
        let key = [0x37, 0xFA, 0x21, 0x3D];
        let mut hello = *b"Hello";
        mask(&mut hello, key, 0);
        let head = FrameHead::client(Opcode::Text, hello.len(), key);
        assert_eq!(head.as_bytes(), [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D]);
        assert_eq!(hello, [0x7F, 0x9F, 0x4D, 0x51, 0x58]);
    }
}
