//! Messages, the content of chunks; also the aggregate, a message made of messages.

use bytes::Bytes;

use crate::{Error, server::Media};

/// Type of a message (RTMP 1.0 §5.4, §7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 1: the sender's chunk size from the next chunk on.
    SetChunkSize,
    /// 2: forget the unfinished message of a chunk stream.
    Abort,
    /// 3: bytes received so far.
    Acknowledgement,
    /// 4: stream begin, ping and the like.
    UserControl,
    /// 5: number of bytes after which the receiver must acknowledge.
    WindowAckSize,
    /// 6: number of bytes that the receiver may send unacknowledged.
    SetPeerBandwidth,
    /// 8: one FLV audio tag body.
    Audio,
    /// 9: one FLV video tag body.
    Video,
    /// 15: data, marked AMF3; in practice a zero byte, then AMF0.
    DataAmf3,
    /// 17: command, marked AMF3; in practice a zero byte, then AMF0.
    CommandAmf3,
    /// 18: data in AMF0, metadata above all.
    DataAmf0,
    /// 20: command in AMF0.
    CommandAmf0,
    /// 22: several audio, video and data messages in FLV tag form.
    Aggregate,
    /// Any other type, shared objects among them.
    Other(u8),
}

impl Kind {
    /// Returns the type with this number on the wire.
    pub fn from_wire(number: u8) -> Self {
        match number {
            1 => Self::SetChunkSize,
            2 => Self::Abort,
            3 => Self::Acknowledgement,
            4 => Self::UserControl,
            5 => Self::WindowAckSize,
            6 => Self::SetPeerBandwidth,
            8 => Self::Audio,
            9 => Self::Video,
            15 => Self::DataAmf3,
            17 => Self::CommandAmf3,
            18 => Self::DataAmf0,
            20 => Self::CommandAmf0,
            22 => Self::Aggregate,
            other => Self::Other(other),
        }
    }

    /// Returns the number on the wire.
    pub fn to_wire(self) -> u8 {
        match self {
            Self::SetChunkSize => 1,
            Self::Abort => 2,
            Self::Acknowledgement => 3,
            Self::UserControl => 4,
            Self::WindowAckSize => 5,
            Self::SetPeerBandwidth => 6,
            Self::Audio => 8,
            Self::Video => 9,
            Self::DataAmf3 => 15,
            Self::CommandAmf3 => 17,
            Self::DataAmf0 => 18,
            Self::CommandAmf0 => 20,
            Self::Aggregate => 22,
            Self::Other(other) => other,
        }
    }
}

/// A complete message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Type of the message.
    pub kind: Kind,
    /// Sender's clock, in milliseconds modulo 2^32.
    pub timestamp: u32,
    /// Message stream: 0 for the connection, else one that `createStream` returned.
    pub stream_id: u32,
    /// Message body. Short messages that arrive together may share an allocation.
    pub payload: Bytes,
}

impl Message {
    /// Returns the AMF0 bytes of a command or data message, without the zero byte that opens the AMF3-marked
    /// types.
    pub(crate) fn amf0(&self) -> Bytes {
        match self.kind {
            Kind::DataAmf3 | Kind::CommandAmf3 if self.payload.first() == Some(&0) => {
                self.payload.slice(1..)
            }
            _ => self.payload.clone(),
        }
    }

    /// Returns the 4-byte value that a control message begins with.
    pub(crate) fn control_value(&self) -> Result<u32, Error> {
        let value = self.payload.first_chunk();
        let value = value.ok_or(Error::ShortControlMessage {
            kind: self.kind,
            length: self.payload.len(),
        })?;
        Ok(u32::from_be_bytes(*value))
    }

    /// Returns timestamp and payload as media.
    pub(crate) fn into_media(self) -> Media {
        Media {
            timestamp: self.timestamp,
            payload: self.payload,
        }
    }
}

