//! Recently made stills of streams.
//!
//! A still is made at most once in [`FRESH_FOR`] per stream, for all clients, and all stills together take at most
//! [`STORED_BYTES_MAX`].

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::Lock;
use bytes::Bytes;
use container::fmp4;
use fanout::gate::{Authorized, Play};
use fanout::{Info, Stream};
use http::{HeaderMap, StatusCode, header};
use media::{Kind, Sample, StreamName, Timestamp, Track};

use super::assets::tag;
use crate::reply::Reply;

const MEDIA_TYPE: &str = "video/mp4";

/// Time that a still is valid, here and in caches: a list of streams is no player.
const FRESH_FOR: Duration = Duration::from_secs(5);
const CACHED: &str = "public, max-age=5";
/// Cache-Control value for clients that have presented a credential: others may not be entitled to the reply.
const CACHED_PRIVATELY: &str = "private, max-age=5";

/// Time that a still outlives the keyframe it was made from, where keyframes are rare.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// Maximum length of a still in bytes: a keyframe of 4K at 50 Mb/s has 1 MiB.
const STILL_BYTES_MAX: usize = 2 << 20;

/// Maximum length of all stills together in bytes: a thousand of 720p.
const STORED_BYTES_MAX: usize = 64 << 20;

/// Whether a still of a stream is possible, judging by its tracks.
pub(super) fn may_exist(info: &Info) -> bool {
    let mut tracks = info.tracks.iter();
    let picture = tracks.find(|track| track.kind == Kind::Video);
    picture.is_some_and(|track| fmp4::can_mux(track))
}

/// Cache of stills, by stream.
#[derive(Debug, Default)]
pub(super) struct Stills(Lock<HashMap<StreamName, Still>>);

#[derive(Clone, Debug)]
pub(super) struct Still {
    /// Stream of the still: the next stream of that name has frames of its own.
    stream: Weak<Stream>,
    /// Time at which the still was made, or last found to be the newest.
    found: Instant,
    made: Instant,
    /// Timestamp of the keyframe.
    at: Timestamp,
    bytes: Bytes,
    tag: String,
}

impl Stills {
    /// Returns the newest still of a stream; `None` if there is none, or none that MP4 can carry.
    pub(super) fn of(
        &self,
        stream: &Arc<Stream>,
        permission: &Authorized<Play>,
        now: Instant,
    ) -> Option<Still> {
        let mut stills = self.0.lock();
        let known = stills.get_mut(stream.name());
        let known = known.filter(|known| std::ptr::eq(known.stream.as_ptr(), Arc::as_ptr(stream)));
        if let Some(known) = &known
            && now.saturating_duration_since(known.found) < FRESH_FOR
        {
            return Some((*known).clone());
        }
        let Some((track, picture)) = stream.keyframe(permission) else {
            // A browser that publishes sends a keyframe only if one is requested.
            if may_exist(&stream.info()) {
                stream.request_keyframe();
            }
            let known = known.filter(|known| is_kept(known, now));
            return known.map(|known| known.clone());
        };
        if let Some(known) = known
            && known.at == picture.dts
        {
            known.found = now;
            return Some(known.clone());
        }
        let still = Still::new(stream, &track, &picture, now)?;
        stills.retain(|_, still| is_kept(still, now));
        let stored: usize = stills.values().map(|still| still.bytes.len()).sum();
        make_room(&mut stills, stored + still.bytes.len());
        stills.insert(stream.name().clone(), still.clone());
        Some(still)
    }

    /// Drops the still of a stream that is over.
    pub(super) fn forget(&self, name: &StreamName) {
        self.0.lock().remove(name);
    }
}

fn is_kept(still: &Still, now: Instant) -> bool {
    now.saturating_duration_since(still.made.max(still.found)) < KEPT_FOR
}

/// Drops the oldest stills until `stored`, the bytes that they and a new one take, is within the limit.
fn make_room(stills: &mut HashMap<StreamName, Still>, mut stored: usize) {
    while stored > STORED_BYTES_MAX {
        let oldest = stills.iter().min_by_key(|(_, still)| still.made);
        let Some(name) = oldest.map(|(name, _)| name.clone()) else {
            return;
        };
        let dropped = stills.remove(&name);
        stored -= dropped.map_or(0, |still| still.bytes.len());
    }
}

impl Still {
    fn new(
        stream: &Arc<Stream>,
        track: &Arc<Track>,
        picture: &Sample,
        now: Instant,
    ) -> Option<Self> {
        if picture.data.len() > STILL_BYTES_MAX {
            return None;
        }
        let bytes = fmp4::still(track, picture)?;
        Some(Self {
            stream: Arc::downgrade(stream),
            found: now,
            made: now,
            at: picture.dts,
            tag: tag(&bytes),
            bytes,
        })
    }

