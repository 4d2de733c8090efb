//! ICY metadata block.

use bytes::Bytes;
use media::{Charset, Title};

/// Upper bound on a block's length: the length byte and the most text that it can announce.
pub const BLOCK_BYTES_MAX: usize = 1 + TEXT_BYTES_MAX;

/// Upper bound on a block's text: 255 times 16 bytes.
const TEXT_BYTES_MAX: usize = 4_080;

/// Length limit of a link. A longer one is left out, because half a link leads nowhere.
const URL_BYTES_MAX: usize = 1_024;

const TITLE_OPENS: &str = "StreamTitle='";
const URL_OPENS: &str = "StreamUrl='";
/// End of a value. Players look for exactly this, since nothing is ever escaped.
const CLOSES: &str = "';";

/// Metadata block, ready for the wire.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block(Bytes);

impl Block {
    /// Creates the block with `title`.
    ///
    /// Control characters become spaces, so that no title spans lines or ends early in a player written in C;
    /// a `';` inside gets a space in between, so that it does not close its quotes; and what does not fit is
    /// cut between characters.
    pub fn new(title: &Title, charset: Charset) -> Self {
        let url = harmless(&title.url);
        let url = if url.is_empty() || url.len() > URL_BYTES_MAX {
            String::new()
        } else {
            format!("{URL_OPENS}{url}{CLOSES}")
        };
        let room = TEXT_BYTES_MAX - TITLE_OPENS.len() - CLOSES.len() - url.len();
        let mut bytes = vec![0];
        bytes.extend_from_slice(TITLE_OPENS.as_bytes());
        let end = bytes.len() + room;
        for character in harmless(&title.text).chars() {
            let whole = bytes.len();
            charset.encode(character, &mut bytes);
            if bytes.len() > end {
                bytes.truncate(whole);
                break;
            }
        }
        bytes.extend_from_slice(CLOSES.as_bytes());
        url.chars().for_each(|one| charset.encode(one, &mut bytes));
        let sixteens = (bytes.len() - 1).div_ceil(16);
        bytes.resize(1 + 16 * sixteens, 0);
        bytes[0] = u8::try_from(sixteens).expect("the text was cut to 255 times 16 bytes");
        Self(bytes.into())
    }

    /// Creates the empty block, which means no change of title.
    pub const fn empty() -> Self {
        Self(Bytes::from_static(&[0]))
    }

    /// Returns whether this is the empty block.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the bytes on the wire, length byte first.
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }
}

fn harmless(value: &str) -> String {
    value.replace(char::is_control, " ").replace(CLOSES, "' ;")
}

/// Extracts the title from a block's text as players do: up to the first `';`.
pub fn title_of(block: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(block.get(1..)?).ok()?;
    let (_, value) = text.split_once(TITLE_OPENS)?;
    Some(value.split_once(CLOSES)?.0)
}

/// Extracts the title and the link from a block of another server; `text` is what follows the length byte. `None` if
/// there is no title.
pub fn title_in(text: &str) -> Option<Title> {
    let value = |opens| {
        let (_, value) = text.split_once(opens)?;
        // A value that was truncated to fit into the block ends with the block.
        let end = value.find(CLOSES).unwrap_or(value.len());
        Some(value[..end].replace(char::is_control, "").trim().to_owned())
    };
    Some(Title {
        text: value(TITLE_OPENS)?,
        url: value(URL_OPENS).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(text: &str, url: &str) -> Block {
        let title = Title {
            text: text.to_owned(),
            url: url.to_owned(),
        };
        Block::new(&title, Charset::UTF_8)
    }

    #[test]
    fn a_usual_title() {
        let plain = &b"\x02StreamTitle='Artist - Song';\0\0\0\0"[..];
        assert_eq!(block("Artist - Song", "").bytes(), plain);
        let link = &b"\x03StreamTitle='A';StreamUrl='http://x/';\0\0\0\0\0\0\0\0\0\0"[..];
        assert_eq!(block("A", "http://x/").bytes(), link);
        assert_eq!(Block::empty().bytes(), &[0][..]);
    }

    #[test]
    fn titles_of_other_servers_are_read_as_they_come() {
        let linked = "StreamTitle='Rock 'n' Roll';StreamUrl='http://x/';";
        for (sent, text, url) in [
            ("StreamTitle='Ü - ß';\0\0", "Ü - ß", ""),
            (linked, "Rock 'n' Roll", "http://x/"),
            ("StreamTitle='it is cu\0", "it is cu", ""),
            ("StreamTitle='';", "", ""),
        ] {
            let title = title_in(sent).expect("a title");
            assert_eq!((&title.text[..], &title.url[..]), (text, url));
        }
        for sent in ["StreamUrl='x';", ""] {
            assert_eq!(title_in(sent), None);
        }
    }

    #[test]
    fn titles_cannot_break_out() {
        let hostile = block("x';StreamUrl='http://evil/';\r\n\0y", "u';StreamTitle='z");
        let harmless = "x' ;StreamUrl='http://evil/' ;   y";
        assert_eq!(title_of(hostile.bytes()), Some(harmless));
        assert_eq!(title_of(block("Rock 'n'", "").bytes()), Some("Rock 'n'"));
    }

    #[test]
    fn titles_are_sent_in_another_character_set() {
        let title = Title {
            text: "Ä ♫ Привет';".to_owned(),
            url: String::new(),
        };
        let charset = Charset::from_label("windows-1251").expect("known");
        let block = Block::new(&title, charset);
        let expected = &b"\x02StreamTitle='? ? \xcf\xf0\xe8\xe2\xe5\xf2' ;';"[..];
        assert_eq!(&block.bytes()[..expected.len()], expected);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let long = block(&"ü".repeat(4_000), "");
        assert!(long.bytes().len() <= BLOCK_BYTES_MAX);
        assert!(title_of(long.bytes()).is_some_and(|title| title.chars().all(|c| c == 'ü')));
        let both = block(&"t".repeat(5_000), &"u".repeat(URL_BYTES_MAX));
        assert_eq!(both.bytes().len(), BLOCK_BYTES_MAX);
        assert!(both.bytes().ends_with(b"u';"));
        assert!(!block("t", &"u".repeat(5_000)).bytes().contains(&b'u'));
    }

    proptest! {
        #[test]
        fn every_block_keeps_to_its_format(text in any::<String>(), url in any::<String>()) {
            let block = block(&text, &url);
            let bytes = block.bytes();
            prop_assert_eq!(bytes.len(), 1 + 16 * usize::from(bytes[0]));
            let written = title_of(bytes).expect("a title");
            prop_assert_eq!(written, harmless(&text));
        }
    }
}