/// Iterator over the messages of an aggregate message (RTMP 1.0 §7.1.6).
///
/// Timestamps inside are relative to the first one; stream ids inside and the back pointers are ignored; a
/// truncated tail is dropped, and so is everything that is not audio, video or data.
#[derive(Debug)]
pub struct Aggregate {
    rest: Bytes,
    timestamp: u32,
    stream_id: u32,
    first: Option<u32>,
}

/// Length of a sub-header: type, length (3), timestamp (3 + 1), stream id (3).
const SUB_HEADER_BYTES: usize = 11;
const BACK_POINTER_BYTES: usize = 4;

impl Aggregate {
    /// Creates an iterator over an aggregate message.
    pub fn new(message: Message) -> Self {
        Self {
            rest: message.payload,
            timestamp: message.timestamp,
            stream_id: message.stream_id,
            first: None,
        }
    }
}

impl Iterator for Aggregate {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        // Each turn drops at least a sub-header from the front.
        while let Some((head, body)) = self.rest.split_at_checked(SUB_HEADER_BYTES) {
            let kind = Kind::from_wire(head[0]);
            let length = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
            let time = u32::from_be_bytes([head[7], head[4], head[5], head[6]]);
            let Some(payload) = body.get(..length) else {
                break;
            };
            let first = *self.first.get_or_insert(time);
            // A copy, so that a small sample does not keep the whole aggregate in memory.
            let payload = Bytes::copy_from_slice(payload);
            let next = (SUB_HEADER_BYTES + length + BACK_POINTER_BYTES).min(self.rest.len());
            self.rest = self.rest.slice(next..);
            if matches!(
                kind,
                Kind::Audio | Kind::Video | Kind::DataAmf0 | Kind::DataAmf3
            ) {
                return Some(Message {
                    kind,
                    timestamp: self.timestamp.wrapping_add(time.wrapping_sub(first)),
                    stream_id: self.stream_id,
                    payload,
                });
            }
        }
        self.rest = Bytes::new();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(kind: u8, time: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![kind];
        out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        out.extend_from_slice(&time.to_be_bytes()[1..]);
        out.push(time.to_be_bytes()[0]);
        out.extend_from_slice(&[9, 9, 9]);
        out.extend_from_slice(payload);
        out.extend_from_slice(&(payload.len() as u32 + 11).to_be_bytes());
        out
    }

    fn aggregate(payload: Vec<u8>) -> Vec<Message> {
        let message = Message {
            kind: Kind::Aggregate,
            timestamp: 5_000,
            stream_id: 1,
            payload: payload.into(),
        };
        Aggregate::new(message).collect()
    }

    #[test]
    fn sub_timestamps_are_relative_to_the_first() {
        let mut payload = sub(9, 0x0100_0000, b"v0");
        payload.extend(sub(8, 0x0100_0017, b"a0"));
        payload.extend(sub(9, 0x00ff_fff0, b"v1"));
        let got = aggregate(payload);
        let times: Vec<_> = got.iter().map(|m| (m.kind, m.timestamp)).collect();
        assert_eq!(
            times,
            [
                (Kind::Video, 5_000),
                (Kind::Audio, 5_023),
                (Kind::Video, 4_984)
            ]
        );
        assert_eq!(got[1].payload, b"a0"[..]);
        assert!(got.iter().all(|m| m.stream_id == 1));
    }

    #[test]
    fn truncated_tail_and_foreign_types_are_dropped() {
        let mut payload = sub(8, 10, b"one");
        payload.extend(sub(20, 20, b"a command has no business here"));
        payload.extend(sub(8, 30, b"two"));
        payload.extend(sub(8, 40, b"cut short"));
        payload.truncate(payload.len() - 9);
        let got = aggregate(payload);
        assert_eq!(got.len(), 2);
        assert_eq!(got[1].payload, b"two"[..]);
    }

    #[test]
    fn a_missing_last_back_pointer_is_no_loss() {
        let mut payload = sub(8, 10, b"one");
        payload.truncate(payload.len() - 4);
        assert_eq!(aggregate(payload).len(), 1);
    }

    #[test]
    fn kinds_round_trip() {
        for number in 0..=255 {
            assert_eq!(Kind::from_wire(number).to_wire(), number);
        }
    }
}
