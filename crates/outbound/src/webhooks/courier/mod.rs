//! Courier: the task that receives messages, persists them, and has them posted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::Jitter;
use net::link::Connector;
use net::url::Url;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout_at};

use crate::webhooks::clock::Clock;
use crate::webhooks::counts::{Counts, Outcome};
use crate::webhooks::journal::{Journal, Kept, OpenError};
use crate::webhooks::key::SigningKey;
use crate::webhooks::post::{Receiver, post};
use crate::webhooks::queue::{Answer, Delivery, Queue, Settled};
use crate::webhooks::sequence::{Sequences, with_sequence};
use crate::webhooks::teller::{REPORTED_MAX, Reported, Teller};

/// Most messages persisted in one write.
const BATCH_MAX: usize = 256;

/// Longest sleep, when nothing is due.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// Pause before a failed disk is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Time that shutdown waits for deliveries in flight. Others are made after the next start.
const FINISH_PATIENCE: Duration = Duration::from_secs(2);

/// Filter of the messages a receiver wants, by kind and stream.
pub type Wants = Box<dyn Fn(&str, Option<&str>) -> bool + Send + Sync>;

/// Receiver of messages. URLs are unique.
pub struct Endpoint {
    /// URL of the receiver: `http` or `https`.
    pub url: Url,
    /// Keys that sign messages: the receiver has at least one of these.
    pub keys: Vec<SigningKey>,
    /// Filter of messages; see [`Wants`].
    pub wants: Wants,
}

/// Settings of a courier.
pub struct Settings<'a> {
    /// Directory of the journal; `None` keeps deliveries in memory, where they do not survive a restart.
    pub directory: Option<&'a Path>,
    /// Receivers of messages.
    pub endpoints: Vec<Endpoint>,
    /// Random number from which message identifiers are derived.
    pub seed: u64,
}

/// Courier of all messages; drive it with [`run`](Self::run).
pub struct Courier {
    reported: mpsc::Receiver<Reported>,
    receivers: Vec<(u64, Arc<Receiver>, Wants)>,
    queue: Queue,
    sequences: Sequences,
    clock: Clock,
    /// Journal of deliveries; `None` if there is none.
    journal: Option<Arc<Journal>>,
    /// Whether the journal of an earlier run has been read.
    is_read: bool,
    /// Whether the journal contained the entire queue at the last write.
    is_whole: bool,
    /// Time of the next attempt after the disk has failed.
    retry: Option<Instant>,
    /// Senders waiting until their message is persisted; bounded by the number of concurrent calls of `tell_surely`.
    waiting: Vec<oneshot::Sender<()>>,
    jitter: Jitter,
    counts: Arc<Counts>,
    in_flight: JoinSet<(u64, Answer)>,
}

impl Courier {
    /// Opens the queue. A failing disk does not prevent that: it is retried while messages are delivered.
    ///
    /// # Errors
    /// Fails when another process holds the queue.
    pub fn open(settings: Settings<'_>, counts: Arc<Counts>) -> Result<(Self, Teller), OpenError> {
        let journal = settings
            .directory
            .map(|directory| Arc::new(Journal::of(directory, Arc::clone(&counts.journal))));
        let endpoints = settings.endpoints.into_iter();
        let receivers: Vec<_> = endpoints
            .map(|Endpoint { url, keys, wants }| {
                (digest(&url), Arc::new(Receiver { url, keys }), wants)
            })
            .collect();
        let queue = Queue::new(receivers.iter().map(|(digest, ..)| *digest));
        let (tell, reported) = mpsc::channel(REPORTED_MAX);
        let teller = Teller {
            reported: tell,
            counts: Arc::clone(&counts),
        };
        let mut courier = Self {
            reported,
            receivers,
            queue,
            sequences: Sequences::default(),
            clock: Clock::now(),
            journal,
            is_read: false,
            is_whole: true,
            retry: None,
            waiting: Vec::new(),
            jitter: Jitter::new(settings.seed),
            counts,
            in_flight: JoinSet::new(),
        };
        if let Some(journal) = courier.journal.clone() {
            match journal.read() {
                Ok(kept) => courier.restore(kept),
                Err(error) if error.is_taken() => return Err(journal.taken()),
                Err(error) => courier.put_off(&error),
            }
        }
        courier.counts.queued.set(courier.queue.len() as u64);
        Ok((courier, teller))
    }

