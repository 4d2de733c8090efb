//! Properties of the current epoch that its samples show, whatever was announced: presence of media, order of the video
//! frames, distance of the keyframes, captions, and the rates of the tracks.

use std::sync::Arc;

use media::codec::captions::CaptionWatch;
use media::{Sample, Track};

use super::keyframes::PictureGroups;
use super::meter::{Meters, Rate};
use super::order::OrderWatch;

/// Observations of the current epoch's samples.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) has_media: bool,
    pub(super) order: OrderWatch,
    pub(super) captions: CaptionWatch,
    pub(super) groups: PictureGroups,
    meters: Meters,
    /// Number of media bytes of all epochs.
    pub(super) ingest_bytes: u64,
}

impl Observed {
    /// Begins an epoch: samples that follow come from another publisher.
    pub(super) fn begin_epoch(&mut self) {
        *self = Self {
            ingest_bytes: self.ingest_bytes,
            ..Self::default()
        };
    }

    /// Records a sample; `is_picture` if it is of the video track. Returns whether it shows something new.
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

    /// Sets the video track. Captions that have been seen stay.
    pub(super) fn describe_pictures(&mut self, track: &Track) {
        if !self.captions.has_captions() {
            self.captions = CaptionWatch::of(track);
        }
    }

    /// Restarts the order of frames: the video is encoded differently from here on.
    pub(super) fn forget_order(&mut self) {
        self.order = OrderWatch::default();
    }

    /// Returns the rate of each of the tracks.
    pub(super) fn rates(&self, tracks: &[Arc<Track>]) -> Vec<Option<Rate>> {
        let rates = tracks.iter().map(|track| self.meters.rate(track.id));
        rates.collect()
    }
}