    /// Returns the whole still, a range of it (RFC 9110 §14: Safari plays nothing without), or that the client has it.
    pub(super) fn answer(self, headers: &HeaderMap, is_private: bool) -> Reply {
        let caching = match is_private {
            true => CACHED_PRIVATELY,
            false => CACHED,
        };
        let length = self.bytes.len();
        let range = headers.get(header::RANGE).and_then(|it| it.to_str().ok());
        let is_current = headers
            .get(header::IF_RANGE)
            .is_none_or(|known| *known == *self.tag);
        let range = range.filter(|_| is_current);
        let reply = match range.map(|text| of_range(text, length)) {
            None | Some(Requested::Whole) => Reply::full(StatusCode::OK, MEDIA_TYPE, self.bytes),
            Some(Requested::Part(range)) => {
                let text = format!("bytes {}-{}/{length}", range.start, range.end - 1);
                let part = self.bytes.slice(range);
                Reply::full(StatusCode::PARTIAL_CONTENT, MEDIA_TYPE, part)
                    .with(header::CONTENT_RANGE, text)
            }
            Some(Requested::Beyond) => Reply::new(StatusCode::RANGE_NOT_SATISFIABLE)
                .with(header::CONTENT_RANGE, format!("bytes */{length}")),
        };
        reply
            .versioned(&self.tag, caching, headers)
            .with(header::ACCEPT_RANGES, "bytes")
    }
}

/// Part of the still that a Range header requests.
#[derive(Debug, Eq, PartialEq)]
enum Requested {
    /// All bytes: several ranges and malformed ones are ignored, as RFC 9110 §14.2 permits.
    Whole,
    Part(Range<usize>),
    /// No existing byte.
    Beyond,
}

fn of_range(text: &str, length: usize) -> Requested {
    let Some((first, last)) = text
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
    else {
        return Requested::Whole;
    };
    let last_byte = length.saturating_sub(1);
    let range = match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.min(last_byte) + 1,
        (Ok(first), Err(_)) if last.trim().is_empty() => first..length,
        (Err(_), Ok(count)) if first.trim().is_empty() => length.saturating_sub(count)..length,
        _ => return Requested::Whole,
    };
    match range.start < range.end {
        true => Requested::Part(range),
        false => Requested::Beyond,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_range_is_what_rfc_9110_says() {
        use Requested::{Beyond, Part, Whole};
        for (text, expected) in [
            ("bytes=0-1", Part(0..2)),
            ("bytes=0-", Part(0..100)),
            ("bytes=90-200", Part(90..100)),
            ("bytes=-10", Part(90..100)),
            ("bytes=-200", Part(0..100)),
            ("bytes=100-", Beyond),
            ("bytes=100-200", Beyond),
            ("bytes=-0", Beyond),
            ("bytes=5-4", Whole),
            ("bytes=0-1,5-6", Whole),
            ("bytes=x-", Whole),
            ("lines=0-1", Whole),
        ] {
            assert_eq!(of_range(text, 100), expected, "{text}");
        }
    }

    fn still(now: Instant, bytes: usize) -> Still {
        Still {
            stream: Weak::new(),
            found: now,
            made: now,
            at: Timestamp::ZERO,
            bytes: vec![0; bytes].into(),
            tag: "\"0123\"".to_owned(),
        }
    }

    #[test]
    fn the_oldest_stills_make_room() {
        let now = Instant::now();
        let mut stills: HashMap<_, _> = (0..40_u64)
            .map(|number| {
                let name = StreamName::parse(&format!("live/{number}")).expect("a name");
                let made = now + Duration::from_secs(number);
                (name, still(made, STILL_BYTES_MAX))
            })
            .collect();
        make_room(&mut stills, 41 * STILL_BYTES_MAX);
        assert_eq!((stills.len() + 1) * STILL_BYTES_MAX, STORED_BYTES_MAX);
        let newest = StreamName::parse("live/39").expect("a name");
        let oldest = StreamName::parse("live/0").expect("a name");
        assert!(stills.contains_key(&newest) && !stills.contains_key(&oldest));
    }

    #[test]
    fn a_still_is_sent_once_and_by_ranges() {
        let mut headers = HeaderMap::new();
        let ask = |headers: &HeaderMap| still(Instant::now(), 100).answer(headers, false);
        let whole = ask(&headers);
        assert_eq!(whole.status, StatusCode::OK);
        assert_eq!(whole.headers[header::CACHE_CONTROL], CACHED);
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
        let part = ask(&headers);
        assert_eq!(part.status, StatusCode::PARTIAL_CONTENT);
        assert_eq!(part.headers[header::CONTENT_RANGE], "bytes 0-1/100");
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"other\""));
        assert_eq!(ask(&headers).status, StatusCode::OK);
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"0123\""));
        assert_eq!(ask(&headers).status, StatusCode::NOT_MODIFIED);
        let private = still(Instant::now(), 1).answer(&HeaderMap::new(), true);
        assert_eq!(private.headers[header::CACHE_CONTROL], CACHED_PRIVATELY);
    }
}
