//! Media types of the served files. Files of other types are treated as missing.

/// File extensions and their media types.
const TYPES: &[(&str, &str)] = &[
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("flv", "video/x-flv"),
    ("m4a", "audio/mp4"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("ts", "video/mp2t"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
];

/// Returns the media type of a file; `None` if it is not served.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let mut types = TYPES.iter();
    let found = types.find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map(|(_, media_type)| *media_type)
}

/// Returns whether files of this type have HLS segments.
pub(crate) fn has_segments(name: &str) -> bool {
    matches!(of(name), Some("video/mp4" | "audio/mp4"))
}

/// Returns whether files of this type can start in the middle.
pub(crate) fn is_flv(name: &str) -> bool {
    of(name) == Some("video/x-flv")
}
