//! Answers to the requests of a thread: each is made once per batch, and sent in batches.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use fanout::Segmentation;
use http::{HeaderMap, StatusCode};
use http1::{ResponseHead, Status, Version};
use net::{Backend, SendOp, SendOutcome, Slab, Slot};

use super::Site;
use super::connection::{Connection, Phase};
use super::head::Profile;
use super::targets::{Known, Target, Targets};
use crate::answer::{Answer, Refused};
use crate::channel::{AtOnce, Channel};
use crate::resource::{Piece, Resource};
use crate::respond::Watch;
use crate::share::Share;
use crate::{Context, playlist};

/// Number of sends handed to the system at once.
const BATCH: usize = 32;

/// Source of a thread's answers: call [`begin_batch`](Self::begin_batch), then [`find`](Self::find) for each request.
pub(super) struct Answers {
    context: Arc<Context>,
    site: Arc<dyn Site>,
    /// Headers that all answers have.
    headers: HeaderMap,
    targets: Targets,
    /// Whether the server is about to leave; tasks answer then.
    is_leaving: bool,
}

/// Decision about a request.
pub(super) enum Verdict {
    Answer(Arc<Prepared>, Arc<Target>),
    /// Request that waits for a part of a segment.
    Awaits(Arc<Channel>, (u64, usize), Arc<Target>),
    /// Request that the connection's task has to answer.
    Elsewhere,
}

/// Decision shared by all requests of a batch that have the same target and equivalent heads.
enum Common {
    Answer(Arc<Prepared>),
    Awaits((u64, usize)),
    Elsewhere,
}

impl Answers {
    pub(super) fn new(context: Arc<Context>, site: Arc<dyn Site>) -> Self {
        Self {
            headers: site.headers(),
            context,
            site,
            targets: Targets::default(),
            is_leaving: false,
        }
    }

    /// Begins a batch, in which other answers may be right.
    pub(super) fn begin_batch(&mut self) {
        self.end_batch();
        self.is_leaving = self.site.is_leaving();
    }

    /// Drops the answers of a batch.
    pub(super) fn end_batch(&mut self) {
        self.targets.end_batch();
    }

    /// Forgets the parsed targets.
    pub(super) fn forget(&mut self) {
        self.targets.forget();
    }

    /// Returns the number of bytes remembered, approximately.
    pub(super) fn bytes(&self) -> usize {
        self.targets.bytes()
    }

    /// Returns the decision about a request on a connection.
    pub(super) fn find(
        &mut self,
        connection: &mut Connection,
        target: &[u8],
        profile: &Arc<Profile>,
        now: Instant,
    ) -> Verdict {
        let Some(known) = self.targets.get(target, &self.context, &*self.site) else {
            return Verdict::Elsewhere;
        };
        let Some(channel) = known.channel.clone() else {
            return Verdict::Elsewhere;
        };
        let target = Arc::clone(&known.target);
        let viewer = connection.viewer(&target, profile);
        // New viewers have to pass the gate in their task.
        if self.is_leaving || !connection.count(&channel, now) {
            return Verdict::Elsewhere;
        }
        let common = known.common(profile).unwrap_or_else(|| {
            let request = connection.request(&target, profile);
            let found = match &target.resource {
                Resource::Media(_, Piece::Playlist) => {
                    let watch = Watch {
                        context: &self.context,
                        request: &request,
                        directives: &target.directives,
                        channel: &channel,
                        viewer: &viewer,
                    };
                    watch.at_once()
                }
                Resource::Media(_, piece) => channel.at_once(piece),
                Resource::Multivariant => AtOnce::Elsewhere,
            };
            let share = Share::of(&self.context, &request);
            keep(known, found, profile, &self.headers, (&channel, share))
        });
        match common {
            Common::Answer(answer) => {
                let viewers = &channel.viewers;
                match viewers.sent(&viewer, answer.body_len, &target.resource, now) {
                    true => Verdict::Answer(answer, target),
                    // The viewer was removed, or has left meanwhile; the task sends the refusal.
                    false => Verdict::Elsewhere,
                }
            }
            Common::Awaits(part) => Verdict::Awaits(channel, part, target),
            Common::Elsewhere => Verdict::Elsewhere,
        }
    }

