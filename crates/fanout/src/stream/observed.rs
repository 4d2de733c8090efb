//! What the samples of the present epoch show, whatever was announced: that there is media, in which order its pictures
//! come, how far apart its keyframes are, whether it has captions, and at which rates its tracks come.

use std::sync::Arc;

use media::codec::captions::CaptionWatch;
use media::{Sample, Track};

use super::keyframes::PictureGroups;
use super::meter::{Meters, Rate};
use super::order::OrderWatch;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) has_media: bool,
    pub(super) order: OrderWatch,
    pub(super) captions: CaptionWatch,
    pub(super) groups: PictureGroups,
    meters: Meters,
    /// Media bytes of all epochs.
    pub(super) ingest_bytes: u64,
}

impl Observed {
    /// The samples that follow come from another publisher.
    pub(super) fn begin_epoch(&mut self) {
        *self = Self {
            ingest_bytes: self.ingest_bytes,
            ..Self::default()
        };
    }

    /// A sample has come; `is_picture` if it is of the picture track. Whether it shows something new.
    pub(super) fn saw(&mut self, sample: &Sample, is_picture: bool) -> bool {
        let mut is_news = !std::mem::replace(&mut self.has_media, true);
        self.ingest_bytes += sample.bytes() as u64;
        self.meters.push(sample);
        if is_picture {
            is_news |= self.order.saw(sample);
            is_news |= self.captions.saw(sample);
        }
        is_news
    }

    /// The picture track is this one. Captions that have been seen stay.
    pub(super) fn describe_pictures(&mut self, track: &Track) {
        if !self.captions.has_captions() {
            self.captions = CaptionWatch::of(track);
        }
    }

    /// The pictures are coded anew from here on.
    pub(super) fn forget_order(&mut self) {
        self.order = OrderWatch::default();
    }

    /// The rate of each of the tracks.
    pub(super) fn rates(&self, tracks: &[Arc<Track>]) -> Vec<Option<Rate>> {
        let rates = tracks.iter().map(|track| self.meters.rate(track.id));
        rates.collect()
    }
}
