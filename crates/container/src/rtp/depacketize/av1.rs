//! AV1 (RTP payload format for AV1 §4): assembles units with sizes.

use bytes::Bytes;
use media::Span;
use media::codec::av1::{Obu, SequenceHeader, obu, take_leb128, write_leb128};

use super::buffer::{Buffer, FRAME_BYTES_MAX};
use super::{Assembly, Frame, Malformed};

/// `Z`: the first unit continues from the packet before.
pub(in crate::rtp) const CONTINUES: u8 = 0x80;
/// `Y`: the last unit continues in the next packet.
pub(in crate::rtp) const WILL_CONTINUE: u8 = 0x40;

/// Upper bound on the bytes of a sequence header that is kept for the configuration; real ones have a dozen bytes.
const SEQUENCE_HEADER_BYTES_MAX: usize = 1_024;

/// Current temporal unit.
#[derive(Debug, Default)]
pub(super) struct Units {
    buffer: Buffer,
    /// Part so far of the unit that continues in the next packet.
    partial: Vec<u8>,
    continues: bool,
    keyframe: bool,
    header: Option<SequenceHeader>,
    config: Option<Bytes>,
    has_changed: bool,
}

impl Units {
    fn element(&mut self, bytes: &[u8], will_continue: bool) -> Result<(), Malformed> {
        if !self.continues && !will_continue {
            return self.whole(bytes);
        }
        if bytes.len() > FRAME_BYTES_MAX - self.partial.len() {
            return Err(Malformed);
        }
        self.partial.extend_from_slice(bytes);
        self.continues = will_continue;
        if will_continue {
            return Ok(());
        }
        let mut whole = std::mem::take(&mut self.partial);
        let result = self.whole(&whole);
        whole.clear();
        self.partial = whole;
        result
    }

    fn whole(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        let unit = Obu::take(&mut bytes).ok_or(Malformed)?;
        match unit.kind() {
            obu::TEMPORAL_DELIMITER | obu::TILE_LIST | obu::PADDING => return Ok(()),
            obu::SEQUENCE_HEADER => self.configure(&unit),
            _ => self.keyframe |= unit.is_key_frame(),
        }
        let mut head = [0; 10];
        let mut length = 1;
        // The flag says that a size follows.
        head[0] = unit.first | 2;
        if let Some(extension) = unit.extension {
            head[1] = extension;
            length = 2;
        }
        write_leb128(unit.payload.len(), |byte| {
            head[length] = byte;
            length += 1;
        });
        self.buffer.put(&head[..length])?;
        self.buffer.put(unit.payload)
    }

    fn configure(&mut self, unit: &Obu<'_>) {
        let header = SequenceHeader::parse(unit.payload);
        let header = header.filter(|_| unit.payload.len() <= SEQUENCE_HEADER_BYTES_MAX);
        if let Some(header) = header {
            let config = Bytes::from(header.record(unit));
            self.has_changed |= self.config.as_ref() != Some(&config);
            (self.header, self.config) = (Some(header), Some(config));
        }
    }
}

impl Assembly for Units {
    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let (head, mut rest) = payload.split_first().ok_or(Malformed)?;
        if (head & CONTINUES != 0) != self.continues {
            return Err(Malformed);
        }
        let will_continue = head & WILL_CONTINUE != 0;
        // A count of 0 means that each unit has its size.
        let count = usize::from(head >> 4 & 3);
        let mut index = 0;
        while !rest.is_empty() {
            index += 1;
            let length = if index == count {
                rest.len()
            } else {
                take_leb128(&mut rest).ok_or(Malformed)?
            };
            let (element, after) = rest.split_at_checked(length).ok_or(Malformed)?;
            rest = after;
            if !element.is_empty() {
                self.element(element, will_continue && rest.is_empty())?;
            }
        }
        // After an empty last element nothing would continue the unit.
        (index >= count && self.continues == will_continue)
            .then_some(())
            .ok_or(Malformed)
    }

    fn begins_frame(&self, payload: &[u8]) -> bool {
        payload.first().is_some_and(|head| head & CONTINUES == 0)
    }

    fn finish(&mut self) -> Result<Option<Frame>, Malformed> {
        let keyframe = std::mem::take(&mut self.keyframe);
        if self.continues {
            self.discard();
            return Err(Malformed);
        }
        let Some(data) = self.buffer.take() else {
            return Ok(None);
        };
        let config = self.config.clone();
        let has_changed = keyframe && std::mem::take(&mut self.has_changed);
        Ok(Some(Frame {
            data,
            keyframe,
            duration: Span::ZERO,
            config: config.filter(|_| has_changed),
        }))
    }

    fn discard(&mut self) {
        self.buffer.clear();
        self.partial.clear();
        self.continues = false;
        self.keyframe = false;
    }

    fn dimensions(&self) -> Option<(u32, u32)> {
        self.header.map(|header| (header.width, header.height))
    }
}