    /// Returns the refusal for a request with a head like `profile` that waited in vain.
    pub(super) fn not_in_time(&self, profile: &Profile) -> Option<Arc<Prepared>> {
        let answer = Refused::NotInTime.answer();
        // The refusal is the same for every client, and is cached for a moment only.
        let caching = (&self.context.segmentation, !profile.is_private);
        prepare(answer, caching, &self.headers)
    }
}

impl Known {
    /// Returns the decision about an earlier request of this batch.
    fn common(&self, profile: &Profile) -> Option<Common> {
        match (self.awaited, self.answer(profile)) {
            (Some(part), _) => Some(Common::Awaits(part)),
            (None, answer) => answer.map(Common::Answer),
        }
    }
}

/// Keeps a decision for the other requests of the batch.
fn keep(
    known: &mut Known,
    found: AtOnce,
    profile: &Profile,
    headers: &HeaderMap,
    (channel, share): (&Channel, Share<'_>),
) -> Common {
    match found {
        AtOnce::Answer(answer) => {
            let answer = answer.in_memory(share).ok();
            let caching = (&channel.promise.segmentation, share.is_public());
            let answer = answer.and_then(|answer| prepare(answer, caching, headers));
            let Some(answer) = answer else {
                return Common::Elsewhere;
            };
            // No other viewer requests an answer with this viewer's own query.
            if known.target.suffix.is_empty() {
                known.keep(profile, &answer);
            }
            Common::Answer(answer)
        }
        AtOnce::Awaits(number, part) => {
            known.awaited = Some((number, part));
            Common::Awaits((number, part))
        }
        AtOnce::Elsewhere => Common::Elsewhere,
    }
}

/// Prepares an answer for sending; `is_shared` states whether caches may give it to other clients.
fn prepare(
    answer: Answer,
    (segmentation, is_shared): (&Segmentation, bool),
    common: &HeaderMap,
) -> Option<Arc<Prepared>> {
    let target = playlist::target_seconds(segmentation);
    let answer = answer.cached_by(target, is_shared);
    Prepared::new(answer, common, SystemTime::now()).map(Arc::new)
}

/// Head and body of an answer.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Pieces to send, of which the first is the head. None is empty.
    pieces: Vec<Bytes>,
    /// Bytes of all pieces.
    pub(super) len: usize,
    /// Bytes of the body.
    pub(super) body_len: u64,
}

impl Prepared {
    /// Prepares a complete answer, with those headers of `common` that it does not have; `None` if threads do not send
    /// such answers.
    pub(super) fn new(answer: Answer, common: &HeaderMap, now: SystemTime) -> Option<Self> {
        let status = match answer.status {
            StatusCode::OK => Status::OK,
            StatusCode::SERVICE_UNAVAILABLE => Status::SERVICE_UNAVAILABLE,
            _ => return None,
        };
        if answer.rest.is_some() {
            return None;
        }
        let body_len = answer.length();
        let mut head = ResponseHead::new(Version::Http11, status)
            .date(now.into())
            .content_length(body_len);
        let more = common
            .iter()
            .filter(|(name, _)| !answer.headers.contains_key(*name));
        for (name, value) in answer.headers.iter().chain(more) {
            head = head.header(name.as_str(), value.to_str().ok()?);
        }
        let body = answer.body.into_iter().filter(|piece| !piece.is_empty());
        let pieces: Vec<_> = std::iter::once(Bytes::from(head.finish()))
            .chain(body)
            .collect();
        Some(Self {
            len: pieces.iter().map(Bytes::len).sum(),
            body_len,
            pieces,
        })
    }

    /// Fills `into` with the slices from `offset`, as many as one send may carry, and returns their number.
    pub(super) fn slices<'a>(
        &'a self,
        mut offset: usize,
        into: &mut [IoSlice<'a>; SendOp::SLICES_MAX],
    ) -> usize {
        let mut count = 0;
        for piece in &self.pieces {
            if offset >= piece.len() {
                offset -= piece.len();
                continue;
            }
            into[count] = IoSlice::new(&piece[offset..]);
            offset = 0;
            count += 1;
            if count == into.len() {
                break;
            }
        }
        count
    }
}

