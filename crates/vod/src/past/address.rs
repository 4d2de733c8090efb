//! Addresses of a stream's past.
//!
//! | path | resource |
//! |---|---|
//! | `/{stream}/recordings/{id}.mp4` | a recording's file; `.m4a`, `.mp3`, `.ogg` |
//! | `/{stream}/recordings/{id}/index.m3u8` | the recording's playlist |
//! | `/{stream}/recordings/{id}/init.mp4` | the recording's initialization segment |
//! | `/{stream}/recordings/{id}/{a}-{b}.m4s` | the recording's fragments from `a` up to, but not including, `b` |
//! | `/{stream}/recordings/{id}/from-{a}.m3u8` | the playlist from fragment `a` on, through later recordings |
//! | `/{stream}/index.m3u8?at=` | leads to the playlist that begins at a time |
//! | `/{stream}.flv?at=`, and other addresses of live bodies | the stream from a time on, in that form |
//! | `/{stream}/clip.mp4?from=&to=` | the stream between two times |

use std::ops::Range;

use http1::Query;
use media::StreamName;
use packagers::Extension;
use recordings::{Container, RecordingId, Shelf};

use crate::address::{INIT, PLAYLIST, SEGMENT, number};

/// Folder below a stream's name, and the name of a clip.
pub(super) const FOLDER: &str = "recordings";
const CLIP: &str = "clip.mp4";

/// Prefix and suffix of the names of playlists that begin at a fragment.
pub(super) const FROM: &str = "from-";
pub(super) const SUFFIX: &str = ".m3u8";

/// Names of the query parameters for the past.
pub(super) const AT: &str = "at";
pub(super) const CLIP_FROM: &str = "from";
pub(super) const CLIP_TO: &str = "to";

/// Path that names a resource of a stream's past, whether it exists or not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastAddress {
    stream: StreamName,
    pub(super) resource: Resource,
}

/// Resource of a stream's past.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Resource {
    /// File of a recording.
    File(RecordingId, Container),
    /// Playlist of one recording.
    Playlist(RecordingId),
    /// Playlist that begins at a fragment of a recording.
    From(RecordingId, usize),
    /// Initialization segment of a recording.
    Init(RecordingId),
    /// Range of a recording's fragments.
    Segment(RecordingId, Range<usize>),
    /// Playlist from the time in the query on.
    Since,
    /// Body from the time in the query on, in the form of an extension, or in the stream's own.
    Body(Option<Extension>),
    /// Clip between the two times in the query.
    Clip,
}

/// Playback that takes several requests.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Played {
    /// File of a recording, played in ranges.
    File(RecordingId),
    /// Recordings over HLS, one after another.
    Hls,
}

/// Returns whether the query of a request for a stream's playlist, or for a live body, wants its past.
pub fn is_past(query: Query<'_>) -> bool {
    // Most requests have no query.
    !query.as_bytes().is_empty() && query.get(AT).is_some()
}

impl PastAddress {
    /// Returns the stream, about which the gate decides: permission to listen to it includes its recordings.
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }

    /// Returns whether it is an HLS resource.
    pub fn is_hls(&self) -> bool {
        !matches!(
            self.resource,
            Resource::File(..) | Resource::Body(_) | Resource::Clip
        )
    }

    /// Returns the playback that it is a part of, if players make several requests for that; `None` for a body that is
    /// one whole answer.
    pub fn played(&self) -> Option<Played> {
        match self.resource {
            Resource::File(id, _) => Some(Played::File(id)),
            Resource::Body(_) | Resource::Clip => None,
            _ => Some(Played::Hls),
        }
    }

    /// Makes the address of a stream from the time in the query on.
    pub fn since(stream: StreamName) -> Self {
        Self {
            stream,
            resource: Resource::Since,
        }
    }

    /// Makes the address of a live body from the time in the query on. An exact name takes precedence over an
    /// extension: there may be recordings of `radio.mp3`.
    pub fn body(stream: StreamName, extension: Option<Extension>, shelf: &Shelf) -> Self {
        let exact = extension.and_then(|extension| {
            let name = format!("{stream}{}", extension.suffix());
            let name = StreamName::parse(&name).ok()?;
            (!shelf.newest(Some(&name), None, 1).is_empty()).then_some(name)
        });
        let (stream, extension) = match exact {
            Some(exact) => (exact, None),
            None => (stream, extension),
        };
        Self {
            stream,
            resource: Resource::Body(extension),
        }
    }

    /// Parses a path, percent-decoded once, which begins with a slash.
    pub fn of(path: &str) -> Option<Self> {
        let (folder, file) = path.strip_prefix('/')?.rsplit_once('/')?;
        let (stream, resource) = match file {
            CLIP => (folder, Resource::Clip),
            _ => below(folder, file)?,
        };
        let stream = StreamName::parse(stream).ok()?;
        (!stream.is_reserved()).then_some(Self { stream, resource })
    }

    /// Returns the path of a recording's file, relative to the stream's page.
    pub fn file(id: RecordingId, container: Container) -> String {
        format!("{FOLDER}/{id}.{}", container.extension())
    }

    /// Returns the path of a recording's playlist, relative to the stream's page, if it has one.
    pub fn playlist(id: RecordingId, container: Container) -> Option<String> {
        let has_one = container.is_mp4();
        has_one.then(|| format!("{FOLDER}/{id}/{PLAYLIST}"))
    }
}

/// Name of a recording, as players over RTMP use it.
pub(super) struct FilmName {
    pub(super) stream: StreamName,
    pub(super) id: RecordingId,
    /// Container named by the extension, if there is one.
    pub(super) container: Option<Container>,
}

