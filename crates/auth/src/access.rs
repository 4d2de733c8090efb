//! Access lists: the addresses, programs, pages and countries of `[[access]]`, which decide whether a client is let in at all.
//!
//! They are checked before any credential, and again if an authority substitutes another stream. All matching rules must let a
//! client in, so adding a rule never lets more in. A property that a client does not provide (country, program) is on no list:
//! the client is refused if the property would have to be on one. The referring page is an exception, because programs other
//! than browsers have none.

use std::net::IpAddr;

use fanout::gate::{Action, Excluded, Request};
use media::StreamName;
use net::Network;

use crate::client_lists::{read_addresses, read_agents};
use crate::settings::{AccessRule, Permissions};
use crate::watched::Watched;
use crate::wildcard::Wildcard;

/// All access rules.
#[derive(Debug)]
pub(crate) struct Access(Vec<List>);

/// One rule with its files.
#[derive(Debug)]
struct List {
    rule: AccessRule,
    allowed: Watched<Vec<Network>>,
    denied: Watched<Vec<Network>>,
    denied_agents: Watched<Vec<Wildcard>>,
}

impl Access {
    /// Reads the files for the first time.
    pub(crate) fn new(permissions: &dyn Permissions) -> Self {
        let watched = |path: &Option<_>| Watched::new(path.as_deref(), "addresses", read_addresses);
        let rules = permissions.access();
        if !permissions.knows_countries() && rules.iter().any(AccessRule::names_countries) {
            tracing::warn!(
                "an [[access]] is about countries, and no client's is known: proxies that know it are named in \
                 http.trusted_proxies"
            );
        }
        let list = |rule: &AccessRule| List {
            allowed: watched(&rule.allow_file),
            denied: watched(&rule.deny_file),
            denied_agents: Watched::new(rule.deny_agents_file.as_deref(), "programs", read_agents),
            rule: rule.clone(),
        };
        Self(rules.iter().map(list).collect())
    }

    /// Rereads the files that have changed. May wait for a disk.
    pub(crate) fn look(&self) {
        for list in &self.0 {
            list.allowed.look();
            list.denied.look();
            list.denied_agents.look();
        }
    }

    /// Rereads the files and describes the result for each. May wait for a disk.
    pub(crate) fn read_again(&self) -> Vec<String> {
        let read = self.0.iter().flat_map(|list| {
            [
                list.allowed.read_again(),
                list.denied.read_again(),
                list.denied_agents.read_again(),
            ]
        });
        read.flatten().collect()
    }

    /// Checks that a client may connect to a stream.
    ///
    /// # Errors
    /// Returns the property that excludes it.
    pub(crate) fn judge(
        &self,
        action: Action,
        stream: &StreamName,
        request: &Request<'_>,
    ) -> Result<(), Excluded> {
        let action = action.into();
        let mut fitting = self.0.iter();
        fitting.try_for_each(|list| match list.rule.is_for(action, stream) {
            true => list.judge(request),
            false => Ok(()),
        })
    }
}

impl List {
    fn judge(&self, request: &Request<'_>) -> Result<(), Excluded> {
        let rule = &self.rule;
        let lets_in = |holds: bool, excluded| if holds { Ok(()) } else { Err(excluded) };
        lets_in(self.lets_in(request.peer.ip()), Excluded::Address)?;
        let fits = |patterns: &[Wildcard], text: &str| patterns.iter().any(|one| one.matches(text));
        let agent = request.agent;
        let is_allowed = rule
            .allow_agents
            .as_ref()
            .is_none_or(|some| fits(some, agent));
        let is_denied =
            || fits(&rule.deny_agents, agent) || fits(&self.denied_agents.content(), agent);
        lets_in(is_allowed && !is_denied(), Excluded::Agent)?;
        if let Some(allowed) = &rule.allow_referers
            && !request.referer.is_empty()
        {
            // A page that cannot be parsed is not an allowed one.
            let is_allowed = host(request.referer).is_some_and(|host| fits(allowed, host));
            lets_in(is_allowed, Excluded::Referer)?;
        }
        let is_allowed = match (&rule.allow_countries, request.country) {
            (None, _) => true,
            (Some(allowed), Some(country)) => allowed.contains(&country),
            (Some(_), None) => false,
        };
        let denied = &rule.deny_countries;
        let is_denied = request
            .country
            .is_some_and(|country| denied.contains(&country));
        lets_in(is_allowed && !is_denied, Excluded::Country)
    }

