//! Signed links: `?link=ACTION.EXPIRY[.oPATTERN][.aADDRESS][.nPLAYERS][.iNAME].MAC`.
//!
//! | field | meaning |
//! |---|---|
//! | ACTION | `publish` or `play` |
//! | EXPIRY | time of expiry, seconds since 1970 in decimal |
//! | `o`PATTERN | all streams that match a pattern, Base64url; without it the one stream that the MAC was made for |
//! | `a`ADDRESS | the only address it is for: its 4 or 16 bytes, Base64url |
//! | `n`PLAYERS | most players at a time, in decimal |
//! | `i`NAME | name of the person it was made for, Base64url; players of links with one name are counted together |
//! | MAC | the first 16 bytes of an HMAC-SHA256, Base64url |
//!
//! All characters are unreserved (RFC 3986 §2.3), and a token without pattern and address has some 40 of them: programs that
//! publish over RTMP have room for 1,024 in an address. The MAC is over `carillon link 1` and a line feed, the token up to its
//! last dot, and, if there is no pattern, a line feed and the stream. So a token for another stream looks like a forged one.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use fanout::gate;
use hmac::{Hmac, KeyInit, Mac};
use media::StreamName;
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Prefix that separates these MACs from others made with the same secret.
const DOMAIN: &[u8] = b"carillon link 1\n";

/// Bytes of a MAC: 128 bits, which cannot be guessed.
const MAC_BYTES: usize = 16;

/// Longest token, in bytes: one with a pattern for names of 256 bytes.
const TOKEN_BYTES_MAX: usize = 512;

/// Most fields of a token.
const FIELDS_MAX: usize = 7;

/// Longest name, in bytes: a mail address or a UUID with a prefix.
pub const NAME_BYTES_MAX: usize = 64;

/// Latest expiry, seconds since 1970: the year 9999.
const EXPIRY_MAX: u64 = 253_402_300_799;

base::labels! {
    /// Action of a client on a stream, such as by a link, and its name in a token.
    pub enum Action {
        /// The client publishes the stream, or sets its titles.
        Publish = "publish",
        /// The client listens to the stream, or to a recording of it.
        Play = "play",
    }
}

impl From<gate::Action> for Action {
    fn from(action: gate::Action) -> Self {
        match action {
            gate::Action::Publish | gate::Action::UpdateMetadata => Self::Publish,
            gate::Action::Play => Self::Play,
        }
    }
}

impl Action {
    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.label() == name)
    }
}

/// Streams a link is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// One stream, and its renditions.
    Stream(StreamName),
    /// All that match a pattern, whose syntax is the caller's.
    Pattern(String),
}

/// Link to be signed, or as a client presents it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Permitted action.
    pub action: Action,
    /// Permitted streams. As presented: the requested one, one that it is a rendition of, or a pattern.
    pub target: Target,
    /// Time of expiry; fractions of a second are cut.
    pub expires: SystemTime,
    /// Only address it is for, if limited.
    pub address: Option<IpAddr>,
    /// Most players at a time.
    pub players_max: Option<NonZeroU32>,
    /// Name of the person it is made for: at most [`NAME_BYTES_MAX`].
    pub name: Option<String>,
}

/// Request of a client that presents a token.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Requested action.
    pub action: Action,
    /// Requested stream.
    pub stream: &'a StreamName,
    /// Address of the client.
    pub address: IpAddr,
}

/// Reason why a token does not permit a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The link was not made with one of the secrets, or was made for a single other stream. It may be a guess.
    #[error("the link is not one of this server for this stream")]
    Forged,
    /// The link has expired.
    #[error("the link has expired")]
    Expired,
    /// The link is for another action.
    #[error("the link is for another action")]
    OtherAction,
    /// Its pattern does not match.
    #[error("the link is for other streams")]
    OtherStream,
    /// The link is for another address.
    #[error("the link is for another address")]
    OtherAddress,
}

