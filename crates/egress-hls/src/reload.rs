//! Delivery directives, and the waiting of playlist requests (RFC 8216bis §6.2.5).
//!
//! | request | answer |
//! |---|---|
//! | neither `_HLS_msn` nor `_HLS_part` | at once; for a stream that has just begun, when it has a segment |
//! | `_HLS_part` without `_HLS_msn` | 400 |
//! | `_HLS_msn=M` | when the first part of M is listed, which is what Safari expects |
//! | both | when part N of M is listed, or a part of a later segment |
//! | M is no longer listed | at once |
//! | far ahead | 400 |
//! | the stream has ended | at once |
//! | not listed within three target durations | 503 |

use fanout::PartState;
use media::Span;
use tokio::time::timeout;

use crate::answer::Refused;
use crate::channel::{Channel, Start};
use crate::packaging::Packaging;
use crate::waits;

/// Largest start offset in seconds: no list is longer than a day.
const START_MAX_SECONDS: f64 = 86_400.0;

/// Directives in the query of a playlist's address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Directives {
    /// Segment to wait for, and the part of it.
    pub(crate) wait_for: Option<(u64, usize)>,
    /// Whether to omit old segments.
    pub(crate) skips: bool,
    /// Whether parts are enough for the beginning, so that the answer need not wait for a first segment.
    starts_with_parts: bool,
    /// Packaging that a multivariant playlist is to name; `None` for the usual one.
    pub(crate) packaging: Option<Packaging>,
    /// Whether the multivariant playlist is to name the playlists of DVR windows, which are fragmented MP4.
    pub(crate) dvr: bool,
    /// Distance from the end at which players are to start; `None` to leave the start to them.
    pub(crate) start: Option<Span>,
}

impl Directives {
    /// Parses a query.
    ///
    /// # Errors
    /// If a directive is malformed, or `_HLS_part` stands alone.
    pub(crate) fn parse(query: &str) -> Result<Self, Refused> {
        let mut directives = Self::default();
        let (mut number, mut part) = (None, None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "_HLS_msn" => number = Some(decimal(value)?),
                "_HLS_part" => part = Some(decimal(value)?),
                "_HLS_skip" => directives.skips = matches!(value, "YES" | "v2"),
                "_parts" => directives.starts_with_parts = true,
                "format" => directives.packaging = Some(packaging(value)?),
                "dvr" => directives.dvr = true,
                "start" => directives.start = Some(seconds(value)?),
                _ => {}
            }
        }
        directives.wait_for = match (number, part) {
            (Some(number), part) => {
                let part = usize::try_from(part.unwrap_or(0)).map_err(|_| Refused::TooFarAhead)?;
                Some((number, part))
            }
            (None, Some(_)) => return Err(Refused::Directives("_HLS_part needs _HLS_msn")),
            (None, None) => None,
        };
        if directives.dvr && directives.packaging.replace(Packaging::Mp4) == Some(Packaging::Ts) {
            return Err(Refused::Directives("dvr has no other format than `mp4`"));
        }
        Ok(directives)
    }

    /// Returns whether a parameter is a directive, rather than part of the viewer's own query.
    pub(crate) fn is_one(parameter: &str) -> bool {
        let name = parameter.split('=').next().unwrap_or_default();
        name.starts_with("_HLS_") || matches!(name, "_parts" | "format" | "dvr")
    }
}

fn packaging(name: &str) -> Result<Packaging, Refused> {
    match name {
        "mp4" => Ok(Packaging::Mp4),
        "ts" => Ok(Packaging::Ts),
        _ => Err(Refused::Directives("format is `mp4` or `ts`")),
    }
}

fn seconds(text: &str) -> Result<Span, Refused> {
    let seconds = text.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| (0.0..=START_MAX_SECONDS).contains(seconds));
    let millis = seconds.map(|seconds| (seconds * 1_000.0) as i64);
    let span = millis.map(Span::from_millis);
    span.ok_or(Refused::Directives(
        "start takes seconds, a day of them at most",
    ))
}

fn decimal(text: &str) -> Result<u64, Refused> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_decimal);
    number.ok_or(Refused::Directives(
        "_HLS_msn and _HLS_part take decimal numbers",
    ))
}

