//! Tokens of signed links: no unsigned text is accepted, and a signed pattern is read back unchanged.

#![no_main]

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use auth::link::{self, Action, Link, NAME_BYTES_MAX, Refused, Target, Wanted};
use libfuzzer_sys::fuzz_target;
use media::StreamName;

/// Secret with which no token of the seeds was made.
const SECRET: &str = "what-the-fuzzer-does-not-know-32";

/// Maximum length in bytes of a pattern whose token is not too long.
const PATTERN_BYTES_MAX: usize = 256;

type Input<'a> = (
    &'a str,
    &'a str,
    u32,
    Option<[u8; 16]>,
    u32,
    Option<&'a str>,
);

fuzz_target!(|input: Input<'_>| {
    let (text, pattern, seconds, address, players, name) = input;
    let stream = StreamName::parse("live/show").unwrap();
    let address = address.map(|octets| IpAddr::from(octets).to_canonical());
    let wanted = Wanted {
        action: Action::Play,
        stream: &stream,
        address: address.unwrap_or(IpAddr::from([192, 0, 2, 7])),
    };
    let now = SystemTime::UNIX_EPOCH;
    let judge = |token: &str| link::judge(token, [SECRET].into_iter(), wanted, |_| true, now);
    assert_eq!(judge(text), Err(Refused::Forged));
    let is_long = name.is_some_and(|name| name.len() > NAME_BYTES_MAX);
    if pattern.len() > PATTERN_BYTES_MAX || is_long {
        return;
    }
    let link = Link {
        action: Action::Play,
        target: Target::Pattern(pattern.to_owned()),
        expires: now + Duration::from_secs(u64::from(seconds) + 1),
        address,
        players_max: NonZeroU32::new(players),
        name: name.map(str::to_owned),
    };
    assert_eq!(judge(&link.sign(SECRET)), Ok(link));
});
