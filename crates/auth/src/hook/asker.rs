//! Sender of questions: one request to the hook for each question that neither the cache nor the breaker stops.
//!
//! ```text
//!  ask ─► Cache ─► turn (net::turns) ─► Breaker ─► post ─► http_client
//! ```

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use base::Lock;
use base::holdings::{Holdings, Kind};
use base::shares::Bounds;
use bytes::Bytes;
use fanout::gate::{Action, Denied, Request};
use http::{Method, StatusCode, header};
use http_body_util::Full;
use net::http_client::{ExchangeError, exchange};
use net::link::Connector;
use net::turns::{TurnedAway, Turns};
use net::url::Url;
use tokio::time::timeout;

use super::reported::Ends;
use super::updates::Updates;
use super::{Answer, Body, Garbled, HookDenied, Moment, Occasion, Reply};
use crate::settings::AuthHook;

/// Most questions in flight, each on its own connection: what a hook on a small machine answers concurrently.
pub const IN_FLIGHT_MAX: usize = 64;

/// Most questions that wait for a turn, in all and from one address: as many as a hook answers within the gate's time, and an
/// audience behind one address that starts at the same moment.
pub(super) const WAITING: Bounds = Bounds {
    max: 1_024,
    share: 256,
    reserve: 0,
};

/// Label of the protocol whose clients connect before they request something.
const RTMP: &str = "rtmp";

/// Longest reply read, in bytes: many times what any dialect needs.
const REPLY_BYTES_MAX: usize = 16 * 1024;

/// Most permissions cached; each takes some hundred bytes.
pub(super) const ENTRIES_MAX: usize = 10_000;

/// Failures in a row after which questions stop; a restart of a hook causes fewer.
pub(super) const FAILURES: u32 = 8;

/// Time for which questions then stop.
pub(super) const REST: Duration = Duration::from_secs(5);

/// Reason why a hook has not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// Too many questions wait, most of them from this client's address. This is no fault of the hook.
    #[error("{IN_FLIGHT_MAX} questions are under way, and {0}")]
    TooMany(#[from] TurnedAway),
    /// The hook has failed too often just now.
    #[error("it has failed, and is tried again within {} s", REST.as_secs())]
    Resting,
    /// The hook could not be asked, or has given no answer.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Reason why a question to another server has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// No complete reply was received.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The server reports an error of its own.
    #[error("it answers {0}")]
    Status(StatusCode),
    /// The reply does not fit the dialect.
    #[error(transparent)]
    Garbled(#[from] Garbled),
    /// The reply took too long.
    #[error("it has not answered in time")]
    Timeout,
}

/// Client of a hook. Any number of tasks may ask it.
#[derive(Debug)]
pub struct Asker {
    pub(super) settings: AuthHook,
    url: Url,
    connector: Connector,
    pub(super) holdings: Arc<Holdings>,
    turns: Turns,
    pub(super) ends: Ends,
    pub(super) updates: Updates,
    asked: AtomicU64,
    memory: Lock<Memory>,
}

/// State kept from earlier replies.
#[derive(Debug)]
struct Memory {
    breaker: Breaker,
    cache: Cache,
}

impl Asker {
    /// Makes an asker that uses connections of `connector` and charges pending questions to `holdings`; `None` if there is no
    /// hook.
    pub fn new(
        settings: &AuthHook,
        connector: &Connector,
        holdings: &Arc<Holdings>,
    ) -> Option<Self> {
        let memory = Memory {
            breaker: Breaker::default(),
            cache: Cache::new(settings.cache),
        };
        Some(Self {
            url: settings.url.clone()?,
            settings: settings.clone(),
            connector: connector.clone(),
            holdings: Arc::clone(holdings),
            turns: Turns::new(IN_FLIGHT_MAX, WAITING),
            ends: Ends::default(),
            updates: Updates::default(),
            asked: AtomicU64::new(1),
            memory: Lock::new(memory),
        })
    }

    /// Starts a new question, about a client that asks to begin.
    pub(super) fn begin<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Occasion<'a> {
        Occasion {
            request,
            action,
            moment: Moment::Begin,
            at: SystemTime::now(),
            number: self.asked.fetch_add(1, Ordering::Relaxed),
            settings: &self.settings,
        }
    }

    /// Returns the hook's answer, new or cached.
    ///
    /// # Errors
    /// Fails when the hook gives no usable answer.
    pub(super) async fn ask(&self, on: &Occasion<'_>) -> Result<Answer, Unanswered> {
        let digest = self.memory.lock().cache.digest(on);
        if let Some(answer) = self.said(digest) {
            return Ok(answer);
        }
        let _turn = self.turns.take(on.request.peer.ip()).await?;
        // The same question may have been answered meanwhile.
        if let Some(answer) = self.said(digest) {
            return Ok(answer);
        }
        if !self.memory.lock().breaker.lets_through(Instant::now()) {
            return Err(Unanswered::Resting);
        }
        let answer = self.question(on).await;
        let now = Instant::now();
        let change = {
            let mut memory = self.memory.lock();
            if let Ok(answer) = &answer {
                memory.cache.keep(digest, answer, now);
            }
            memory.breaker.note(answer.is_ok(), now)
        };
        let url = &self.url;
        match change {
            Change::Closed => tracing::info!(%url, "the hook for permissions answers again"),
            Change::Opened => {
                tracing::error!(%url, seconds = REST.as_secs(), "the hook for permissions fails; it is left alone for a while");
            }
            Change::None => {}
        }
        Ok(answer?)
    }

    /// Returns the hook's cached answer to the same question, if still valid.
    fn said(&self, digest: Digest) -> Option<Answer> {
        self.memory.lock().cache.find(digest, Instant::now())
    }

    async fn question(&self, on: &Occasion<'_>) -> Result<Answer, Failure> {
        let connect_url = self.settings.connect_url.as_ref();
        if let Some(url) = connect_url.filter(|_| on.request.protocol == RTMP) {
            let moment = Moment::Connect;
            let connects = Occasion { moment, ..*on };
            if self.reported(url, &connects).await?.is_err() {
                return Ok(Err(HookDenied::because(None)));
            }
        }
        let play_url = self.settings.play_url.as_ref();
        let play_url = play_url.filter(|_| on.action == Action::Play);
        self.reported(play_url.unwrap_or(&self.url), on).await
    }

    /// Posts a request to the hook, and returns its answer.
    pub(super) async fn reported(&self, url: &Url, on: &Occasion<'_>) -> Result<Answer, Failure> {
        let dialect = self.settings.dialect.0;
        let reply = self.post(url, dialect.body(on)).await?;
        Ok(dialect.answer(on, &reply)?)
    }

    /// Posts a body, and returns the reply unless the hook reports an error of its own.
    pub(super) async fn post(&self, url: &Url, body: Body) -> Result<Reply, Failure> {
        let _held = self.holdings.note(Kind::Questions, body.text.len());
        let mut request = net::http_client::request(Method::POST, url)
            .header(header::CONTENT_TYPE, body.content_type);
        if let Some((name, signature)) = body.signature {
            request = request.header(name, signature);
        }
        let request = request.body(Full::new(Bytes::from(body.text)));
        let request = request.map_err(ExchangeError::from)?;
        let posted = exchange(&self.connector, url, request, Some(REPLY_BYTES_MAX));
        let posted = timeout(self.settings.timeout, posted).await;
        let (head, body) = posted.map_err(|_| Failure::Timeout)??;
        let at = Instant::now();
        match head.status.is_server_error() {
            true => Err(Failure::Status(head.status)),
            false => Ok(Reply { head, body, at }),
        }
    }
}

