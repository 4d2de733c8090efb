//! `onMetaData` of a file: values that are filled in when the file is closed, and the values of its publisher.

use crate::flv::amf::{Amf, NUMBER, OBJECT, OBJECT_END};
use crate::flv::read::ON_METADATA;

/// Upper bound on the keyframes listed: an hour of one every two seconds, in 32 KiB. If there are more, every second
/// one is listed, or every fourth.
pub const KEYFRAMES_MAX: usize = 1_820;

/// Numbers in the three arrays together: an offset and a time for each keyframe.
const NUMBERS: usize = 2 * KEYFRAMES_MAX;

/// Bytes of a number: a marker and eight bytes.
const NUMBER_BYTES: usize = 9;

/// Upper bound on the bytes of publisher metadata that is kept: OBS sends some 400 bytes.
const OWN_BYTES_MAX: usize = 16 * 1024;

/// Upper bound on the nesting depth of the publisher's values.
const DEPTH_MAX: usize = 8;

const ECMA_ARRAY: u8 = 8;
const STRICT_ARRAY: u8 = 10;

/// Keys that the server states itself, or that are wrong in a file.
const REPLACED: [&[u8]; 3] = [b"duration", b"filesize", b"keyframes"];

/// Known facts about a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    /// Offsets and times in seconds of keyframes.
    pub(super) keyframes: Vec<(u64, f64)>,
}

/// Returns the body of `onMetaData` with the facts known so far, and with the values of the publisher's own metadata.
pub(super) fn body(facts: &Facts, own: Option<&[u8]>) -> Vec<u8> {
    let mut body = Amf(head(facts));
    let own = own.filter(|own| own.len() <= OWN_BYTES_MAX);
    for (name, value) in own.and_then(properties).unwrap_or_default() {
        if !REPLACED.contains(&name) {
            body.key(name);
            body.0.extend_from_slice(value);
        }
    }
    body.0.extend(OBJECT_END);
    body.0
}

#[cfg(test)]
pub(super) fn head_bytes() -> usize {
    head(&Facts::default()).len()
}

/// Returns the part of the body that changes when a file is closed; always of the same length.
pub(super) fn head(facts: &Facts) -> Vec<u8> {
    let keyframes = &facts.keyframes[..facts.keyframes.len().min(KEYFRAMES_MAX)];
    let mut head = Amf(Vec::with_capacity(256 + NUMBERS * NUMBER_BYTES));
    head.0.extend_from_slice(ON_METADATA);
    head.0.push(ECMA_ARRAY);
    // The specification calls this count an approximation; readers go by the end marker.
    head.0.extend([0; 4]);
    head.key(b"duration");
    head.number(facts.seconds);
    head.key(b"filesize");
    head.number(facts.bytes as f64);
    head.key(b"keyframes");
    head.0.push(OBJECT);
    array(&mut head, b"filepositions", keyframes.len());
    let positions = keyframes.iter().map(|(at, _)| *at as f64);
    positions.for_each(|at| head.number(at));
    array(&mut head, b"times", keyframes.len());
    let times = keyframes.iter().map(|(_, seconds)| *seconds);
    times.for_each(|seconds| head.number(seconds));
    let spare = NUMBERS - 2 * keyframes.len();
    array(&mut head, b"spare", spare);
    (0..spare).for_each(|_| head.number(0.0));
    head.0.extend(OBJECT_END);
    head.0
}

/// Returns whether a body begins with the output of [`head`], whatever the facts were.
pub(super) fn is_own(body: &[u8]) -> bool {
    let empty = head(&Facts::default());
    // Bytes before the first number.
    let fixed = ON_METADATA.len() + 5 + 2 + REPLACED[0].len() + 1;
    let count = empty.len();
    body.len() >= count
        && body[..fixed] == empty[..fixed]
        && body[fixed + 8..][..2 + REPLACED[1].len()] == empty[fixed + 8..][..2 + REPLACED[1].len()]
        && body[count - OBJECT_END.len()..count] == OBJECT_END
}

fn array(out: &mut Amf, name: &[u8], count: usize) {
    out.key(name);
    out.0.push(STRICT_ARRAY);
    out.0.extend((count as u32).to_be_bytes());
}

/// Returns the names and unparsed values of a publisher's `onMetaData`.
fn properties(body: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut rest = body.strip_prefix(ON_METADATA)?;
    rest = match rest.split_first()? {
        (&OBJECT, rest) => rest,
        (&ECMA_ARRAY, rest) => rest.get(4..)?,
        _ => return None,
    };
    let mut all = Vec::new();
    while !rest.starts_with(&OBJECT_END) && !rest.is_empty() {
        let (name, value) = named(rest)?;
        let bytes = value_bytes(value, DEPTH_MAX)?;
        let (value, next) = value.split_at_checked(bytes)?;
        all.push((name, value));
        rest = next;
    }
    Some(all)
}

fn named(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}

/// Returns the length of the AMF0 value at the start of `bytes`.
fn value_bytes(bytes: &[u8], depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let (kind, rest) = bytes.split_first()?;
    let length = |at: usize| Some(u32::from_be_bytes(*rest.get(at..)?.first_chunk()?) as usize);
    let members = |from: usize| {
        let mut at = from;
        while !rest.get(at..)?.starts_with(&OBJECT_END) {
            let (name, value) = named(rest.get(at..)?)?;
            at += 2 + name.len() + value_bytes(value, depth)?;
        }
        Some(at + OBJECT_END.len())
    };
    let content = match *kind {
        NUMBER => 8,
        1 => 1,
        2 => 2 + named(rest)?.0.len(),
        OBJECT => members(0)?,
        5 | 6 => 0,
        ECMA_ARRAY => members(4)?,
        STRICT_ARRAY => {
            let mut at = 4;
            for _ in 0..length(0)? {
                at += value_bytes(rest.get(at..)?, depth)?;
            }
            at
        }
        11 => 10,
        12 => 4usize.checked_add(length(0)?)?,
        _ => return None,
    };
    (content <= rest.len()).then_some(1 + content)
}