impl Link {
    /// Signs the link with a secret and returns the token.
    pub fn sign(&self, secret: &str) -> String {
        let seconds = self.expires.duration_since(SystemTime::UNIX_EPOCH);
        let seconds = seconds.map_or(0, |since| since.as_secs()).min(EXPIRY_MAX);
        let mut token = format!("{}.{seconds}", self.action.label());
        let stream = match &self.target {
            Target::Stream(stream) => Some(stream),
            Target::Pattern(pattern) => {
                token.push_str(".o");
                BASE64.encode_string(pattern, &mut token);
                None
            }
        };
        if let Some(address) = self.address {
            token.push_str(".a");
            match address.to_canonical() {
                IpAddr::V4(v4) => BASE64.encode_string(v4.octets(), &mut token),
                IpAddr::V6(v6) => BASE64.encode_string(v6.octets(), &mut token),
            }
        }
        if let Some(max) = self.players_max {
            token.push_str(&format!(".n{max}"));
        }
        if let Some(name) = &self.name {
            token.push_str(".i");
            BASE64.encode_string(name, &mut token);
        }
        let mac = mac(secret, &token, stream);
        token.push('.');
        BASE64.encode_string(mac, &mut token);
        token
    }
}

/// Whether a text has the form of a token, so that it is meant to be one.
pub fn is_meant(text: &str) -> bool {
    Parsed::of(text).is_some()
}

/// Checks that a token permits a client's request, and returns its link. `fits` decides whether a pattern matches the stream.
///
/// # Errors
/// See [`Refused`]. For a forged token nothing else is checked.
pub fn judge<'s>(
    token: &str,
    secrets: impl Iterator<Item = &'s str> + Clone,
    wanted: Wanted<'_>,
    fits: impl FnOnce(&str) -> bool,
    now: SystemTime,
) -> Result<Link, Refused> {
    let parsed = Parsed::of(token).ok_or(Refused::Forged)?;
    let target = parsed
        .made_for(secrets, wanted.stream)
        .ok_or(Refused::Forged)?;
    if parsed.action != wanted.action {
        return Err(Refused::OtherAction);
    }
    if parsed.expires <= now {
        return Err(Refused::Expired);
    }
    if let Target::Pattern(pattern) = &target
        && !fits(pattern)
    {
        return Err(Refused::OtherStream);
    }
    match parsed.address {
        Some(address) if address != wanted.address.to_canonical() => Err(Refused::OtherAddress),
        address => Ok(Link {
            action: parsed.action,
            target,
            expires: parsed.expires,
            address,
            players_max: parsed.players_max,
            name: parsed.name,
        }),
    }
}

/// Fields of a token, none of which is trusted yet.
struct Parsed<'t> {
    /// Token up to the last dot.
    signed: &'t str,
    action: Action,
    expires: SystemTime,
    pattern: Option<String>,
    address: Option<IpAddr>,
    players_max: Option<NonZeroU32>,
    name: Option<String>,
    mac: [u8; MAC_BYTES],
}

impl<'t> Parsed<'t> {
    /// Parses a token; `None` if the text has another form.
    fn of(text: &'t str) -> Option<Self> {
        if text.len() > TOKEN_BYTES_MAX || text.split('.').nth(FIELDS_MAX).is_some() {
            return None;
        }
        let (signed, mac) = text.rsplit_once('.')?;
        let mut fields = signed.split('.').peekable();
        let action = Action::of(fields.next()?)?;
        let expires = seconds(fields.next()?)?;
        let mut marked = |mark| {
            let field = fields.next_if(|field| field.starts_with(mark));
            field.map(|field| &field[1..])
        };
        let text = |field: &str| String::from_utf8(BASE64.decode(field).ok()?).ok();
        let fits = |name: &String| name.len() <= NAME_BYTES_MAX;
        let parsed = Self {
            signed,
            action,
            expires,
            pattern: read(marked('o'), text)?,
            address: read(marked('a'), |field| ip(&BASE64.decode(field).ok()?))?,
            players_max: read(marked('n'), plain)?,
            name: read(marked('i'), |field| text(field).filter(fits))?,
            mac: BASE64.decode(mac).ok()?.try_into().ok()?,
        };
        fields.next().is_none().then_some(parsed)
    }

