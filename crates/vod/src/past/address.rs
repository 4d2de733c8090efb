//! What a path means of a stream's past.
//!
//! | path | what |
//! |---|---|
//! | `/{stream}/recordings/{id}.mp4` | a recording's file; `.m4a`, `.mp3`, `.ogg` |
//! | `/{stream}/recordings/{id}/index.m3u8` | its playlist |
//! | `/{stream}/recordings/{id}/init.mp4` | its initialization segment |
//! | `/{stream}/recordings/{id}/{a}-{b}.m4s` | its fragments from `a` up to `b`, without that |
//! | `/{stream}/recordings/{id}/from-{a}.m3u8` | the playlist from one of its fragments on, through later recordings |
//! | `/{stream}/index.m3u8?at=` | leads to the one that begins at a time |
//! | `/{stream}.flv?at=`, and other addresses of live bodies | what is from a time on, in that form |
//! | `/{stream}/clip.mp4?from=&to=` | what is between two times |

use std::ops::Range;

use formats::Extension;
use http1::Query;
use media::StreamName;
use recordings::{Container, RecordingId, Shelf};

use crate::address::{INIT, PLAYLIST, SEGMENT};

/// The folder below a stream's name, and what else is there.
pub(super) const FOLDER: &str = "recordings";
const CLIP: &str = "clip.mp4";

/// What the names of playlists from a fragment on begin and end with.
pub(super) const FROM: &str = "from-";
pub(super) const SUFFIX: &str = ".m3u8";

/// The names in a query that are for the past.
pub(super) const AT: &str = "at";
pub(super) const CLIP_FROM: &str = "from";
pub(super) const CLIP_TO: &str = "to";

/// A path that names something of a stream's past, whether there is any or not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastAddress {
    stream: StreamName,
    pub(super) resource: Resource,
}

/// What of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Resource {
    /// A recording's file.
    File(RecordingId, Container),
    /// The playlist of one recording.
    Playlist(RecordingId),
    /// The playlist from one of its fragments on.
    From(RecordingId, usize),
    /// Its initialization segment.
    Init(RecordingId),
    /// Some of its fragments.
    Segment(RecordingId, Range<usize>),
    /// The playlist from a time on, which the query tells.
    Since,
    /// A body from a time on, which the query tells, in the form of an extension, or the stream's own.
    Body(Option<Extension>),
    /// What is between two times, which the query tells.
    Clip,
}

/// What players ask for in several requests.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Played {
    /// The file of a recording, in ranges.
    File(RecordingId),
    /// Recordings over HLS, one after another.
    Hls,
}

/// Whether the query of a request for a stream's playlist, or for a live body, wants its past.
pub fn is_past(query: Query<'_>) -> bool {
    // Most have none.
    !query.as_bytes().is_empty() && query.get(AT).is_some()
}

impl PastAddress {
    /// The stream, for which the gate is asked: who may listen to it may play its recordings.
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }

    /// Whether it is something of HLS.
    pub fn is_hls(&self) -> bool {
        !matches!(
            self.resource,
            Resource::File(..) | Resource::Body(_) | Resource::Clip
        )
    }

    /// What it is a part of, where players ask for several; `None` for a body that one answer is all of.
    pub fn played(&self) -> Option<Played> {
        match self.resource {
            Resource::File(id, _) => Some(Played::File(id)),
            Resource::Body(_) | Resource::Clip => None,
            _ => Some(Played::Hls),
        }
    }

    /// A stream from a time on, which the query tells.
    pub fn since(stream: StreamName) -> Self {
        Self {
            stream,
            resource: Resource::Since,
        }
    }

    /// A live body from a time on, which the query tells. An exact name wins over an extension: there may be recordings of
    /// `radio.mp3`.
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

    /// Reads a path, percent-decoded once. It begins with a slash.
    pub fn of(path: &str) -> Option<Self> {
        let (folder, file) = path.strip_prefix('/')?.rsplit_once('/')?;
        let (stream, resource) = match file {
            CLIP => (folder, Resource::Clip),
            _ => below(folder, file)?,
        };
        let stream = StreamName::parse(stream).ok()?;
        (!stream.is_reserved()).then_some(Self { stream, resource })
    }

    /// The path of a recording's file, relative to the stream's page.
    pub fn file(id: RecordingId, container: Container) -> String {
        format!("{FOLDER}/{id}.{}", container.extension())
    }

    /// The path of a recording's playlist, likewise, if it has one.
    pub fn playlist(id: RecordingId, container: Container) -> Option<String> {
        let has_one = container.is_mp4();
        has_one.then(|| format!("{FOLDER}/{id}/{PLAYLIST}"))
    }
}

/// A recording as players over RTMP name it.
pub(super) struct FilmName {
    pub(super) stream: StreamName,
    pub(super) id: RecordingId,
    /// The extension, if there is one.
    pub(super) container: Option<Container>,
}

/// Reads `{stream}/recordings/{id}`, with or without an extension.
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

/// The stream and the resource in its folder of recordings.
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

/// A number that is written in the one way.
fn number(text: &str) -> Option<usize> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for path in [
            "/live/show/recordings/".to_owned(),
            "/live/show/recordings/x.mp4".to_owned(),
            "/live/show/recordings/../secret.mp4".to_owned(),
            format!("/live/show/recordings/{text}"),
            format!("/live/show/recordings/{text}.txt"),
            format!("/live/show/recordings/{text}.mp4.part"),
            format!("/live/show/recordings/{}.mp4", text.to_uppercase()),
            format!("/live/show/recordings/{text}/0-06.m4s"),
            format!("/live/show/recordings/{text}/-1-6.m4s"),
            format!("/live/show/recordings/{text}/6.m4s"),
            format!("/live/show/recordings/{text}/99999999999999999999-6.m4s"),
            format!("/live/show/recordings/{text}/from-.m3u8"),
            format!("/live/show/other/{text}/index.m3u8"),
            format!("/recordings/{text}.mp4"),
            format!("/a b/recordings/{text}.mp4"),
            "/clip.mp4".to_owned(),
            "/live/show/clip.mp3".to_owned(),
        ] {
            assert_eq!(PastAddress::of(&path), None, "{path}");
        }
    }

    #[test]
    fn players_over_rtmp_name_recordings_alike() {
        let id = "006b0a5f2000010203040506";
        for (name, container) in [
            (format!("live/show/recordings/{id}"), None),
            (
                format!("live/show/recordings/{id}.mp4"),
                Some(Container::Mp4),
            ),
        ] {
            let film = film(&name).expect("a recording's name");
            assert_eq!(film.stream.as_str(), "live/show");
            assert_eq!(
                (film.id.to_string().as_str(), film.container),
                (id, container)
            );
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
        let (stream, started) = (name("radio.mp3"), std::time::UNIX_EPOCH);
        let inserted = shelf.insert(recordings::Recording {
            id: RecordingId::new(&stream, started, 0),
            stream,
            path: "/rec/0.mp3".into(),
            is_local: true,
            started,
            duration: std::time::Duration::ZERO,
            bytes: 0,
            state: recordings::State::Open,
            container: Container::Mp3,
            upload: recordings::Upload::Never,
            is_pinned: false,
        });
        inserted.expect("room");
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
