//! Messages of RTMP for conversations that noise would not find by itself.

use bytes::BytesMut;
use rtmp::amf0::Encoder;
use rtmp::chunk::{self, Header};
use rtmp::message::Kind;

/// Appends a command as one message.
pub(crate) fn command(
    output: &mut BytesMut,
    stream_id: u32,
    arguments: impl FnOnce(&mut Encoder<'_>),
) {
    let mut body = BytesMut::new();
    arguments(&mut Encoder::new(&mut body));
    let header = Header {
        csid: 3,
        timestamp: 0,
        kind: Kind::CommandAmf0,
        stream_id,
    };
    chunk::write(&header, &body, 128, output);
}

/// Appends a handshake whose second and third part are zero.
pub(crate) fn handshake(output: &mut BytesMut) {
    output.extend_from_slice(&[3]);
    output.extend_from_slice(&[0; 3072]);
}
