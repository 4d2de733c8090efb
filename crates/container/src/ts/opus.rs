//! Opus in a transport stream, as drafted by ETSI and Xiph (<https://wiki.xiph.org/OpusTS>): the channels, and the
//! header before each packet.

use bytes::{Buf, Bytes};
use media::Track;
use media::codec::opus::{HEAD_BYTES, head_channels};

const DESCRIPTOR_EXTENSION: u8 = 0x7F;
/// One of the extensions that are free for private use, as chosen by the draft.
const EXTENSION_OPUS: u8 = 0x80;

/// Eleven bits that begin a control header, no trimming, and no extension.
const CONTROL: [u8; 2] = [0x7F, 0xE0];

/// Upper bound on the channels of the arrangement in RFC 7845 §5.1.1.2.
const CHANNELS_MAX: usize = 8;

/// Numbers of streams and of pairs among them, and the channel order, as used by encoders for one to eight channels.
const USUAL: [(u8, u8, &[u8]); CHANNELS_MAX] = [
    (1, 0, &[0]),
    (1, 1, &[0, 1]),
    (2, 1, &[0, 2, 1]),
    (2, 2, &[0, 1, 2, 3]),
    (3, 2, &[0, 4, 1, 2, 3]),
    (4, 2, &[0, 4, 1, 2, 3, 5]),
    (4, 3, &[0, 4, 1, 2, 3, 5, 6]),
    (5, 3, &[0, 6, 1, 2, 3, 4, 5, 7]),
];

/// Returns the `channel_config_code` of a track: its channels, if they are arranged in the usual way. Without an
/// identification header there are one or two, as stated by the track.
pub(super) fn layout(track: &Track) -> Option<u8> {
    if track.config.is_empty() {
        return Some(if track.channels == 1 { 1 } else { 2 });
    }
    let channels = head_channels(&track.config)?;
    match track.config.get(HEAD_BYTES - 1..)? {
        [0, ..] => (1..=2).contains(&channels).then_some(channels),
        [1, streams, pairs, order @ ..] => {
            let usual = USUAL.get(usize::from(channels).checked_sub(1)?)?;
            let order = order.get(..usize::from(channels))?;
            ((*streams, *pairs, order) == *usual).then_some(channels)
        }
        _ => None,
    }
}

/// Returns the descriptor of the channels.
pub(super) const fn descriptor(layout: u8) -> [u8; 4] {
    [DESCRIPTOR_EXTENSION, 2, EXTENSION_OPUS, layout]
}

/// Appends the control header of a packet: its length in bytes of at most 255, the last one less.
pub(super) fn put_control(packet_bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&CONTROL);
    out.resize(out.len() + packet_bytes / 255, 0xFF);
    out.push((packet_bytes % 255) as u8);
}

/// Returns the channels in the descriptors, if they are those of one stream: one or two.
pub(super) fn channels(descriptors: &[u8]) -> Option<u8> {
    let found = descriptors.windows(4).find_map(|it| match it {
        [DESCRIPTOR_EXTENSION, 2, EXTENSION_OPUS, layout] => Some(*layout),
        _ => None,
    });
    found.filter(|channels| (1..=2).contains(channels))
}

/// Takes the packet after the control header at the start of `rest`, if that header has only the length.
pub(super) fn take_packet(rest: &mut Bytes) -> Option<Bytes> {
    let lengths = rest.strip_prefix(&CONTROL)?;
    let full = lengths.iter().position(|byte| *byte < 0xFF)?;
    let begin = CONTROL.len() + full + 1;
    let bytes = 255 * full + usize::from(lengths[full]);
    if rest.len() < begin + bytes {
        return None;
    }
    rest.advance(begin);
    Some(rest.split_to(bytes))
}
