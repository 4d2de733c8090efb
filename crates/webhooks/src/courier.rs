//! The task that takes messages in, writes them down, and has them posted.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use net::Jitter;
use net::link::Connector;
use net::url::Url;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout_at};

use crate::counts::{Counts, Outcome};
use crate::journal::{Journal, OpenError};
use crate::key::SigningKey;
use crate::post::{Receiver, post};
use crate::queue::{Answer, Delivery, Millis, Queue, Settled, millis};

/// Messages between the tellers and the task: what happens at once when a thousand streams end, and more.
const TOLD_MAX: usize = 4_096;

/// The longest body, as the specification recommends.
const BODY_BYTES_MAX: usize = 20_000;

/// Messages that are written down at once.
const BATCH_MAX: usize = 256;

/// The longest sleep, so that a change of the host's clock is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// How long the end waits for deliveries under way. Others are made after the next start.
const FINISH_PATIENCE: Duration = Duration::from_secs(2);

/// Which messages a receiver wants: by their kind, and the stream that they are about.
pub type Wants = Box<dyn Fn(&str, Option<&str>) -> bool + Send + Sync>;

/// A receiver. No two have one address.
pub struct Endpoint {
    /// Where it is: `http` or `https`.
    pub url: Url,
    /// What messages are signed with: the receiver has at least one of these.
    pub keys: Vec<SigningKey>,
    /// See [`Wants`].
    pub wants: Wants,
}

/// What webhooks are made of.
pub struct Settings<'a> {
    /// Where deliveries are kept; `None` for memory, which a restart does not spare.
    pub directory: Option<&'a Path>,
    /// Who is told.
    pub endpoints: Vec<Endpoint>,
    /// Random: identifiers of messages follow from it.
    pub seed: u64,
}

/// Something that has happened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// What, such as `recording.closed`.
    pub kind: &'static str,
    /// The stream that it is about, if any.
    pub stream: Option<String>,
    /// What is posted: JSON.
    pub body: Bytes,
    /// Its identifier, of letters, digits and `_`, for one that may be told twice: receivers, and the queue, take it for
    /// one message then. `None` for a random one.
    pub id: Option<Arc<str>>,
}

/// A message on its way to the task.
#[derive(Debug)]
struct Told {
    message: Message,
    /// Resolves once a restart spares it.
    kept: Option<oneshot::Sender<()>>,
}

/// Hands messages over.
#[derive(Clone, Debug)]
pub struct Teller {
    told: mpsc::Sender<Told>,
    counts: Arc<Counts>,
}

impl Teller {
    /// Hands a message over. It waits for nothing: what finds no room is counted, and lost.
    pub fn tell(&self, message: Message) {
        self.hand_over(message, None);
    }

    /// The same. True when the message is written down, so that a restart spares it; false when that will not happen.
    pub async fn tell_surely(&self, message: Message) -> bool {
        let (kept, is_kept) = oneshot::channel();
        self.hand_over(message, Some(kept));
        is_kept.await.is_ok()
    }

    /// The same, for a caller that can wait.
    ///
    /// # Errors
    /// The message, when there is no room for it now.
    pub fn offer(&self, message: Message) -> Result<(), Message> {
        if message.body.len() > BODY_BYTES_MAX {
            self.tell(message);
            return Ok(());
        }
        let told = Told {
            message,
            kept: None,
        };
        let offered = self.told.try_send(told);
        offered.map_err(|refused| refused.into_inner().message)
    }

    fn hand_over(&self, message: Message, kept: Option<oneshot::Sender<()>>) {
        let kind = message.kind;
        let is_fit = message.body.len() <= BODY_BYTES_MAX;
        let is_told = is_fit && self.told.try_send(Told { message, kept }).is_ok();
        if !is_told {
            self.counts.add(Outcome::Dropped, 1);
            tracing::error!(kind, "a webhook is lost: too many at once, or too long");
        }
    }
}

/// See the module's description.
pub struct Courier {
    told: mpsc::Receiver<Told>,
    receivers: Vec<(u64, Arc<Receiver>, Wants)>,
    queue: Queue,
    /// `None` while it is being written, and if there is none.
    journal: Option<Journal>,
    /// Those who wait until what they have told is written down: no more than are told at once.
    waiting: Vec<oneshot::Sender<()>>,
    /// The last changes could not be written.
    is_failing: bool,
    jitter: Jitter,
    counts: Arc<Counts>,
    in_flight: JoinSet<(u64, Answer)>,
}

