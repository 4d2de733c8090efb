//! Tokens of signed links: no text is accepted that was not signed, and what was signed for a pattern is read back as it was.

#![no_main]

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use authority::link::{self, Action, Link, Permitted, Refused, Target, Wanted};
use libfuzzer_sys::fuzz_target;
use media::StreamName;

/// No token of the seeds was made with it.
const SECRET: &str = "what-the-fuzzer-does-not-know-32";

/// Longest pattern whose token is not too long.
const PATTERN_BYTES_MAX: usize = 256;

fuzz_target!(|input: (&str, &str, u32, Option<[u8; 16]>)| {
    let (text, pattern, seconds, address) = input;
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
    if pattern.len() > PATTERN_BYTES_MAX {
        return;
    }
    let expires = now + Duration::from_secs(u64::from(seconds) + 1);
    let target = Target::Pattern(pattern.to_owned());
    let token = Link {
        action: Action::Play,
        target: target.clone(),
        expires,
        address,
    }
    .sign(SECRET);
    assert_eq!(judge(&token), Ok(Permitted { expires, target }));
});
