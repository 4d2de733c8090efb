use std::time::{Duration, Instant};

use proptest::prelude::*;
use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_stun::attributes::{ATTR_ICE_CONTROLLED, ATTR_USE_CANDIDATE, AttrType};
use rtc_stun::error_code::ErrorCodeAttribute;
use rtc_stun::fingerprint::FINGERPRINT;
use rtc_stun::integrity::MessageIntegrity;
use rtc_stun::message::{BINDING_ERROR, BINDING_SUCCESS, Getter, Message, TransactionId};
use rtc_stun::xoraddr::XorMappedAddress;

use super::*;
use crate::testing::check_request as request;

fn provider() -> AwsLcRsProvider {
    AwsLcRsProvider::new()
}

fn local() -> Credentials {
    Credentials::generate(&[7; RANDOM_LEN])
}

fn other() -> Credentials {
    Credentials::generate(&[9; RANDOM_LEN])
}

fn path(port: u16) -> Path {
    Path::udp(([127, 0, 0, 1], port).into())
}

fn decoded(raw: &[u8]) -> Message {
    let mut message = Message {
        raw: raw.to_vec(),
        ..Message::default()
    };
    message.decode().expect("a message");
    message
}

/// An agent, and the time.
fn agent() -> (Agent, Instant) {
    let now = Instant::now();
    (Agent::new(local(), "them", now), now)
}

/// Returns the response of an agent to a check at an address.
fn handle(
    agent: &mut Agent,
    from: Path,
    check: &[u8],
    now: Instant,
) -> Result<Answered, CheckError> {
    agent.handle(from, check, now, provider().crypto())
}

fn answered(agent: &mut Agent, port: u16, check: &[u8], now: Instant) -> Answered {
    handle(agent, path(port), check, now).expect("answered")
}

#[test]
fn the_first_check_may_choose() {
    let (mut agent, now) = agent();
    let check = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let answered = answered(&mut agent, 1, &check, now);
    assert!(answered.proved && answered.moved);
    assert_eq!(agent.selected(), Some(path(1)));

    let mut response = decoded(&answered.response);
    assert_eq!(response.typ, BINDING_SUCCESS);
    assert_eq!(response.transaction_id, TransactionId([5; 12]));
    let mut address = XorMappedAddress::default();
    address.get_from(&response).expect("an address");
    assert_eq!((address.ip, address.port), ([127, 0, 0, 1].into(), 1));
    FINGERPRINT.check(&response).expect("a fingerprint");
    let local = local();
    let password = local.password().as_bytes();
    MessageIntegrity::check(&mut response, password, provider().crypto()).expect("signed");
}

#[test]
fn a_later_choice_is_followed() {
    let (mut agent, now) = agent();
    let plain = request(&local(), "them", &[]);
    let choosing = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let mut handle = |port, check: &[u8]| answered(&mut agent, port, check, now).moved;
    assert!(!handle(1, &plain));
    assert!(handle(2, &choosing));
    assert!(!handle(2, &choosing));
    assert!(!handle(1, &plain));
    assert!(handle(1, &choosing));
    assert_eq!(agent.selected(), Some(path(1)));
}

#[test]
fn a_mapped_address_is_reported_as_the_peer_knows_it() {
    let (mut agent, now) = agent();
    let remote = "[::ffff:10.1.2.3]:99".parse().expect("an address");
    let check = request(&local(), "them", &[]);
    let answered = handle(&mut agent, Path::udp(remote), &check, now).expect("answered");
    let mut address = XorMappedAddress::default();
    let read = address.get_from(&decoded(&answered.response));
    read.expect("an address");
    assert_eq!(address.ip, IpAddr::from([10, 1, 2, 3]));
}

#[test]
fn a_peer_without_the_password_gets_no_answer() {
    let (mut agent, now) = agent();
    let mut refuse = |check: &[u8]| handle(&mut agent, path(1), check, now).expect_err("refused");
    let wrong = Credentials::parse(local().ufrag(), "another-password-of-22-chars").expect("ok");
    assert_eq!(refuse(&request(&wrong, "them", &[])), CheckError::Forged);
    assert_eq!(refuse(&request(&local(), "us", &[])), CheckError::Forged);
    assert_eq!(refuse(&request(&other(), "them", &[])), CheckError::Forged);
    assert_eq!(refuse(b"\0\x01"), CheckError::Malformed);
    assert_eq!(agent.paths().count(), 0);
    assert_eq!(agent.selected(), None);
}

