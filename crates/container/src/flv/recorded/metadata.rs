//! `onMetaData` of a file: what is to be filled in when it is closed, and what its publisher said.

use crate::flv::amf::{Amf, NUMBER, OBJECT, OBJECT_END};
use crate::flv::read::ON_METADATA;

/// Keyframes that are listed at most: an hour of one every two seconds, in 32 KiB. Of more every second one is, or every
/// fourth.
pub const KEYFRAMES_MAX: usize = 1_820;

/// Numbers in the three arrays together: a position and a time for each keyframe.
const NUMBERS: usize = 2 * KEYFRAMES_MAX;

/// A marker and eight bytes.
const NUMBER_BYTES: usize = 9;

/// The longest of the publisher's own that is kept: OBS sends some 400 bytes.
const OWN_BYTES_MAX: usize = 16 * 1024;

/// How deep values of the publisher's lie in one another at most.
const DEPTH_MAX: usize = 8;

const ECMA_ARRAY: u8 = 8;
const STRICT_ARRAY: u8 = 10;

/// What the server says itself, or what is wrong in a file.
const REPLACED: [&[u8]; 3] = [b"duration", b"filesize", b"keyframes"];

/// What is known of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    /// Where keyframes begin, and when, in seconds.
    pub(super) keyframes: Vec<(u64, f64)>,
}

/// The body of `onMetaData` with what is known now, and with what the publisher said in its own.
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

/// The part of the body that changes when a file is closed; always of the same length.
pub(super) fn head(facts: &Facts) -> Vec<u8> {
    let keyframes = &facts.keyframes[..facts.keyframes.len().min(KEYFRAMES_MAX)];
    let mut head = Amf(Vec::with_capacity(256 + NUMBERS * NUMBER_BYTES));
    head.0.extend_from_slice(ON_METADATA);
    head.0.push(ECMA_ARRAY);
    // An approximation, says the specification; readers go by the end.
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

/// Whether a body begins with what [`head`] has made, whatever was known then.
pub(super) fn is_own(body: &[u8]) -> bool {
    let empty = head(&Facts::default());
    // Up to the first number.
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

/// Names and values of a publisher's `onMetaData`, the values as they are.
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

/// Bytes of the value in AMF0 that `bytes` begins with.
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
