//! `carillon sign`: signed links that permit publishing or playing for a limited time, made without a server.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use auth::link::{Action, Link, NAME_BYTES_MAX, Target};
use base::date;
use clap::{Args, ValueEnum};
use config::{Config, Glob, Secret};
use media::StreamName;

use crate::ports::reachable;

/// Longest validity of a link in days: ten years. A longer one is probably a mistake; keys do not expire.
const DAYS_MAX: u32 = 3_660;

/// Permission to sign.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Configuration file, with a secret in [auth.link].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Action that the link permits.
    action: Permitted,
    /// The stream, such as live/show.
    #[arg(value_parser = stream)]
    stream: StreamName,
    /// Validity, such as 90m, 2h or 30d.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    lasts: Duration,
    /// Only for clients with this address.
    #[arg(long)]
    address: Option<IpAddr>,
    /// Permits all streams that match this pattern; STREAM must be one of them.
    #[arg(long = "match", value_name = "PATTERN", value_parser = pattern)]
    pattern: Option<Glob>,
    /// Number of players at a time; the newest stay.
    #[arg(long = "sessions", value_name = "NUMBER")]
    players_max: Option<NonZeroU32>,
    /// Name of the recipient: shown beside the link's use; players of all links with one name are counted together.
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Permitted {
    /// Publish, and set titles.
    Publish,
    /// Listen.
    Play,
}

/// Reasons why signing fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "the configuration has no secret for links: set auth.link.secret to what `openssl rand -hex 32` prints"
    )]
    NoSecret,
    #[error(
        "the pattern {0} does not fit the stream {1}, for which the addresses would be printed"
    )]
    Misfit(String, StreamName),
    #[error("--sessions counts players, and a stream has one publisher at a time")]
    CountedPublisher,
    #[error("the system has no randomness to give")]
    Randomness,
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Arguments {
    /// Prints the link in the form of each protocol.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) fn run(
        &self,
        config: &Config,
        now: SystemTime,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let secret = config.auth.link_secrets.first().ok_or(Failure::NoSecret)?;
        if let Some(pattern) = &self.pattern
            && !pattern.matches(self.stream.as_str())
        {
            let pattern = pattern.as_str().to_owned();
            return Err(Failure::Misfit(pattern, self.stream.clone()));
        }
        if self.players_max.is_some() && matches!(self.action, Permitted::Publish) {
            return Err(Failure::CountedPublisher);
        }
        let name = self.name()?;
        out.write_all(self.text(config, secret, name, now).as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Returns the name for the link. A link whose players are counted needs a name of its own: another link that ends in the
    /// same second would be the same link.
    fn name(&self) -> Result<Option<String>, Failure> {
        if self.name.is_some() || self.players_max.is_none() {
            return Ok(self.name.clone());
        }
        let random = getrandom::u64().map_err(|_| Failure::Randomness)?;
        Ok(Some(format!("{random:016x}")))
    }

    fn text(
        &self,
        config: &Config,
        secret: &Secret,
        name: Option<String>,
        now: SystemTime,
    ) -> String {
        let expires = now + self.lasts;
        let action = match self.action {
            Permitted::Publish => Action::Publish,
            Permitted::Play => Action::Play,
        };
        let target = match &self.pattern {
            Some(pattern) => Target::Pattern(pattern.as_str().to_owned()),
            None => Target::Stream(self.stream.clone()),
        };
        let token = Link {
            action,
            target: target.clone(),
            expires,
            address: self.address,
            players_max: self.players_max,
            name: name.clone(),
        }
        .sign(secret.reveal());
        let mut text = String::new();
        let streams = match &target {
            Target::Stream(stream) => stream.as_str(),
            Target::Pattern(pattern) => pattern,
        };
        let until = date::rfc3339(expires);
        let from = self.address.map(|address| format!(" from {address}"));
        let from = from.unwrap_or_default();
        line(&mut text, "token", &token);
        let players = self.players_max.map(|max| format!(" by {max} at a time"));
        let players = players.unwrap_or_default();
        let permits = format!("{} {streams}{from}{players} until {until}", action.label());
        line(&mut text, "permits", &permits);
        if let Some(name) = name {
            line(&mut text, "name", &name);
        }
        let hosts = Hosts::of(config);
        match action {
            Action::Publish => hosts.publish(&mut text, &self.stream, &token),
            Action::Play => hosts.play(&mut text, &self.stream, &token),
        }
        text
    }
}

/// Addresses at which clients reach the server, as far as the configuration shows.
struct Hosts {
    /// `http://host:port`.
    site: Option<String>,
    /// `host:port` of the HTTP port, for sources.
    source: Option<SocketAddr>,
    /// `rtmp://host:port`.
    rtmp: Option<String>,
    has_webrtc: bool,
}

impl Hosts {
    fn of(config: &Config) -> Self {
        let http = config.http.listen.first().copied().map(reachable);
        let base = config.http.base_url.as_ref();
        let site = base.map(|base| base.to_string());
        Self {
            site: site.or_else(|| http.map(|address| format!("http://{address}"))),
            source: http,
            rtmp: config
                .rtmp
                .listen
                .first()
                .map(|address| format!("rtmp://{}", reachable(*address))),
            has_webrtc: config.webrtc.listen.is_some(),
        }
    }

    fn publish(&self, text: &mut String, stream: &StreamName, token: &str) {
        if let Some(rtmp) = &self.rtmp {
            line(text, "rtmp", &format!("{rtmp}/{stream}?link={token}"));
        }
        if let Some(source) = self.source {
            let url = format!("icecast://source:{token}@{source}/{stream}");
            line(text, "icecast", &url);
        }
        if let Some(site) = self.site.as_ref().filter(|_| self.has_webrtc) {
            line(text, "whip", &format!("{site}/{stream}/whip?link={token}"));
        }
    }

    fn play(&self, text: &mut String, stream: &StreamName, token: &str) {
        if let Some(site) = &self.site {
            for (label, path) in [
                ("page", "/"),
                ("hls", "/index.m3u8"),
                ("flv", ".flv"),
                ("http", ""),
            ] {
                let url = format!("{site}/{stream}{path}?link={token}");
                line(text, label, &url);
            }
        }
        if let Some(rtmp) = &self.rtmp {
            line(text, "rtmp", &format!("{rtmp}/{stream}?link={token}"));
        }
        if let Some(site) = self.site.as_ref().filter(|_| self.has_webrtc) {
            line(text, "whep", &format!("{site}/{stream}/whep?link={token}"));
        }
    }
}

fn line(text: &mut String, label: &str, value: &str) {
    writeln!(text, "{label:8} {value}").expect("a String takes all text");
}

pub(crate) fn stream(text: &str) -> Result<StreamName, String> {
    StreamName::parse(text).map_err(|error| error.to_string())
}

fn pattern(text: &str) -> Result<Glob, String> {
    Glob::parse(text).map_err(str::to_owned)
}

fn name(text: &str) -> Result<String, String> {
    let length = 1..=NAME_BYTES_MAX;
    match length.contains(&text.len()) && !text.contains(char::is_control) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "has to have 1 to {NAME_BYTES_MAX} bytes, on one line"
        )),
    }
}

