//! Sections of the standard's examples (§14) and of encoders, and what they mean.

use bytes::Buf;
use media::{CueAction, Span};
use proptest::prelude::*;

use super::*;
use crate::crc::crc32;

/// §14.2: `splice_insert`, out of the network for 60.293 s.
const INSERT_OUT: &str = "fc302f000000000000fffff014054800008f7feffe7369c02efe0052ccf500000000000a000843554549000001\
                          3562dba30a";

/// §14.1: `time_signal`, a provider's placement opportunity starts.
const OPPORTUNITY_START: &str = "fc3034000000000000fffff00506fe72bd0050001e021c435545494800008e7fcf0001a599b0080800\
                                 0000002ca0a18a3402009ac9d17e";

/// The end of a segment of that kind.
const OPPORTUNITY_END: &str = "fc302f000000000000fffff00506fe746290a000190217435545494800008e7f9f0808000000002ca0a1\
                               8a350200a9cc6758";

/// An encoder's `splice_insert`, with a component of no descriptors.
const INSERT_ENCODER: &str =
    "fc302500000000000000fff01405000000017feffe2d142b00fe0123d3080001010100007f157a49";

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|it| byte(it).expect("hexadecimal")).collect()
}

fn sealed(mut section: Vec<u8>) -> Vec<u8> {
    section.truncate(section.len() - 4);
    let checksum = crc32(&section);
    section.extend_from_slice(&checksum.to_be_bytes());
    section
}

#[test]
fn an_insert_of_the_standard_is_read() {
    let section = parse(&bytes(INSERT_OUT)).expect("valid");
    let expected = Command::Insert {
        event: 0x4800_008F,
        is_out: true,
        at: Some(0x7369_C02E),
        duration: Some(0x0052_CCF5),
    };
    assert_eq!(section, expected);
    let cue = section.into_cue(bytes(INSERT_OUT).into(), None);
    assert_eq!(cue.id, "splice-4800008F");
    assert_eq!(cue.action, CueAction::Out);
    assert_eq!(cue.duration.map(Span::millis), Some(60_293));
    let encoders = parse(&bytes(INSERT_ENCODER)).expect("valid");
    let Command::Insert { event, is_out, .. } = encoders else {
        panic!("{encoders:?}");
    };
    assert_eq!((event, is_out), (1, true));
}

#[test]
fn segmentations_of_the_standard_are_read() {
    let start = parse(&bytes(OPPORTUNITY_START)).expect("valid");
    let one = Segmentation {
        event: 0x4800_008E,
        kind: 0x34,
        duration: Some(0x01A5_99B0),
    };
    let expected = Command::Signal {
        at: Some(0x72BD_0050),
        segmentations: vec![one],
    };
    assert_eq!(start, expected);
    let start = start.into_cue(bytes(OPPORTUNITY_START).into(), None);
    let end = parse(&bytes(OPPORTUNITY_END)).expect("valid");
    let end = end.into_cue(bytes(OPPORTUNITY_END).into(), None);
    assert_eq!((start.action, end.action), (CueAction::Out, CueAction::In));
    assert_eq!(start.duration.map(Span::millis), Some(307_000));
    assert_eq!(start.id, end.id, "the pair has one name");
    assert_eq!(end.duration, None);
}

#[test]
fn a_time_is_moved_and_all_else_stays() {
    for hex in [INSERT_OUT, OPPORTUNITY_START] {
        let section = bytes(hex);
        let at = match parse(&section).expect("valid") {
            Command::Insert { at, .. } | Command::Signal { at, .. } => at.expect("a time"),
            Command::Other => panic!("a command"),
        };
        let moved = moved(&section, 12);
        assert_eq!(parse(&moved), parse(&section));
        let adjustment = (&moved[4..9]).get_uint(5) % (1 << 33);
        assert_eq!((at + adjustment) % (1 << 33), 12);
    }
    let at_once = write(&Insert {
        event: 1,
        is_out: false,
        duration: None,
    });
    assert_eq!(moved(&at_once, 12), at_once);
}

#[test]
fn what_is_no_section_is_named() {
    let good = bytes(INSERT_OUT);
    let [mut table, mut version, mut damaged] = [good.clone(), good.clone(), good.clone()];
    table[0] = 0xFB;
    version[3] = 1;
    damaged[20] ^= 1;
    assert_eq!(parse(&[]), Err(Invalid::Table));
    assert_eq!(parse(&table), Err(Invalid::Table));
    assert_eq!(parse(&good[..good.len() - 1]), Err(Invalid::Length));
    assert_eq!(parse(&damaged), Err(Invalid::Checksum));
    assert_eq!(parse(&sealed(version)), Err(Invalid::Version));
    // A sample that is passed around with a checksum that does not fit.
    let wrong = "fc302500000000000000fff01405000003e87fefff495a99acfe007b98a000010101000087b5b6a6";
    assert_eq!(parse(&bytes(wrong)), Err(Invalid::Checksum));
    // A command that is longer than the section.
    let mut long = good;
    long[12] = 0xFE;
    assert_eq!(parse(&sealed(long)), Err(Invalid::Cut));
}

#[test]
fn a_command_of_open_length_is_read() {
    for hex in [INSERT_OUT, OPPORTUNITY_START] {
        let mut open = bytes(hex);
        open[11] |= 0x0F;
        open[12] = 0xFF;
        assert_eq!(parse(&sealed(open)), parse(&bytes(hex)));
    }
}

#[test]
fn what_is_encrypted_or_cancelled_is_carried_and_not_read() {
    let mut encrypted = bytes(INSERT_OUT);
    encrypted[4] |= 0x80;
    let mut cancelled = bytes(INSERT_OUT);
    cancelled[18] |= 0x80;
    for section in [encrypted, cancelled] {
        let section = sealed(section);
        let parsed = parse(&section).expect("valid");
        assert_eq!(parsed, Command::Other);
        let cue = parsed.into_cue(section.into(), None);
        assert_eq!(cue.action, CueAction::Other);
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(event: u32, is_out: bool, duration in proptest::option::of(0_u64..1 << 33)) {
        let section = write(&Insert { event, is_out, duration });
        let parsed = parse(&section).expect("valid");
        prop_assert_eq!(&section[4..9], [0; 5]);
        let expected = Command::Insert { event, is_out, at: None, duration };
        prop_assert_eq!(parsed, expected);
    }

    #[test]
    fn hostile_bytes_are_refused_or_read(mut section in proptest::collection::vec(any::<u8>(), 18..200)) {
        let length = (section.len() - 3) as u16;
        section[0] = TABLE_ID;
        section[1..3].copy_from_slice(&length.to_be_bytes());
        section[3] = 0;
        section[13] = 5 + section[13] % 2;
        parse(&sealed(section)).ok();
    }
}
