//! Batches of sessions for webhook receivers: those that began, or ended, on a stream within a few seconds, in one message.
//!
//! Messages that cannot be handed over yet wait here, within [`BYTES_MAX`]; beyond that the oldest is lost, and counted like
//! every webhook that finds no room.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use config::WebhookRule;
use media::StreamName;
use outbound::webhooks::{Message, Teller};

use crate::hooks::{self, Sessions as Kind};

/// Time that sessions wait for others of their stream. It saves some hundred messages when an audience leaves at once.
const BATCH_TIME: Duration = Duration::from_secs(5);

/// Most bytes of sessions in one message: leaves room for the rest within the longest message, 20 kB.
pub(super) const BATCH_BYTES_MAX: usize = 16_000;

/// Most bytes of waiting sessions: some 15,000 sessions. The courier accepts thousands of messages at once, each with 40 of
/// them, so this buffer is needed only while the courier is slow.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Open and finished batches; call [`turn`](Self::turn) at intervals to hand them over.
#[derive(Debug)]
pub(super) struct Batches {
    teller: Option<Teller>,
    /// Whether some receiver wants beginnings.
    pub(super) wants_starts: bool,
    /// Whether some receiver wants ends.
    pub(super) wants_ends: bool,
    open: HashMap<(Kind, StreamName), String>,
    /// Messages for which the courier had no room.
    ready: VecDeque<Message>,
    /// Bytes in open batches and ready messages.
    bytes: usize,
    due: Instant,
}

impl Batches {
    /// Makes batches for the receivers of these rules.
    pub(super) fn new(teller: Option<Teller>, rules: &[WebhookRule], now: Instant) -> Self {
        let wanted = |kind: Kind| rules.iter().any(|rule| rule.wants_kind(kind.label()));
        Self {
            teller,
            wants_starts: wanted(Kind::Started),
            wants_ends: wanted(Kind::Ended),
            open: HashMap::new(),
            ready: VecDeque::new(),
            bytes: 0,
            due: now + BATCH_TIME,
        }
    }

    /// Whether there is room for sessions whose report can wait.
    pub(super) fn have_room(&self) -> bool {
        self.bytes < BYTES_MAX / 2
    }

    /// Adds a session: a JSON object of at most [`BATCH_BYTES_MAX`] bytes.
    pub(super) fn add(&mut self, kind: Kind, stream: &StreamName, session: &str) {
        let key = (kind, stream.clone());
        let mut batch = self.open.remove(&key).unwrap_or_default();
        if batch.len() + session.len() >= BATCH_BYTES_MAX && !batch.is_empty() {
            self.close(&key, &std::mem::take(&mut batch));
        }
        let before = batch.len();
        if !batch.is_empty() {
            batch.push(',');
        }
        batch.push_str(session);
        self.bytes += batch.len() - before;
        self.open.insert(key, batch);
        // Open batches may be many and small.
        if self.bytes > BYTES_MAX {
            self.close_all();
        }
        self.give_up_beyond(BYTES_MAX);
    }

    /// Hands over due messages without waiting.
    pub(super) fn turn(&mut self, now: Instant) {
        if now >= self.due {
            self.due = now + BATCH_TIME;
            self.close_all();
        }
        self.hand_over();
    }

    /// Hands over all messages.
    pub(super) fn finish(&mut self) {
        self.close_all();
        self.hand_over();
        self.give_up_beyond(0);
    }

    fn close_all(&mut self) {
        for (key, batch) in std::mem::take(&mut self.open) {
            self.close(&key, &batch);
        }
    }

    fn close(&mut self, (kind, stream): &(Kind, StreamName), batch: &str) {
        self.bytes -= batch.len();
        let message = hooks::of_sessions(*kind, stream, SystemTime::now(), batch);
        self.bytes += message.body.len();
        self.ready.push_back(message);
    }

    fn hand_over(&mut self) {
        let Some(teller) = &self.teller else {
            return;
        };
        while let Some(message) = self.ready.pop_front() {
            let bytes = message.body.len();
            if let Err(refused) = teller.offer(message) {
                self.ready.push_front(refused);
                return;
            }
            self.bytes -= bytes;
        }
    }

    fn give_up_beyond(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some(oldest) = self.ready.pop_front()
        {
            self.bytes -= oldest.body.len();
            if let Some(teller) = &self.teller {
                // Counts the message as lost if there is still no room.
                teller.tell(oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    fn session(number: usize) -> String {
        let agent = "x".repeat(380);
        format!("{{\"id\":\"r-{number}\",\"agent\":\"{agent}\"}}")
    }

    fn batches(now: Instant) -> Batches {
        Batches::new(None, &[], now)
    }

    #[test]
    fn a_batch_is_closed_when_it_is_full_or_due() {
        let now = Instant::now();
        let mut batches = batches(now);
        for number in 0..100 {
            batches.add(Kind::Ended, &name("radio"), &session(number));
            batches.add(Kind::Started, &name("radio"), &session(number));
        }
        batches.add(Kind::Ended, &name("other"), &session(0));
        batches.turn(now + BATCH_TIME / 2);
        let full = batches.ready.len();
        assert_eq!(full, 4, "{batches:?}");
        batches.turn(now + BATCH_TIME);
        assert_eq!((batches.ready.len(), batches.open.len()), (full + 3, 0));
        let mut counts = HashMap::new();
        for message in &batches.ready {
            assert!(message.body.len() < 16_500, "{}", message.body.len());
            let body: serde_json::Value = serde_json::from_slice(&message.body).expect("JSON");
            let stream = message.stream.clone().expect("a stream");
            assert_eq!(body["data"]["stream"], stream);
            let sessions = body["data"]["sessions"].as_array().expect("sessions");
            *counts.entry((message.kind, stream)).or_insert(0) += sessions.len();
        }
        assert_eq!(counts[&("session.ended", "radio".to_owned())], 100);
        assert_eq!(counts[&("session.started", "radio".to_owned())], 100);
        assert_eq!(counts[&("session.ended", "other".to_owned())], 1);
        let bytes: usize = batches.ready.iter().map(|message| message.body.len()).sum();
        assert_eq!(batches.bytes, bytes);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut batches = batches(Instant::now());
        let text = session(0);
        for number in 0..2 * BYTES_MAX / text.len() {
            // One stream each, which is the worst.
            batches.add(Kind::Ended, &name(&format!("radio-{number}")), &text);
            assert!(batches.bytes <= BYTES_MAX + BATCH_BYTES_MAX);
        }
        assert!(!batches.have_room());
        batches.finish();
        assert_eq!(batches.bytes, 0);
        assert!(batches.ready.is_empty() && batches.open.is_empty());
    }
}
