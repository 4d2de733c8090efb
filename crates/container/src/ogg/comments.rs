//! Titles from VorbisComment (the Vorbis I specification, §5), which every Xiph codec shares.

use media::Title;

/// The longest title that is kept: more than a display shows or a metadata block holds.
const TITLE_BYTES_MAX: usize = 2_048;

/// The title in the comments.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Song {
    pub(super) artist: Option<String>,
    pub(super) title: Option<String>,
}

/// `ARTIST - TITLE`, or whichever of them is there.
pub(super) fn title(comments: &[u8]) -> Option<Title> {
    let mut text = match song(comments)? {
        Song {
            artist: Some(artist),
            title: Some(title),
        } => format!("{artist} - {title}"),
        Song { artist, title } => artist.or(title)?,
    };
    text.truncate(text.floor_char_boundary(TITLE_BYTES_MAX));
    Some(Title {
        text,
        url: String::new(),
    })
}

/// `ARTIST` and `TITLE`.
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
