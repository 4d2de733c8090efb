//! How each type of setting is written, in the file and in the environment.
//!
//! The type of a field decides both: a [`Setting`] reads itself from a TOML value or from text,
//! and says what it expected when it cannot.

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use authority::{KeyHash, Scope};
use fanout::gate::{Country, Identity};
use media::{Charset, NameError, Span, StreamName};
use net::url::{Url, UrlError};
use toml::Spanned;
use toml::de::DeValue;
use toml::value::{Datetime, Offset};
use webhooks::{NotAKey, SigningKey};

use super::remote::UrlFault;
use super::{
    AccessAction, Backend, BaseUrl, ClientHeader, Glob, HookAsks, HookUnanswered, KeySecret,
    LogFormat, LogLevel, LogTarget, Network, NotABaseUrl, PlayAccess, PullUrl, Pulled, PushUrl,
    RecordedAs, Secret, SigningKeys, StationOrder, UploadWhen, WeekHours, Wildcard,
};

/// What is wrong with a value, and what to write instead.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    fn helped(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: Some(help.into()),
        }
    }
}

/// Faults of a value, each with the bytes of the file it is about.
pub(super) type Faults = Vec<(Range<usize>, Fault)>;

/// A type that settings have.
pub(super) trait Setting: Sized {
    /// What is expected, with its article and an example.
    const EXPECTED: &str;

    /// Reads the text of an environment variable, or of a string in the file.
    fn from_text(text: &str) -> Result<Self, Fault>;

    /// Reads a value of the file. Most settings are strings there.
    fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
        let result = match value.get_ref() {
            DeValue::String(text) => Self::from_text(text),
            other => Err(wrong_type::<Self>(other)),
        };
        keep(result, value.span(), faults)
    }
}

fn keep<T>(result: Result<T, Fault>, span: Range<usize>, faults: &mut Faults) -> Option<T> {
    result.map_err(|fault| faults.push((span, fault))).ok()
}

fn wrong_type<T: Setting>(found: &DeValue<'_>) -> Fault {
    let found = match found {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    Fault::helped(format!("found {found}"), format!("write {}", T::EXPECTED))
}

fn unreadable<T: Setting>(text: &str) -> Fault {
    Fault::helped(
        format!("cannot read `{text}`"),
        format!("write {}", T::EXPECTED),
    )
}

/// Reads a bare number of the file, by way of its decimal text.
fn number_from_value<T: Setting>(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<T> {
    let result = match value.get_ref() {
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => T::from_text(&number.to_string()),
            Err(_) => Err(unreadable::<T>(number.as_str())),
        },
        DeValue::Float(number) => T::from_text(number.as_str()),
        other => Err(wrong_type::<T>(other)),
    };
    keep(result, value.span(), faults)
}

impl Setting for bool {
    const EXPECTED: &str = "`true` or `false`";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| unreadable::<Self>(text))
    }

    fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
        let result = value
            .get_ref()
            .as_bool()
            .ok_or_else(|| wrong_type::<Self>(value.get_ref()));
        keep(result, value.span(), faults)
    }
}

macro_rules! numbers {
    ($($type:ty, $expected:literal;)*) => {
        $(impl Setting for $type {
            const EXPECTED: &str = $expected;

            fn from_text(text: &str) -> Result<Self, Fault> {
                text.parse().map_err(|_| unreadable::<Self>(text))
            }

            fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
                number_from_value(value, faults)
            }
        })*
    };
}

numbers! {
    f64, "a number, such as 0.02";
    u32, "a whole number from 0 to 4294967295";
    usize, "a whole number, not negative";
}

macro_rules! limits {
    ($($type:ty => $number:ty;)*) => {
        $(impl Setting for Option<$type> {
            const EXPECTED: &str = "a whole number, 0 for no limit";

            fn from_text(text: &str) -> Result<Self, Fault> {
                let number: $number = text.parse().map_err(|_| unreadable::<Self>(text))?;
                Ok(<$type>::new(number))
            }

            fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
                number_from_value(value, faults)
            }
        })*
    };
}

limits! {
    NonZeroU32 => u32;
    NonZeroU64 => u64;
}

/// Longest time a setting takes; a longer one is a slip of the unit.
const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

