//! What a stream is recorded as.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use container::fmp4;
use fanout::gate::{Authorized, Play};
use fanout::{ARCHIVE_BYTES_MAX, Choice, Info, Phase, Stream};
use formats::{Extension, Form};
use media::{Codec, Kind, Track};

use crate::Becomes;
use crate::fragments::Fragments;
use crate::reader::Reader;
use crate::recorder::Content;

/// How long a stream with sound alone is waited with for its pictures: publishers announce both within the first
/// packets. Streams without pictures keep more of their past.
const PICTURES_AWAITED: Duration = Duration::from_secs(2);

/// A reader of a stream that can be recorded now, and what it reads.
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
            // Else memory is short, or the stream has just ended.
            Reader::Lane(reader.ok()?)
        }
        None => Reader::Items(Box::new(Fragments::new(stream.spool(permission, now)?))),
    };
    Some((reader, content))
}

/// Whether MP4 has a stream of these tracks whole: the first of each kind.
fn can_record<'a>(tracks: impl Iterator<Item = &'a Track> + Clone) -> bool {
    let first = |kind| tracks.clone().find(|track| track.kind == kind);
    let mut firsts = [Kind::Audio, Kind::Video].into_iter().filter_map(first);
    tracks.clone().next().is_some() && firsts.all(fmp4::can_file)
}

/// What a stream is recorded as: a form of its source, or (`None`) fragments of MP4. `None` at all if that is not known
/// yet, or if there is no way.
fn choose(info: &Info, becomes: Becomes) -> Option<(Option<Form>, Content)> {
    use media::Container::{Adts, Mp3, Ogg, Tracks, WebM};
    use recordings::Container;
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
