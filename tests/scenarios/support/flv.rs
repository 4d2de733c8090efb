//! Minimal parser of FLV, for the times of a body.

/// Returns the body up to the end of its last whole tag.
pub(crate) fn whole_tags(body: &[u8]) -> Vec<u8> {
    let end = tags(body)
        .last()
        .map_or(13, |(tag, length)| tag + 15 + length);
    body[..end].to_vec()
}

/// Returns the times in milliseconds of the tags of one kind (8 audio, 9 video), sequence headers included.
pub(crate) fn times(body: &[u8], kind: u8) -> Vec<u32> {
    media(body)
        .filter(|tag| tag.kind == kind)
        .map(|tag| tag.time)
        .collect()
}

/// One tag of audio or video.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag<'a> {
    /// Type of the tag: 8 audio, 9 video.
    pub(crate) kind: u8,
    /// Time in milliseconds.
    pub(crate) time: u32,
    pub(crate) data: &'a [u8],
}

/// Returns the whole tags of audio and video, sequence headers included.
pub(crate) fn media(body: &[u8]) -> impl Iterator<Item = Tag<'_>> {
    tags(body)
        .filter(|(tag, _)| matches!(body[*tag], 8 | 9))
        .map(|(tag, length)| Tag {
            kind: body[tag],
            time: u32::from_be_bytes([body[tag + 7], body[tag + 4], body[tag + 5], body[tag + 6]]),
            data: &body[tag + 11..tag + 11 + length],
        })
}

/// Returns the whole tags: the offset of each, and the length of its data.
fn tags(body: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 13;
    std::iter::from_fn(move || {
        let [_, a, b, c] = *body.get(at..at + 4)? else {
            return None;
        };
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let tag = at;
        at += 15 + length;
        (at <= body.len()).then_some((tag, length))
    })
}
