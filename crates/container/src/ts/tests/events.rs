//! Events on PIDs of their own.

use media::{Cue, CueAction, EventContent, TimedEvent};

use super::*;
use crate::scte35;

const ID3_PID: u16 = 0x40;
const SPLICE_PID: u16 = 0x41;

fn event(millis: i64, content: EventContent) -> Item {
    Item::Event(Arc::new(TimedEvent {
        at: Timestamp::from_millis(millis),
        content,
        is_scripted: false,
    }))
}

/// Audio with an event after a quarter of a second.
fn with_event(content: EventContent) -> Recorder {
    let mut items = radio(60);
    items.insert(11, event(250, content));
    Recorder::of(&items)
}

fn has(recorder: &Recorder, bytes: &[u8]) -> bool {
    let mut windows = recorder.bytes.windows(bytes.len());
    windows.any(|window| window == bytes)
}

/// The payloads of the packets of a PID, one after another.
fn payload(bytes: &[u8], pid: u16) -> Vec<u8> {
    let mut out = Vec::new();
    for packet in bytes.chunks(PACKET_BYTES) {
        if u16::from_be_bytes([packet[1] & 0x1F, packet[2]]) != pid {
            continue;
        }
        let field = match packet[3] & 0x20 {
            0 => 0,
            _ => 1 + usize::from(packet[4]),
        };
        out.extend_from_slice(&packet[4 + field..]);
    }
    out
}

#[test]
fn a_tag_is_timed_metadata() {
    let tag = crate::id3::Tag::default().title("One").into_bytes();
    let recorder = with_event(EventContent::Id3(tag.clone().into()));
    let pes = payload(&recorder.bytes, ID3_PID);
    assert_eq!(pes[..4], [0, 0, 1, 0xBD]);
    let length = usize::from(pes[4]) << 8 | usize::from(pes[5]);
    assert_eq!(length, 8 + tag.len());
    // Aligned, with a time of presentation.
    assert_eq!(pes[6..9], [0x84, 0x80, 5]);
    // A quarter of a second, and the lead of the clock.
    let stamp = (250 + 200) * 90_u32;
    let stamped = u32::from(pes[10]) << 22 | u32::from(pes[11] >> 1) << 15;
    let stamped = stamped | u32::from(pes[12]) << 7 | u32::from(pes[13] >> 1);
    assert_eq!(stamped, stamp);
    assert_eq!(pes[14..], tag);
    // Declared with the first tag: the program's descriptor, the stream and its own.
    let declared = b"\xF0\x11\x25\x0F\xFF\xFFID3 \xFFID3 \x00\x1F\x00\x01";
    assert!(has(&recorder, declared));
    let stream = b"\x15\xE0\x40\xF0\x0F\x26\x0D\xFF\xFFID3 \xFFID3 \x00\x0F";
    assert!(has(&recorder, stream));
    let maps = recorder.demux().maps;
    let streams: Vec<_> = maps.iter().map(|map| map.streams.len()).collect();
    assert_eq!(streams, [1, 2]);
}

#[test]
fn a_section_is_carried_as_it_is() {
    let section = scte35::write(&scte35::Insert {
        event: 7,
        is_out: true,
        duration: None,
    });
    let cue = Cue {
        id: "ad1".to_owned(),
        action: CueAction::Out,
        duration: None,
        section: section.clone().into(),
        began: None,
    };
    let recorder = with_event(EventContent::Cue(cue));
    let payload = payload(&recorder.bytes, SPLICE_PID);
    assert_eq!(payload[0], 0, "it begins at once");
    assert!(payload[1..].starts_with(&section));
    assert!(has(&recorder, b"\xF0\x06\x05\x04CUEI"));
}

#[test]
fn nothing_is_written_before_the_media() {
    let tag = crate::id3::Tag::default().title("One").into_bytes();
    let items = [announce(aac()), event(0, EventContent::Id3(tag.into()))];
    assert!(Recorder::of(&items).bytes.is_empty());
}