/// Progress of a connection's answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    /// All of it is sent.
    Done,
    /// The socket has room for more.
    More,
    /// The socket is full; epoll reports when it has room.
    Full,
    /// The connection is gone.
    Gone,
}

/// Sends the rest of its answer to each of `slots`, in one attempt each, and appends the progress.
pub(super) fn send(
    backend: &mut dyn Backend,
    connections: &mut Slab<Connection>,
    slots: &[Slot],
    progress: &mut Vec<(Slot, Progress)>,
) {
    for batch in slots.chunks(BATCH) {
        send_batch(backend, connections, batch, progress);
    }
}

fn send_batch(
    backend: &mut dyn Backend,
    connections: &mut Slab<Connection>,
    batch: &[Slot],
    progress: &mut Vec<(Slot, Progress)>,
) {
    let mut tables = [[IoSlice::new(&[]); SendOp::SLICES_MAX]; BATCH];
    let mut ops = Vec::with_capacity(batch.len());
    for (slot, table) in batch.iter().zip(&mut tables) {
        if let Some(Phase::Sending { prepared, sent, .. }) =
            connections.get(*slot).map(|connection| &connection.phase)
        {
            let count = prepared.slices(*sent, table);
            ops.push(SendOp {
                slot: *slot,
                slices: &table[..count],
            });
        }
    }
    let mut outcomes = [SendOutcome::Blocked; BATCH];
    backend.send_batch(&ops, &mut outcomes);
    let sent: Vec<_> = ops
        .iter()
        .zip(outcomes)
        .map(|(op, outcome)| {
            let offered = op.slices.iter().map(|slice| slice.len()).sum::<usize>();
            (op.slot, offered, outcome)
        })
        .collect();
    for (slot, offered, outcome) in sent {
        let Some(Phase::Sending {
            prepared,
            sent,
            is_full,
            ..
        }) = connections
            .get_mut(slot)
            .map(|connection| &mut connection.phase)
        else {
            continue;
        };
        let now = match outcome {
            SendOutcome::Sent(count) => {
                *sent += count;
                if *sent >= prepared.len {
                    Progress::Done
                } else if count == offered {
                    Progress::More
                } else {
                    Progress::Full
                }
            }
            SendOutcome::Blocked => Progress::Full,
            SendOutcome::Closed => Progress::Gone,
        };
        *is_full = now == Progress::Full;
        progress.push((slot, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packaging::Packaging;

    #[test]
    fn it_is_sent_from_any_offset() {
        let pieces = (0..12_u8)
            .map(|number| Bytes::from(vec![number; 3]))
            .collect();
        let answer = Answer::media(Packaging::Mp4, pieces, true);
        let mut common = HeaderMap::new();
        common.insert("x-common", http::HeaderValue::from_static("1"));
        common.insert("content-type", http::HeaderValue::from_static("not/this"));
        let prepared = Prepared::new(answer, &common, SystemTime::UNIX_EPOCH).expect("an answer");
        assert_eq!(prepared.body_len, 36);
        let mut whole = Vec::new();
        while whole.len() < prepared.len {
            let mut slices = [IoSlice::new(&[]); SendOp::SLICES_MAX];
            let count = prepared.slices(whole.len(), &mut slices);
            assert!(count > 0 && slices[..count].iter().all(|slice| !slice.is_empty()));
            // Simulates a socket that takes five bytes at a time.
            let all: Vec<u8> = slices[..count]
                .iter()
                .flat_map(|slice| slice.to_vec())
                .collect();
            whole.extend_from_slice(&all[..all.len().min(5)]);
        }
        let text = String::from_utf8_lossy(&whole);
        assert!(text.starts_with(
            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 36\r\n"
        ));
        assert!(text.contains("x-common: 1\r\n"), "{text}");
        assert!(!text.contains("not/this"), "{text}");
        assert!(whole.ends_with(&[10, 10, 10, 11, 11, 11]));
    }
}
