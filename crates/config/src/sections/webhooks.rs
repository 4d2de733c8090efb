//! `[webhooks]` and `[[webhook]]`: receivers of event messages over HTTP.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use net::url::Url;
use outbound::webhooks::SigningKey;

use super::all;
use crate::read::Section;
use media::Glob;

/// Kinds of events that receivers can be notified of.
pub const WEBHOOK_KINDS: [&str; 16] = [
    "recording.closed",
    "recording.deleted",
    "recording.failed",
    "recording.finalised",
    "recording.gap",
    "recording.recovered",
    "recording.started",
    "recording.uploaded",
    "session.ended",
    "session.started",
    "station.track",
    "stream.ended",
    "stream.fallback",
    "stream.published",
    "stream.sound",
    "stream.unpublished",
];

/// Events sent to receivers that do not choose: all except sessions, of which there are as many as listeners.
const EVENTS: [&str; 3] = ["recording.*", "station.*", "stream.*"];

/// Limit of the bytes read from a file of keys: each key is a line of a hundred bytes.
const FILE_BYTES_MAX: u64 = 4_096;

/// Help for a key that is missing or wrong.
const KEY_HELP: &str = "make one with: echo whsec_$(openssl rand -base64 32)";

/// Section `[webhooks]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Webhooks {
    /// Directory of messages until they are delivered; `None` for memory.
    pub directory: Option<PathBuf>,
}

impl Webhooks {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("directory", &mut self.directory);
    }
}

/// One `[[webhook]]`: a receiver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WebhookRule {
    /// Address of the receiver; no two are the same.
    pub url: Url,
    /// Keys that messages are signed with; at least one.
    pub keys: Vec<SigningKey>,
    /// Kinds of its messages.
    pub events: Vec<Glob>,
    /// Streams that its messages are about.
    pub streams: Glob,
    /// Key of the rule in reports: `webhook.0`, `webhook.1`, ….
    pub(crate) key: String,
}

/// Keys of one receiver: a string, or an array of them while one replaces another.
#[derive(Clone, Debug, Default)]
pub(crate) struct SigningKeys(pub(crate) Vec<SigningKey>);

impl WebhookRule {
    /// Whether the receiver wants messages of this kind and, if `stream` is given, about this stream.
    pub fn wants(&self, kind: &str, stream: Option<&str>) -> bool {
        self.wants_kind(kind) && stream.is_none_or(|stream| self.streams.matches(stream))
    }

    /// Whether the receiver wants messages of this kind about any stream.
    pub fn wants_kind(&self, kind: &str) -> bool {
        self.events.iter().any(|pattern| pattern.matches(kind))
    }

    /// Reads one rule; `None` if its address or its key is missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say who receives them, such as url = \"https://example.com/hook\"";
        let url = s.needed("url", help);
        let keys = s.read::<SigningKeys>("secret");
        let file = s.read::<Option<PathBuf>>("secret_file").flatten();
        let events = s.read::<Vec<Glob>>("events");
        let usual = || EVENTS.iter().filter_map(|it| Glob::parse(it).ok());
        let events = events.unwrap_or_else(|| usual().collect());
        let streams = s.read("streams").or_else(all);
        let SigningKeys(mut keys) = match (keys, &file) {
            (None, None) => {
                s.missing("secret", KEY_HELP);
                return None;
            }
            (keys, _) => keys.unwrap_or_default(),
        };
        if let Some(file) = file {
            match read_keys(&file) {
                Ok(read) => keys.extend(read),
                Err(message) => s.require("secret_file", false, &message),
            }
        } else {
            s.require("secret", !keys.is_empty(), "is empty");
        }
        s.require("events", !events.is_empty(), "is empty");
        let unknown = events.iter().find(|pattern| {
            let mut kinds = WEBHOOK_KINDS.iter();
            !kinds.any(|kind| pattern.matches(kind))
        });
        if let Some(unknown) = unknown {
            let message = format!(
                "`{}` fits none of {}",
                unknown.as_str(),
                WEBHOOK_KINDS.join(", ")
            );
            s.require("events", false, &message);
        }
        Some(Self {
            url: url?,
            keys,
            events,
            streams: streams?,
            key: s.path(),
        })
    }
}

/// Reads the keys of a file, one per line. Errors repeat nothing of it.
fn read_keys(path: &Path) -> Result<Vec<SigningKey>, String> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| format!("is of no use: {} cannot be read: {error}", path.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let keys: Result<Vec<_>, _> = lines.map(str::parse::<SigningKey>).collect();
    match keys {
        Ok(keys) if keys.is_empty() => Err(format!("is of no use: {} is empty", path.display())),
        Ok(keys) => Ok(keys),
        Err(wrong) => Err(format!(
            "is of no use: a line of {} {wrong}",
            path.display()
        )),
    }
}