    /// Delivers until `finish` resolves. Then persists messages sent before, and gives deliveries in flight two more seconds.
    pub async fn run(mut self, connector: Connector, finish: impl Future<Output = ()>) {
        let mut finish = std::pin::pin!(finish);
        self.advance(&connector).await;
        loop {
            let wait = self.wait();
            tokio::select! {
                Some(reported) = self.reported.recv() => self.take(reported),
                Some(settled) = self.in_flight.join_next() => self.settle(settled),
                () = sleep(wait) => {}
                () = &mut finish => break,
            }
            self.take_waiting();
            self.advance(&connector).await;
        }
        self.reported.close();
        while let Ok(reported) = self.reported.try_recv() {
            self.take(reported);
        }
        self.advance(&connector).await;
        let until = Instant::now() + FINISH_PATIENCE;
        while let Ok(Some(settled)) = timeout_at(until, self.in_flight.join_next()).await {
            self.settle(settled);
        }
        self.retry = None;
        self.write().await;
    }

    /// Returns the time until there is work, if nothing happens before.
    fn wait(&self) -> Duration {
        let now = self.clock.millis();
        let due = self.queue.next_due().map(|due| due.saturating_sub(now));
        let due = due.map_or(SLEEP_MAX, Duration::from_millis);
        let retry = self
            .retry
            .map(|at| at.saturating_duration_since(Instant::now()));
        due.min(retry.unwrap_or(SLEEP_MAX)).min(SLEEP_MAX)
    }

