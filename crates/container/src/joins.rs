//! Join points of a muxer (FLV, fragmented MP4, MPEG-TS): listeners start at keyframes where there is video, else at
//! audio.

use media::{Kind, Script, Span, Timestamp};

/// Longest wait for a track that the metadata announces: audio waits for the first video frame, and the first video
/// frames wait for audio that is not yet known, such as MP3 and Dolby codecs, which only their first frame describes.
/// Publishers send both within the first packets.
const AWAITED: Span = Span::from_millis(2_000);

/// Longest such wait where players keep to the tracks they began with, as browsers' `MediaSource` does, which is used
/// to play HLS: some publishers begin one track ten seconds after the other.
const AWAITED_PATIENTLY: Span = Span::from_millis(15_000);

/// Silence after which a video track no longer delays joiners: the publisher switched the camera off, or the next
/// publisher has none.
const VIDEO_SILENT_MAX: Span = Span::from_millis(10_000);

/// Join state of one epoch.
#[derive(Debug, Default)]
pub(crate) struct Joins {
    /// Players keep to the tracks they began with.
    is_patient: bool,
    announces_pictures: bool,
    announces_audio: bool,
    expects_no_audio: bool,
    expects_no_pictures: bool,
    first_sample: Option<Timestamp>,
    first_picture: Option<Timestamp>,
    last_picture: Option<Timestamp>,
}

impl Joins {
    /// Creates the state for players that keep to the tracks they began with.
    pub(crate) fn patient() -> Self {
        Self {
            is_patient: true,
            ..Self::default()
        }
    }

    /// Creates the state of another epoch for the same players.
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
        self.announces_audio = Script::announces(body, Kind::Audio);
    }

    /// Returns whether the metadata announces tracks of this kind.
    pub(crate) fn announces(&self, kind: Kind) -> bool {
        match kind {
            Kind::Audio => self.announces_audio,
            Kind::Video => self.announces_pictures,
        }
    }

    /// Records the arrival of a video frame.
    pub(crate) fn picture(&mut self, now: Timestamp) {
        self.first_picture.get_or_insert(now);
        self.last_picture = Some(now);
    }

    /// Resumes after a pause of all media: a video track, if there was one, does not count as silent yet.
    pub(crate) fn resume(&mut self, now: Timestamp) {
        self.last_picture = self.last_picture.map(|last| last.max(now));
    }

    /// Records that the track of this kind is not carried.
    pub(crate) fn expect_none(&mut self, kind: Kind) {
        match kind {
            Kind::Audio => self.expects_no_audio = true,
            Kind::Video => self.expects_no_pictures = true,
        }
    }

    /// Returns whether unwritten video waits for audio of which at most the track is known.
    pub(crate) fn awaits_audio(&self, now: Timestamp, has_audio_track: bool) -> bool {
        let first = self.first_picture.unwrap_or(now);
        let may_come = self.announces_audio && !self.expects_no_audio;
        (has_audio_track || may_come) && now - first < self.awaited()
    }

    /// Returns whether a listener may start at the audio that has arrived.
    pub(crate) fn at_audio(&mut self, now: Timestamp, has_picture_track: bool) -> bool {
        if has_picture_track {
            let last = *self.last_picture.get_or_insert(now);
            return now - last >= VIDEO_SILENT_MAX;
        }
        let first = *self.first_sample.get_or_insert(now);
        let may_come = self.announces_pictures && !self.expects_no_pictures;
        !may_come || now - first >= self.awaited()
    }
}
