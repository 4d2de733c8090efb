//! What the server sends: control messages, results and status, framed.

use bytes::BytesMut;

use crate::{
    amf0::Encoder,
    chunk::{self, CHUNK_SIZE_INITIAL, Header},
    command,
    message::Kind,
};

/// Chunk streams of ours, apart from those the media of a player uses: 4 for audio, 6 for video.
mod csid {
    pub(super) const CONTROL: u32 = 2;
    pub(super) const COMMAND: u32 = 3;
    pub(super) const STATUS: u32 = 5;
    /// Also that of the metadata a player gets; every message has a full header.
    pub(super) const DATA: u32 = 7;
}

/// The limit type of SetPeerBandwidth that leaves the choice to the peer (RTMP 1.0 §5.4.5).
const LIMIT_DYNAMIC: u8 = 2;

/// User control event types (RTMP 1.0 §7.1.7).
pub(super) mod control {
    pub(crate) const STREAM_BEGIN: u16 = 0;
    pub(crate) const STREAM_EOF: u16 = 1;
    pub(crate) const SET_BUFFER_LENGTH: u16 = 3;
    pub(crate) const STREAM_IS_RECORDED: u16 = 4;
    pub(crate) const PING_REQUEST: u16 = 6;
    pub(crate) const PING_RESPONSE: u16 = 7;
}

/// The subject of a status: a request, on its stream, or the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Status,
    Error,
}

/// Frames our messages. Every message has a full header, so that bytes shared by many players may
/// follow at any time.
#[derive(Debug)]
pub(super) struct Replies {
    output: BytesMut,
    chunk_size: u32,
    body: BytesMut,
}

impl Replies {
    pub(super) fn new() -> Self {
        Self {
            output: BytesMut::new(),
            chunk_size: CHUNK_SIZE_INITIAL,
            body: BytesMut::new(),
        }
    }

    pub(super) fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    pub(super) fn pending_bytes(&self) -> usize {
        self.output.len()
    }

    pub(super) fn set_chunk_size(&mut self, size: u32) {
        self.control(Kind::SetChunkSize, &size.to_be_bytes());
        self.chunk_size = size;
    }

    pub(super) fn acknowledgement(&mut self, received: u32) {
        self.control(Kind::Acknowledgement, &received.to_be_bytes());
    }

    pub(super) fn window_ack_size(&mut self, size: u32) {
        self.control(Kind::WindowAckSize, &size.to_be_bytes());
    }

    pub(super) fn peer_bandwidth(&mut self, size: u32) {
        let mut body = [0, 0, 0, 0, LIMIT_DYNAMIC];
        body[..4].copy_from_slice(&size.to_be_bytes());
        self.control(Kind::SetPeerBandwidth, &body);
    }

    pub(super) fn user_control(&mut self, event: u16, value: u32) {
        let mut body = [0; 6];
        body[..2].copy_from_slice(&event.to_be_bytes());
        body[2..].copy_from_slice(&value.to_be_bytes());
        self.control(Kind::UserControl, &body);
    }

    /// A command on the connection: name and transaction, then what `arguments` adds.
    pub(super) fn command(
        &mut self,
        name: &str,
        transaction: f64,
        arguments: impl FnOnce(&mut Encoder<'_>),
    ) {
        self.body.clear();
        arguments(&mut command::encode(&mut self.body, name, transaction));
        self.send(csid::COMMAND, Kind::CommandAmf0, 0);
    }

    /// A status about a message stream, or about the connection when that is 0.
    pub(super) fn status(&mut self, stream: u32, level: Level, code: &str, description: &str) {
        let level = match level {
            Level::Status => "status",
            Level::Error => "error",
        };
        self.body.clear();
        let mut encoder = command::encode(&mut self.body, "onStatus", 0.0);
        command::information(encoder.null(), level, code, description);
        self.send(csid::STATUS, Kind::CommandAmf0, stream);
    }

    /// A data message: the values that `values` writes.
    pub(super) fn data(&mut self, stream: u32, values: impl FnOnce(&mut Encoder<'_>)) {
        self.body.clear();
        values(&mut Encoder::new(&mut self.body));
        self.send(csid::DATA, Kind::DataAmf0, stream);
    }

    /// Frees the memory of what has been sent.
    pub(super) fn shrink(&mut self) {
        self.body = BytesMut::new();
        if self.output.is_empty() {
            self.output = BytesMut::new();
        }
    }

    /// Frames the body at hand.
    fn send(&mut self, csid: u32, kind: Kind, stream_id: u32) {
        let header = Header {
            csid,
            timestamp: 0,
            kind,
            stream_id,
        };
        chunk::write(&header, &self.body, self.chunk_size, &mut self.output);
    }

    fn control(&mut self, kind: Kind, body: &[u8]) {
        let header = Header {
            csid: csid::CONTROL,
            timestamp: 0,
            kind,
            stream_id: 0,
        };
        chunk::write(&header, body, self.chunk_size, &mut self.output);
    }
}

/// Extra fields for peers that speak Enhanced RTMP: any codec is forwarded.
pub(super) fn enhanced(encoder: &mut Encoder<'_>) {
    /// "Can forward" (Enhanced RTMP v2, FourCcInfoMask).
    const CAN_FORWARD: f64 = 4.0;
    /// Reconnect requests 1, multitrack 2, ModEx 4, nanosecond offsets 8 (Enhanced RTMP v2, CapsExMask).
    const CAPABILITIES: f64 = 15.0;
    encoder.key("fourCcList").strict_array(1).string("*");
    for map in ["videoFourCcInfoMap", "audioFourCcInfoMap"] {
        encoder.key(map).object().key("*").number(CAN_FORWARD).end();
    }
    encoder.key("capsEx").number(CAPABILITIES);
}
