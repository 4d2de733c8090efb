//! Where a listener of a muxer (FLV, fragmented MP4, MPEG-TS) may start: at keyframes where there are pictures,
//! else at sound.

use media::{Kind, Span, Timestamp};

/// How long sound waits for a picture that the metadata announces. Publishers send both within the
/// first packets.
const VIDEO_AWAITED: Span = Span::from_millis(2_000);

/// A picture track that has been silent for this long no longer holds joiners up: the publisher switched the
/// camera off, or the next one has none.
const VIDEO_SILENT_MAX: Span = Span::from_millis(10_000);

/// How long the first pictures wait for announced sound that is not yet known: MP3 and Dolby's codecs are
/// known by their first frame. Some players lose the stream when another segment follows the first.
const SOUND_AWAITED: Span = Span::from_millis(2_000);

/// Keys of `onMetaData` that only a stream with pictures has, or with sound.
const VIDEO_KEYS: &[&[u8]] = &[b"videocodecid", b"width"];
const AUDIO_KEYS: &[&[u8]] = &[b"audiocodecid"];

/// The state of an epoch.
#[derive(Debug, Default)]
pub(crate) struct Joins {
    announces_pictures: bool,
    announces_sound: bool,
    first_sample: Option<Timestamp>,
    first_picture: Option<Timestamp>,
    last_picture: Option<Timestamp>,
}

impl Joins {
    /// Takes `onMetaData` and its values.
    pub(crate) fn metadata(&mut self, body: &[u8]) {
        let has = |key: &&[u8]| body.windows(key.len()).any(|window| window == *key);
        self.announces_pictures = VIDEO_KEYS.iter().any(has);
        self.announces_sound = AUDIO_KEYS.iter().any(has);
    }

    /// Whether the metadata announces tracks of this kind.
    pub(crate) fn announces(&self, kind: Kind) -> bool {
        match kind {
            Kind::Audio => self.announces_sound,
            Kind::Video => self.announces_pictures,
        }
    }

    /// A picture has come.
    pub(crate) fn picture(&mut self, now: Timestamp) {
        self.first_picture.get_or_insert(now);
        self.last_picture = Some(now);
    }

    /// Whether unwritten pictures wait for sound of which at most the track is known.
    pub(crate) fn awaits_sound(&self, now: Timestamp, has_sound_track: bool) -> bool {
        let first = self.first_picture.unwrap_or(now);
        (has_sound_track || self.announces_sound) && now - first < SOUND_AWAITED
    }

    /// Whether a listener may start at sound that has come.
    pub(crate) fn at_sound(&mut self, now: Timestamp, has_picture_track: bool) -> bool {
        if has_picture_track {
            let last = *self.last_picture.get_or_insert(now);
            return now - last >= VIDEO_SILENT_MAX;
        }
        let first = *self.first_sample.get_or_insert(now);
        !self.announces_pictures || now - first >= VIDEO_AWAITED
    }
}