    /// Returns the streams it was made for, if it was made with one of the secrets.
    fn made_for<'s>(
        &self,
        secrets: impl Iterator<Item = &'s str> + Clone,
        stream: &StreamName,
    ) -> Option<Target> {
        let is_made = |stream: Option<&StreamName>| {
            let mut made = false;
            for secret in secrets.clone() {
                let mac = mac(secret, self.signed, stream);
                made |= bool::from(mac.as_slice().ct_eq(&self.mac));
            }
            made
        };
        if let Some(pattern) = &self.pattern {
            return is_made(None).then(|| Target::Pattern(pattern.clone()));
        }
        // A link to a stream covers its renditions.
        let mut names = stream.with_parents();
        names.find(|name| is_made(Some(name))).map(Target::Stream)
    }
}

fn mac(secret: &str, signed: &str, stream: Option<&StreamName>) -> [u8; MAC_BYTES] {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(DOMAIN);
    mac.update(signed.as_bytes());
    if let Some(stream) = stream {
        mac.update(b"\n");
        mac.update(stream.as_str().as_bytes());
    }
    let whole = mac.finalize().into_bytes();
    std::array::from_fn(|at| whole[at])
}

/// Reads an optional field; `None` if it cannot be read.
fn read<T>(field: Option<&str>, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    field.map_or(Some(None), |field| read(field).map(Some))
}

/// Parses a number of digits only.
fn plain<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

