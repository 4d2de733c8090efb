//! Titles from VorbisComment (the Vorbis I specification, §5), which every Xiph codec shares.

use media::Title;

use crate::id3;

/// Upper bound on the bytes of a title that is kept: more than a display shows or a metadata block holds.
const TITLE_BYTES_MAX: usize = 2_048;

/// Artist and title in the comments.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Song {
    pub(super) artist: Option<String>,
    pub(super) title: Option<String>,
}

/// Returns `ARTIST - TITLE`, or whichever of the two is present.
pub(super) fn title(comments: &[u8]) -> Option<Title> {
    let Song { artist, title } = song(comments)?;
    let mut text = id3::joined(artist, title)?;
    text.truncate(text.floor_char_boundary(TITLE_BYTES_MAX));
    Some(Title {
        text,
        url: String::new(),
    })
}

/// Returns `ARTIST` and `TITLE`.
pub(super) fn song(comments: &[u8]) -> Option<Song> {
    let mut rest = comments;
    field(&mut rest)?; // vendor
    let count = number(&mut rest)?;
    let mut song = Song::default();
    for _ in 0..count {
        // A truncated list still has a beginning. This also ends the loop if the count is wrong.
        let Some(comment) = field(&mut rest) else {
            break;
        };
        let Some(equals) = comment.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let (key, value) = (&comment[..equals], &comment[equals + 1..]);
        let wanted = if key.eq_ignore_ascii_case(b"ARTIST") {
            &mut song.artist
        } else if key.eq_ignore_ascii_case(b"TITLE") {
            &mut song.title
        } else {
            continue;
        };
        if wanted.is_none() && !value.is_empty() {
            let shown = &value[..value.len().min(TITLE_BYTES_MAX)];
            *wanted = Some(String::from_utf8_lossy(shown).into_owned());
        }
    }
    Some(song)
}

/// Writes a packet of comments: the name of the encoder, and each non-empty value after its key.
pub(super) fn write(opening: &[u8], vendor: &[u8], fields: &[(&str, &str)]) -> Vec<u8> {
    let mut packet = opening.to_vec();
    put(&mut packet, &[vendor]);
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    packet.extend((fields.clone().count() as u32).to_le_bytes());
    for (key, value) in fields {
        put(&mut packet, &[key.as_bytes(), value.as_bytes()]);
    }
    packet
}

/// Appends a text made of parts, preceded by its length.
fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend((length as u32).to_le_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*number))
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(rest)? as usize;
    let (field, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(field)
}
