//! Messages that either side sends: commands and control messages, framed.

use bytes::{BufMut, BytesMut};

use crate::{
    amf0::Encoder,
    chunk::{self, CHUNK_SIZE_INITIAL, Header},
    command,
    message::Kind,
};

/// Chunk streams for sending, apart from those of media: 4 for audio and 6 for video.
pub(crate) mod csid {
    pub(crate) const CONTROL: u32 = 2;
    pub(crate) const COMMAND: u32 = 3;
    pub(crate) const STATUS: u32 = 5;
    /// Chunk stream of data messages and of the metadata for a player; every message has a full header.
    pub(crate) const DATA: u32 = 7;
    /// A client's chunk stream for messages about a message stream; ffmpeg's choice.
    pub(crate) const STREAM: u32 = 8;
}

/// User control event types (RTMP 1.0 §7.1.7).
pub(crate) mod control {
    pub(crate) const STREAM_BEGIN: u16 = 0;
    pub(crate) const STREAM_EOF: u16 = 1;
    pub(crate) const SET_BUFFER_LENGTH: u16 = 3;
    pub(crate) const STREAM_IS_RECORDED: u16 = 4;
    pub(crate) const PING_REQUEST: u16 = 6;
    pub(crate) const PING_RESPONSE: u16 = 7;
}

/// Framer of outgoing messages. Every message has a full header, so that media may be written between any
/// two.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) output: BytesMut,
    chunk_size: u32,
    body: BytesMut,
}

impl Words {
    pub(crate) fn new() -> Self {
        Self {
            output: BytesMut::new(),
            chunk_size: CHUNK_SIZE_INITIAL,
            body: BytesMut::new(),
        }
    }

    pub(crate) fn set_chunk_size(&mut self, size: u32) {
        self.control(Kind::SetChunkSize, &size.to_be_bytes());
        self.chunk_size = size;
    }

    pub(crate) fn acknowledgement(&mut self, received: u32) {
        self.control(Kind::Acknowledgement, &received.to_be_bytes());
    }

    pub(crate) fn window_ack_size(&mut self, size: u32) {
        self.control(Kind::WindowAckSize, &size.to_be_bytes());
    }

    /// Writes an event about a message stream or the connection, and its one or two values.
    pub(crate) fn user_control(&mut self, event: u16, values: &[u32]) {
        self.body.clear();
        self.body.put_u16(event);
        values.iter().for_each(|value| self.body.put_u32(*value));
        self.send(csid::CONTROL, Kind::UserControl, 0);
    }

    /// Writes a command on the connection: name and transaction, then the values that `arguments` adds.
    pub(crate) fn command(
        &mut self,
        name: &str,
        transaction: f64,
        arguments: impl FnOnce(&mut Encoder<'_>),
    ) {
        self.command_on((csid::COMMAND, 0), name, transaction, arguments);
    }

    /// Writes a command on another chunk stream, about a message stream.
    pub(crate) fn command_on(
        &mut self,
        (csid, stream): (u32, u32),
        name: &str,
        transaction: f64,
        arguments: impl FnOnce(&mut Encoder<'_>),
    ) {
        self.body.clear();
        arguments(&mut command::encode(&mut self.body, name, transaction));
        self.send(csid, Kind::CommandAmf0, stream);
    }

    /// Writes a data message with the values that `values` writes.
    pub(crate) fn data(&mut self, stream: u32, values: impl FnOnce(&mut Encoder<'_>)) {
        self.body.clear();
        values(&mut Encoder::new(&mut self.body));
        self.send(csid::DATA, Kind::DataAmf0, stream);
    }

    /// Frees the memory of messages that have been sent.
    pub(crate) fn shrink(&mut self) {
        self.body = BytesMut::new();
        if self.output.is_empty() {
            self.output = BytesMut::new();
        }
    }

    pub(crate) fn control(&mut self, kind: Kind, body: &[u8]) {
        self.body.clear();
        self.body.extend_from_slice(body);
        self.send(csid::CONTROL, kind, 0);
    }

    /// Frames the prepared body.
    fn send(&mut self, csid: u32, kind: Kind, stream_id: u32) {
        let header = Header {
            csid,
            timestamp: 0,
            kind,
            stream_id,
        };
        chunk::write(&header, &self.body, self.chunk_size, &mut self.output);
    }
}

/// Announces that any codec is accepted, because it is only passed on (Enhanced RTMP v2, "Enhancing
/// NetConnection connect Command"), and the further capabilities: the bits of CapsExMask.
pub(crate) fn enhanced(encoder: &mut Encoder<'_>, capabilities: f64) {
    /// "Can forward" (FourCcInfoMask).
    const CAN_FORWARD: f64 = 4.0;
    encoder.key("fourCcList").strict_array(1).string("*");
    for map in ["videoFourCcInfoMap", "audioFourCcInfoMap"] {
        encoder.key(map).object().key("*").number(CAN_FORWARD).end();
    }
    encoder.key("capsEx").number(capabilities);
}
