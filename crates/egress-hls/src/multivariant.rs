//! Multivariant playlists as text (RFC 8216bis §4.4.6): one variant, with what players choose by.

use std::fmt::Write;

use container::fmp4;
use fanout::{Info, LaneIndex};
use media::{Description, Kind, TICKS_PER_SECOND};

use crate::resource::{Resource, playlist_address};

/// Assumed where nothing has been measured yet, in bits per second: a usual stream with pictures, and one without.
const PICTURES_ASSUMED: u64 = 2_500_000;
const SOUND_ASSUMED: u64 = 160_000;

/// The playlist of a stream that names the media playlist `playlist`. `suffix` is appended to its address.
pub(crate) fn text(info: &Info, index: &LaneIndex, playlist: &Resource, suffix: &str) -> String {
    let (average, peak) = bandwidth(info, index);
    let mut out = String::from("#EXTM3U\n#EXT-X-VERSION:9\n");
    write!(
        out,
        "#EXT-X-STREAM-INF:BANDWIDTH={peak},AVERAGE-BANDWIDTH={average}"
    )
    .expect(INFALLIBLE);
    if let Some(codecs) = codecs(info) {
        write!(out, ",CODECS=\"{codecs}\"").expect(INFALLIBLE);
    }
    let picture = info
        .tracks
        .iter()
        .position(|track| track.kind == Kind::Video);
    if let Some(at) = picture {
        if let Some((width, height)) = Description::of(&info.tracks[at]).dimensions {
            write!(out, ",RESOLUTION={width}x{height}").expect(INFALLIBLE);
        }
        if let Some(rate) = info.rates.get(at).copied().flatten() {
            write!(out, ",FRAME-RATE={:.3}", rate.samples_per_second).expect(INFALLIBLE);
        }
    }
    writeln!(out, "\n{}{suffix}", playlist_address(playlist)).expect(INFALLIBLE);
    out
}

const INFALLIBLE: &str = "a String takes all text";

/// What the tracks in the segments are called in `CODECS`.
fn codecs(info: &Info) -> Option<String> {
    let media_type = fmp4::media_type(info.tracks.iter().map(AsRef::as_ref))?;
    let (_, codecs) = media_type.split_once("codecs=\"")?;
    Some(codecs.trim_end_matches('"').to_owned())
}

/// Bits per second: of the stream on average, and of its largest segment (§4.4.6.2).
fn bandwidth(info: &Info, index: &LaneIndex) -> (u64, u64) {
    let rates: Option<Vec<u64>> = info
        .rates
        .iter()
        .map(|rate| rate.map(|rate| rate.bits_per_second))
        .collect();
    let measured = rates
        .map(|rates| rates.iter().sum::<u64>())
        .filter(|sum| *sum > 0);
    let has_pictures = info.tracks.iter().any(|track| track.kind == Kind::Video);
    let average = measured.unwrap_or_else(|| match has_pictures {
        true => PICTURES_ASSUMED,
        false => info.bitrate.map_or(SOUND_ASSUMED, u64::from),
    });
    let complete = index
        .segments
        .iter()
        .filter(|segment| segment.is_complete && !segment.is_gap);
    let peaks = complete.filter_map(|segment| {
        let bits = (segment.range.end - segment.range.start) * 8;
        let ticks = u64::try_from(segment.duration.ticks()).ok()?;
        bits.saturating_mul(TICKS_PER_SECOND as u64)
            .checked_div(ticks)
    });
    (average, peaks.max().unwrap_or(average).max(average))
}
