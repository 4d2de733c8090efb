//! Asks: one request to the hook for each question that neither the cache answers nor the breaker stops.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, header, response};
use http_body_util::Full;
use net::holdings::{Holdings, Kind};
use net::link::Connector;
use net::shares::Bounds;
use net::turns::{TurnedAway, Turns};
use net::url::Url;
use tokio::time::timeout;

use crate::hook::breaker::{Breaker, Change, REST};
use crate::hook::cache::{Cache, Digest};
use crate::hook::dialect::{Body, Dialect};
use crate::hook::ends::Ends;
use crate::hook::exchange::{Failure, Meaningless, exchange};
use crate::hook::question::{Moment, Question, Verdict};
use crate::hook::updates::Updates;
use fanout::gate::Action;

/// Questions under way at a time, each a connection: what a hook on a small machine answers side by side.
pub const IN_FLIGHT_MAX: usize = 64;

/// Questions that wait for one of these to be answered, in all and of one address: what a hook answers within the gate's time,
/// and an audience behind one address that begins at the same moment.
pub(crate) const WAITING: Bounds = Bounds {
    max: 1_024,
    share: 256,
    reserve: 0,
};

/// The label of the protocol whose clients connect before they ask for something.
const RTMP: &str = "rtmp";

/// Longest answer that is read: many times what any dialect says.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// How hooks are asked.
#[derive(Clone)]
pub struct Settings {
    /// Where questions are posted.
    pub url: Url,
    /// Where those of listeners are, if elsewhere.
    pub play_url: Option<Url>,
    /// Where it is asked about RTMP clients before, as soon as they are known; `None` does not.
    pub connect_url: Option<Url>,
    /// Where ends are told; `None` tells of none.
    pub end_url: Option<Url>,
    /// Where it is told of what goes on; `None` does not.
    pub update_url: Option<Url>,
    /// How often.
    pub update_every: Duration,
    /// Where it is told that publishers come and go, in dialects that do that; `None` tells of none.
    pub mount_url: Option<Url>,
    /// Which headers of listeners it is told, in dialects that do that.
    pub headers: Vec<PassedHeader>,
    /// What bodies are signed with, in dialects that do that; empty signs with an empty key.
    pub secret: Box<str>,
    /// In which form.
    pub dialect: Dialect,
    /// What clients call this server, with the port: a field of some dialects.
    pub host: String,
    /// From the first byte to the last of the answer.
    pub timeout: Duration,
    /// How long a permission is kept; zero asks each time.
    pub cache: Duration,
    /// Where is counted what is kept of questions.
    pub holdings: Arc<Holdings>,
}

/// A header of listeners that a hook is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PassedHeader {
    /// Its name.
    pub name: String,
    /// The field that it becomes.
    pub field: String,
}

