//! What a client sends: commands and control messages, framed.

use bytes::BytesMut;

use super::{Address, Purpose};
use crate::{
    amf0::Encoder,
    chunk::{self, CHUNK_SIZE_INITIAL, Header},
    command,
    message::Kind,
};

/// Chunk streams of ours, apart from those that a publisher's media uses.
mod csid {
    pub(super) const CONTROL: u32 = 2;
    pub(super) const COMMAND: u32 = 3;
    /// For messages about a message stream; ffmpeg's choice.
    pub(super) const STREAM: u32 = 8;
}

/// User control event types (RTMP 1.0 §7.1.7).
pub(super) mod control {
    pub(crate) const STREAM_EOF: u16 = 1;
    pub(crate) const SET_BUFFER_LENGTH: u16 = 3;
    pub(crate) const PING_REQUEST: u16 = 6;
    pub(crate) const PING_RESPONSE: u16 = 7;
}

/// Transaction numbers, by which answers are matched to requests. Each request is made once.
pub(super) mod transaction {
    pub(crate) const CONNECT: f64 = 1.0;
    pub(crate) const RELEASE_STREAM: f64 = 2.0;
    pub(crate) const FC_PUBLISH: f64 = 3.0;
    pub(crate) const CREATE_STREAM: f64 = 4.0;
    pub(crate) const START: f64 = 5.0;
    pub(crate) const FC_UNPUBLISH: f64 = 6.0;
    pub(crate) const DELETE_STREAM: f64 = 7.0;
}

/// Frames what is sent. Every message has a full header, so that the caller may write media between
/// them.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) output: BytesMut,
    chunk_size: u32,
    body: BytesMut,
}

impl Words {
    pub(super) fn new() -> Self {
        Self {
            output: BytesMut::new(),
            chunk_size: CHUNK_SIZE_INITIAL,
            body: BytesMut::new(),
        }
    }

    pub(super) fn set_chunk_size(&mut self, size: u32) {
        self.value(Kind::SetChunkSize, size);
        self.chunk_size = size;
    }

    pub(super) fn acknowledgement(&mut self, received: u32) {
        self.value(Kind::Acknowledgement, received);
    }

    pub(super) fn window_ack_size(&mut self, size: u32) {
        self.value(Kind::WindowAckSize, size);
    }

    pub(super) fn pong(&mut self, time: u32) {
        let mut body = [0; 6];
        body[..2].copy_from_slice(&control::PING_RESPONSE.to_be_bytes());
        body[2..].copy_from_slice(&time.to_be_bytes());
        self.control(Kind::UserControl, &body);
    }

    pub(super) fn set_buffer_length(&mut self, stream: u32, millis: u32) {
        let mut body = [0; 10];
        body[..2].copy_from_slice(&control::SET_BUFFER_LENGTH.to_be_bytes());
        body[2..6].copy_from_slice(&stream.to_be_bytes());
        body[6..].copy_from_slice(&millis.to_be_bytes());
        self.control(Kind::UserControl, &body);
    }

    /// `connect`. The fields beside the address are those that servers expect.
    pub(super) fn connect(&mut self, address: &Address, purpose: Purpose) {
        let (app, tc_url) = (address.app(), address.tc_url());
        self.command(0, "connect", transaction::CONNECT, |e| {
            e.object();
            e.key("app").string(&app);
            match purpose {
                // Some servers let only clients publish that name themselves so.
                Purpose::Publish => {
                    e.key("type").string("nonprivate");
                    e.key("flashVer").string("FMLE/3.0 (compatible; Carillon)");
                    e.key("tcUrl").string(&tc_url);
                }
                Purpose::Play => {
                    e.key("flashVer").string("LNX 9,0,124,2");
                    e.key("tcUrl").string(&tc_url);
                    e.key("fpad").boolean(false);
                    e.key("capabilities").number(15.0);
                    e.key("audioCodecs").number(4095.0);
                    e.key("videoCodecs").number(252.0);
                    e.key("videoFunction").number(1.0);
                }
            }
            enhanced(e);
            e.end();
        });
    }

    /// A command to the connection, or to a message stream.
    pub(super) fn command(
        &mut self,
        stream_id: u32,
        name: &str,
        transaction: f64,
        arguments: impl FnOnce(&mut Encoder<'_>),
    ) {
        self.body.clear();
        arguments(&mut command::encode(&mut self.body, name, transaction));
        let csid = match stream_id {
            0 => csid::COMMAND,
            _ => csid::STREAM,
        };
        let header = Header {
            csid,
            timestamp: 0,
            kind: Kind::CommandAmf0,
            stream_id,
        };
        chunk::write(&header, &self.body, self.chunk_size, &mut self.output);
    }

    fn value(&mut self, kind: Kind, value: u32) {
        self.control(kind, &value.to_be_bytes());
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

/// Announces that any codec is accepted, because it is only passed on (Enhanced RTMP v2, "Enhancing
/// NetConnection connect Command").
fn enhanced(encoder: &mut Encoder<'_>) {
    /// `FourCcInfoMask`: can forward.
    const CAN_FORWARD: f64 = 4.0;
    /// `capsEx`: reconnect, multitrack, ModEx.
    const CAPABILITIES: f64 = 7.0;
    encoder.key("fourCcList").strict_array(1).string("*");
    for map in ["videoFourCcInfoMap", "audioFourCcInfoMap"] {
        encoder.key(map).object().key("*").number(CAN_FORWARD).end();
    }
    encoder.key("capsEx").number(CAPABILITIES);
}
