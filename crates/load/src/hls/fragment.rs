//! The samples of a fragmented MP4 (ISO/IEC 14496-12 §8), as far as a check needs them. Data that is inconsistent yields no
//! sample.

use container::mp4_file::{Fragment, Init};
use media::Kind;

/// Error of a fragment that contradicts its boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Tracks of an initialization segment; none if it cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracks(Option<Init>);

impl Tracks {
    /// Reads `ftyp` and `moov`.
    pub(super) fn read(init: &[u8]) -> Self {
        Self(Init::of_segment(init))
    }

    /// Passes the samples of `media` to `each`, track by track.
    pub(super) fn samples<'a>(
        &self,
        media: &'a [u8],
        mut each: impl FnMut(Kind, &'a [u8]),
    ) -> Result<(), Broken> {
        let Some(init) = &self.0 else {
            return Ok(());
        };
        for unit in fragments(media) {
            let fragment = Fragment::of_unit(init, unit, 0, unit.len() as u64).ok_or(Broken)?;
            for run in &fragment.runs {
                let is_video = init.track(run.track).is_some_and(|track| track.is_video);
                let kind = if is_video { Kind::Video } else { Kind::Audio };
                let mut begin = run.data as usize;
                for row in &run.rows {
                    let end = begin + row.size as usize;
                    each(kind, unit.get(begin..end).ok_or(Broken)?);
                    begin = end;
                }
            }
        }
        Ok(())
    }
}

/// Returns the pieces that begin with a `moof`, as long as boxes follow one another.
fn fragments(media: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = media;
    std::iter::from_fn(move || {
        loop {
            let unit = rest;
            let (size, after) = unit.split_first_chunk::<4>()?;
            let size = match u32::from_be_bytes(*size) {
                0 => unit.len(),
                1 => u64::from_be_bytes(*after.get(4..)?.first_chunk()?) as usize,
                size => size as usize,
            };
            rest = unit.get(size.max(8)..).unwrap_or_default();
            if after.starts_with(b"moof") {
                return Some(unit);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use container::fmp4::{FRAGMENT_SPAN, FragmentSink, Init, Muxer, Unit};
    use media::{Codec, Framing, Item, Sample, Span, Timestamp, TrackId};
    use proptest::prelude::*;

    use super::*;
    use crate::publish::synthetic::AVC_CONFIG;

    /// Output of a muxer of the server.
    #[derive(Default)]
    struct Written {
        init: Vec<u8>,
        media: Vec<u8>,
    }

    impl FragmentSink for Written {
        type Preamble = ();

        fn put(&mut self, bytes: &[u8]) {
            self.media.extend_from_slice(bytes);
        }

        fn preamble(&mut self, init: &Init) {
            self.init = init.bytes.to_vec();
        }

        fn end_unit(&mut self, _: Unit, _: Option<()>) {}
    }

    fn track(kind: Kind, codec: Codec, config: &'static [u8]) -> Item {
        let is_audio = kind == Kind::Audio;
        Item::Track(Arc::new(media::Track {
            id: if is_audio {
                TrackId::AUDIO
            } else {
                TrackId::VIDEO
            },
            kind,
            codec,
            framing: Framing::Bare,
            config: Bytes::from_static(config),
            sample_rate: if is_audio { 48_000 } else { 0 },
            channels: if is_audio { 2 } else { 0 },
            flv: None,
        }))
    }

    fn sample(track: TrackId, millis: i64, data: String) -> Item {
        Item::Sample(Sample {
            track,
            dts: Timestamp::from_millis(millis),
            pts: Timestamp::from_millis(millis),
            duration: Span::ZERO,
            keyframe: true,
            data: data.into(),
            flv: None,
        })
    }

    fn written() -> Written {
        let mut muxer = Muxer::new(FRAGMENT_SPAN);
        let mut written = Written::default();
        let tracks = [
            track(Kind::Video, Codec::H264, &AVC_CONFIG),
            track(Kind::Audio, Codec::Aac, &[0x11, 0x90]),
        ];
        for item in &tracks {
            muxer.push(item, &mut written);
        }
        for number in 0..10 {
            let video = sample(TrackId::VIDEO, number * 40, format!("picture {number}"));
            let audio = sample(TrackId::AUDIO, number * 40, format!("sound no. {number}"));
            muxer.push(&video, &mut written);
            muxer.push(&audio, &mut written);
        }
        muxer.finish(&mut written);
        written
    }

    #[test]
    fn the_samples_of_the_servers_fragments_are_found() {
        let Written { init, media } = written();
        let tracks = Tracks::read(&init);
        assert_eq!(tracks.0.as_ref().map(|init| init.tracks().len()), Some(2));
        let (mut pictures, mut audio_frames) = (Vec::new(), Vec::new());
        let read = tracks.samples(&media, |kind, sample| match kind {
            Kind::Video => pictures.push(sample),
            Kind::Audio => audio_frames.push(sample),
        });
        assert_eq!(read, Ok(()));
        let expected = |text: &str| (0..10).map(|number| format!("{text} {number}")).collect();
        let expected: [Vec<String>; 2] = [expected("picture"), expected("sound no.")];
        for (found, expected) in [pictures, audio_frames].iter().zip(expected) {
            let found: Vec<_> = found
                .iter()
                .map(|one| String::from_utf8_lossy(one))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_fragment_that_is_cut_off_is_broken() {
        let Written { init, media } = written();
        let tracks = Tracks::read(&init);
        let cut = &media[..media.len() - 5];
        assert_eq!(tracks.samples(cut, |_, _| {}), Err(Broken));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(place: prop::sample::Index, bytes: [u8; 4], cut: prop::sample::Index) {
            let Written { mut init, mut media } = written();
            for text in [&mut init, &mut media] {
                let at = place.index(text.len() - 4);
                text[at..at + 4].copy_from_slice(&bytes);
                text.truncate(cut.index(text.len()));
            }
            let mut sum = 0;
            let read = Tracks::read(&init).samples(&media, |_, sample| sum += sample.len());
            prop_assert!(read.is_err() || sum <= media.len() * media.len());
        }
    }
}