/// Two digests of a question, with keys of this process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Digest(u64, u64);

/// Cached answers with their expiry, by digest of the question. When full, expired ones are dropped; if there are none, nothing
/// new is kept.
#[derive(Debug)]
pub(super) struct Cache {
    hashers: [RandomState; 2],
    pub(super) kept: HashMap<Digest, (Answer, Instant)>,
    lifetime: Duration,
}

impl Cache {
    /// Makes a cache that keeps permissions for `lifetime`, or for their own duration if shorter.
    pub(super) fn new(lifetime: Duration) -> Self {
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            kept: HashMap::new(),
            lifetime,
        }
    }

    /// Returns the digest of a question. The client's port and the question's number are left out: further connections of a
    /// viewer over one protocol are the same viewer's. Only headers that are sent to the hook count.
    pub(super) fn digest(&self, on: &Occasion<'_>) -> Digest {
        let [first, second] = self.hashers.each_ref().map(|hasher| {
            let mut hasher = hasher.build_hasher();
            let Request {
                stream,
                protocol,
                peer,
                agent,
                user,
                password,
                token,
                query,
                headers,
                // Hooks do not receive these.
                country: _,
                referer: _,
                proof: _,
            } = on.request;
            (on.action, stream, peer.ip(), agent).hash(&mut hasher);
            (protocol, user, password, token, query).hash(&mut hasher);
            for name in &on.settings.headers {
                let value = headers.and_then(|headers| headers.header(name));
                value.hash(&mut hasher);
            }
            hasher.finish()
        });
        Digest(first, second)
    }

    /// Returns a cached answer that is still valid.
    pub(super) fn find(&self, digest: Digest, now: Instant) -> Option<Answer> {
        let kept = self.kept.get(&digest).filter(|(_, until)| now < *until);
        kept.map(|(answer, _)| answer.clone())
    }

    /// Caches a permission, even one that cannot be carried out. A denial is not cached.
    pub(super) fn keep(&mut self, digest: Digest, answer: &Answer, now: Instant) {
        let end = now + self.lifetime;
        let until = match answer {
            Ok(grant) => grant.terms.until.map_or(end, |until| until.min(end)),
            Err(denied) if denied.denied == Denied::Unavailable => end,
            Err(_) => return,
        };
        if self.lifetime.is_zero() {
            return;
        }
        if self.kept.len() >= ENTRIES_MAX {
            self.kept.retain(|_, (_, until)| now < *until);
        }
        if self.kept.len() < ENTRIES_MAX {
            self.kept.insert(digest, (answer.clone(), until));
        }
    }
}

/// Circuit breaker: after several failures in a row the hook is left alone for a while, then tried with one question.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// End of the rest, while there is one.
    until: Option<Instant>,
}

/// Change caused by a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Change {
    None,
    /// Questions stop from now on.
    Opened,
    /// The hook answers again.
    Closed,
}

impl Breaker {
    /// Returns whether to ask now. After each rest one question is let through, until one is answered.
    pub(super) fn lets_through(&mut self, now: Instant) -> bool {
        match self.until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                self.until = Some(now + REST);
                true
            }
        }
    }

    /// Records whether a question was answered.
    pub(super) fn note(&mut self, is_answered: bool, now: Instant) -> Change {
        if is_answered {
            self.failures = 0;
            return match self.until.take() {
                Some(_) => Change::Closed,
                None => Change::None,
            };
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures == FAILURES {
            self.until = Some(now + REST);
            return Change::Opened;
        }
        Change::None
    }
}
