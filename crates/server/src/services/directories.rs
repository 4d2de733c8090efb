//! Public directories of radio stations: the streams listed in each, and their metrics.

use std::sync::Arc;

use config::DirectoryRule;
use fanout::Info;
use net::link::Connector;
use operator::metrics::table::DIRECTORIES;
use outbound::directory::{Directory, Entry};
use reports::view::StreamView;
use serde_json::{Map, Value};
use web::FrontDoor;
use web::status;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Protocols in which a publisher cannot say whether it wishes to be listed.
const WISHLESS: [&str; 3] = ["rtmp", "whip", "station"];

/// Service that keeps the entries in public directories up to date.
pub(super) struct DirectoryKeeper {
    pub(super) front: Arc<FrontDoor>,
    /// Makes the connections.
    pub(super) connector: Connector,
    /// Random seed.
    pub(super) seed: u64,
}

impl Service for DirectoryKeeper {
    fn metrics(&self) -> Option<Encoder> {
        let board = Arc::clone(&self.front.directories);
        Some(Box::new(move |page| {
            page.counters(DIRECTORIES, board.outcomes.values())
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let front = self.front;
        let rules = &front.config.directories;
        if rules.is_empty() {
            return Box::pin(async {});
        }
        let directories = rules.iter().map(|rule| Directory {
            url: rule.url.clone(),
            after: rule.after,
            interval: rule.interval,
        });
        let directories = directories.collect();
        let board = Arc::clone(&front.directories);
        let look = move |index: usize| entries(&front, &front.config.directories[index]);
        let stop = async move {
            phase.reached(Phase::Drained).await;
        };
        Box::pin(outbound::directory::keep(
            directories,
            self.connector,
            board,
            self.seed,
            look,
            stop,
        ))
    }
}

/// Returns the entries that a directory should have now.
fn entries(front: &FrontDoor, rule: &DirectoryRule) -> Vec<Entry> {
    let public = status::public(&front.registry);
    let wanted = public.filter(|info| rule.pattern.matches(info.name.as_str()) && wishes(info));
    wanted.map(|info| entry(front, rule, &info)).collect()
}

/// Returns whether a publisher wishes to be listed; true for protocols that cannot say.
fn wishes(info: &Info) -> bool {
    if WISHLESS.contains(&info.source.protocol) {
        return true;
    }
    let view = StreamView::of(info);
    let said = ["public", "pub"]
        .into_iter()
        .find_map(|name| view.header(name));
    said.is_some_and(|said| said.trim() == "1")
}

fn entry(front: &FrontDoor, rule: &DirectoryRule, info: &Info) -> Entry {
    let view = StreamView::of(info);
    let facts = status::source(&view, &rule.base_url);
    let text = |name: &str| of(&facts, name);
    let limits = front.config.limits.listeners;
    let max = info.settings.listeners_max.or(limits);
    Entry {
        stream: info.name.to_string(),
        name: text("server_name"),
        genre: text("genre"),
        description: text("server_description"),
        url: text("server_url"),
        listen_url: text("listenurl"),
        media_type: text("server_type"),
        subtype: text("subtype"),
        bitrate: text("bitrate"),
        audio_info: audio_info(view.header("audio-info").unwrap_or_default()),
        title: view.title.unwrap_or_default().to_owned(),
        listeners: info.listeners,
        listeners_max: max.map_or(0, |max| max.get() as usize),
    }
}

fn of(facts: &Map<String, Value>, name: &str) -> String {
    match facts.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Converts `ice-samplerate=44100;ice-channels=2` into form fields. Parts that are not such a pair are left out.
fn audio_info(text: &str) -> String {
    let is_plain = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let pairs = text.split(';').filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (is_plain(name) && is_plain(value)).then(|| format!("{name}={value}"))
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_the_audio_are_fields() {
        for (text, fields) in [
            ("", ""),
            (
                "ice-samplerate=44100;ice-channels=2",
                "ice-samplerate=44100&ice-channels=2",
            ),
            ("a=b&action=remove; quality=4.0;x", "quality=4.0"),
        ] {
            assert_eq!(audio_info(text), fields);
        }
    }
}
