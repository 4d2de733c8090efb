//! Files that are part of the binary.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// Checked again each time, by its tag: a new version of the server is in force at once.
const CACHING: &str = "public, no-cache";

/// One file.
pub(super) struct Asset {
    content_type: &'static str,
    bytes: &'static [u8],
    tag: LazyLock<String>,
}

macro_rules! asset {
    ($(#[$doc:meta])* $name:ident = $content_type:literal, $path:literal) => {
        $(#[$doc])*
        pub(super) static $name: Asset = Asset {
            content_type: $content_type,
            bytes: include_bytes!($path),
            tag: LazyLock::new(|| tag($name.bytes)),
        };
    };
}

asset!(
    /// The player page's own script.
    SCRIPT = "text/javascript; charset=utf-8", "../../assets/player.js"
);
asset!(
    /// What the player page and the publish page have in common.
    RTC = "text/javascript; charset=utf-8", "../../assets/rtc.js"
);
asset!(
    /// The publish page's own script.
    PUBLISH = "text/javascript; charset=utf-8", "../../assets/publish.js"
);
asset!(
    /// mpegts.js 1.8.2, Apache-2.0, as its npm package has it.
    LIBRARY = "text/javascript; charset=utf-8", "../../assets/vendor/mpegts.js"
);
asset!(
    /// The pages' style.
    STYLE = "text/css; charset=utf-8", "../../assets/style.css"
);

impl Asset {
    /// The file, or that the client has it already.
    pub(super) fn answer(&'static self, headers: &HeaderMap) -> Response {
        let tag = self.tag.as_str();
        let common = [(header::ETAG, tag), (header::CACHE_CONTROL, CACHING)];
        let known = headers
            .get(header::IF_NONE_MATCH)
            .and_then(|value| value.to_str().ok());
        if known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag)) {
            return (StatusCode::NOT_MODIFIED, common).into_response();
        }
        (
            common,
            [(header::CONTENT_TYPE, self.content_type)],
            self.bytes,
        )
            .into_response()
    }
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", &hex(&Sha256::digest(bytes))[..16])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("a String takes all text");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendored_files_are_what_was_reviewed() {
        let sums = include_str!("../../assets/vendor/SHA256SUMS");
        let licence: &[u8] = include_bytes!("../../assets/vendor/mpegts.LICENSE");
        for (name, bytes) in [("mpegts.js", LIBRARY.bytes), ("mpegts.LICENSE", licence)] {
            let expected = format!("{}  {name}", hex(&Sha256::digest(bytes)));
            assert!(
                sums.lines().any(|line| line == expected),
                "{name} was changed"
            );
        }
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let mut headers = HeaderMap::new();
        assert_eq!(SCRIPT.answer(&headers).status(), StatusCode::OK);
        let tags = format!("\"other\", {}", *SCRIPT.tag);
        headers.insert(header::IF_NONE_MATCH, tags.parse().expect("a header value"));
        assert_eq!(SCRIPT.answer(&headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(STYLE.answer(&headers).status(), StatusCode::OK);
    }
}