impl Setting for Duration {
    const EXPECTED: &str = "a duration with its unit, such as \"400ms\", \"15s\", \"2m\" or \"1h\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| unreadable::<Self>(text))?;
        let millis = match unit.trim_start() {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            _ => return Err(unreadable::<Self>(text)),
        };
        let duration = Self::from_millis(number.saturating_mul(millis));
        if duration > DURATION_MAX {
            return Err(Fault::helped(
                format!("`{text}` is too long"),
                "the longest is 168h",
            ));
        }
        Ok(duration)
    }
}

/// Reads a duration written as in the configuration, such as `15s`.
///
/// # Errors
/// What is wrong with the text, and what is expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    Duration::from_text(text).map_err(|Fault { message, help }| match help {
        Some(help) => format!("{message}; {help}"),
        None => message,
    })
}

impl Setting for Span {
    const EXPECTED: &str = Duration::EXPECTED;

    fn from_text(text: &str) -> Result<Self, Fault> {
        Duration::from_text(text).map(Self::from)
    }
}

impl Setting for SocketAddr {
    const EXPECTED: &str =
        "an address with its port, such as \"0.0.0.0:8000\" or \"[::]:8000\"; not a host name";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| unreadable::<Self>(text))
    }
}

impl Setting for Option<SocketAddr> {
    const EXPECTED: &str = "an address with its port, such as \"0.0.0.0:8189\", or \"\" for none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Ok(None);
        }
        let address = text.parse().map_err(|_| unreadable::<Self>(text))?;
        Ok(Some(address))
    }
}

impl Setting for IpAddr {
    const EXPECTED: &str = "an IP address, such as \"203.0.113.7\"; not a host name";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| unreadable::<Self>(text))
    }
}

impl Setting for Network {
    const EXPECTED: &str = "an address or a network, such as \"127.0.0.1\" or \"10.0.0.0/8\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| unreadable::<Self>(text))
    }
}

impl Setting for Option<BaseUrl> {
    const EXPECTED: &str = "an address such as \"https://radio.example.com/tv\", or \"\" for none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        match text {
            "" => Ok(None),
            text => base_url::<Self>(text).map(Some),
        }
    }
}

impl Setting for BaseUrl {
    const EXPECTED: &str = "an address such as \"http://radio.example.com:8000\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        base_url::<Self>(text)
    }
}

fn base_url<T: Setting>(text: &str) -> Result<BaseUrl, Fault> {
    let help = format!("write {}", T::EXPECTED);
    text.parse()
        .map_err(|wrong: NotABaseUrl| Fault::helped(wrong.to_string(), help))
}

impl Setting for String {
    const EXPECTED: &str = "a string in quotes";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if text.contains(char::is_control) {
            return Err(Fault::new("holds a control character"));
        }
        Ok(text.to_owned())
    }
}

impl Setting for Option<PathBuf> {
    const EXPECTED: &str = "a path in quotes, or \"\" for none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if text.contains('\0') {
            return Err(Fault::new("holds a NUL"));
        }
        Ok((!text.is_empty()).then(|| text.into()))
    }
}

impl Setting for LogTarget {
    const EXPECTED: &str = "a path in quotes, \"-\" for standard output, or \"\" for none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        match text {
            "" => Ok(Self::Off),
            "-" => Ok(Self::Stdout),
            _ if text.contains('\0') => Err(Fault::new("holds a NUL")),
            _ => Ok(Self::File(text.into())),
        }
    }
}

impl Setting for Option<Secret> {
    const EXPECTED: &str = "a string in quotes";

    /// No error repeats a secret.
    fn from_text(text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(message) = super::weak::weakness(text) {
            let help = "leave it empty to have one generated at start, or use \
                `openssl rand -base64 18`";
            return Err(Fault::helped(message, help));
        }
        Ok(Some(Secret::new(text)))
    }
}

/// A key, or a hash of one.
impl Setting for Option<KeySecret> {
    const EXPECTED: &str = "a string in quotes";

    /// No error repeats a secret, or a hash.
    fn from_text(text: &str) -> Result<Self, Fault> {
        if KeyHash::is_meant(text) {
            let hash = KeyHash::parse(text).map_err(|rejected| {
                let help = "write the key itself, or what `argon2 SALT -id -e` prints for it";
                Fault::helped(rejected.to_string(), help)
            })?;
            return Ok(Some(KeySecret::Hash(hash)));
        }
        let secret = Option::<Secret>::from_text(text)?;
        Ok(secret.map(KeySecret::Plain))
    }
}

