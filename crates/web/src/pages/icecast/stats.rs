//! `/admin/stats`: all statistics, both those in `/status-json.xsl` and those for the operator alone.

use std::collections::HashMap;
use std::sync::Arc;

use config::BaseUrl;
use fanout::{Fanout, Info, Stream};
use media::StreamName;
use reports::view::StreamView;
use serde_json::{Map, Value};

use super::sheet::{self, Sheet, Source};
use super::{Ask, Refusal, mount};
use crate::front_door::FrontDoor;
use crate::listeners;
use crate::status::{self, Question};

/// Names and figures, in the order of the names.
type Figures = Map<String, Value>;

impl Ask<'_> {
    /// Handles `/admin/stats`: the statistics of all streams, or of `mount=` alone.
    pub(super) async fn stats(&self) -> Result<Sheet, Refusal> {
        let only = match self.query.get("mount") {
            Some(_) => Some(self.stream()?),
            None => None,
        };
        let only = only.as_ref().map(|stream| stream.name());
        snapshot(self.front, self.base, only).await
    }

    /// Handles `/status.xsl`: the public streams, as in `/status-json.xsl`.
    pub(super) fn public(&self) -> Sheet {
        let sources = status::public(&self.front.registry).map(|info| {
            let facts = status::source(&StreamView::of(&info), self.base);
            Source {
                mount: mount(&info.name),
                facts: sheet::facts(facts),
                listeners: None,
            }
        });
        Sheet {
            sources: sources.collect(),
            ..Sheet::default()
        }
    }

    /// Handles `/server_version.xsl`.
    pub(super) fn version(&self) -> Sheet {
        Sheet {
            server: sheet::facts(status::server(question(self.front, self.base))),
            ..Sheet::default()
        }
    }
}

/// Collects the current statistics of every stream on air, or of one.
pub(super) async fn snapshot(
    front: &FrontDoor,
    base: &BaseUrl,
    only: Option<&StreamName>,
) -> Result<Sheet, Refusal> {
    let sent = sent(front.registry.fanout()).await?;
    let streams = front.registry.list().into_iter();
    let streams: Vec<_> = streams.map(|stream| (stream.info(), stream)).collect();
    let server = server(front, base, streams.iter().map(|(info, _)| info));
    let asked = streams.iter().filter(|(info, _)| {
        let is_asked = only.is_none_or(|only| *only == info.name);
        info.is_on_air() && is_asked
    });
    let sources = asked.map(|(info, stream)| {
        let sent = sent.get(&info.name).copied().unwrap_or_default();
        Source {
            mount: mount(&info.name),
            facts: sheet::facts(source(stream, info, base, sent)),
            listeners: None,
        }
    });
    Ok(Sheet {
        server: sheet::facts(server),
        sources: sources.collect(),
        moved_from: None,
    })
}

fn question<'a>(front: &'a FrontDoor, base: &'a BaseUrl) -> Question<'a> {
    Question {
        base,
        mount: None,
        http: &front.config.http,
        started: front.started,
    }
}

fn server<'a>(
    front: &FrontDoor,
    base: &BaseUrl,
    streams: impl Iterator<Item = &'a Info>,
) -> Figures {
    let mut facts = status::server(question(front, base));
    let (accepted, open) = (front.counts.accepted.sum(), front.counts.open.sum());
    let (listeners, sources) = streams.fold((0, 0), |(listeners, sources), info| {
        let is_source = u64::from(info.is_on_air());
        (listeners + info.listeners as u64, sources + is_source)
    });
    let publications = front.registry.publications();
    let requests: u64 = front.files.sums().requests.iter().sum();
    for (name, figure) in [
        ("client_connections", accepted),
        ("clients", open),
        ("connections", accepted),
        ("file_connections", requests),
        (
            "listener_connections",
            front.registry.fanout().directory().joined_total(),
        ),
        ("listeners", listeners),
        // Streams that this server fetches itself are published by a client of its own.
        ("source_client_connections", publications),
        ("source_relay_connections", 0),
        ("source_total_connections", publications),
        ("sources", sources),
        // Clients of the method STATS.
        ("stats", front.pages.watchers.present()),
        ("stats_connections", front.pages.watchers.all.value()),
    ] {
        facts.insert(name.to_owned(), figure.into());
    }
    facts
}

/// Builds a source's figures; `sent_bytes` is the number of bytes sent to its present listeners.
fn source(stream: &Stream, info: &Info, base: &BaseUrl, sent_bytes: u64) -> Figures {
    let view = StreamView::of(info);
    let mut facts = status::source(&view, base);
    let departed = stream.departed();
    let mut set = |name: &str, value: Value| facts.insert(name.to_owned(), value);
    // The server's own limit is one for all streams.
    let max = info.settings.listeners_max;
    let max = max.map_or_else(|| "unlimited".into(), |max| max.get().into());
    set("max_listeners", max);
    set("public", u8::from(asks_for_directories(&view)).into());
    set("slow_listeners", departed.too_slow.value().into());
    if let Some(peer) = view.peer {
        set("source_ip", peer.ip().to_canonical().to_string().into());
    }
    set("total_bytes_read", view.ingest_bytes.into());
    let total = sent_bytes + departed.sent_bytes.value();
    set("total_bytes_sent", total.into());
    if !view.agent.is_empty() {
        set("user_agent", view.agent.into());
    }
    facts
}
/// Whether the source wants to be in directories, which is what Icecast calls public.
fn asks_for_directories(view: &StreamView<'_>) -> bool {
    let said = view.header("public").or_else(|| view.header("pub"));
    said.is_some_and(|said| said.trim() == "1")
}

/// Sums, per stream, the bytes that the sockets of its present listeners have taken.
async fn sent(fanout: &Arc<Fanout>) -> Result<HashMap<StreamName, u64>, Refusal> {
    let all = listeners::reported(fanout).await;
    let mut sent = HashMap::new();
    for (record, report) in all.map_err(|_| Refusal::Failed)? {
        let bytes = report.map_or(0, |report| report.sent_bytes);
        *sent.entry(record.stream.clone()).or_default() += bytes;
    }
    Ok(sent)
}
