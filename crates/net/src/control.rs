//! Control messages: data that accompanies bytes without being part of them (`cmsg(3)`).

use libc::c_int;

const WORD: usize = size_of::<usize>();
const HEADER_LEN: usize = size_of::<libc::cmsghdr>();
const _: () = assert!(
    HEADER_LEN == WORD + 8,
    "the header is a length and two numbers"
);

/// Returns the space that a message of `len` bytes takes, in bytes.
pub(crate) const fn space(len: usize) -> usize {
    HEADER_LEN + len.next_multiple_of(WORD)
}

/// Writes a message to the beginning of `room`, and returns how many bytes of that it takes; `None` if it
/// does not fit.
pub(crate) fn write(room: &mut [u8], level: c_int, kind: c_int, data: &[u8]) -> Option<usize> {
    let message = room.get_mut(..space(data.len()))?;
    message[..WORD].copy_from_slice(&(HEADER_LEN + data.len()).to_ne_bytes());
    message[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
    message[WORD + 4..WORD + 8].copy_from_slice(&kind.to_ne_bytes());
    message[HEADER_LEN..HEADER_LEN + data.len()].copy_from_slice(data);
    Some(message.len())
}

/// Returns the level, the kind and the data of each message, up to the first incomplete one.
pub(crate) fn read(mut messages: &[u8]) -> impl Iterator<Item = (c_int, c_int, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from_ne_bytes(array(messages, 0)?);
        let level = c_int::from_ne_bytes(array(messages, WORD)?);
        let kind = c_int::from_ne_bytes(array(messages, WORD + 4)?);
        let data = messages.get(HEADER_LEN..len)?;
        messages = messages.get(space(data.len())..).unwrap_or_default();
        Some((level, kind, data))
    })
}

/// Returns `N` bytes from `at` on, if there are as many.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