/// A moment.
impl Setting for SystemTime {
    const EXPECTED: &str = "a date and time with its zone, such as \"2027-01-01T00:00:00Z\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let moment = text.parse().ok().and_then(moment);
        moment.ok_or_else(|| unreadable::<Self>(text))
    }

    fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
        let result = match value.get_ref() {
            DeValue::String(text) => Self::from_text(text),
            DeValue::Datetime(datetime) => Self::from_text(&datetime.to_string()),
            other => Err(wrong_type::<Self>(other)),
        };
        keep(result, value.span(), faults)
    }
}

/// Days of 400 years, after which the calendar repeats.
const DAYS_OF_ERA: i64 = 146_097;

/// The moment of a date and a time with its zone, from 1970 on.
fn moment(datetime: Datetime) -> Option<SystemTime> {
    let (date, time) = (datetime.date?, datetime.time?);
    let minutes = match datetime.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    // Counted from the first of March of year 0, so that a leap day is a year's last.
    let is_before_march = date.month < 3;
    let year = i64::from(date.year) - i64::from(is_before_march);
    let month = (i64::from(date.month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(date.day) - 1;
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let days = era * DAYS_OF_ERA + year * 365 + year / 4 - year / 100 + day_of_year - 719_468;
    let hours = days * 24 + i64::from(time.hour);
    let second = i64::from(time.second.unwrap_or(0));
    let seconds = (hours * 60 + i64::from(time.minute) - minutes) * 60 + second;
    let seconds = u64::try_from(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

impl Setting for Identity {
    const EXPECTED: &str = "a name of at most 64 bytes, such as \"studio\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::new(text).ok_or_else(|| match text {
            "" => Fault::helped("is empty", format!("write {}", Self::EXPECTED)),
            _ => Fault::helped("is no name", format!("write {}", Self::EXPECTED)),
        })
    }
}

impl Setting for Glob {
    const EXPECTED: &str = "a pattern over stream names, such as \"live/*\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let help = format!("write {}", Self::EXPECTED);
        Self::parse(text).map_err(|message| Fault::helped(format!("`{text}` {message}"), help))
    }
}

impl Setting for Charset {
    const EXPECTED: &str = "a character set, such as \"utf-8\", \"iso-8859-1\" or \"windows-1251\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let known = Self::from_label(text).filter(|charset| charset.is_for_titles());
        known.ok_or_else(|| {
            let help = "write one of the Encoding Standard's, such as \"iso-8859-1\", \"windows-1251\" or \"shift_jis\"";
            let message = format!("`{text}` is no character set that is known, or none for titles");
            Fault::helped(message, help)
        })
    }
}

impl Setting for Wildcard {
    const EXPECTED: &str = "a pattern such as \"*Ripper*\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let help = format!("write {}", Self::EXPECTED);
        Self::parse(text).map_err(|message| Fault::helped(message, help))
    }
}

impl Setting for Country {
    const EXPECTED: &str = "the code of a country, such as \"DE\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::new(text).ok_or_else(|| unreadable::<Self>(text))
    }
}

impl Setting for WeekHours {
    const EXPECTED: &str =
        "hours of the week in UTC, such as \"mon-fri 06:00-10:00\" or \"22:00-02:00\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::parse(text).ok_or_else(|| unreadable::<Self>(text))
    }
}

impl Setting for StreamName {
    const EXPECTED: &str = "a stream's name, such as \"live/show\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let message = match Self::parse(text) {
            // A name has no slash before it; the parser takes those of URLs.
            Ok(_) if text.starts_with('/') => "begins with a slash",
            Ok(name) => return Ok(name),
            Err(NameError::Empty) => "is empty, or has an empty segment",
            Err(NameError::TooLong) => "is longer than 255 bytes",
            Err(NameError::Dots) => "has a segment that is `.` or `..`",
            Err(NameError::Character) => "holds a character that no stream's name has",
        };
        let help = format!("write {}", Self::EXPECTED);
        Err(Fault::helped(format!("`{text}` {message}"), help))
    }
}

/// What has a `*` or a `?` is a pattern; no name has.
impl Setting for Pulled {
    const EXPECTED: &str =
        "a stream's name, such as \"live/show\", or a pattern, such as \"cam/*\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        match text.contains(['*', '?']) {
            true => Glob::from_text(text).map(Self::Fitting),
            false => StreamName::from_text(text).map(Self::One),
        }
    }
}

