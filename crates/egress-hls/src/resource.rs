//! The addresses below a stream's name.
//!
//! | path | what |
//! |---|---|
//! | `/{stream}/index.m3u8` | the multivariant playlist; with `?dvr` that of the DVR window |
//! | `/{stream}/hls/live.m3u8` | the media playlist |
//! | `/{stream}/hls/dvr.m3u8` | the same over the DVR window |
//! | `/{stream}/hls/init-{digest}.m4s` | an initialization segment, by a digest of its bytes |
//! | `/{stream}/hls/{number}.m4s` | a segment |
//! | `/{stream}/hls/{number}.{part}.m4s` | a part of it |
//!
//! The names depend on the stream and its epochs alone, so any node of a cluster has the same. None ends like the
//! address of a live body, which would take precedence.

use std::fmt;

/// The multivariant playlist below a stream's name.
pub(crate) const MULTIVARIANT: &str = "index.m3u8";

/// The same, naming the playlist of the DVR window.
pub(crate) const WITH_DVR: &str = "index.m3u8?dvr";

/// The folder of everything else.
const FOLDER: &str = "hls/";

/// The media playlist, in the folder, and that of the DVR window.
const PLAYLIST: &str = "live.m3u8";
const DVR: &str = "dvr.m3u8";

/// What a request is for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Resource {
    /// The multivariant playlist.
    Multivariant,
    /// The media playlist.
    Playlist,
    /// The media playlist of the DVR window.
    Dvr,
    /// The initialization segment of this digest.
    Init(String),
    /// The segment of this number.
    Segment(u64),
    /// A part of the segment of this number.
    Part(u64, usize),
}

impl Resource {
    /// The stream's name and the resource that a path names; `None` if it names none. The path begins with a slash.
    pub fn of(path: &str) -> Option<(&str, Self)> {
        let path = path.strip_prefix('/')?;
        if let Some(stream) = path.strip_suffix(MULTIVARIANT) {
            return Some((stream.strip_suffix('/')?, Self::Multivariant));
        }
        let (folder, file) = path.rsplit_once('/')?;
        let stream = folder
            .strip_suffix(FOLDER.trim_end_matches('/'))?
            .strip_suffix('/')?;
        Some((stream, Self::file(file)?))
    }

    /// A file in the folder.
    fn file(name: &str) -> Option<Self> {
        if name == PLAYLIST {
            return Some(Self::Playlist);
        }
        if name == DVR {
            return Some(Self::Dvr);
        }
        if let Some(digest) = name.strip_prefix("init-") {
            return Some(Self::Init(digest.strip_suffix(".m4s")?.to_owned()));
        }
        let numbers = name.strip_suffix(".m4s")?;
        match numbers.split_once('.') {
            None => Some(Self::Segment(number(numbers)?)),
            Some((segment, part)) => {
                let part = number(part)?.try_into().ok()?;
                Some(Self::Part(number(segment)?, part))
            }
        }
    }
}

/// A number as [`Resource`] writes it: a resource has one name.
fn number(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

/// The address relative to the folder; the multivariant playlist's relative to the stream's page.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Multivariant => f.write_str(MULTIVARIANT),
            Self::Playlist => f.write_str(PLAYLIST),
            Self::Dvr => f.write_str(DVR),
            Self::Init(digest) => write!(f, "init-{digest}.m4s"),
            Self::Segment(number) => write!(f, "{number}.m4s"),
            Self::Part(number, part) => write!(f, "{number}.{part}.m4s"),
        }
    }
}

/// The address of a media playlist in the multivariant one.
pub(crate) fn playlist_address(playlist: &Resource) -> String {
    format!("{FOLDER}{playlist}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_has_one_address() {
        for resource in [
            Resource::Playlist,
            Resource::Dvr,
            Resource::Init("0123abcd".to_owned()),
            Resource::Segment(0),
            Resource::Segment(u64::MAX),
            Resource::Part(41, 0),
            Resource::Part(41, 12),
        ] {
            let path = format!("/live/show/hls/{resource}");
            assert_eq!(Resource::of(&path), Some(("live/show", resource)), "{path}");
        }
        let path = "/live/show/index.m3u8";
        assert_eq!(
            Resource::of(path),
            Some(("live/show", Resource::Multivariant))
        );
        assert_eq!(
            Resource::of("/a/hls/hls/live.m3u8"),
            Some(("a/hls", Resource::Playlist))
        );
    }

    #[test]
    fn other_paths_are_none_of_them() {
        for path in [
            "/index.m3u8",
            "/hls/live.m3u8",
            "/a/live.m3u8",
            "/a/hlslive.m3u8",
            "/a/xhls/live.m3u8",
            "/a/hls/",
            "/a/hls/41",
            "/a/hls/041.m4s",
            "/a/hls/+41.m4s",
            "/a/hls/-1.m4s",
            "/a/hls/41.m4s.m4s",
            "/a/hls/41.1.1.m4s",
            "/a/hls/41..m4s",
            "/a/hls/.m4s",
            "/a/hls/99999999999999999999.m4s",
            "/a/hls/init.m4s",
            "/a/hls/init-0123abcd.mp4",
            "a/index.m3u8",
        ] {
            assert_eq!(Resource::of(path), None, "{path}");
        }
    }
}
