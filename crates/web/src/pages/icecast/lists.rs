//! Lists of the streams and of one stream's listeners, and playlists that open a stream in a player program.

use std::time::SystemTime;

use fanout::{Info, ListenerRecord};
use http::{StatusCode, header};
use media::StreamName;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::sheet::{Facts, Sheet, Source};
use super::{Ask, Refusal, mount};
use crate::listeners;
use crate::pages::playlist::M3U;
use crate::reply::Reply;

impl Ask<'_> {
    /// Handles `/admin/listmounts`.
    pub(super) fn mounts(&self) -> Sheet {
        let now = SystemTime::now();
        let sources = self.on_air().map(|info| {
            let connected = now.duration_since(info.since).unwrap_or_default();
            let order = self.front.orders.of(&info.name).fallback;
            let fallback = order.unwrap_or_else(|| self.front.config.fallback(&info.name));
            let facts = [
                ("fallback", fallback.as_ref().map(mount).unwrap_or_default()),
                ("listeners", info.listeners.to_string()),
                ("Connected", connected.as_secs().to_string()),
                ("content-type", info.source.content_type.clone()),
            ];
            Source {
                mount: mount(&info.name),
                facts: owned(facts),
                listeners: None,
            }
        });
        Sheet {
            sources: sources.collect(),
            ..Sheet::default()
        }
    }

    /// Lists the streams that a stream's listeners can be moved to: all others.
    pub(super) fn destinations(&self, of: &StreamName) -> Sheet {
        let own = mount(of);
        let mut sheet = self.mounts();
        sheet.sources.retain(|source| source.mount != own);
        sheet.server = owned([("current_source", own.clone())]);
        sheet.moved_from = Some(own);
        sheet
    }

    /// Handles `/admin/updatemetadata?mount=`: shows the source whose title is to be set.
    pub(super) fn titled(&self) -> Result<Sheet, Refusal> {
        let source = Source {
            mount: mount(self.stream()?.name()),
            ..Source::default()
        };
        Ok(Sheet {
            sources: vec![source],
            ..Sheet::default()
        })
    }

    /// Handles `/admin/streamlist.txt`.
    pub(super) fn names(&self) -> Reply {
        let lines = self.on_air();
        let lines = lines.map(|info| format!("{}\r\n", mount(&info.name)));
        Reply::text(StatusCode::OK, lines.collect::<String>())
    }

    fn on_air(&self) -> impl Iterator<Item = Info> + use<> {
        let streams = self.front.registry.list().into_iter();
        streams.map(|stream| stream.info()).filter(Info::is_on_air)
    }

    /// Handles `/admin/listclients?mount=`.
    pub(super) async fn listeners(&self) -> Result<Sheet, Refusal> {
        let stream = self.stream()?;
        let records = listeners::list(self.front.registry.fanout()).await;
        let mut records = records.map_err(|_| Refusal::Failed)?;
        records.retain(|record| record.stream == *stream.name());
        let source = Source {
            mount: mount(stream.name()),
            facts: owned([("Listeners", records.len().to_string())]),
            listeners: Some(records.iter().map(|record| facts_of(record)).collect()),
        };
        Ok(Sheet {
            sources: vec![source],
            ..Sheet::default()
        })
    }

    /// Handles `/admin/buildm3u?mount=&username=&password=`.
    pub(super) fn playlist(&self) -> Result<Reply, Refusal> {
        let stream = self.stream()?;
        let part = |name| {
            let text = self.parameter(name)?;
            Ok::<_, Refusal>(utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string())
        };
        let (user, password) = (part("username")?, part("password")?);
        let base = self.base.to_string();
        let (scheme, rest) = base.split_once("://").ok_or(Refusal::Failed)?;
        let mount = mount(stream.name());
        let line = format!("{scheme}://{user}:{password}@{rest}{mount}\r\n");
        let name = "attachment; filename=listen.m3u";
        Ok(Reply::full(StatusCode::OK, M3U, line).with(header::CONTENT_DISPOSITION, name))
    }
}

fn facts_of(record: &ListenerRecord) -> Facts {
    let mut facts = vec![("IP", record.peer.ip().to_canonical().to_string())];
    if !record.agent.is_empty() {
        facts.push(("UserAgent", record.agent.clone()));
    }
    let connected = record.requested.elapsed().as_secs();
    facts.push(("Connected", connected.to_string()));
    facts.push(("ID", record.id.0.to_string()));
    owned(facts)
}

fn owned(facts: impl IntoIterator<Item = (&'static str, String)>) -> Facts {
    let facts = facts.into_iter();
    facts.map(|(name, text)| (name.to_owned(), text)).collect()
}