/// Parses `{stream}/recordings/{id}`, with or without an extension.
pub(super) fn film(name: &str) -> Option<FilmName> {
    let (folder, file) = name.rsplit_once('/')?;
    let (stream, last) = folder.rsplit_once('/')?;
    let (id, container) = match file.split_once('.') {
        Some((id, extension)) => (id, Some(Container::of_extension(extension)?)),
        None => (file, None),
    };
    let stream = StreamName::parse(stream).ok()?;
    let is_one = last == FOLDER && !stream.is_reserved();
    is_one.then_some(FilmName {
        stream,
        id: id.parse().ok()?,
        container,
    })
}

/// Parses a path within the folder of recordings into the stream and the resource.
fn below<'a>(folder: &'a str, file: &str) -> Option<(&'a str, Resource)> {
    let (stream, last) = folder.rsplit_once('/')?;
    if last == FOLDER {
        let (id, extension) = file.split_once('.')?;
        let container = Container::of_extension(extension)?;
        return Some((stream, Resource::File(id.parse().ok()?, container)));
    }
    let id: RecordingId = last.parse().ok()?;
    let (stream, last) = stream.rsplit_once('/')?;
    let resource = match file {
        _ if last != FOLDER => return None,
        PLAYLIST => Resource::Playlist(id),
        INIT => Resource::Init(id),
        _ => match file.strip_prefix(FROM) {
            Some(rest) => Resource::From(id, number(rest.strip_suffix(SUFFIX)?)?),
            None => {
                let (first, end) = file.strip_suffix(SEGMENT)?.split_once('-')?;
                Resource::Segment(id, number(first)?..number(end)?)
            }
        },
    };
    Some((stream, resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::past::catalogue::tests::recording;

    #[test]
    fn paths_name_recordings_by_their_identifiers() {
        let text = "006b0a5f2000010203040506";
        let id: RecordingId = text.parse().expect("an identifier");
        for (name, resource) in [
            (format!("{text}.mp4"), Resource::File(id, Container::Mp4)),
            (format!("{text}.ogg"), Resource::File(id, Container::Ogg)),
            (format!("{text}/index.m3u8"), Resource::Playlist(id)),
            (format!("{text}/init.mp4"), Resource::Init(id)),
            (format!("{text}/0-6.m4s"), Resource::Segment(id, 0..6)),
            (format!("{text}/from-41.m3u8"), Resource::From(id, 41)),
        ] {
            let path = format!("/live/show/recordings/{name}");
            let address = PastAddress::of(&path).expect("an address");
            assert_eq!(address.stream().as_str(), "live/show");
            assert_eq!(address.resource, resource, "{path}");
        }
        let clip = PastAddress::of("/live/show/clip.mp4").expect("an address");
        assert_eq!(clip.resource, Resource::Clip);
        let upper = text.to_uppercase();
        let names = "|x.mp4|../secret.mp4|ID|ID.txt|ID.mp4.part|UPPER.mp4|ID/0-06.m4s|ID/-1-6.m4s|ID/6.m4s|\
                     ID/99999999999999999999-6.m4s|ID/from-.m3u8";
        let names = names.split('|');
        let names = names.map(|name| format!("/live/show/recordings/{name}"));
        let paths = "/live/show/other/ID/index.m3u8|/recordings/ID.mp4|/a b/recordings/ID.mp4|/clip.mp4|/live/show/clip.mp3";
        for path in names.chain(paths.split('|').map(str::to_owned)) {
            let path = path.replace("ID", text).replace("UPPER", &upper);
            assert_eq!(PastAddress::of(&path), None, "{path}");
        }
    }

    #[test]
    fn players_over_rtmp_name_recordings_alike() {
        let id = "006b0a5f2000010203040506";
        for (extension, container) in [("", None), (".mp4", Some(Container::Mp4))] {
            let film = film(&format!("live/show/recordings/{id}{extension}"));
            let film = film.expect("a recording's name");
            assert_eq!(film.stream.as_str(), "live/show");
            assert_eq!(film.id.to_string(), id);
            assert_eq!(film.container, container, "{extension}");
        }
        for name in [
            format!("recordings/{id}"),
            format!("live/show/{id}"),
            format!("live/show/recordings/{id}.txt"),
            format!("live/show/recordings/{}", &id[1..]),
            format!("live/../recordings/{id}"),
        ] {
            assert!(film(&name).is_none(), "{name}");
        }
    }

    #[test]
    fn live_bodies_have_a_past_of_the_name_that_was_recorded() {
        let name = |text: &str| StreamName::parse(text).expect("a name");
        let shelf = Shelf::default();
        let body = |shelf: &Shelf| PastAddress::body(name("radio"), Some(Extension::Mp3), shelf);
        assert_eq!(body(&shelf).resource, Resource::Body(Some(Extension::Mp3)));
        let mut one = recording(&name("radio.mp3"), 0);
        (one.state, one.container) = (recordings::State::Open, Container::Mp3);
        shelf.insert(one).expect("room");
        let found = body(&shelf);
        assert_eq!(found.stream().as_str(), "radio.mp3");
        assert_eq!(found.resource, Resource::Body(None));
        assert!(!found.is_hls());
    }

    #[test]
    fn a_query_asks_for_the_past() {
        let is_past = |query: &str| is_past(Query::new(query.as_bytes()));
        assert!(is_past("at=-600s") && is_past("key=k&at=start"));
        assert!(!is_past("") && !is_past("dvr") && !is_past("cat=1"));
    }
}
