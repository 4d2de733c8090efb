//! The media of a player: the order and timing of requests, and the meaning of the pieces received.

use std::rc::Rc;

use super::super::flaw::Flaw;
use super::super::playlist::{Found, Piece, Playlist, Position};
use super::super::record::Record;
use super::super::request::{Failure, Fetched, Request};
use super::{Fetch, Hint, Map, Player};

/// Interval between a failure and the next request, in nanoseconds: a piece is soon too late.
const RETRY_INTERVAL: u64 = 250_000_000;
/// Number of requests for a piece before the player continues without it.
const TRIES_MAX: u8 = 3;

impl Player {
    /// Returns the media request to send now, if any.
    pub(in crate::hls) fn media_request(
        &mut self,
        now: u64,
        record: &mut Record,
    ) -> Option<Request> {
        if self.fetching.is_some() || now < self.fetch_at {
            return None;
        }
        self.fetch_at = 0;
        let playlist = Rc::clone(self.playlist.as_ref()?);
        // Each round moves to the next entry of the playlist; a new start is an entry.
        loop {
            let piece = match playlist.find(self.position, self.is_low_latency) {
                Found::Piece(piece) => piece,
                Found::Behind => {
                    self.start_again(&playlist, now, record);
                    continue;
                }
                Found::Later => {
                    if playlist.is_ended {
                        self.playhead.finish(now, record);
                    }
                    return self.hinted(&playlist);
                }
            };
            let uri = playlist.at(piece.resource.uri);
            if matches!(&self.hint, Hint::Fetched(hinted) if **hinted == *uri) {
                self.hint = Hint::None;
                self.pass(&piece, now, record);
                continue;
            }
            if piece.is_gap {
                record.counts.gaps += 1;
                self.pass(&piece, now, record);
                continue;
            }
            let map = self.new_map(&playlist, &piece);
            let (uri, range) = match &map {
                Some(map) => (&*map.uri, map.range),
                None => (uri, piece.resource.range),
            };
            match self.locate(uri) {
                Ok(path) => {
                    self.fetching = Some(map.map_or(Fetch::Listed(piece), Fetch::Map));
                    return Some(Request { path, range });
                }
                Err(error) => {
                    record.refused.count(&error);
                    record.counts.skipped += 1;
                    self.position = piece.next;
                }
            }
        }
    }

    /// Takes the requested media, which begins with `start`. Returns the kind of the media.
    pub(in crate::hls) fn take(
        &mut self,
        start: &[u8],
        now: u64,
        record: &mut Record,
    ) -> Option<Fetched> {
        let fetch = self.fetching.take()?;
        self.failures[1] = 0;
        self.tries = 0;
        let is_good = match fetch {
            Fetch::Map(_) => start.get(4..8) == Some(b"ftyp"),
            Fetch::Listed(_) | Fetch::Hinted(_) => is_beginning(start, self.map.is_some()),
        };
        if !is_good {
            record.violations.count(&Flaw::BadStart);
        }
        Some(match fetch {
            Fetch::Map(map) => {
                record.counts.maps += 1;
                self.map = Some(map);
                Fetched::Map
            }
            Fetch::Listed(piece) => {
                record.counts.parts += u64::from(piece.is_part);
                record.counts.segments += u64::from(!piece.is_part);
                record.counts.discontinuities += u64::from(piece.is_discontinuous);
                let listed = self.listed(piece.at);
                self.pass(&piece, now, record);
                listed.map_or(Fetched::Past, |_| Fetched::Live {
                    listed,
                    ends: piece.ends,
                })
            }
            Fetch::Hinted(uri) => {
                record.counts.parts += 1;
                record.counts.hinted += 1;
                self.hint = Hint::Fetched(uri);
                Fetched::Live {
                    listed: None,
                    ends: None,
                }
            }
        })
    }

    /// Handles media that does not arrive.
    ///
    /// # Errors
    /// Returns an error if the player gives up.
    pub(in crate::hls) fn miss_media(
        &mut self,
        failure: &Failure,
        now: u64,
        record: &mut Record,
    ) -> Result<(), String> {
        let Some(fetch) = self.fetching.take() else {
            return Ok(());
        };
        let what = match &fetch {
            Fetch::Map(_) => "map",
            Fetch::Listed(piece) if piece.is_part => "part",
            Fetch::Listed(_) => "segment",
            Fetch::Hinted(_) => "hinted part",
        };
        record.refused.count(&format_args!("{what}: {failure}"));
        if let Fetch::Hinted(uri) = fetch {
            self.hint = Hint::Refused(uri);
            return self.count_failure(1, failure);
        }
        self.fetch_at = now + RETRY_INTERVAL;
        self.tries += 1;
        let is_refused = matches!(failure, Failure::Status(_)) && !failure.is_passing();
        if is_refused && self.tries == 1 {
            record.violations.count(&Flaw::Refused);
        }
        if self.tries < TRIES_MAX {
            return self.count_failure(1, failure);
        }
        self.tries = 0;
        let Fetch::Listed(piece) = fetch else {
            return Err(format!("{what}: {failure}"));
        };
        record.counts.skipped += 1;
        self.position = piece.next;
        self.count_failure(1, failure)
    }

    /// Moves past the piece: it is fetched, or there is nothing to fetch.
    fn pass(&mut self, piece: &Piece, now: u64, record: &mut Record) {
        self.position = piece.next;
        self.playhead.load(piece.duration, now, record);
    }

    /// Returns the map that the piece needs, if the player does not have it.
    fn new_map(&mut self, playlist: &Playlist, piece: &Piece) -> Option<Map> {
        let Some(resource) = piece.map else {
            // A delta does not say what its first segments need; the previous map still applies.
            if playlist.skipped == 0 {
                self.map = None;
            }
            return None;
        };
        let map = Map {
            uri: playlist.at(resource.uri).into(),
            range: resource.range,
        };
        (self.map.as_ref() != Some(&map)).then_some(map)
    }

    /// Returns the request for a part that is not listed yet, if the player makes such requests.
    fn hinted(&mut self, playlist: &Playlist) -> Option<Request> {
        let is_wanted = self.playing.hints && self.is_low_latency;
        let uri = playlist.at(playlist.hint.filter(|_| is_wanted)?);
        let is_known = match &self.hint {
            Hint::None => false,
            Hint::Fetched(known) | Hint::Refused(known) => **known == *uri,
        };
        if is_known {
            return None;
        }
        let path = self.locate(uri).ok()?;
        self.fetching = Some(Fetch::Hinted(uri.into()));
        Some(Request { path, range: None })
    }

    /// Returns the time at which the blocking response arrived that lists `position`.
    fn listed(&self, position: Position) -> Option<u64> {
        let mut answers = self.answers.iter();
        let answer = answers.find(|(from, _)| *from <= position);
        answer.map(|(_, heard)| *heard)
    }
}

/// Returns whether media may begin with these bytes: a box of a segment, the sync byte of MPEG-TS, or a tag before packed audio
/// (RFC 8216 §3).
fn is_beginning(start: &[u8], has_map: bool) -> bool {
    if !has_map {
        return start.first() == Some(&0x47) || start.starts_with(b"ID3");
    }
    let boxes: [&[u8]; 5] = [b"styp", b"moof", b"emsg", b"sidx", b"prft"];
    start.get(4..8).is_some_and(|name| boxes.contains(&name))
}
