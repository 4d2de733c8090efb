//! Directory task: watches the streams on the air, and sends requests to the directories.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Jitter;
use net::link::Connector;
use net::url::Url;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::directory::registration::{Answer, Ask, Registration};
use crate::directory::{Board, Directory, Entry, Outcome, request};

/// Interval of looking at the streams. Directories need nothing more recent.
const LOOK: Duration = Duration::from_secs(1);

/// Longest time for a directory to respond.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Most streams listed in one directory: more than a radio server has, and an hour of requests at the slowest.
const ENTRIES_MAX: usize = 1_000;

/// Time for all removals when the server ends. The directories drop remaining entries after a while.
const FAREWELL: Duration = Duration::from_secs(2);

/// Body limit for responses: only heads are read, not what else a directory sends.
const BODY: Option<usize> = None;

/// Keeps directories up to date until `stop`, then removes all entries. `look` returns the entries on the air for the directory
/// at that index of `directories`.
pub async fn keep(
    directories: Vec<Directory>,
    connector: Connector,
    board: Arc<Board>,
    seed: u64,
    look: impl Fn(usize) -> Vec<Entry> + Send,
    stop: impl Future<Output = ()> + Send,
) {
    let mut keeper = Keeper {
        shelves: directories.into_iter().map(Shelf::new).collect(),
        connector,
        board,
        jitter: Jitter::new(seed),
        asked: JoinSet::new(),
    };
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(done) = keeper.asked.join_next() => keeper.take(done.ok()),
            _ = ticks.tick() => keeper.look(&look),
        }
        keeper.ask();
    }
    keeper.look(|_: usize| Vec::new());
    let farewell = async {
        loop {
            keeper.ask();
            match keeper.asked.join_next().await {
                Some(done) => keeper.take(done.ok()),
                None => return,
            }
        }
    };
    if timeout(FAREWELL, farewell).await.is_err() {
        tracing::info!("entries are left in directories, which drop them after a while");
    }
}

/// Directory with its entries.
struct Shelf {
    directory: Directory,
    entries: BTreeMap<String, (Entry, Registration)>,
    /// Whether a request is in flight.
    is_busy: bool,
}

/// Finished request, with its answer if there is one.
struct Asked {
    shelf: usize,
    stream: String,
    ask: Ask,
    answer: Option<Answer>,
}

struct Keeper {
    shelves: Vec<Shelf>,
    connector: Connector,
    board: Arc<Board>,
    jitter: Jitter,
    asked: JoinSet<Asked>,
}

impl Shelf {
    fn new(directory: Directory) -> Self {
        Self {
            directory,
            entries: BTreeMap::new(),
            is_busy: false,
        }
    }

    /// Compares the entries with the streams on the air.
    fn look(&mut self, on_air: Vec<Entry>, now: Instant) {
        for (stream, (_, registration)) in &mut self.entries {
            if !on_air.iter().any(|entry| entry.stream == *stream) {
                registration.end(now);
            }
        }
        self.entries.retain(|_, (_, one)| !one.is_done());
        for entry in on_air {
            let count = self.entries.len();
            match self.entries.get_mut(&entry.stream) {
                // A stream that has come back waits until its old entry is removed.
                Some((known, _)) => *known = entry,
                None if count < ENTRIES_MAX => {
                    let Directory {
                        after, interval, ..
                    } = self.directory;
                    let registration = Registration::new(after, interval, now);
                    let stream = entry.stream.clone();
                    self.entries.insert(stream, (entry, registration));
                }
                None => {}
            }
        }
    }
}

impl Keeper {
    fn look(&mut self, look: impl Fn(usize) -> Vec<Entry>) {
        let now = now();
        for (index, shelf) in self.shelves.iter_mut().enumerate() {
            shelf.look(look(index), now);
        }
    }

    /// Sends due requests, one at a time to each directory.
    fn ask(&mut self) {
        let now = now();
        for (index, shelf) in self.shelves.iter_mut().enumerate() {
            if shelf.is_busy {
                continue;
            }
            let mut entries = shelf.entries.iter_mut();
            let due = entries.find_map(|(stream, (entry, registration))| {
                let ask = registration.take(now)?;
                Some((stream.clone(), entry.clone(), ask))
            });
            let Some((stream, entry, ask)) = due else {
                continue;
            };
            shelf.is_busy = true;
            let (url, connector) = (shelf.directory.url.clone(), self.connector.clone());
            self.asked.spawn(async move {
                let answer = post(&connector, &url, &entry, &ask).await;
                Asked {
                    shelf: index,
                    stream,
                    ask,
                    answer,
                }
            });
        }
    }

    /// Handles the end of a request.
    fn take(&mut self, asked: Option<Asked>) {
        // A request does not panic.
        let Some(asked) = asked else { return };
        let shelf = &mut self.shelves[asked.shelf];
        shelf.is_busy = false;
        let is_yes = asked.answer.as_ref().is_some_and(|answer| answer.is_yes);
        self.board.outcomes.count(match asked.ask {
            _ if !is_yes => Outcome::Failed,
            Ask::Add => Outcome::Added,
            Ask::Touch(_) => Outcome::Touched,
            Ask::Remove(_) => Outcome::Removed,
        });
        if let Some((_, registration)) = shelf.entries.get_mut(&asked.stream) {
            let random = self.jitter.random() as u32;
            registration.answered(&asked.ask, asked.answer, random, now());
        }
        let shelves = self.shelves.iter();
        let listed = shelves.flat_map(|shelf| {
            let entries = shelf.entries.iter();
            let listed = entries.filter(|(_, (_, one))| one.is_listed());
            listed.map(|(stream, _)| stream.as_str())
        });
        self.board.show(listed);
    }
}

/// Sends a request to a directory. `None` if there is no answer; the reason is logged.
async fn post(connector: &Connector, url: &Url, entry: &Entry, ask: &Ask) -> Option<Answer> {
    let stream = &entry.stream;
    let request = request::request(url, ask, entry);
    let asked = async {
        let request = request.map_err(|error| error.to_string())?;
        let answer = net::http_client::exchange(connector, url, request, BODY).await;
        let (head, _) = answer.map_err(|error| error.to_string())?;
        match head.status.is_success() {
            true => Ok(request::answer(&head.headers)),
            false => Err(format!("it answers {}", head.status)),
        }
    };
    let asked = timeout(TIMEOUT, asked).await;
    let asked = asked.unwrap_or_else(|_| Err("it does not answer in time".to_owned()));
    match asked {
        Ok((answer, message)) => {
            let is_yes = answer.is_yes;
            if is_yes {
                tracing::debug!(stream, %url, ?ask, "a directory is notified");
            } else {
                tracing::warn!(stream, %url, ?ask, ?message, "a directory refuses");
            }
            Some(answer)
        }
        Err(error) => {
            tracing::warn!(stream, %url, ?ask, error, "a directory cannot be notified");
            None
        }
    }
}

/// Returns the present time by the clock of the runtime's timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
