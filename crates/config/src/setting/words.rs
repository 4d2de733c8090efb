//! Types that are one of a few words.

use auth::{Dialect, Scope};

use super::{Fault, Setting, nearest};
use crate::{Backend, ClientHeader, LogFormat, LogLevel, RecordedAs, StationOrder, UploadWhen};
use auth::{AccessAction, HookAsks, HookUnanswered, PlayAccess};

macro_rules! choices {
    ($($type:ty { $($word:literal => $value:expr),* $(,)? } $expected:literal;)*) => {
        $(impl Setting for $type {
            const EXPECTED: &str = $expected;

            fn from_text(text: &str) -> Result<Self, Fault> {
                match text {
                    $($word => Ok($value),)*
                    _ => Err(unknown_word::<Self>(text, &[$($word),*])),
                }
            }
        })*
    };
}

choices! {
    Backend {
        "auto" => Self::Auto,
        "io_uring" => Self::IoUring,
        "epoll" => Self::Epoll,
    } "\"auto\", \"io_uring\" or \"epoll\"";
    fanout::Takeover {
        "same-credential" => Self::SameCredential,
        "stalled" => Self::Stalled,
        "never" => Self::Never,
    } "\"same-credential\", \"stalled\" or \"never\"";
    Scope {
        "publish" => Self::Publish,
        "play" => Self::Play,
        "metadata" => Self::Metadata,
        "admin" => Self::Admin,
    } "\"publish\", \"play\", \"metadata\" or \"admin\"";
    ClientHeader {
        "x-forwarded-for" => Self::XForwardedFor,
        "forwarded" => Self::Forwarded,
    } "\"x-forwarded-for\" or \"forwarded\"";
    AccessAction {
        "publish" => Self::Publish,
        "play" => Self::Play,
    } "\"publish\" or \"play\"";
    PlayAccess {
        "open" => Self::Open,
        "key" => Self::Key,
    } "\"open\" or \"key\"";
    HookAsks {
        "all" => Self::All,
        "publish" => Self::Publish,
        "play" => Self::Play,
    } "\"all\", \"publish\" or \"play\"";
    HookUnanswered {
        "deny" => Self::Deny,
        "allow" => Self::Allow,
    } "\"deny\" or \"allow\"";
    LogLevel {
        "error" => Self::Error,
        "warn" => Self::Warn,
        "info" => Self::Info,
        "debug" => Self::Debug,
        "trace" => Self::Trace,
    } "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"";
    RecordedAs {
        "mp4" => Self::Mp4,
        "flv" => Self::Flv,
        "ts" => Self::Ts,
    } "\"mp4\", \"flv\" or \"ts\"";
    UploadWhen {
        "finalised" => Self::Finalised,
        "while-recording" => Self::WhileRecording,
    } "\"finalised\" or \"while-recording\"";
    StationOrder {
        "sequential" => Self::Sequential,
        "shuffle" => Self::Shuffle,
    } "\"sequential\" or \"shuffle\"";
    LogFormat { "text" => Self::Text, "json" => Self::Json } "\"text\" or \"json\"";
}

impl Setting for Dialect {
    const EXPECTED: &str = Self::NAMES;

    fn from_text(text: &str) -> Result<Self, Fault> {
        let dialect = Self::all().find(|dialect| dialect.name() == text);
        let names: Vec<_> = Self::all().map(Self::name).collect();
        dialect.ok_or_else(|| unknown_word::<Self>(text, &names))
    }
}

fn unknown_word<T: Setting>(text: &str, words: &[&str]) -> Fault {
    let help = match nearest(text, words.iter().copied()) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("write {}", T::EXPECTED),
    };
    Fault::helped(format!("`{text}` is not known"), help)
}
