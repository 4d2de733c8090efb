//! Files that are embedded in the binary.
//!
//! Scripts and libraries are built by `npm run build` in `web`, which records their checksums; the other files are written by
//! hand. Built files are committed, so that a build of the server needs no Node.js.

use std::sync::LazyLock;

use http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::reply::Reply;

/// Cache-Control value: revalidated each time by its tag, so that a new version of the server takes effect at once.
const CACHING: &str = "public, no-cache";

/// Embedded file.
pub struct Asset {
    content_type: &'static str,
    bytes: &'static [u8],
    tag: LazyLock<String>,
    /// Compressed version for clients that accept gzip.
    packed: Option<Packed>,
}

/// File compressed by gzip.
struct Packed {
    bytes: &'static [u8],
    tag: LazyLock<String>,
}

macro_rules! asset {
    ($(#[$doc:meta])* $name:ident = $content_type:literal, $path:literal, packed $packed:literal) => {
        asset!(@ $(#[$doc])* $name, $content_type, $path, Some(Packed {
            bytes: include_bytes!($packed),
            tag: LazyLock::new(|| tag(include_bytes!($packed))),
        }));
    };
    ($(#[$doc:meta])* $name:ident = $content_type:literal, $path:literal) => {
        asset!(@ $(#[$doc])* $name, $content_type, $path, None);
    };
    (@ $(#[$doc:meta])* $name:ident, $content_type:literal, $path:literal, $packed:expr) => {
        $(#[$doc])*
        pub static $name: Asset = Asset {
            content_type: $content_type,
            bytes: include_bytes!($path),
            tag: LazyLock::new(|| tag($name.bytes)),
            packed: $packed,
        };
    };
}

asset!(
    /// Script of the player page.
    SCRIPT = "text/javascript; charset=utf-8", "../../assets/player.js",
    packed "../../assets/player.js.gz"
);
asset!(
    /// Script of the list.
    LIST = "text/javascript; charset=utf-8", "../../assets/list.js"
);
asset!(
    /// Element `<carillon-player>`.
    COMPONENT = "text/javascript; charset=utf-8", "../../assets/carillon.js"
);
asset!(
    /// Icon of the pages.
    ICON = "image/svg+xml", "../../assets/icon.svg"
);
asset!(
    /// Script of the publish page.
    PUBLISH = "text/javascript; charset=utf-8", "../../assets/publish.js"
);
asset!(
    /// Script of the operator's page.
    OPERATOR = "text/javascript; charset=utf-8", "../../assets/operator.js"
);
asset!(
    /// mpegts.js 1.8.2, Apache-2.0, unchanged from its npm package; packed by `gzip -9 -n`.
    FLV_LIBRARY = "text/javascript; charset=utf-8", "../../assets/vendor/mpegts.js",
    packed "../../assets/vendor/mpegts.js.gz"
);
asset!(
    /// hls.js 1.7.4, its light build, Apache-2.0, unchanged from its npm package; packed by `gzip -9 -n`.
    HLS_LIBRARY = "text/javascript; charset=utf-8", "../../assets/vendor/hls.light.min.js",
    packed "../../assets/vendor/hls.light.min.js.gz"
);
asset!(
    /// Style sheet of the pages.
    STYLE = "text/css; charset=utf-8", "../../assets/style.css"
);

impl Asset {
    /// Returns the file, or 304 if the client already has it.
    pub fn answer(&'static self, headers: &HeaderMap) -> Reply {
        let accepted = headers.get_all(header::ACCEPT_ENCODING).into_iter();
        let accepted = accepted.filter_map(|line| line.to_str().ok());
        let takes_gzip = http1::accepts_coding(accepted, "gzip");
        let packed = self.packed.as_ref().filter(|_| takes_gzip);
        let (bytes, tag) = match packed {
            Some(packed) => (packed.bytes, packed.tag.as_str()),
            None => (self.bytes, self.tag.as_str()),
        };
        let mut reply = Reply::full(StatusCode::OK, self.content_type, bytes);
        reply = reply.versioned(tag, CACHING, headers);
        if self.packed.is_some() {
            reply = reply.with(header::VARY, "Accept-Encoding");
        }
        match packed {
            Some(_) => reply.with(header::CONTENT_ENCODING, "gzip"),
            None => reply,
        }
    }
}

/// Computes the tag of a version: its digest.
pub(super) fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", &hex(&Sha256::digest(bytes))[..16])
}

/// Formats bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum length of the script that pages of others load before the frame.
    const COMPONENT_BYTES_MAX: usize = 8 << 10;

    /// Demands that each file is in the list of checksums, as `sha256sum` writes it.
    fn assert_recorded(sums: &str, files: &[(&str, &[u8])]) {
        for (name, bytes) in files {
            let expected = format!("{}  {name}", hex(&Sha256::digest(bytes)));
            let is_recorded = sums.lines().any(|line| line == expected);
            assert!(is_recorded, "{name} was changed");
        }
        assert_eq!(sums.lines().count(), files.len(), "files without a check");
    }

    fn packed(asset: &'static Asset) -> &'static [u8] {
        asset.packed.as_ref().expect("it is packed, too").bytes
    }

    #[test]
    fn vendored_files_are_what_was_reviewed() {
        let sums = include_str!("../../assets/vendor/SHA256SUMS");
        let files: &[(&str, &[u8])] = &[
            ("mpegts.js", FLV_LIBRARY.bytes),
            ("mpegts.js.gz", packed(&FLV_LIBRARY)),
            (
                "mpegts.js.LICENSE.txt",
                include_bytes!("../../assets/vendor/mpegts.js.LICENSE.txt"),
            ),
            (
                "mpegts.LICENSE",
                include_bytes!("../../assets/vendor/mpegts.LICENSE"),
            ),
            ("hls.light.min.js", HLS_LIBRARY.bytes),
            ("hls.light.min.js.gz", packed(&HLS_LIBRARY)),
            (
                "hls.LICENSE",
                include_bytes!("../../assets/vendor/hls.LICENSE"),
            ),
        ];
        assert_recorded(sums, files);
    }

    #[test]
    fn scripts_are_what_was_built() {
        let sums = include_str!("../../assets/SHA256SUMS");
        let files: &[(&str, &[u8])] = &[
            ("carillon.js", COMPONENT.bytes),
            ("list.js", LIST.bytes),
            ("operator.js", OPERATOR.bytes),
            ("player.js", SCRIPT.bytes),
            ("player.js.gz", packed(&SCRIPT)),
            ("publish.js", PUBLISH.bytes),
        ];
        assert_recorded(sums, files);
    }

    #[test]
    fn the_element_for_other_pages_stays_small() {
        let bytes = COMPONENT.bytes.len();
        assert!(bytes < COMPONENT_BYTES_MAX, "{bytes} bytes");
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let mut headers = HeaderMap::new();
        assert_eq!(SCRIPT.answer(&headers).status, StatusCode::OK);
        let tags = format!("\"other\", {}", *SCRIPT.tag);
        headers.insert(header::IF_NONE_MATCH, tags.parse().expect("a header value"));
        assert_eq!(SCRIPT.answer(&headers).status, StatusCode::NOT_MODIFIED);
        assert_eq!(STYLE.answer(&headers).status, StatusCode::OK);
    }

    #[test]
    fn clients_that_understand_gzip_get_it() {
        for (sent, expected) in [
            ("gzip, deflate, br, zstd", true),
            ("GZIP;q=0.5", true),
            ("br;q=1, gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("identity", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            let sent_value = sent.parse().expect("a header value");
            headers.insert(header::ACCEPT_ENCODING, sent_value);
            let answer = FLV_LIBRARY.answer(&headers);
            let coding = answer.headers.get(header::CONTENT_ENCODING);
            assert_eq!(coding.is_some(), expected, "{sent:?}");
            assert_eq!(answer.headers[header::VARY], "Accept-Encoding");
        }
    }
}