#[test]
fn what_stands_behind_the_integrity_does_not_choose() {
    let (mut agent, now) = agent();
    let mut check = request(&local(), "them", &[]);
    // The last eight bytes are the fingerprint; a flag takes its place.
    check.truncate(check.len() - 8);
    check.extend([0, 0x25, 0, 0]);
    let len = (check.len() - 20) as u16;
    check[2..4].copy_from_slice(&len.to_be_bytes());
    let answered = answered(&mut agent, 1, &check, now);
    assert!(answered.proved && !answered.moved);
}

#[test]
fn a_peer_that_thinks_we_lead_is_reported_otherwise() {
    let (mut agent, now) = agent();
    for (flag, code) in [(ATTR_ICE_CONTROLLED, 487), (AttrType(0x7001), 420)] {
        let check = request(&local(), "them", &[flag, ATTR_USE_CANDIDATE]);
        let answered = answered(&mut agent, 1, &check, now);
        let response = decoded(&answered.response);
        assert_eq!(response.typ, BINDING_ERROR);
        let mut error = ErrorCodeAttribute::default();
        error.get_from(&response).expect("a code");
        assert_eq!(error.code.0, code);
        assert_eq!(agent.selected(), None);
        assert_eq!(agent.paths().count(), 0);
    }
}

#[test]
fn silence_is_the_end_of_consent() {
    let start = Instant::now();
    let mut agent = Agent::new(local(), "them", start);
    assert_eq!(agent.expires(), start + Duration::from_secs(30));
    let later = start + Duration::from_secs(10);
    let check = request(&local(), "them", &[]);
    answered(&mut agent, 1, &check, later);
    assert_eq!(agent.expires(), later + Duration::from_secs(30));
    let wrong = request(&other(), "them", &[]);
    let latest = start + Duration::from_secs(20);
    handle(&mut agent, path(1), &wrong, latest).expect_err("refused");
    assert_eq!(agent.expires(), later + Duration::from_secs(30));
}

#[test]
fn old_names_live_until_the_new_ones_are_used() {
    let (mut agent, now) = agent();
    let old = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let new = request(&other(), "them2", &[ATTR_USE_CANDIDATE]);
    answered(&mut agent, 1, &old, now);
    assert!(handle(&mut agent, path(1), &new, now).is_err());

    assert_eq!(agent.restart(other(), "them2"), None);
    assert_eq!(agent.ufrags().count(), 2);
    answered(&mut agent, 1, &old, now);
    let answered = answered(&mut agent, 2, &new, now);
    assert_eq!(answered.retired, Some(local()));
    assert_eq!(agent.selected(), Some(path(2)));
    assert!(handle(&mut agent, path(1), &old, now).is_err());
}

#[test]
fn addresses_are_bounded_and_the_chosen_one_stays() {
    let (mut agent, now) = agent();
    let choosing = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let plain = request(&local(), "them", &[]);
    answered(&mut agent, 1, &choosing, now);
    for port in 2..40 {
        let now = now + Duration::from_millis(port.into());
        answered(&mut agent, port, &plain, now);
    }
    assert_eq!(agent.paths().count(), 8);
    assert!(agent.paths().any(|known| known == path(1)));
    assert!(agent.paths().any(|known| known == path(39)));
}

#[test]
fn names_are_checked_and_passwords_not_shown() {
    assert!(Credentials::parse("abc", "1234567890123456789012").is_none());
    assert!(Credentials::parse("abcd", "123456789012345678901").is_none());
    assert!(Credentials::parse("ab\r\ncd", "1234567890123456789012").is_none());
    let fine = Credentials::parse("a/+d", "1234567890123456789012").expect("fine");
    assert!(!format!("{fine:?}").contains("1234"));
}

proptest! {
    #[test]
    fn any_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300), shaped in any::<bool>()) {
        if shaped && bytes.len() >= 20 {
            let len = (bytes.len() - 20) as u16;
            bytes[..2].copy_from_slice(&[0, 1]);
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            bytes[4..8].copy_from_slice(&[0x21, 0x12, 0xa4, 0x42]);
        }
        let (mut agent, now) = agent();
        prop_assert!(handle(&mut agent, path(1), &bytes, now).is_err());
        prop_assert!(Check::verify(&bytes, local().password(), provider().crypto()).is_err());
    }
}
