//! Opus (RFC 7587 §4.2): a packet is a frame.

use bytes::Bytes;
use media::codec::opus;

use super::{Assembly, Frame, Malformed};

/// Upper bound on the bytes of a packet: 120 ms in frames of the greatest length, and their lengths.
const PACKET_BYTES_MAX: usize = 48 * (opus::FRAME_BYTES_MAX + 2) + 2;

/// Current packet.
#[derive(Debug)]
pub(super) struct Packet {
    packet: Bytes,
    head: Bytes,
}

impl Packet {
    pub(super) fn new(channels: u8) -> Self {
        Self {
            packet: Bytes::new(),
            head: Bytes::copy_from_slice(&opus::head(channels)),
        }
    }
}

impl Assembly for Packet {
    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        if payload.len() > PACKET_BYTES_MAX || opus::duration(payload).is_none() {
            return Err(Malformed);
        }
        self.packet = Bytes::copy_from_slice(payload);
        Ok(())
    }

    fn begins_frame(&self, _: &[u8]) -> bool {
        true
    }

    fn finish(&mut self) -> Result<Option<Frame>, Malformed> {
        let data = std::mem::take(&mut self.packet);
        Ok(Some(Frame {
            duration: opus::duration(&data).ok_or(Malformed)?,
            data,
            keyframe: true,
            config: Some(self.head.clone()),
        }))
    }

    fn discard(&mut self) {
        self.packet = Bytes::new();
    }
}
