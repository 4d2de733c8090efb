//! What there is: the streams, the listeners of one, and what opens one in a player program.

use std::time::SystemTime;

use fanout::{Info, ListenerRecord};
use http::{StatusCode, header};
use media::StreamName;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::told::{Facts, Source, Told};
use super::{Ask, Refusal, mount};
use crate::listeners;
use crate::pages::playlist::M3U;
use crate::reply::Reply;

impl Ask<'_> {
    /// `/admin/listmounts`.
    pub(super) fn mounts(&self) -> Told {
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
        Told {
            sources: sources.collect(),
            ..Told::default()
        }
    }

    /// Where the listeners of a stream can be moved to: all others.
    pub(super) fn destinations(&self, of: &StreamName) -> Told {
        let own = mount(of);
        let mut told = self.mounts();
        told.sources.retain(|source| source.mount != own);
        told.server = owned([("current_source", own.clone())]);
        told.moved_from = Some(own);
        told
    }

    /// `/admin/updatemetadata?mount=`: the source, for whoever wants to set its title.
    pub(super) fn titled(&self) -> Result<Told, Refusal> {
        let source = Source {
            mount: mount(self.stream()?.name()),
            ..Source::default()
        };
        Ok(Told {
            sources: vec![source],
            ..Told::default()
        })
    }

    /// `/admin/streamlist.txt`.
    pub(super) fn names(&self) -> Reply {
        let lines = self.on_air();
        let lines = lines.map(|info| format!("{}\r\n", mount(&info.name)));
        Reply::text(StatusCode::OK, lines.collect::<String>())
    }

    fn on_air(&self) -> impl Iterator<Item = Info> + use<> {
        let streams = self.front.registry.list().into_iter();
        streams.map(|stream| stream.info()).filter(Info::is_on_air)
    }

    /// `/admin/listclients?mount=`.
    pub(super) async fn listeners(&self) -> Result<Told, Refusal> {
        let stream = self.stream()?;
        let records = listeners::list(self.front.registry.fanout()).await;
        let mut records = records.map_err(|_| Refusal::Failed)?;
        records.retain(|record| record.stream == *stream.name());
        let source = Source {
            mount: mount(stream.name()),
            facts: owned([("Listeners", records.len().to_string())]),
            listeners: Some(records.iter().map(|record| facts_of(record)).collect()),
        };
        Ok(Told {
            sources: vec![source],
            ..Told::default()
        })
    }

    /// `/admin/buildm3u?mount=&username=&password=`.
    pub(super) fn playlist(&self) -> Result<Reply, Refusal> {
        let stream = self.stream()?;
        let part = |name| {
            let text = self.parameter(name)?;
            Ok(utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string())
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
