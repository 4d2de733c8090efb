//! Where listeners may start: at pictures if there are any, else at sound.

use media::{Span, Timestamp};

/// How long sound waits for the first picture of a track that was announced. Publishers send both
/// within the first packets.
const PICTURE_AWAITED: Span = Span::from_millis(2_000);

/// A picture track that has been silent for this long does not hold joiners up any more: the
/// publisher switched the camera off.
const PICTURE_SILENT_MAX: Span = Span::from_millis(10_000);

/// What has been seen of this epoch.
#[derive(Debug, Default)]
pub(super) struct Joins {
    first_sound: Option<Timestamp>,
    last_picture: Option<Timestamp>,
}

impl Joins {
    /// A picture of the track that joiners wait for came at `at`.
    pub(super) const fn picture(&mut self, at: Timestamp) {
        self.last_picture = Some(at);
    }

    /// Whether listeners may start at sound that came at `at`.
    pub(super) fn allow_sound(&mut self, at: Timestamp, has_pictures: bool) -> bool {
        let first = *self.first_sound.get_or_insert(at);
        let silent_for = match self.last_picture {
            Some(last) => at - last >= PICTURE_SILENT_MAX,
            None => at - first >= PICTURE_AWAITED,
        };
        silent_for || !has_pictures
    }
}