    /// Whether an address is let in.
    fn lets_in(&self, address: IpAddr) -> bool {
        let rule = &self.rule;
        let has = |networks: &[Network]| networks.iter().any(|one| one.contains(address));
        let is_limited = rule.allow.is_some() || rule.allow_file.is_some();
        let is_allowed = || rule.allow.as_deref().is_some_and(has) || has(&self.allowed.content());
        let is_denied = || has(&rule.deny) || has(&self.denied.content());
        (!is_limited || is_allowed()) && !is_denied()
    }
}

/// Returns the host of a page's address, without its port.
fn host(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let host = match host.starts_with('[') {
        true => &host[..=host.find(']')?],
        false => host.split(':').next()?,
    };
    Some(host.trim_end_matches('.')).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::SocketAddr;

    use fanout::gate::Country;
    use media::Glob;

    use super::*;
    use crate::settings::AccessAction;
    use crate::tests::{Decided, name};

    fn access(rules: &[AccessRule]) -> Access {
        Access::new(&Decided {
            access: rules.to_vec(),
            ..Decided::default()
        })
    }

    /// A rule of all streams that `change` makes stricter.
    fn rule(change: impl FnOnce(&mut AccessRule)) -> AccessRule {
        let mut rule = AccessRule::all(String::new());
        change(&mut rule);
        rule
    }

    fn networks(texts: &[&str]) -> Vec<Network> {
        let read = texts.iter().map(|text| text.parse().expect("a network"));
        read.collect()
    }

    fn wildcards(texts: &[&str]) -> Vec<Wildcard> {
        let read = texts.iter().map(|text| Wildcard::parse(text));
        read.map(|read| read.expect("a pattern")).collect()
    }

    fn countries(codes: &[&str]) -> Vec<Country> {
        let read = codes.iter().map(|code| Country::new(code));
        read.map(|read| read.expect("a country")).collect()
    }

    /// Judges a player of `live/show` at an address.
    fn played_from(access: &Access, address: &str) -> Result<(), Excluded> {
        let ip = address.parse().expect("an address");
        played_with(access, |request| request.peer = SocketAddr::new(ip, 5))
    }

    /// Judges a player of `live/show` at a local address that describes itself.
    fn played_with(access: &Access, say: impl FnOnce(&mut Request<'_>)) -> Result<(), Excluded> {
        let stream = name("live/show");
        let mut request = Request::new(&stream, "test", SocketAddr::from(([127, 0, 0, 1], 5)));
        say(&mut request);
        access.judge(Action::Play, &stream, &request)
    }

    #[test]
    fn addresses_are_let_in_unless_they_are_denied_or_others_are_named() {
        let all = access(&[]);
        assert_eq!(played_from(&all, "192.0.2.1"), Ok(()));
        let some = access(&[rule(|rule| {
            rule.allow = Some(networks(&["192.0.2.0/24", "2001:db8::/32"]));
            rule.deny = networks(&["192.0.2.7"]);
        })]);
        for (address, expected) in [
            ("192.0.2.1", Ok(())),
            ("::ffff:192.0.2.1", Ok(())),
            ("2001:db8::1", Ok(())),
            ("192.0.2.7", Err(Excluded::Address)),
            ("::ffff:192.0.2.7", Err(Excluded::Address)),
            ("198.51.100.1", Err(Excluded::Address)),
            ("::1", Err(Excluded::Address)),
        ] {
            assert_eq!(played_from(&some, address), expected, "{address}");
        }
    }

    #[test]
    fn every_rule_that_fits_has_to_let_a_client_in() {
        let access = access(&[
            rule(|rule| rule.deny = networks(&["192.0.2.7"])),
            rule(|rule| {
                rule.pattern = Glob::parse("live/*").expect("a pattern");
                rule.actions = vec![AccessAction::Publish];
                rule.allow = Some(networks(&["192.0.2.0/24"]));
            }),
        ]);
        let judge = |action, stream: &str, address: &str| {
            let stream = name(stream);
            let peer = SocketAddr::new(address.parse().expect("an address"), 5);
            let request = Request::new(&stream, "test", peer);
            access.judge(action, &stream, &request).is_ok()
        };
        for (action, stream, address, is_in) in [
            (Action::Publish, "live/show", "192.0.2.1", true),
            (Action::Publish, "live/show", "192.0.2.7", false),
            (Action::Publish, "live/show", "198.51.100.1", false),
            (Action::Publish, "live/show~1", "198.51.100.1", false),
            (Action::UpdateMetadata, "live/show", "198.51.100.1", false),
            (Action::Publish, "radio.mp3", "198.51.100.1", true),
            (Action::Play, "live/show", "198.51.100.1", true),
            (Action::Play, "live/show", "192.0.2.7", false),
        ] {
            let judged = judge(action, stream, address);
            assert_eq!(judged, is_in, "{action:?} {stream} {address}");
        }
    }

    #[test]
    fn programs_are_recognised_by_what_they_call_themselves() {
        let agent = |access: &Access, agent| played_with(access, |request| request.agent = agent);
        let denied = access(&[rule(|rule| rule.deny_agents = wildcards(&["*ripper*"]))]);
        assert_eq!(agent(&denied, "StreamRipper/1.0"), Err(Excluded::Agent));
        assert_eq!(agent(&denied, "VLC/3.0"), Ok(()));
        assert_eq!(agent(&denied, ""), Ok(()));
        let allowed = access(&[rule(|rule| rule.allow_agents = Some(wildcards(&["vlc/*"])))]);
        assert_eq!(agent(&allowed, "VLC/3.0"), Ok(()));
        assert_eq!(agent(&allowed, "mpv"), Err(Excluded::Agent));
        assert_eq!(agent(&allowed, ""), Err(Excluded::Agent));
    }

    #[test]
    fn pages_are_recognised_by_their_host() {
        let access = access(&[rule(|rule| {
            rule.allow_referers = Some(wildcards(&["example.com", "*.example.com"]));
        })]);
        for (page, is_in) in [
            ("", true),
            ("https://example.com/player?x=1", true),
            ("https://www.Example.com:8443", true),
            ("http://user@example.com/", true),
            ("https://example.com.evil.test/", false),
            ("https://evil.test/?https://example.com/", false),
            ("https://evil.test/#@example.com", false),
            ("https://evil.test\\@example.com/", false),
            ("null", false),
            ("example.com", false),
            ("https://", false),
        ] {
            let judged = played_with(&access, |request| request.referer = page);
            assert_eq!(judged.is_ok(), is_in, "{page}");
        }
        assert_eq!(host("http://[2001:db8::1]:8000/x"), Some("[2001:db8::1]"));
        assert_eq!(host("http://[2001:db8"), None);
    }

    #[test]
    fn countries_are_those_that_a_proxy_says() {
        let from = |access: &Access, code: &str| {
            let country = Country::new(code);
            played_with(access, |request| request.country = country)
        };
        let allowed = access(&[rule(|rule| {
            rule.allow_countries = Some(countries(&["DE", "at"]))
        })]);
        assert_eq!(from(&allowed, "AT"), Ok(()));
        assert_eq!(from(&allowed, "FR"), Err(Excluded::Country));
        assert_eq!(from(&allowed, ""), Err(Excluded::Country));
        let denied = access(&[rule(|rule| rule.deny_countries = countries(&["FR"]))]);
        assert_eq!(from(&denied, "FR"), Err(Excluded::Country));
        assert_eq!(from(&denied, "DE"), Ok(()));
        assert_eq!(from(&denied, ""), Ok(()));
    }

    #[test]
    fn files_are_read_again_when_they_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("banned");
        fs::write(&path, "192.0.2.7 # a ripper\n").expect("written");
        let denied = access(&[rule(|rule| rule.deny_file = Some(path.clone()))]);
        assert_eq!(played_from(&denied, "192.0.2.7"), Err(Excluded::Address));
        assert_eq!(played_from(&denied, "192.0.2.8"), Ok(()));
        fs::write(&path, "192.0.2.0/29\n198.51.100.0/24\n").expect("written");
        denied.look();
        assert_eq!(played_from(&denied, "192.0.2.1"), Err(Excluded::Address));
        // An empty file of those that are allowed allows none.
        fs::write(&path, "").expect("written");
        let allowed = access(&[rule(|rule| rule.allow_file = Some(path.clone()))]);
        assert_eq!(played_from(&allowed, "192.0.2.7"), Err(Excluded::Address));
        assert_eq!(allowed.read_again().len(), 1);
    }
}