/// Parses a time as in the configuration, or a number of days.
fn time(text: &str) -> Result<Duration, String> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<u32>().ok());
    match days {
        Some(days) if days > DAYS_MAX => Err(format!("is more than {DAYS_MAX}d")),
        Some(days) => Ok(Duration::from_secs(u64::from(days) * 24 * 3600)),
        None => config::duration(text),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: Arguments,
    }

    const SECRETS: &str = "[auth.link]\nsecret = \"an-hmac-secret-of-32-characters!\"\n";

    fn signed(line: &str, config: &str) -> Result<String, Failure> {
        let line = format!("sign --config a.toml {line}");
        let cli = Cli::try_parse_from(line.split(' '));
        let cli = cli.unwrap_or_else(|error| panic!("{error}"));
        let config = Config::parse("a.toml", config, std::iter::empty()).expect("valid");
        let mut out = Vec::new();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        cli.arguments.run(&config, now, &mut out)?;
        Ok(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn a_link_is_printed_as_each_protocol_takes_it() {
        let text = signed("play live/show --for 2h", SECRETS).expect("signed");
        for part in [
            "token    play.1800007200.",
            "permits  play live/show until 2027-01-15T10:00:00Z\n",
            "page     http://127.0.0.1:8000/live/show/?link=play.1800007200.",
            "hls      http://127.0.0.1:8000/live/show/index.m3u8?link=play.",
            "flv      http://127.0.0.1:8000/live/show.flv?link=play.",
            "rtmp     rtmp://127.0.0.1:1935/live/show?link=play.",
            "whep     http://127.0.0.1:8000/live/show/whep?link=play.",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let line = "publish live/show --for 30d --address 192.0.2.7 --match live/*";
        let text = signed(line, SECRETS).expect("signed");
        for part in [
            "token    publish.1802592000.obGl2ZS8q.awAACBw.",
            "permits  publish live/* from 192.0.2.7 until ",
            "icecast  icecast://source:publish.1802592000.obGl2ZS8q.awAACBw.",
            "whip     http://127.0.0.1:8000/live/show/whip?link=publish.",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let line = "play live/show --for 2h --sessions 2 --name ann";
        let text = signed(line, SECRETS).expect("signed");
        for part in [
            "token    play.1800007200.n2.iYW5u.",
            "permits  play live/show by 2 at a time until ",
            "name     ann\n",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        // Two links made in the same second still differ.
        let line = "play live/show --for 2h --sessions 1";
        let one = signed(line, SECRETS).expect("signed");
        assert_ne!(one, signed(line, SECRETS).expect("signed"));
    }

    #[test]
    fn what_would_be_of_no_use_is_not_signed() {
        let none = signed("play live/show --for 2h", "");
        assert!(matches!(none, Err(Failure::NoSecret)));
        let misfit = signed("play radio --for 2h --match live/*", SECRETS);
        assert!(matches!(misfit, Err(Failure::Misfit(..))));
        let counted = signed("publish radio --for 2h --sessions 2", SECRETS);
        assert!(matches!(counted, Err(Failure::CountedPublisher)));
        for wrong in [
            "play a/../b --for 2h",
            "record a --for 2h",
            "play a --for 9999d",
            "play a",
            "play a --for 2h --sessions 0",
            "play a --for 2h --name ",
        ] {
            let line = format!("sign --config a.toml {wrong}");
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{wrong}");
        }
    }
}
