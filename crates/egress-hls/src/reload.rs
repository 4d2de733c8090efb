//! Delivery directives, and what a request for a playlist waits for (RFC 8216bis §6.2.5).
//!
//! | request | answer |
//! |---|---|
//! | none of `_HLS_msn`, `_HLS_part` | at once; of a stream that has just begun, when it has a segment |
//! | `_HLS_part` without `_HLS_msn` | 400 |
//! | `_HLS_msn=M` | when the first part of M is listed, as Safari means it |
//! | both | when part N of M is listed, or of a segment after it |
//! | M is no longer listed | at once |
//! | far ahead | 400 |
//! | nothing follows | at once |
//! | not within three target durations | 503 |

use fanout::PartState;
use tokio::time::timeout;

use crate::answer::Refused;
use crate::channel::Channel;

/// What the query of a playlist's address asks for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Directives {
    /// Wait for this segment, or for this part of it.
    pub(crate) wait_for: Option<(u64, usize)>,
    /// Leave out old segments.
    pub(crate) skips: bool,
    /// Do not wait for a first segment: parts are enough.
    starts_with_parts: bool,
}

impl Directives {
    /// Reads a query.
    ///
    /// # Errors
    /// When a directive is malformed, or `_HLS_part` stands alone.
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
        Ok(directives)
    }

    /// Whether a parameter is a directive, and no part of the viewer's own query.
    pub(crate) fn is_one(parameter: &str) -> bool {
        let is = |name| parameter.strip_prefix(name).is_some_and(is_end_of_name);
        parameter.starts_with("_HLS_") || is("_parts") || is(DVR)
    }

    /// Whether a query asks the multivariant playlist for the DVR window.
    pub(crate) fn wants_dvr(query: &str) -> bool {
        let mut parameters = query.split('&');
        parameters.any(|parameter| parameter.strip_prefix(DVR).is_some_and(is_end_of_name))
    }
}

/// The parameter that asks for the DVR window.
const DVR: &str = "dvr";

fn is_end_of_name(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('=')
}

fn decimal(text: &str) -> Result<u64, Refused> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_decimal);
    number.ok_or(Refused::Directives(
        "_HLS_msn and _HLS_part take decimal numbers",
    ))
}

/// Waits until the playlist can be answered.
///
/// # Errors
/// When what is requested is too far ahead, or does not come in time.
pub(crate) async fn wait(channel: &Channel, directives: &Directives) -> Result<(), Refused> {
    let Some((number, part)) = directives.wait_for else {
        if !directives.starts_with_parts {
            timeout(channel.start_wait(), channel.has_segment())
                .await
                .ok();
        } else {
            timeout(channel.start_wait(), channel.has_part()).await.ok();
        }
        return match channel.is_blank() {
            true => Err(Refused::NotBegun),
            false => Ok(()),
        };
    };
    let place = timeout(channel.patience(), channel.reader().wait_for(number, part)).await;
    match place.map_err(|_| Refused::NotInTime)? {
        PartState::TooFarAhead => Err(Refused::TooFarAhead),
        PartState::There { .. } | PartState::Gone | PartState::Ended => Ok(()),
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
        assert_eq!(
            waits("_HLS_part=3&_HLS_msn=41&_HLS_skip=YES"),
            Ok(Some((41, 3)))
        );
        for query in [
            "_HLS_part=3",
            "_HLS_msn=",
            "_HLS_msn",
            "_HLS_msn=-1",
            "_HLS_msn=+1",
            "_HLS_msn=1.5",
            "_HLS_msn=99999999999999999999",
            "_HLS_msn=1&_HLS_part=x",
        ] {
            assert!(waits(query).is_err(), "{query}");
        }
        let skips = |query| Directives::parse(query).is_ok_and(|directives| directives.skips);
        assert!(skips("_HLS_skip=YES") && skips("_HLS_skip=v2") && !skips("_HLS_skip=NO"));
    }
}
