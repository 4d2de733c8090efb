//! Syntax of each type of setting, in the file and in the environment.
//!
//! The type of a field decides both: a [`Setting`] parses itself from a TOML value or from text, and describes the expected
//! form on failure. This module has the types of libraries and of other crates; `own` has those of this crate, and `words`
//! those that are one of a few words.

mod moment;
mod nearest;
mod own;
mod words;

pub(crate) use self::nearest::nearest;

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use fanout::gate::{Country, Identity};
use media::{Charset, NameError, Span, StreamName};
use net::url::{Url, UrlError};
use outbound::webhooks::{NotAKey, SigningKey};
use toml::Spanned;
use toml::de::DeValue;

use crate::amount::split;

/// Fault of a value, and advice on what to write instead.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn helped(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: Some(help.into()),
        }
    }
}

/// Faults of a value, each with the byte range of the file that it concerns.
pub(crate) type Faults = Vec<(Range<usize>, Fault)>;

/// Type of a setting.
pub(crate) trait Setting: Sized {
    /// Expected form, with its article and an example.
    const EXPECTED: &str;

    /// Parses the text of an environment variable, or of a string in the file.
    fn from_text(text: &str) -> Result<Self, Fault>;

    /// Parses a value of the file. Most settings are strings there.
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
    unexpected::<T>(format!("found {found}"))
}

/// Returns a fault whose advice is the expected form.
fn unexpected<T: Setting>(message: impl Into<String>) -> Fault {
    Fault::helped(message, format!("write {}", T::EXPECTED))
}

pub(crate) fn unreadable<T: Setting>(text: &str) -> Fault {
    unexpected::<T>(format!("cannot read `{text}`"))
}

/// Parses a bare number of the file, by way of its decimal text.
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

/// Longest duration of a setting; a longer one is a mistake in the unit.
const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

impl Setting for Duration {
    const EXPECTED: &str = "a duration with its unit, such as \"400ms\", \"15s\", \"2m\" or \"1h\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (number, unit) = split(text).ok_or_else(|| unreadable::<Self>(text))?;
        let millis = match unit {
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

/// Parses a duration written as in the configuration, such as `15s`.
///
/// # Errors
/// The fault of the text, and the expected form.
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

impl Setting for Identity {
    const EXPECTED: &str = "a name of at most 64 bytes, such as \"studio\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::new(text).ok_or_else(|| match text {
            "" => unexpected::<Self>("is empty"),
            _ => unexpected::<Self>("is no name"),
        })
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

impl Setting for Country {
    const EXPECTED: &str = "the code of a country, such as \"DE\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::new(text).ok_or_else(|| unreadable::<Self>(text))
    }
}

impl Setting for StreamName {
    const EXPECTED: &str = "a stream's name, such as \"live/show\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let message = match Self::parse(text) {
            // A name has no slash at its start; the parser accepts those of URLs.
            Ok(_) if text.starts_with('/') => "begins with a slash",
            Ok(name) => return Ok(name),
            Err(NameError::Empty) => "is empty, or has an empty segment",
            Err(NameError::TooLong) => "is longer than 255 bytes",
            Err(NameError::Dots) => "has a segment that is `.` or `..`",
            Err(NameError::Character) => "holds a character that no stream's name has",
        };
        Err(unexpected::<Self>(format!("`{text}` {message}")))
    }
}

/// Address of a webhook. Errors repeat nothing of it except its scheme, or one character of its host.
impl Setting for Url {
    const EXPECTED: &str = "an address such as \"https://example.com/hook\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let url: Self = text
            .parse()
            .map_err(|wrong: UrlError| unexpected::<Self>(wrong.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(unexpected::<Self>(format!(
                "`{other}://` is not spoken here"
            ))),
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

/// Signing key; no error repeats it.
impl Setting for SigningKey {
    const EXPECTED: &str = "`whsec_` and 24 to 64 bytes in base64";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let help = "make one with: echo whsec_$(openssl rand -base64 32)";
        text.parse()
            .map_err(|wrong: NotAKey| Fault::helped(wrong.to_string(), help))
    }
}

/// List of settings; in the environment it is written with commas.
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
