//! Text of multivariant playlists (RFC 8216bis §4.4.6): the variants, with the properties that players choose by.
//!
//! Each variant has its video and its audio in one media playlist, so variants name no groups of renditions. hls.js's
//! light build does not support alternative audio, a player makes half as many requests, and the audio that each
//! quality repeats is less than a tenth of its bytes.

use std::fmt::{self, Write};
use std::sync::Arc;

use container::fmp4;
use fanout::{Info, Segment};
use media::{Kind, TICKS_PER_SECOND};

use crate::packaging::Packaging;
use crate::variants::Quality;

/// Bit rate assumed before one has been measured, in bits per second: of a usual stream with video, and of one without.
const PICTURES_ASSUMED: u64 = 2_500_000;
const AUDIO_ASSUMED: u64 = 160_000;

/// Group of the closed captions within the video (§4.4.6.1). Captions are declared absent, for all variants together,
/// if no variant's video has room for them. Without that declaration players look for captions in the listed segments,
/// and Shaka fails if one of the few segments of a young stream is still growing.
const CAPTION_GROUP: &str = "cc";
const CAPTIONS: &str =
    "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"cc\",NAME=\"CC1\",INSTREAM-ID=\"CC1\"\n";

/// One of the streams that a player chooses from.
pub(crate) struct Variant {
    pub(crate) quality: Quality,
    /// Packaging that its media playlist lists.
    pub(crate) packaging: Packaging,
    /// Segments of its lane, if the lane is open.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Address of the media playlist, relative to the multivariant one.
    pub(crate) address: String,
}

/// Renders the playlist of variants, in the given order. `suffix` is appended to each address.
pub(crate) fn text(variants: &[Variant], suffix: &str) -> String {
    let mut out = String::from("#EXTM3U\n#EXT-X-VERSION:9\n");
    if variants.iter().any(|variant| variant.quality.info.captions) {
        out.push_str(CAPTIONS);
    }
    let has_picture = |variant: &Variant| variant.quality.info.keyframes.is_some();
    let may_come = |variant: &Variant| {
        let info = &variant.quality.info;
        info.may_have_captions && (info.keyframes.is_some() || info.awaits_pictures)
    };
    let has_captions = !variants.iter().any(has_picture) || variants.iter().any(may_come);
    for variant in variants {
        let written = describe(variant, has_captions, &mut out);
        written.expect("a String takes all text");
        out.extend(["\n", &variant.address, suffix, "\n"]);
    }
    out
}

/// Writes the tag of a variant.
fn describe(variant: &Variant, has_captions: bool, out: &mut String) -> fmt::Result {
    let quality = &variant.quality;
    let info = &quality.info;
    let (average, peak) = bandwidth(variant);
    write!(
        out,
        "#EXT-X-STREAM-INF:BANDWIDTH={peak},AVERAGE-BANDWIDTH={average}"
    )?;
    if let Some(codecs) = codecs(info, variant.packaging) {
        write!(out, ",CODECS=\"{codecs}\"")?;
    }
    if let Some((width, height)) = quality.dimensions {
        write!(out, ",RESOLUTION={width}x{height}")?;
    }
    let picture = info
        .tracks
        .iter()
        .position(|track| track.kind == Kind::Video);
    if let Some(rate) = picture.and_then(|at| info.rates.get(at).copied().flatten()) {
        write!(out, ",FRAME-RATE={:.3}", rate.samples_per_second)?;
    }
    if info.captions {
        write!(out, ",CLOSED-CAPTIONS=\"{CAPTION_GROUP}\"")?;
    } else if !has_captions {
        out.push_str(",CLOSED-CAPTIONS=NONE");
    }
    Ok(())
}

/// Codec name of MP3 as plain frames. In fragmented MP4 it has another name, which browsers do not know.
const MP3_FRAMES: &str = "mp4a.40.34";

/// Returns the value of `CODECS` for the tracks in the segments.
fn codecs(info: &Info, packaging: Packaging) -> Option<String> {
    if packaging == Packaging::Mp3 {
        return Some(MP3_FRAMES.to_owned());
    }
    let media_type = fmp4::media_type(info.tracks.iter().map(AsRef::as_ref))?;
    let (_, codecs) = media_type.split_once("codecs=\"")?;
    Some(codecs.trim_end_matches('"').to_owned())
}

/// Returns bits per second: the stream's average, and the rate of its largest segment (§4.4.6.2).
fn bandwidth(variant: &Variant) -> (u64, u64) {
    let quality = &variant.quality;
    let mut tracks = quality.info.tracks.iter();
    let has_pictures = tracks.any(|track| track.kind == Kind::Video);
    let average = quality.bits_per_second.unwrap_or(match has_pictures {
        true => PICTURES_ASSUMED,
        false => AUDIO_ASSUMED,
    });
    let complete = variant
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
