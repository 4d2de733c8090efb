//! Order in which a publisher sends its video frames, derived from their times, whatever the codec.

use media::{Sample, Timestamp};

/// Number of frames that are all presented later than they are decoded, and yet in order, from which on that is taken
/// for a habit of the encoder. The usual two or three B-frames show within five frames.
const PICTURES_AWAITED: u32 = 16;

/// Order in which video frames are sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PictureOrder {
    /// Unknown: there is no frame yet, or only a few whose times leave it open.
    #[default]
    Unknown,
    /// Presentation order, so far.
    Presented,
    /// Reordered: some frames are sent before others that are presented earlier, so there are B-frames.
    Reordered,
}

/// Watches the video frames of one track of one epoch.
#[derive(Debug, Default)]
pub(super) struct OrderWatch {
    pub(super) order: PictureOrder,
    /// Latest presentation time so far.
    latest: Option<Timestamp>,
    pictures: u32,
}

impl OrderWatch {
    /// Records one more frame, in sending order; returns whether the result has changed.
    pub(super) fn saw(&mut self, picture: &Sample) -> bool {
        let before = self.order;
        // Restarted at a keyframe: the clock may have gone back there, and no frame is presented across it.
        let latest = self.latest.filter(|_| !picture.keyframe);
        self.latest = Some(latest.map_or(picture.pts, |latest| latest.max(picture.pts)));
        self.pictures = self.pictures.saturating_add(1);
        if latest.is_some_and(|latest| picture.pts < latest) {
            self.order = PictureOrder::Reordered;
        } else if self.order == PictureOrder::Unknown
            // Reordered frames have to be decoded ahead of their presentation.
            && (picture.pts == picture.dts || self.pictures >= PICTURES_AWAITED)
        {
            self.order = PictureOrder::Presented;
        }
        self.order != before
    }
}

#[cfg(test)]
mod tests {
    use media::{Span, TrackId};

    use super::*;

    /// Frames of 40 ms, as many of them ahead of their turn as `ahead` says.
    fn watch(ahead: &[i64]) -> PictureOrder {
        let mut watch = OrderWatch::default();
        for (index, ahead) in ahead.iter().enumerate() {
            let picture = crate::testing::sample(TrackId::VIDEO, 40 * index as i64, "");
            watch.saw(&Sample {
                pts: picture.dts + Span::from_millis(40 * ahead),
                keyframe: index == 0,
                ..picture
            });
        }
        watch.order
    }

    #[test]
    fn pictures_in_order_are_known_at_once() {
        assert_eq!(watch(&[]), PictureOrder::Unknown);
        assert_eq!(watch(&[0]), PictureOrder::Presented);
        assert_eq!(watch(&[0; 100]), PictureOrder::Presented);
    }

    #[test]
    fn a_delay_of_all_pictures_alike_is_no_other_order() {
        assert_eq!(watch(&[2, 2, 2]), PictureOrder::Unknown);
        assert_eq!(watch(&[2; 16]), PictureOrder::Presented);
    }

    #[test]
    fn pictures_out_of_order_show_whenever_they_begin() {
        // I, P, B; one reference B-frame; and after a while of none.
        assert_eq!(watch(&[1, 2, 0]), PictureOrder::Reordered);
        assert_eq!(watch(&[2, 5, 1]), PictureOrder::Reordered);
        let late = [&[2; 50][..], &[4, 1]].concat();
        assert_eq!(watch(&late), PictureOrder::Reordered);
        // Encoders that present the first frame at once, and so have no time for the others.
        assert_eq!(watch(&[0, 2, 0]), PictureOrder::Reordered);
        // Once is enough.
        let some = [&[1, 2, 0][..], &[1; 50]].concat();
        assert_eq!(watch(&some), PictureOrder::Reordered);
    }
}
