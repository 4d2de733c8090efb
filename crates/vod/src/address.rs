//! Addresses of files: from a path to a file in a folder.

use std::sync::Arc;

use media::StreamName;

use crate::folder::Folder;
use crate::{Files, Served, media_type};

/// Path that names a file, whether it exists or not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// Name of the folder.
    folder: StreamName,
    /// Name of the file in the folder.
    pub(crate) name: String,
    pub(crate) media_type: &'static str,
    pub(crate) resource: Resource,
}

/// Resource of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Resource {
    /// The file itself.
    File,
    /// HLS playlist of the file.
    Playlist,
    /// Initialization segment.
    Init,
    /// Segment made from the file's samples.
    Segment(usize),
}

/// Names of an MP4 file's HLS resources, below its own name.
pub(crate) const PLAYLIST: &str = "index.m3u8";
pub(crate) const INIT: &str = "init.mp4";
pub(crate) const SEGMENT: &str = ".m4s";

impl Resource {
    /// Splits a name into the file and its resource; `None` if it names a plain file.
    fn of(name: &str) -> Option<(&str, Self)> {
        let (file, below) = name.rsplit_once('/')?;
        if !media_type::has_segments(file) {
            return None;
        }
        let resource = match below {
            PLAYLIST => Self::Playlist,
            INIT => Self::Init,
            _ => Self::Segment(number(below.strip_suffix(SEGMENT)?)?),
        };
        Some((file, resource))
    }
}

/// Parses a number in its only accepted form, so that each segment has one name.
pub(crate) fn number(text: &str) -> Option<usize> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

impl Address {
    /// Returns the name of the folder. The gate decides about the folder: permission to play one file is permission to
    /// play all.
    pub fn folder(&self) -> &StreamName {
        &self.folder
    }

    /// Returns the name of the file in the folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether it is an HLS resource.
    pub fn is_hls(&self) -> bool {
        self.resource != Resource::File
    }
}

impl Files {
    /// Parses a path, percent-decoded once. `None` unless it names a file of a served kind in one of the folders.
    pub fn find(&self, path: &str) -> Option<Address> {
        let path = path.strip_prefix('/')?;
        let within = |name: &StreamName| {
            let below = path.strip_prefix(name.as_str())?;
            Some((name.as_str().len(), below.strip_prefix('/')?))
        };
        let fitting = self.folders.iter();
        let fitting = fitting.filter_map(|served| Some((served, within(&served.name)?)));
        // If one folder lies below another, the inner one counts.
        let (served, (_, name)) = fitting.max_by_key(|(_, (length, _))| *length)?;
        let (name, resource) = Resource::of(name).unwrap_or((name, Resource::File));
        let media_type = media_type::of(name).filter(|_| Folder::may_name(name))?;
        Some(Address {
            folder: served.name.clone(),
            name: name.to_owned(),
            media_type,
            resource,
        })
    }

    pub(crate) fn folder_of(&self, address: &Address) -> Option<&Arc<Served>> {
        let mut folders = self.folders.iter();
        folders.find(|served| served.name == address.folder)
    }
}

#[cfg(test)]
mod tests {
    use base::holdings::Holdings;

    use super::*;

    #[test]
    fn paths_name_files_of_kinds_that_are_served() {
        let name = |text| StreamName::parse(text).expect("a name");
        let files = Files::new(
            ["vod", "vod/old"].map(|folder| (name(folder), "/".into())),
            &Holdings::new(0),
        );
        let found = |path| {
            let address = files.find(path)?;
            Some((address.folder.to_string(), address.name))
        };
        let expected = |folder: &str, name: &str| Some((folder.to_owned(), name.to_owned()));
        assert_eq!(found("/vod/a.mp4"), expected("vod", "a.mp4"));
        assert_eq!(found("/vod/b/ä ö.mp3"), expected("vod", "b/ä ö.mp3"));
        assert_eq!(found("/vod/old/a.mp4"), expected("vod/old", "a.mp4"));
        assert_eq!(found("/vod/older/a.mp4"), expected("vod", "older/a.mp4"));
        let media_type = |path| files.find(path).map(|address| address.media_type);
        assert_eq!(media_type("/vod/a/film.mp4"), Some("video/mp4"));
        assert_eq!(media_type("/vod/SONG.MP3"), Some("audio/mpeg"));
        let resource = |path: &str| files.find(path).map(|address| address.resource);
        assert_eq!(resource("/vod/a.mp4"), Some(Resource::File));
        let below = |name: &str| resource(&format!("/vod/a b.mp4/{name}"));
        assert_eq!(below("index.m3u8"), Some(Resource::Playlist));
        assert_eq!(below("init.mp4"), Some(Resource::Init));
        assert_eq!(below("0.m4s"), Some(Resource::Segment(0)));
        assert_eq!(below("41.m4s"), Some(Resource::Segment(41)));
        for name in ["041.m4s", "+1.m4s", "-1.m4s", "x.m4s", ".m4s", "live.m3u8"] {
            assert_eq!(below(name), None, "{name}");
        }
        let given = "/vod/a.mp3/index.m3u8|/vod/.a.mp4/index.m3u8|/vod/../a.mp4/0.m4s|/vod|/vod/|\
                     /vod.mp4|/vod/.mp4|/vod/mp4|/vod/a|/vod/a.|/vod/a.mp4.part|/vod/a.txt|\
                     /vod/a.mp4/|/vod/../a.mp4|/vod//a.mp4|/vod/b/.c/a.mp4|\
                     /vodka/a.mp4|/live/a.mp4|vod/a.mp4";
        for path in given.split('|') {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
