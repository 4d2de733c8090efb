//! What a stream is recorded as.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fanout::gate::{Authorized, Play};
use fanout::{ARCHIVE_BYTES_MAX, ArchiveReader, Choice, Info, Phase, Stream};
use formats::{Extension, Form, Mp4};
use media::{Codec, Kind};

use crate::Becomes;
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
) -> Option<(ArchiveReader, Content)> {
    let info = stream.info();
    if info.phase != Phase::Live || !info.has_media {
        return None;
    }
    let (form, content) = choose(&info, becomes)?;
    let reader = match form {
        Some(form) => {
            let make = || form.packager(info.source.container, info.settings.charset);
            stream.archive(permission, form.format(), make, ARCHIVE_BYTES_MAX, now)
        }
        None => {
            let make = || Box::new(Mp4::recorded()) as _;
            stream.archive(permission, Mp4::RECORDED, make, ARCHIVE_BYTES_MAX, now)
        }
    };
    // Else memory is short, or the stream has just ended.
    Some((reader.ok()?, content))
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
                    return Mp4::can_record(tracks).then_some((None, Content::Mp4));
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
