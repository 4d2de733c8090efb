//! The order in which a publisher sends its pictures, as their times show, whatever the codec.

use media::{Sample, Timestamp};

/// Pictures that are all presented later than they are decoded, and yet in order, after which that is
/// taken for a habit of the encoder. The usual two or three B-frames show within five pictures.
const PICTURES_AWAITED: u32 = 16;

/// The order in which pictures are sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PictureOrder {
    /// Unknown: there is no picture yet, or a few whose times leave it open.
    #[default]
    Unknown,
    /// As they are presented, so far.
    Presented,
    /// Some come before others that are presented earlier: there are B-frames.
    Reordered,
}

/// Watches the pictures of one track of one epoch.
#[derive(Debug, Default)]
pub(super) struct OrderWatch {
    order: PictureOrder,
    /// The latest time that one is presented at.
    latest: Option<Timestamp>,
    pictures: u32,
}

impl OrderWatch {
    pub(super) const fn order(&self) -> PictureOrder {
        self.order
    }

    /// One more picture, in the order in which they are sent. Whether it shows another order.
    pub(super) fn saw(&mut self, picture: &Sample) -> bool {
        let before = self.order;
        // No picture is presented across a keyframe at which the clock went back.
        let latest = self.latest.filter(|_| !picture.keyframe);
        self.latest = Some(latest.map_or(picture.pts, |latest| latest.max(picture.pts)));
        self.pictures = self.pictures.saturating_add(1);
        if latest.is_some_and(|latest| picture.pts < latest) {
            self.order = PictureOrder::Reordered;
        } else if self.order == PictureOrder::Unknown
            // What is to be presented in another order has to be decoded ahead.
            && (picture.pts == picture.dts || self.pictures >= PICTURES_AWAITED)
        {
            self.order = PictureOrder::Presented;
        }
        self.order != before
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{Span, TrackId};

    use super::*;

    /// Pictures of 40 ms, as many of them ahead of their turn as `ahead` says.
    fn watch(ahead: &[i64]) -> PictureOrder {
        let mut watch = OrderWatch::default();
        for (index, ahead) in ahead.iter().enumerate() {
            let dts = Timestamp::from_millis(40 * index as i64);
            watch.saw(&Sample {
                track: TrackId::VIDEO,
                dts,
                pts: dts + Span::from_millis(40 * ahead),
                duration: Span::ZERO,
                keyframe: index == 0,
                data: Bytes::new(),
                flv: None,
            });
        }
        watch.order()
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
        // Encoders that present the first picture at once, and so have no time for the others.
        assert_eq!(watch(&[0, 2, 0]), PictureOrder::Reordered);
        // Once is enough.
        let some = [&[1, 2, 0][..], &[1; 50]].concat();
        assert_eq!(watch(&some), PictureOrder::Reordered);
    }
}
