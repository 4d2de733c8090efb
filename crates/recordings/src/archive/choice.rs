//! Choice of the format in which a stream is recorded.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use container::fmp4;
use fanout::gate::{Authorized, Play};
use fanout::{ARCHIVE_BYTES_MAX, Choice, Info, Phase, Stream};
use media::{Codec, Kind, Track};
use packagers::{Extension, Form};

use crate::archive::Becomes;
use crate::archive::fragments::Fragments;
use crate::archive::reader::Reader;
use crate::archive::recorder::Content;

/// Time to wait for the video of a stream that has only audio so far: publishers announce both within the first packets.
/// Streams without video keep more of their past.
const PICTURES_AWAITED: Duration = Duration::from_secs(2);

/// Opens a reader of a stream that can be recorded now, and returns the kind of content it reads.
pub(crate) fn open(
    stream: &Arc<Stream>,
    permission: &Authorized<Play>,
    becomes: Becomes,
    now: Instant,
) -> Option<(Reader, Content)> {
    let info = stream.info();
    if info.phase != Phase::Live || !info.has_media {
        return None;
    }
    let (form, content) = choose(&info, becomes)?;
    let reader = match form {
        Some(form) => {
            let make = || form.packager(info.source.container, info.settings.charset);
            let reader = stream.archive(permission, form.format(), make, ARCHIVE_BYTES_MAX, now);
            // Fails if memory is short, or if the stream has just ended.
            Reader::Lane(reader.ok()?)
        }
        None => Reader::Items(Box::new(Fragments::new(stream.spool(permission, now)?))),
    };
    Some((reader, content))
}

/// Whether MP4 can store a stream of these tracks completely: the first of each kind.
fn can_record<'a>(tracks: impl Iterator<Item = &'a Track> + Clone) -> bool {
    let first = |kind| tracks.clone().find(|track| track.kind == kind);
    let mut firsts = [Kind::Audio, Kind::Video].into_iter().filter_map(first);
    tracks.clone().next().is_some() && firsts.all(fmp4::can_file)
}

/// Chooses how a stream is recorded: in a form of its source, or (inner `None`) as MP4 fragments. Returns `None` if that is not
/// known yet, or if the stream cannot be recorded.
fn choose(info: &Info, becomes: Becomes) -> Option<(Option<Form>, Content)> {
    use crate::Container;
    use media::Container::{Adts, Mp3, Ogg, Tracks, WebM};
    let raw = |form, container| Some((Some(form), Content::Raw(container)));
    match info.source.container {
        Mp3 => raw(Form::Source, Container::Mp3),
        Ogg => raw(Form::Source, Container::Ogg),
        WebM => raw(Form::Source, Container::WebM),
        Tracks | Adts => {
            let has_pictures = info.tracks.iter().any(|track| track.kind == Kind::Video);
            let age = SystemTime::now().duration_since(info.since);
            if info.source.container == Tracks
                && !has_pictures
                && age.unwrap_or_default() < PICTURES_AWAITED
            {
                return None;
            }
            let is_mp3 = info.tracks.iter().all(|track| track.codec == Codec::Mp3);
            if is_mp3 && info.source.container == Tracks {
                return raw(Form::Mp3, Container::Mp3);
            }
            let (extension, container) = match becomes {
                Becomes::Mp4 => {
                    let tracks = info.tracks.iter().map(|track| &**track);
                    return can_record(tracks).then_some((None, Content::Mp4));
                }
                Becomes::Flv => (Extension::Flv, Container::Flv),
                Becomes::Ts => (Extension::Ts, Container::Ts),
            };
            match Form::choose(info, Some(extension), false) {
                Choice::Take(form) => raw(form, container),
                _ => None,
            }
        }
        _ => None,
    }
}