fn seconds(text: &str) -> Option<SystemTime> {
    let seconds = plain::<u64>(text)?;
    let since = Duration::from_secs(seconds);
    (seconds <= EXPIRY_MAX).then(|| SystemTime::UNIX_EPOCH.checked_add(since))?
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::name;

    const SECRET: &str = "an-hmac-secret-of-32-characters!";
    const OLD: &str = "the-one-that-was-used-until-may!";

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn link(target: Target) -> Link {
        Link {
            action: Action::Play,
            target,
            expires: at(2_000),
            address: None,
            players_max: None,
            name: None,
        }
    }

    fn to_show() -> Link {
        link(Target::Stream(name("live/show")))
    }

    fn to_all_live() -> Link {
        link(Target::Pattern("live/*".to_owned()))
    }

    /// Judges at second 1,000, with patterns that end in `*`.
    fn judged(token: &str, action: Action, stream: &str) -> Result<Link, Refused> {
        judged_from(token, action, stream, "192.0.2.7", 1_000)
    }

    fn judged_from(
        token: &str,
        action: Action,
        stream: &str,
        address: &str,
        now: u64,
    ) -> Result<Link, Refused> {
        let stream = name(stream);
        let wanted = Wanted {
            action,
            stream: &stream,
            address: address.parse().expect("an address"),
        };
        let fits = |pattern: &str| stream.as_str().starts_with(pattern.trim_end_matches('*'));
        judge(token, [SECRET, OLD].into_iter(), wanted, fits, at(now))
    }

    #[test]
    fn a_link_permits_its_action_on_its_stream_until_it_expires() {
        let token = to_show().sign(SECRET);
        assert_eq!(judged(&token, Action::Play, "live/show"), Ok(to_show()));
        for (action, stream, now, refused) in [
            (Action::Publish, "live/show", 1_000, Refused::OtherAction),
            (Action::Play, "live/other", 1_000, Refused::Forged),
            (Action::Play, "live", 1_000, Refused::Forged),
            (Action::Play, "live/show", 2_000, Refused::Expired),
        ] {
            let answer = judged_from(&token, action, stream, "192.0.2.7", now);
            assert_eq!(answer, Err(refused), "{action:?} {stream} {now}");
        }
        assert!(judged_from(&token, Action::Play, "live/show", "::1", 1_999).is_ok());
    }

    /// Made by the lines of Python in `docs/permissions.md`.
    #[test]
    fn the_token_is_what_the_documentation_says() {
        assert_eq!(to_show().sign(SECRET), "play.2000.cXHXnxcUd4mAi_hT01vjMw");
    }

    #[test]
    fn a_pattern_is_for_the_streams_that_fit_it() {
        let token = to_all_live().sign(OLD);
        assert!(judged(&token, Action::Play, "live/a").is_ok());
        let other = judged(&token, Action::Play, "radio");
        assert_eq!(other, Err(Refused::OtherStream));
    }

    #[test]
    fn a_link_may_be_for_one_address() {
        for (bound, right, wrong) in [
            ("192.0.2.7", "::ffff:192.0.2.7", "192.0.2.8"),
            ("::ffff:192.0.2.7", "192.0.2.7", "2001:db8::7"),
            ("2001:db8::7", "2001:db8::7", "2001:db8::8"),
        ] {
            let mut link = to_all_live();
            link.address = bound.parse().ok();
            let token = link.sign(SECRET);
            let from = |peer| judged_from(&token, Action::Play, "live/a", peer, 1_000);
            assert!(from(right).is_ok(), "{bound} from {right}");
            assert_eq!(from(wrong), Err(Refused::OtherAddress), "{bound}");
        }
    }

    #[test]
    fn a_link_may_be_for_so_many_players_of_one_name() {
        let link = Link {
            players_max: NonZeroU32::new(2),
            name: Some("ann@example.com".to_owned()),
            ..to_show()
        };
        let token = link.sign(SECRET);
        let begins = "play.2000.n2.iYW5uQGV4YW1wbGUuY29t.";
        assert!(token.starts_with(begins), "{token}");
        let permitted = judged(&token, Action::Play, "live/show").expect("permitted");
        assert_eq!(permitted.players_max, link.players_max);
        assert_eq!(permitted.name, link.name);
        // More players are another link.
        let more = judged(&token.replace(".n2.", ".n9."), Action::Play, "live/show");
        assert_eq!(more, Err(Refused::Forged));
    }

    #[test]
    fn no_character_can_be_changed_added_or_left_out() {
        let assert_forged = |token: &str| {
            let answer = judged(token, Action::Play, "live/show");
            assert_eq!(answer, Err(Refused::Forged), "{token}");
        };
        for link in [to_show(), to_all_live()] {
            let token = link.sign(SECRET);
            for at in 0..token.len() {
                let mut changed = token.clone().into_bytes();
                changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
                assert_forged(&String::from_utf8(changed).expect("ASCII"));
                assert_forged(&[&token[..at], &token[at + 1..]].concat());
            }
            let longer = format!("{token}A");
            assert!(judged(&longer, Action::Play, "live/show").is_err());
        }
        assert_forged(&to_show().sign("another-secret-of-32-characters!"));
        let token = to_show().sign(SECRET);
        let (head, mac) = token.rsplit_once('.').expect("a MAC");
        let pattern = BASE64.encode("live/show");
        assert_forged(&format!("{head}.o{pattern}.{mac}"));
    }

    #[test]
    fn what_has_another_form_is_no_link() {
        let mac = "AAAAAAAAAAAAAAAAAAAAAA";
        let heads = "play.+2000 play.999999999999 play.2000.aAAAA play.2000.awAACBw.ob play.2000.x \
                     play.2000.ob.ac.ad play.2000.n play.2000.n0 play.2000.n+1 play.2000.iYW5u.n1 record.2000";
        for head in heads.split(' ') {
            assert!(!is_meant(&format!("{head}.{mac}")), "{head}");
        }
        let long = format!("play.2000.o{}.{mac}", "A".repeat(TOKEN_BYTES_MAX));
        let given = "|play|play.2000|play.2000.|play.2000.AAAA|bells-at-noon-41";
        for text in given.split('|') {
            assert!(!is_meant(text), "{text}");
        }
        assert!(!is_meant(&long), "{long}");
        assert!(is_meant(&to_show().sign(SECRET)));
    }

    #[test]
    fn tokens_are_short_and_need_no_escape() {
        let longest = Link {
            action: Action::Publish,
            address: "2001:db8::7".parse().ok(),
            expires: at(1_800_000_000),
            players_max: NonZeroU32::new(2),
            name: Some("ann".to_owned()),
            ..to_all_live()
        };
        for (link, length) in [(to_show(), 32), (longest, 84)] {
            let token = link.sign(SECRET);
            let is_unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
            assert!(token.chars().all(is_unreserved), "{token}");
            assert_eq!(token.len(), length, "{token}");
        }
    }
}
