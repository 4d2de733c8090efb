//! M3U: a location on each line; `#EXTINF:seconds,title` before it.

use super::{ENTRIES_MAX, Entry};

/// Prefix of the line before a location.
const DETAILS: &str = "#EXTINF:";

pub(super) fn parse(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut title = None;
    // Old files end their lines with a carriage return alone.
    for line in text.split(['\n', '\r']).map(str::trim) {
        if entries.len() >= ENTRIES_MAX {
            break;
        }
        let is_details = line
            .get(..DETAILS.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(DETAILS));
        if is_details {
            title = title_of(&line[DETAILS.len()..]);
        } else if !line.is_empty() && !line.starts_with('#') {
            entries.extend(Entry::new(line, title.take()));
        }
    }
    entries
}

/// Returns the text after the first comma outside of quotes: `-1 logo="a,b",title`.
fn title_of(details: &str) -> Option<&str> {
    let mut is_quoted = false;
    let comma = details.find(|character| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    })?;
    Some(&details[comma + 1..])
}

#[cfg(test)]
mod tests {
    use super::super::Syntax;
    use super::super::tests::pairs;

    #[test]
    fn plain_and_extended_files_are_read() {
        let text = "#EXTM3U\r\n#EXTINF:123,Some Band - Some, Song\r\nsongs/a b.mp3\r\n\r\n\
                    #EXTINF:-1 tvg-logo=\"x,y\",Other\r\n# a comment\r\n/abs/c.mp3\nfile:///d%20e.mp3\n";
        let entries = Syntax::M3u.parse(text.as_bytes());
        let expected = [
            ("songs/a b.mp3", "Some Band - Some, Song"),
            ("/abs/c.mp3", "Other"),
            ("/d e.mp3", ""),
        ];
        assert_eq!(pairs(&entries), expected);
    }

    #[test]
    fn latin_1_and_old_line_ends_are_read() {
        let entries = Syntax::M3u.parse(b"#EXTINF:1,Bj\xF6rk\rj\xF3ga.mp3\rb.mp3");
        assert_eq!(pairs(&entries), [("jóga.mp3", "Björk"), ("b.mp3", "")]);
        let utf_8 = Syntax::M3u.parse("\u{FEFF}#extinf:1,Björk\njóga.mp3".as_bytes());
        assert_eq!(pairs(&utf_8), [("jóga.mp3", "Björk")]);
    }
}
