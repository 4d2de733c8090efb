//! Text of playlists: its encoding, paths in addresses, titles.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::TITLE_BYTES_MAX;

/// Decodes UTF-8, with or without a byte order mark; anything that is not UTF-8 is taken for Latin-1.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Returns the path that a `file:` address names; anything else is returned unchanged.
pub(super) fn path_of(location: &str) -> String {
    let path = location
        .strip_prefix("file://localhost/")
        .or_else(|| location.strip_prefix("file:///"));
    match path {
        Some(path) => format!("/{}", unescaped(path)),
        None => location.to_owned(),
    }
}

/// Decodes percent-encoded bytes as text.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// Returns a title without control characters, cut to its limit; `None` if nothing is left.
pub(super) fn title(text: &str) -> Option<String> {
    let mut title = text.trim().replace(char::is_control, " ");
    title.truncate(title.floor_char_boundary(TITLE_BYTES_MAX));
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_paths() {
        assert_eq!(path_of("file:///a%20b/%C3%BC.mp3"), "/a b/ü.mp3");
        assert_eq!(path_of("file://localhost/a.mp3"), "/a.mp3");
        assert_eq!(path_of("a%20b.mp3"), "a%20b.mp3");
        assert_eq!(path_of("http://host/a%20b"), "http://host/a%20b");
    }

    #[test]
    fn titles_are_one_line() {
        assert_eq!(title(" a\nb "), Some("a b".to_owned()));
        assert_eq!(title("  "), None);
    }
}