/// Errors repeat no more of an address than its scheme, a placeholder, or one character of its host.
fn wrong_url<T: Setting>(fault: &UrlFault, help: Option<String>) -> Fault {
    let help = help.unwrap_or_else(|| format!("write {}", T::EXPECTED));
    Fault::helped(fault.to_string(), help)
}

impl Setting for PushUrl {
    const EXPECTED: &str = "an address such as \"rtmp://host/app/{stream}\"; {stream} is the whole \
        name, {app} all of it but the last segment, {name} the last segment";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::parse(text).map_err(|fault| wrong_url::<Self>(&fault, Self::suggestion(&fault)))
    }
}

impl Setting for PullUrl {
    const EXPECTED: &str = "an address such as \"rtmp://host/live/show\" or \
        \"https://host/live/show.flv\"; for a pattern one such as \"rtmp://host/live/{name}\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::parse(text).map_err(|fault| wrong_url::<Self>(&fault, Self::suggestion(&fault)))
    }
}

/// Where a webhook is posted to. Errors repeat nothing of it but its scheme, or one character of its host.
impl Setting for Url {
    const EXPECTED: &str = "an address such as \"https://example.com/hook\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let help = || format!("write {}", Self::EXPECTED);
        let url: Self = text
            .parse()
            .map_err(|wrong: UrlError| Fault::helped(wrong.to_string(), help()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(Fault::helped(
                format!("`{other}://` is not spoken here"),
                help(),
            )),
        }
    }
}

impl Setting for Option<Url> {
    const EXPECTED: &str = "an address such as \"https://example.com/hook\", or \"\" for none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        match text {
            "" => Ok(None),
            text => Url::from_text(text).map(Some),
        }
    }
}

/// No error repeats a key.
impl Setting for SigningKey {
    const EXPECTED: &str = "`whsec_` and 24 to 64 bytes in base64";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let help = "make one with: echo whsec_$(openssl rand -base64 32)";
        text.parse()
            .map_err(|wrong: NotAKey| Fault::helped(wrong.to_string(), help))
    }
}

impl Setting for SigningKeys {
    const EXPECTED: &str = "a key such as \"whsec_…\", or an array of them";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Vec::from_text(text).map(Self)
    }

    fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
        match value.get_ref() {
            DeValue::Array(_) => Vec::from_value(value, faults).map(Self),
            DeValue::String(text) => keep(Self::from_text(text), value.span(), faults),
            other => keep(Err(wrong_type::<Self>(other)), value.span(), faults),
        }
    }
}

/// In the environment a list is written with commas.
impl<T: Setting> Setting for Vec<T> {
    const EXPECTED: &str = "an array, such as [\"a\", \"b\"]";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(T::from_text)
            .collect()
    }

    fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
        let Some(items) = value.get_ref().as_array() else {
            let fault = wrong_type::<Self>(value.get_ref());
            faults.push((value.span(), fault));
            return None;
        };
        let read: Vec<_> = items
            .iter()
            .map(|item| T::from_value(item, faults))
            .collect();
        read.into_iter().collect()
    }
}

/// Types that are one of a few words.
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
    auth_hook::Dialect {
        "carillon" => Self::Carillon,
        "nginx-rtmp" => Self::NginxRtmp,
        "srs" => Self::Srs,
        "mediamtx" => Self::MediaMtx,
        "icecast" => Self::Icecast,
        "ome" => Self::Ome,
    } "\"carillon\", \"nginx-rtmp\", \"srs\", \"mediamtx\", \"icecast\" or \"ome\"";
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

fn unknown_word<T: Setting>(text: &str, words: &[&str]) -> Fault {
    let help = match nearest(text, words.iter().copied()) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("write {}", T::EXPECTED),
    };
    Fault::helped(format!("`{text}` is not known"), help)
}

/// Below this similarity a guess would only confuse: `port` is no misspelling of `workers`.
const SIMILARITY_MIN: f64 = 0.75;

/// One letter too many, too few, wrong, or changed with its neighbour. In a word as short as `url`
/// that is as much as the other measure sees of it, which would let it pass.
const SLIP_SIMILARITY: f64 = 0.9;

/// The known word that was probably meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let similarity = |candidate: &str| {
        let candidate = candidate.to_ascii_lowercase();
        let is_slip = word.len() > 1 && strsim::osa_distance(&word, &candidate) == 1;
        let slip = if is_slip { SLIP_SIMILARITY } else { 0.0 };
        strsim::jaro_winkler(&word, &candidate).max(slip)
    };
    known
        .map(|candidate| (similarity(candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