/// Shows no secret.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("url", &self.url)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Too many wait to be asked about, and most of them come from this client's address. It says nothing about the hook.
    #[error("{IN_FLIGHT_MAX} questions are under way, and {0}")]
    TooMany(#[from] TurnedAway),
    /// It has failed too often just now.
    #[error("it has failed, and is tried again within {} s", REST.as_secs())]
    Resting,
    /// It could not be asked, or has given no answer.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// See the module's description. Any number of tasks may ask.
#[derive(Debug)]
pub struct Asker {
    pub(crate) settings: Settings,
    connector: Connector,
    turns: Turns,
    pub(crate) ends: Ends,
    pub(crate) updates: Updates,
    asked: AtomicU64,
    memory: Mutex<Memory>,
}

/// What earlier answers have left.
#[derive(Debug)]
struct Memory {
    breaker: Breaker,
    cache: Cache,
}

impl Asker {
    /// Asks by connections of `connector`.
    pub fn new(settings: Settings, connector: Connector) -> Self {
        let memory = Memory {
            breaker: Breaker::default(),
            cache: Cache::new(settings.cache),
        };
        Self {
            settings,
            connector,
            turns: Turns::new(IN_FLIGHT_MAX, WAITING),
            ends: Ends::default(),
            updates: Updates::default(),
            asked: AtomicU64::new(1),
            memory: Mutex::new(memory),
        }
    }

    /// Those of a client's headers that the hook is to be told. `header` gives the value of one.
    pub fn passed<'a>(
        &'a self,
        header: impl Fn(&str) -> Option<&'a str>,
    ) -> Vec<(&'a str, &'a str)> {
        let passed = self.settings.headers.iter();
        passed
            .filter_map(|passed| Some((&passed.field[..], header(&passed.name)?)))
            .collect()
    }

    /// A number for the next question.
    pub fn next_number(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// What the hook says, or has said.
    ///
    /// # Errors
    /// When it says nothing of use.
    pub async fn ask(&self, question: &Question<'_>) -> Result<Verdict, Unanswered> {
        let digest = self.memory().cache.digest(question);
        if let Some(verdict) = self.said(digest) {
            return Ok(verdict);
        }
        let _turn = self.turns.take(question.peer.ip()).await?;
        // The same may have been asked meanwhile.
        if let Some(verdict) = self.said(digest) {
            return Ok(verdict);
        }
        if !self.memory().breaker.lets_through(Instant::now()) {
            return Err(Unanswered::Resting);
        }
        let answer = self.question(question).await;
        let now = Instant::now();
        let change = {
            let mut memory = self.memory();
            if let Ok(verdict) = &answer {
                memory.cache.keep(digest, verdict, now);
            }
            memory.breaker.note(answer.is_ok(), now)
        };
        let url = &self.settings.url;
        match (change, &answer) {
            (Change::Closed, _) => tracing::info!(%url, "the hook for permissions answers again"),
            (Change::Opened, _) => {
                tracing::error!(%url, seconds = REST.as_secs(), "the hook for permissions fails; it is left alone for a while");
            }
            (Change::None, _) => {}
        }
        Ok(answer?)
    }

    /// What the hook has said to the same question, if that is still good.
    fn said(&self, digest: Digest) -> Option<Verdict> {
        self.memory().cache.find(digest, Instant::now())
    }

    async fn question(&self, question: &Question<'_>) -> Result<Verdict, Failure> {
        let Settings { dialect, host, .. } = &self.settings;
        let connect_url = self.settings.connect_url.as_ref();
        if let Some(url) = connect_url.filter(|_| question.protocol == RTMP) {
            let body = dialect.body(question, Moment::Connect, host);
            let (head, body) = self.post(url, body).await?;
            let permits = dialect.permits_connection(head.status, &body);
            if !permits.map_err(Meaningless)? {
                return Ok(Verdict::DENIED);
            }
        }
        let play_url = self.settings.play_url.as_ref();
        let play_url = play_url.filter(|_| question.action == Action::Play);
        let url = play_url.unwrap_or(&self.settings.url);
        let body = dialect.body(question, Moment::Begin, host);
        let (head, body) = self.post(url, body).await?;
        let verdict = dialect.verdict(question, head.status, &head.headers, &body);
        Ok(verdict.map_err(Meaningless)?)
    }

    /// Posts a body, and gives the answer if it is one of the hook's.
    pub(crate) async fn post(
        &self,
        url: &Url,
        body: Body,
    ) -> Result<(response::Parts, Bytes), Failure> {
        let _held = self
            .settings
            .holdings
            .note(Kind::Questions, body.text.len());
        let posted = timeout(self.settings.timeout, self.exchange(url, body)).await;
        posted.unwrap_or(Err(Failure::Timeout))
    }

    async fn exchange(&self, url: &Url, body: Body) -> Result<(response::Parts, Bytes), Failure> {
        let mut request =
            http_client::request(Method::POST, url).header(header::CONTENT_TYPE, body.content_type);
        if let Some(name) = self.settings.dialect.signature_header() {
            let secret = self.settings.secret.as_bytes();
            let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
            let signature = hmac::sign(&key, body.text.as_bytes());
            request = request.header(name, URL_SAFE_NO_PAD.encode(signature));
        }
        let request = request.body(Full::new(Bytes::from(body.text)))?;
        exchange(&self.connector, url, request, ANSWER_BYTES_MAX).await
    }

    /// Never held while something is awaited.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
