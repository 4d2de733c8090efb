//! Where a listener of a muxer (FLV, fragmented MP4, MPEG-TS) may start: at keyframes where there are pictures,
//! else at sound.

use media::{Kind, Script, Span, Timestamp};

/// How long a track that the metadata announces is waited for: sound waits for the first picture, and the first
/// pictures for sound that is not yet known, such as MP3 and Dolby's codecs, which their first frame tells. Publishers
/// send both within the first packets.
const AWAITED: Span = Span::from_millis(2_000);

/// The same where players keep to the tracks that they have begun with, as browsers' `MediaSource` does, by which HLS
/// is played: some publishers begin one track ten seconds after the other.
const AWAITED_PATIENTLY: Span = Span::from_millis(15_000);

/// A picture track that has been silent for this long no longer holds joiners up: the publisher switched the
/// camera off, or the next one has none.
const VIDEO_SILENT_MAX: Span = Span::from_millis(10_000);

/// The state of an epoch.
#[derive(Debug, Default)]
pub(crate) struct Joins {
    /// Players keep to the tracks that they have begun with.
    is_patient: bool,
    announces_pictures: bool,
    announces_sound: bool,
    expects_no_sound: bool,
    expects_no_pictures: bool,
    first_sample: Option<Timestamp>,
    first_picture: Option<Timestamp>,
    last_picture: Option<Timestamp>,
}

impl Joins {
    /// For players that keep to the tracks that they have begun with.
    pub(crate) fn patient() -> Self {
        Self {
            is_patient: true,
            ..Self::default()
        }
    }

    /// The same for another epoch.
    pub(crate) fn anew(&self) -> Self {
        Self {
            is_patient: self.is_patient,
            ..Self::default()
        }
    }

    fn awaited(&self) -> Span {
        match self.is_patient {
            true => AWAITED_PATIENTLY,
            false => AWAITED,
        }
    }

    /// Takes `onMetaData` and its values.
    pub(crate) fn metadata(&mut self, body: &[u8]) {
        self.announces_pictures = Script::announces(body, Kind::Video);
        self.announces_sound = Script::announces(body, Kind::Audio);
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

    /// Media goes on after a pause: pictures, if there have been any, are not silent yet.
    pub(crate) fn resume(&mut self, now: Timestamp) {
        self.last_picture = self.last_picture.map(|last| last.max(now));
    }

    /// The track of this kind is none that is carried.
    pub(crate) fn expect_none(&mut self, kind: Kind) {
        match kind {
            Kind::Audio => self.expects_no_sound = true,
            Kind::Video => self.expects_no_pictures = true,
        }
    }

    /// Whether unwritten pictures wait for sound of which at most the track is known.
    pub(crate) fn awaits_sound(&self, now: Timestamp, has_sound_track: bool) -> bool {
        let first = self.first_picture.unwrap_or(now);
        let may_come = self.announces_sound && !self.expects_no_sound;
        (has_sound_track || may_come) && now - first < self.awaited()
    }

    /// Whether a listener may start at sound that has come.
    pub(crate) fn at_sound(&mut self, now: Timestamp, has_picture_track: bool) -> bool {
        if has_picture_track {
            let last = *self.last_picture.get_or_insert(now);
            return now - last >= VIDEO_SILENT_MAX;
        }
        let first = *self.first_sample.get_or_insert(now);
        let may_come = self.announces_pictures && !self.expects_no_pictures;
        !may_come || now - first >= self.awaited()
    }
}
