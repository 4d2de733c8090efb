//! Addresses below a stream's name.
//!
//! | path | resource |
//! |---|---|
//! | `/{stream}/index.m3u8` | the multivariant playlist; with `?dvr` that of the DVR window |
//! | `/{stream}/hls/live.m3u8` | the media playlist |
//! | `/{stream}/hls/dvr.m3u8` | the media playlist of the DVR window |
//! | `/{stream}/hls/init-{digest}.m4s` | an initialization segment, by a digest of its bytes |
//! | `/{stream}/hls/{number}.m4s` | a segment |
//! | `/{stream}/hls/{number}.{part}.m4s` | a part of a segment |
//! | `/{stream}/aes/{number}.key` | a key of encrypted segments |
//!
//! The other [`Packaging`]s have the same files, except a DVR window, in folders of their own, with the suffix of their
//! container: `ts/41.ts`, `aac/41.2.aac`. Names depend only on the stream and its epochs, so every node of a cluster
//! has the same names.

use std::fmt;

use crate::packaging::Packaging;

/// Name of the multivariant playlist, below a stream's name.
pub(crate) const MULTIVARIANT: &str = "index.m3u8";

/// Name of the multivariant playlist that names the playlist of the DVR window.
pub(crate) const WITH_DVR: &str = "index.m3u8?dvr";

/// Name of the media playlist in its folder, and that of the DVR window's.
const PLAYLIST: &str = "live.m3u8";
const DVR: &str = "dvr.m3u8";

/// Suffix of a key's name.
const KEY: &str = ".key";

/// Resource that a request names.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Resource {
    /// The multivariant playlist.
    Multivariant,
    /// Piece of one packaging.
    Media(Packaging, Piece),
}

/// Resource within a packaging.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Piece {
    /// The media playlist.
    Playlist,
    /// Media playlist of the DVR window; fragmented MP4 only.
    Dvr,
    /// Initialization segment with this digest.
    Init(String),
    /// Segment with this number.
    Segment(u64),
    /// Part of the segment with this number, by its index.
    Part(u64, usize),
    /// Key with this number; encrypted segments only.
    Key(u64),
}

impl Resource {
    /// Parses a path, which begins with a slash, into the stream's name and the resource; `None` if it names none.
    pub fn of(path: &str) -> Option<(&str, Self)> {
        let (folder, file) = path.strip_prefix('/')?.rsplit_once('/')?;
        if file == MULTIVARIANT {
            return Some((folder, Self::Multivariant));
        }
        let (stream, folder) = folder.rsplit_once('/')?;
        let mut all = Packaging::ALL.into_iter();
        let packaging = all.find(|packaging| packaging.folder() == folder)?;
        Some((stream, Self::Media(packaging, Piece::of(file, packaging)?)))
    }

    /// Returns whether it is media rather than a playlist.
    pub(crate) fn is_media(&self) -> bool {
        matches!(
            self,
            Self::Media(_, Piece::Segment(_) | Piece::Part(..) | Piece::Init(_))
        )
    }
}

impl Piece {
    /// Parses the name of a file in the folder of a packaging.
    pub(crate) fn of(name: &str, packaging: Packaging) -> Option<Self> {
        match name {
            PLAYLIST => return Some(Self::Playlist),
            DVR if packaging == Packaging::Mp4 => return Some(Self::Dvr),
            _ => {}
        }
        if let Some(name) = name
            .strip_suffix(KEY)
            .filter(|_| packaging == Packaging::Encrypted)
        {
            return Some(Self::Key(number(name)?));
        }
        let name = name.strip_suffix(packaging.suffix())?;
        if let Some(digest) = name.strip_prefix("init-") {
            return Some(Self::Init(digest.to_owned()));
        }
        match name.split_once('.') {
            None => Some(Self::Segment(number(name)?)),
            Some((segment, part)) => {
                let part = number(part)?.try_into().ok()?;
                Some(Self::Part(number(segment)?, part))
            }
        }
    }

    /// Returns its name in the folder of a packaging.
    pub(crate) fn name(&self, packaging: Packaging) -> impl fmt::Display {
        let suffix = packaging.suffix();
        fmt::from_fn(move |f| match self {
            Self::Playlist => f.write_str(PLAYLIST),
            Self::Dvr => f.write_str(DVR),
            Self::Init(digest) => write!(f, "init-{digest}{suffix}"),
            Self::Segment(number) => write!(f, "{number}{suffix}"),
            Self::Part(number, part) => write!(f, "{number}.{part}{suffix}"),
            Self::Key(number) => write!(f, "{number}{KEY}"),
        })
    }
}

/// Parses a number exactly as [`Piece`] writes it, so that a resource has one name.
fn number(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

/// Formats the address relative to the stream's page.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Multivariant => f.write_str(MULTIVARIANT),
            Self::Media(packaging, piece) => {
                write!(f, "{}/{}", packaging.folder(), piece.name(*packaging))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_has_one_address() {
        let mut all = vec![Resource::Multivariant];
        for packaging in Packaging::ALL {
            let pieces = [
                Piece::Playlist,
                Piece::Init("0123abcd".to_owned()),
                Piece::Segment(0),
                Piece::Segment(u64::MAX),
                Piece::Part(41, 0),
                Piece::Part(41, 12),
            ];
            all.extend(pieces.map(|piece| Resource::Media(packaging, piece)));
        }
        all.push(Resource::Media(Packaging::Mp4, Piece::Dvr));
        all.push(Resource::Media(Packaging::Encrypted, Piece::Key(7)));
        for resource in all {
            let path = format!("/live/show/{resource}");
            assert_eq!(Resource::of(&path), Some(("live/show", resource)), "{path}");
        }
        let playlist = Resource::Media(Packaging::Mp4, Piece::Playlist);
        let found = Resource::of("/a/hls/hls/live.m3u8");
        assert_eq!(found, Some(("a/hls", playlist)));
        let part = Resource::Media(Packaging::Mp3, Piece::Part(41, 2));
        assert_eq!(Resource::of("/a/mp3/41.2.mp3"), Some(("a", part)));
    }

    #[test]
    fn other_paths_are_none_of_them() {
        let given = "/index.m3u8|/hls/live.m3u8|/a/live.m3u8|/a/hlslive.m3u8|/a/xhls/live.m3u8|\
                     /a/hls/|/a/hls/41|/a/hls/041.m4s|/a/hls/+41.m4s|/a/hls/-1.m4s|\
                     /a/hls/41.m4s.m4s|/a/hls/41.1.1.m4s|/a/hls/41..m4s|/a/hls/.m4s|\
                     /a/hls/99999999999999999999.m4s|/a/hls/init.m4s|/a/hls/init-0123abcd.mp4|\
                     /a/hls/41.ts|/a/ts/41.m4s|/a/ts/dvr.m3u8|/a/aes/dvr.m3u8|/a/ts/7.key|\
                     /a/aes/07.key|/a/mp3/41.aac|a/index.m3u8";
        for path in given.split('|') {
            assert_eq!(Resource::of(path), None, "{path}");
        }
    }
}