    /// Receives further waiting messages.
    fn take_waiting(&mut self) {
        for _ in 0..BATCH_MAX {
            match self.reported.try_recv() {
                Ok(reported) => self.take(reported),
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, Reported { message, kept }: Reported) {
        let is_known = |receiver| {
            let id = message.id.as_deref();
            id.is_some_and(|id| self.queue.has(receiver, id))
        };
        let known: Vec<bool> = self.receivers.iter().map(|it| is_known(it.0)).collect();
        let random = || self.jitter.random();
        let id = message.id.clone();
        let id: Arc<str> =
            id.unwrap_or_else(|| format!("msg_{:016x}{:016x}", random(), random()).into());
        let kind: Arc<str> = message.kind.into();
        let stream: Arc<str> = message.stream.as_deref().unwrap_or_default().into();
        let now = self.clock.millis();
        let mut dropped = 0;
        let mut numbered = None;
        for ((receiver, _, wants), is_known) in self.receivers.iter().zip(known) {
            let is_wanted = wants(&kind, message.stream.as_deref());
            if is_known || !is_wanted || !self.queue.takes(*receiver) {
                continue;
            }
            let body = numbered.get_or_insert_with(|| {
                with_sequence(&message.body, self.sequences.next(&stream, now))
            });
            dropped += self.queue.push(Delivery {
                receiver: *receiver,
                stream: Arc::clone(&stream),
                id: Arc::clone(&id),
                kind: Arc::clone(&kind),
                body: body.clone(),
                attempts: 0,
                due: now,
                reported: now,
                is_apart: false,
            });
        }
        if dropped > 0 {
            self.counts.outcomes[Outcome::Dropped].add(dropped);
            tracing::error!(
                "the queue of webhooks is full; the oldest of one receiver are dropped"
            );
        }
        self.waiting.retain(|waiting| !waiting.is_closed());
        self.waiting.extend(kept);
    }

    fn settle(&mut self, settled: Result<(u64, Answer), tokio::task::JoinError>) {
        let (number, answer) = match settled {
            Ok(settled) => settled,
            Err(error) => {
                tracing::error!(%error, "a delivery has failed; it is made after the next start");
                return;
            }
        };
        let random = self.jitter.random();
        let now = self.clock.millis();
        let (outcome, count) = match self.queue.settle(number, answer, now, random) {
            Settled::Delivered => (Outcome::Delivered, 1),
            Settled::Again { .. } => (Outcome::Retried, 1),
            Settled::GivenUp { count } => {
                tracing::error!(number, count, "webhooks are given up");
                (Outcome::GivenUp, count)
            }
            Settled::Gone { count } => (Outcome::Gone, count),
            Settled::Unknown => return,
        };
        self.counts.outcomes[outcome].add(count);
    }

    /// Persists changes, then starts the deliveries that are due.
    async fn advance(&mut self, connector: &Connector) {
        self.write().await;
        while let Some((number, delivery)) = self.queue.take_due(self.clock.millis()) {
            let of_delivery =
                |(digest, ..): &&(u64, Arc<Receiver>, Wants)| *digest == delivery.receiver;
            let Some((_, receiver, _)) = self.receivers.iter().find(of_delivery) else {
                continue;
            };
            let (receiver, connector) = (Arc::clone(receiver), connector.clone());
            self.in_flight.spawn(async move {
                let answer = post(&connector, &receiver, &delivery).await;
                (number, answer)
            });
        }
    }

    async fn write(&mut self) {
        self.counts.queued.set(self.queue.len() as u64);
        let Some(journal) = self.journal.clone() else {
            self.queue.clear_changes();
            return self.tell_kept();
        };
        if self.retry.is_some_and(|at| Instant::now() < at) {
            // The whole queue will be written later.
            return self.queue.clear_changes();
        }
        if !self.is_read {
            let journal = Arc::clone(&journal);
            // An error of the task means that the runtime is ending, here and below.
            match spawn_blocking(move || journal.read()).await {
                Ok(Ok(kept)) => self.restore(kept),
                Ok(Err(error)) => return self.put_off(&error),
                Err(_) => return,
            }
        }
        let is_all = !self.is_whole;
        let changes = match is_all {
            true => self.queue.take_all(),
            false => self.queue.take_changes(),
        };
        if changes.is_empty() && !is_all {
            return self.tell_kept();
        }
        let sequence = self.sequences.highest();
        let writing = spawn_blocking(move || journal.write(&changes, sequence, is_all));
        match writing.await {
            Ok(Ok(())) => {
                self.is_whole = true;
                self.counts.set_behind(false);
                if self.retry.take().is_some() {
                    tracing::info!("webhooks are written down again");
                }
                self.tell_kept();
            }
            Ok(Err(error)) => self.put_off(&error),
            Err(_) => {}
        }
    }

    /// Adds the deliveries left by an earlier run.
    fn restore(&mut self, kept: Kept) {
        self.is_read = true;
        self.sequences.begin_above(kept.sequence);
        let orphans = self.queue.restore(kept, self.clock.millis());
        if orphans > 0 {
            self.counts.outcomes[Outcome::Dropped].add(orphans);
            tracing::warn!(
                orphans,
                "webhooks are dropped: their receivers are not configured any more"
            );
        }
    }

    /// Handles a disk failure while reading or writing. The file is later rewritten completely.
    fn put_off(&mut self, error: &crate::journal::Error) {
        self.is_whole = false;
        self.counts.set_behind(true);
        if self.retry.is_none() {
            tracing::error!(%error, "webhooks cannot be written down; a restart would lose them. It is tried again every ten seconds");
        }
        self.retry = Some(Instant::now() + RETRY_AFTER);
    }

    /// Notifies the waiting senders: everything sent so far is persisted, or there is no journal.
    fn tell_kept(&mut self) {
        for waiting in self.waiting.drain(..) {
            // A sender that has stopped waiting need not know.
            waiting.send(()).ok();
        }
    }
}

base::debug!(Courier as it { queue: it.queue.len() });

/// Returns a receiver's identity over restarts: a digest of its complete URL, which the file does not reveal.
fn digest(url: &Url) -> u64 {
    let mut sha = Sha256::new();
    for part in [
        url.scheme(),
        url.userinfo().unwrap_or_default(),
        &url.authority(),
        &url.target(),
    ] {
        sha.update(part.as_bytes());
        sha.update([0]);
    }
    let digest = sha.finalize();
    u64::from_be_bytes(std::array::from_fn(|at| digest[at]))
}

#[cfg(test)]
mod tests;