/// Media that must arrive before a playlist request can be answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Awaited {
    Nothing,
    /// Part of a segment, or a later part.
    Part(u64, usize),
    /// First media of the stream.
    Beginning(Start),
}

/// Returns the media that a playlist request has to wait for.
///
/// # Errors
/// If the requested part is too far ahead.
pub(crate) fn awaited(channel: &Channel, directives: &Directives) -> Result<Awaited, Refused> {
    // Playlists of whole segments alone do not offer to wait.
    let wait_for = directives.wait_for.filter(|_| channel.promise.has_parts);
    let Some((number, part)) = wait_for else {
        let start = channel.start(directives.starts_with_parts);
        return Ok(match channel.has_begun(start) {
            true => Awaited::Nothing,
            false => Awaited::Beginning(start),
        });
    };
    match channel.reader.place(number, part) {
        None => Ok(Awaited::Part(number, part)),
        Some(PartState::TooFarAhead) => Err(Refused::TooFarAhead),
        Some(PartState::There { .. } | PartState::Gone | PartState::Ended) => Ok(Awaited::Nothing),
    }
}

/// Waits until the playlist can be answered.
///
/// # Errors
/// If the requested part is too far ahead, or does not arrive in time.
pub(crate) async fn wait(channel: &Channel, directives: &Directives) -> Result<(), Refused> {
    match awaited(channel, directives)? {
        Awaited::Nothing => Ok(()),
        Awaited::Beginning(start) => {
            // The answer lists whatever has arrived by then.
            let patience = waits::start(&channel.promise.segmentation);
            timeout(patience, channel.begins(start)).await.ok();
            match channel.index().segments.is_empty() {
                true => Err(Refused::NotBegun),
                false => Ok(()),
            }
        }
        Awaited::Part(number, part) => {
            let patience = waits::patience(&channel.promise.segmentation);
            let place = timeout(patience, channel.reader.wait_for(number, part)).await;
            match place.map_err(|_| Refused::NotInTime)? {
                // Before the stream began, it was not known that the part is too far ahead.
                PartState::TooFarAhead => Err(Refused::TooFarAhead),
                PartState::There { .. } | PartState::Gone | PartState::Ended => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(query: &str) -> Result<Option<(u64, usize)>, String> {
        let directives = Directives::parse(query).map_err(|refused| refused.to_string());
        directives.map(|directives| directives.wait_for)
    }

    #[test]
    fn directives_are_read() {
        assert_eq!(waits(""), Ok(None));
        assert_eq!(waits("token=a&_HLS_msn=41"), Ok(Some((41, 0))));
        let both = "_HLS_part=3&_HLS_msn=41&_HLS_skip=YES";
        assert_eq!(waits(both), Ok(Some((41, 3))));
        let given = "_HLS_part=3|_HLS_msn=|_HLS_msn|_HLS_msn=-1|_HLS_msn=+1|_HLS_msn=1.5|\
                     _HLS_msn=99999999999999999999|_HLS_msn=1&_HLS_part=x|format=avi|format=ts&dvr|\
                     start=|start=-1|start=NaN|start=1e9";
        for query in given.split('|') {
            assert!(Directives::parse(query).is_err(), "{query}");
        }
        let asked = Directives::parse("format=ts&start=12.5").ok();
        let asked = asked.map(|asked| (asked.packaging, asked.start));
        let start = Some(Span::from_millis(12_500));
        assert_eq!(asked, Some((Some(Packaging::Ts), start)));
        let dvr = Directives::parse("dvr").ok();
        let dvr = dvr.map(|asked| (asked.packaging, asked.dvr));
        assert_eq!(dvr, Some((Some(Packaging::Mp4), true)));
        assert!(Directives::is_one("format=ts") && Directives::is_one("_parts"));
        assert!(Directives::is_one("dvr") && Directives::is_one("dvr=1"));
        assert!(!Directives::is_one("start=3") && !Directives::is_one("formats=3"));
        assert!(!Directives::is_one("dvrs"));
        let skips = |query| Directives::parse(query).is_ok_and(|directives| directives.skips);
        assert!(skips("_HLS_skip=YES") && skips("_HLS_skip=v2") && !skips("_HLS_skip=NO"));
    }
}