impl Courier {
    /// Opens the queue.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(settings: Settings<'_>, counts: Arc<Counts>) -> Result<(Self, Teller), OpenError> {
        let (journal, kept) = match settings.directory {
            Some(directory) => {
                let (journal, kept) = Journal::open(directory)?;
                (Some(journal), kept)
            }
            None => (None, Vec::new()),
        };
        let endpoints = settings.endpoints.into_iter();
        let receivers: Vec<_> = endpoints
            .map(|Endpoint { url, keys, wants }| {
                (digest(&url), Arc::new(Receiver { url, keys }), wants)
            })
            .collect();
        let mut queue = Queue::new(receivers.iter().map(|(digest, ..)| *digest));
        let mut orphans = 0;
        for (number, delivery) in kept {
            orphans += u64::from(!queue.restore(number, delivery));
        }
        if orphans > 0 {
            counts.add(Outcome::Dropped, orphans);
            tracing::warn!(
                orphans,
                "webhooks are dropped: their receivers are not configured any more"
            );
        }
        counts.set_queued(queue.len());
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let courier = Self {
            told,
            receivers,
            queue,
            journal,
            waiting: Vec::new(),
            is_failing: false,
            jitter: Jitter::new(settings.seed),
            counts: Arc::clone(&counts),
            in_flight: JoinSet::new(),
        };
        let teller = Teller { told: tell, counts };
        Ok((courier, teller))
    }

    /// Delivers until `finish` resolves; then what was told before is written down, and deliveries under way have two
    /// seconds more.
    pub async fn run(mut self, connector: Connector, finish: impl Future<Output = ()>) {
        let mut finish = std::pin::pin!(finish);
        self.advance(&connector).await;
        loop {
            let due = self.queue.next_due().map(|due| due.saturating_sub(now()));
            let wait = due.map_or(SLEEP_MAX, Duration::from_millis).min(SLEEP_MAX);
            tokio::select! {
                Some(told) = self.told.recv() => self.take(told),
                Some(settled) = self.in_flight.join_next() => self.settle(settled),
                () = sleep(wait) => {}
                () = &mut finish => break,
            }
            self.take_waiting();
            self.advance(&connector).await;
        }
        self.told.close();
        while let Ok(told) = self.told.try_recv() {
            self.take(told);
        }
        self.advance(&connector).await;
        let until = Instant::now() + FINISH_PATIENCE;
        while let Ok(Some(settled)) = timeout_at(until, self.in_flight.join_next()).await {
            self.settle(settled);
        }
        self.write().await;
    }

    /// Takes in what else was told.
    fn take_waiting(&mut self) {
        for _ in 0..BATCH_MAX {
            match self.told.try_recv() {
                Ok(told) => self.take(told),
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, Told { message, kept }: Told) {
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
        let mut dropped = 0;
        for ((receiver, _, wants), is_known) in self.receivers.iter().zip(known) {
            let is_wanted = wants(&kind, message.stream.as_deref());
            if is_known || !is_wanted || !self.queue.takes(*receiver) {
                continue;
            }
            dropped += self.queue.push(Delivery {
                receiver: *receiver,
                id: Arc::clone(&id),
                kind: Arc::clone(&kind),
                body: message.body.clone(),
                attempts: 0,
                due: now(),
            });
        }
        if dropped > 0 {
            self.counts.add(Outcome::Dropped, dropped);
            tracing::error!(
                "the queue of webhooks is full; the oldest of one receiver are dropped"
            );
        }
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
        let (outcome, count) = match self.queue.settle(number, answer, now(), random) {
            Settled::Delivered => (Outcome::Delivered, 1),
            Settled::Again { .. } => (Outcome::Retried, 1),
            Settled::GivenUp => {
                tracing::error!(number, "a webhook is given up");
                (Outcome::GivenUp, 1)
            }
            Settled::Gone { count } => (Outcome::Gone, count),
            Settled::Unknown => return,
        };
        self.counts.add(outcome, count);
    }

    /// Writes changes down, and then has posted what is due.
    async fn advance(&mut self, connector: &Connector) {
        self.write().await;
        while let Some((number, delivery)) = self.queue.take_due(now()) {
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
        self.counts.set_queued(self.queue.len());
        let changes = self.queue.take_changes();
        if changes.is_empty() {
            return self.tell_kept();
        }
        let Some(journal) = self.journal.take() else {
            return self.tell_kept();
        };
        let writing = spawn_blocking(move || {
            let written = journal.write(&changes);
            (journal, changes, written)
        });
        // An error means that the runtime ends.
        let Ok((journal, changes, written)) = writing.await else {
            return;
        };
        self.journal = Some(journal);
        let was_failing = std::mem::replace(&mut self.is_failing, written.is_err());
        match written {
            Ok(()) => self.tell_kept(),
            Err(error) => {
                self.queue.give_back(&changes);
                if !was_failing {
                    tracing::error!(%error, "webhooks cannot be written down; a restart would lose them");
                }
            }
        }
    }

    /// Everything that was told so far is written down, or there is nowhere to.
    fn tell_kept(&mut self) {
        for waiting in self.waiting.drain(..) {
            // One that has waited for too long need not know.
            waiting.send(()).ok();
        }
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier")
            .field("queue", &self.queue.len())
            .finish_non_exhaustive()
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    millis(since.unwrap_or_default())
}

/// What a receiver is known by over restarts: its whole address, of which nothing can be read in the file.
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
    digest
        .iter()
        .take(8)
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
