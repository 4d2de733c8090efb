//! Parser of sections.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Buf;

use super::{Command, Invalid, SECTION_BYTES_MAX, Segmentation, TABLE_ID};
use crate::crc::crc32;

/// Bytes before the command, up to and including its type.
const HEAD_BYTES: usize = 14;

const CRC_BYTES: usize = 4;

/// `splice_command_length` of encoders that leave the length open (§9.6.1).
const LENGTH_OPEN: usize = 0xFFF;

const INSERT: u8 = 0x05;
const SIGNAL: u8 = 0x06;

const SEGMENTATION: u8 = 0x02;
/// Identifier of the descriptors that SCTE 35 defines.
const CUEI: u32 = 0x4355_4549;

/// Mask of the 33-bit fields.
const TIME_MASK: u64 = (1 << 33) - 1;

/// Upper bound on the segmentations that are read: no section has more at once.
const SEGMENTATIONS_MAX: usize = 16;

/// Decodes a section from text: base64, or hexadecimal with an optional `0x` prefix. No section is valid as both: its
/// first byte is `FC`, which is `/` at the start of base64. `None` if the text is neither, or too long.
pub fn section_of_text(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if text.len() > 2 + 2 * SECTION_BYTES_MAX {
        return None;
    }
    if text.starts_with('/') {
        return STANDARD.decode(text).ok();
    }
    let prefixed = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((value(high)? << 4 | value(low)?) as u8),
        _ => None,
    };
    let pairs = prefixed.unwrap_or(text).as_bytes().chunks(2);
    pairs.map(byte).collect()
}

/// Parses the command of a section, which is all of `bytes`.
///
/// # Errors
/// See [`Invalid`].
pub fn parse(bytes: &[u8]) -> Result<Command, Invalid> {
    if bytes.first() != Some(&TABLE_ID) {
        return Err(Invalid::Table);
    }
    let length = (bytes.get(1..3)).map(|mut it| usize::from(it.get_u16() & 0xFFF));
    let is_whole = length.is_some_and(|length| 3 + length == bytes.len());
    if !is_whole || bytes.len() < HEAD_BYTES + CRC_BYTES || bytes.len() > SECTION_BYTES_MAX {
        return Err(Invalid::Length);
    }
    if crc32(bytes) != 0 {
        return Err(Invalid::Checksum);
    }
    if bytes[3] != 0 {
        return Err(Invalid::Version);
    }
    let is_encrypted = bytes[4] & 0x80 != 0;
    let command_length = usize::from((&bytes[11..13]).get_u16() & 0xFFF);
    let rest = &bytes[HEAD_BYTES..bytes.len() - CRC_BYTES];
    match is_encrypted {
        true => Ok(Command::Other),
        false => command(bytes[13], command_length, rest).ok_or(Invalid::Cut),
    }
}

/// Reads a command of type `kind`, and the descriptors after it.
fn command(kind: u8, length: usize, rest: &[u8]) -> Option<Command> {
    let mut body = match length {
        LENGTH_OPEN => rest,
        _ => rest.get(..length)?,
    };
    let command = match kind {
        INSERT => insert(&mut body)?,
        SIGNAL => Command::Signal {
            at: splice_time(&mut body)?,
            segmentations: Vec::new(),
        },
        _ => return Some(Command::Other),
    };
    let descriptors = match length {
        LENGTH_OPEN => body,
        _ => &rest[length..],
    };
    match command {
        Command::Signal { at, .. } => Some(Command::Signal {
            at,
            segmentations: segmentations(descriptors)?,
        }),
        other => Some(other),
    }
}

/// Reads a `splice_insert` (§9.7.3).
fn insert(body: &mut &[u8]) -> Option<Command> {
    let event = body.try_get_u32().ok()?;
    let is_cancelled = body.try_get_u8().ok()? & 0x80 != 0;
    if is_cancelled {
        return Some(Command::Other);
    }
    let flags = body.try_get_u8().ok()?;
    let [is_out, is_program, has_duration, is_immediate] =
        [0x80, 0x40, 0x20, 0x10].map(|bit| flags & bit != 0);
    let mut at = None;
    if is_program {
        if !is_immediate {
            at = splice_time(body)?;
        }
    } else {
        for _ in 0..body.try_get_u8().ok()? {
            body.try_get_u8().ok()?;
            if !is_immediate {
                at = splice_time(body)?.or(at);
            }
        }
    }
    let duration = match has_duration {
        true => Some(body.try_get_uint(5).ok()? & TIME_MASK),
        false => None,
    };
    // The programme's number, then the avail's number and the number of avails.
    body.try_get_u32().ok()?;
    Some(Command::Insert {
        event,
        is_out,
        at,
        duration,
    })
}

/// Reads a `splice_time` (§9.8.1); the inner `None` means no time.
fn splice_time(body: &mut &[u8]) -> Option<Option<u64>> {
    if body.first()? & 0x80 == 0 {
        body.advance(1);
        return Some(None);
    }
    Some(Some(body.try_get_uint(5).ok()? & TIME_MASK))
}

/// Reads the segmentation descriptors of a loop (§9.6.1, §10.3.3) that are not cancelled.
fn segmentations(mut rest: &[u8]) -> Option<Vec<Segmentation>> {
    let length = usize::from(rest.try_get_u16().ok()?);
    let mut descriptors = rest.get(..length)?;
    let mut found = Vec::new();
    while !descriptors.is_empty() && found.len() < SEGMENTATIONS_MAX {
        let tag = descriptors.try_get_u8().ok()?;
        let length = usize::from(descriptors.try_get_u8().ok()?);
        let (descriptor, behind) = descriptors.split_at_checked(length)?;
        descriptors = behind;
        let is_own = descriptor.starts_with(&CUEI.to_be_bytes());
        if tag == SEGMENTATION && is_own {
            found.extend(segmentation(&descriptor[4..])?);
        }
    }
    Some(found)
}

/// Reads a segmentation descriptor; the inner `None` is a cancelled segmentation.
fn segmentation(mut body: &[u8]) -> Option<Option<Segmentation>> {
    let event = body.try_get_u32().ok()?;
    if body.try_get_u8().ok()? & 0x80 != 0 {
        return Some(None);
    }
    let flags = body.try_get_u8().ok()?;
    let [is_program, has_duration] = [0x80, 0x40].map(|bit| flags & bit != 0);
    if !is_program {
        let components = usize::from(body.try_get_u8().ok()?);
        // Each component has a tag and an offset of 33 bits.
        body = body.get(6 * components..)?;
    }
    let duration = match has_duration {
        true => Some(body.try_get_uint(5).ok()?),
        false => None,
    };
    let _identifier_type = body.try_get_u8().ok()?;
    let identifier = usize::from(body.try_get_u8().ok()?);
    let kind = *body.get(identifier)?;
    Some(Some(Segmentation {
        event,
        kind,
        duration,
    }))
}
