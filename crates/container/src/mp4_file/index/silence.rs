//! Encoder padding in a file's audio: an encoder begins with samples of silence, and fills its last frame with more.
//!
//! `iTunSMPB` gives its length to the sample, an edit list to a unit of the movie's clock. In doubt, a sample is
//! played.

use super::moov::Track;
use super::tags::Tags;

/// Returns the number of whole audio samples at the beginning and at the end that should not be played.
pub(super) fn unheard(tracks: &[Track], tags: &Tags) -> (usize, usize) {
    let audio = tracks.iter().find(|track| track.heard.is_some());
    let Some((track, heard)) = audio.and_then(|track| Some((track, track.heard?))) else {
        return (0, 0);
    };
    let durations = track
        .samples
        .iter()
        .map(|sample| u64::from(sample.duration));
    let end: u64 = durations.clone().sum();
    let (from, until) = match tags.silence {
        Some((before, behind)) => (before, end.saturating_sub(behind)),
        None if heard.duration == 0 => (heard.from, end),
        None => {
            let until = heard.from.saturating_add(heard.duration);
            (heard.from, until.saturating_add(heard.within))
        }
    };
    let ends = durations.clone().scan(0, |at, duration| {
        *at += duration;
        Some(*at)
    });
    let before = ends.clone().take_while(|end| *end <= from).count();
    let begins = ends.zip(durations).map(|(end, duration)| end - duration);
    (before, begins.filter(|begin| *begin >= until).count())
}

#[cfg(test)]
mod tests {
    use super::super::moov::Heard;
    use super::super::tables::Sample;
    use super::*;

    fn heard(from: u64, duration: u64) -> Heard {
        Heard {
            from,
            duration,
            within: 45,
        }
    }

    fn track(samples: u64, heard: Heard) -> Track {
        let sample = |number| Sample {
            offset: number,
            size: 1,
            duration: 1_024,
            composition: 0,
            is_sync: true,
        };
        Track {
            id: 1,
            timescale: 44_100,
            begin: 0,
            heard: Some(heard),
            samples: (0..samples).map(sample).collect(),
        }
    }

    #[test]
    fn whole_samples_outside_of_the_edit_are_not_heard() {
        for (from, duration, expected) in [
            (0, 0, (0, 0)),
            (1_023, 0, (0, 0)),
            (2_112, 0, (2, 0)),
            // The clock is coarse.
            (1_024, 8 * 1_024, (1, 0)),
            (1_024, 8 * 1_024 - 45, (1, 1)),
            (u64::MAX, u64::MAX, (10, 0)),
        ] {
            let tracks = [track(10, heard(from, duration))];
            let found = unheard(&tracks, &Tags::default());
            assert_eq!(found, expected, "{from} {duration}");
        }
    }

    #[test]
    fn what_the_encoder_says_is_exact() {
        for (silence, expected) in [
            ((2_112, 2_047), (2, 1)),
            ((2_048, 2_048), (2, 2)),
            ((u64::MAX, u64::MAX), (10, 10)),
        ] {
            let tags = Tags {
                silence: Some(silence),
                ..Tags::default()
            };
            assert_eq!(unheard(&[track(10, heard(0, 0))], &tags), expected);
        }
    }
}
