//! Syntax of the types of this crate.

use auth::KeyHash;
use media::StreamName;
use toml::Spanned;
use toml::de::DeValue;

use super::{Fault, Faults, Setting, keep, unexpected, unreadable, wrong_type};
use crate::remote::UrlFault;
use crate::weak::weakness;
use crate::{BaseUrl, LogTarget, NotABaseUrl, PullUrl, Pulled, PushUrl, SigningKeys, WeekHours};
use auth::{KeySecret, Secret, Wildcard};
use media::Glob;
use net::Network;

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
    text.parse()
        .map_err(|wrong: NotABaseUrl| unexpected::<T>(wrong.to_string()))
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

    /// Parses a secret; no error repeats it.
    fn from_text(text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(message) = weakness(text) {
            let help = "leave it empty to have one generated at start, or use \
                `openssl rand -base64 18`";
            return Err(Fault::helped(message, help));
        }
        Ok(Some(Secret::new(text)))
    }
}

/// Key, or hash of one.
impl Setting for Option<KeySecret> {
    const EXPECTED: &str = "a string in quotes";

    /// Parses a key or a hash; no error repeats it.
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

impl Setting for Glob {
    const EXPECTED: &str = "a pattern over stream names, such as \"live/*\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::parse(text).map_err(|message| unexpected::<Self>(format!("`{text}` {message}")))
    }
}

impl Setting for Wildcard {
    const EXPECTED: &str = "a pattern such as \"*Ripper*\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::parse(text).map_err(unexpected::<Self>)
    }
}

impl Setting for WeekHours {
    const EXPECTED: &str =
        "hours of the week in UTC, such as \"mon-fri 06:00-10:00\" or \"22:00-02:00\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        Self::parse(text).ok_or_else(|| unreadable::<Self>(text))
    }
}

/// Stream name or pattern: a text with a `*` or a `?` is a pattern, since no name contains these.
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

/// Creates the fault of an address. Errors repeat no more of it than its scheme, a placeholder, or one character of its host.
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
