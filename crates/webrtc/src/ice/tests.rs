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

#[test]
fn the_first_check_may_choose() {
    let now = Instant::now();
    let mut agent = Agent::new(local(), "them", now);
    let check = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let answered = agent
        .handle(path(1), &check, now, provider().crypto())
        .expect("answered");
    assert!(answered.proved && answered.moved);
    assert_eq!(agent.selected(), Some(path(1)));

    let mut response = decoded(&answered.response);
    assert_eq!(response.typ, BINDING_SUCCESS);
    assert_eq!(response.transaction_id, TransactionId([5; 12]));
    let mut address = XorMappedAddress::default();
    address.get_from(&response).expect("an address");
    assert_eq!((address.ip, address.port), ([127, 0, 0, 1].into(), 1));
    FINGERPRINT.check(&response).expect("a fingerprint");
    let password = local();
    MessageIntegrity::check(
        &mut response,
        password.password().as_bytes(),
        provider().crypto(),
    )
    .expect("signed");
}

#[test]
fn a_later_choice_is_followed() {
    let now = Instant::now();
    let mut agent = Agent::new(local(), "them", now);
    let plain = request(&local(), "them", &[]);
    let choosing = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let provider = provider();
    let mut handle = |port, check: &[u8]| {
        agent
            .handle(path(port), check, now, provider.crypto())
            .expect("answered")
            .moved
    };
    assert!(!handle(1, &plain));
    assert!(handle(2, &choosing));
    assert!(!handle(2, &choosing));
    assert!(!handle(1, &plain));
    assert!(handle(1, &choosing));
    assert_eq!(agent.selected(), Some(path(1)));
}

#[test]
fn a_mapped_address_is_told_as_the_peer_knows_it() {
    let now = Instant::now();
    let mut agent = Agent::new(local(), "them", now);
    let remote = "[::ffff:10.1.2.3]:99".parse().expect("an address");
    let check = request(&local(), "them", &[]);
    let answered = agent
        .handle(Path::udp(remote), &check, now, provider().crypto())
        .expect("answered");
    let mut address = XorMappedAddress::default();
    address
        .get_from(&decoded(&answered.response))
        .expect("an address");
    assert_eq!(address.ip, IpAddr::from([10, 1, 2, 3]));
}

#[test]
fn a_peer_without_the_password_gets_no_answer() {
    let now = Instant::now();
    let mut agent = Agent::new(local(), "them", now);
    let provider = provider();
    let mut refuse = |check: &[u8]| {
        agent
            .handle(path(1), check, now, provider.crypto())
            .expect_err("refused")
    };
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
    let now = Instant::now();
    let mut agent = Agent::new(local(), "them", now);
    let mut check = request(&local(), "them", &[]);
    // The last eight bytes are the fingerprint; a flag takes its place.
    check.truncate(check.len() - 8);
    check.extend([0, 0x25, 0, 0]);
    let len = (check.len() - 20) as u16;
    check[2..4].copy_from_slice(&len.to_be_bytes());
    let answered = agent
        .handle(path(1), &check, now, provider().crypto())
        .expect("answered");
    assert!(answered.proved && !answered.moved);
}

#[test]
fn a_peer_that_thinks_we_lead_is_told_otherwise() {
    let now = Instant::now();
    let mut agent = Agent::new(local(), "them", now);
    for (flag, code) in [(ATTR_ICE_CONTROLLED, 487), (AttrType(0x7001), 420)] {
        let check = request(&local(), "them", &[flag, ATTR_USE_CANDIDATE]);
        let answered = agent
            .handle(path(1), &check, now, provider().crypto())
            .expect("answered");
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
    agent
        .handle(path(1), &check, later, provider().crypto())
        .expect("answered");
    assert_eq!(agent.expires(), later + Duration::from_secs(30));
    let wrong = request(&other(), "them", &[]);
    let latest = start + Duration::from_secs(20);
    agent
        .handle(path(1), &wrong, latest, provider().crypto())
        .expect_err("refused");
    assert_eq!(agent.expires(), later + Duration::from_secs(30));
}

#[test]
fn old_names_live_until_the_new_ones_are_used() {
    let now = Instant::now();
    let provider = provider();
    let mut agent = Agent::new(local(), "them", now);
    let old = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let new = request(&other(), "them2", &[ATTR_USE_CANDIDATE]);
    agent
        .handle(path(1), &old, now, provider.crypto())
        .expect("answered");
    assert!(agent.handle(path(1), &new, now, provider.crypto()).is_err());

    assert_eq!(agent.restart(other(), "them2"), None);
    assert_eq!(agent.ufrags().count(), 2);
    agent
        .handle(path(1), &old, now, provider.crypto())
        .expect("still answered");
    let answered = agent
        .handle(path(2), &new, now, provider.crypto())
        .expect("answered");
    assert_eq!(answered.retired, Some(local()));
    assert_eq!(agent.selected(), Some(path(2)));
    assert!(agent.handle(path(1), &old, now, provider.crypto()).is_err());
}

#[test]
fn addresses_are_bounded_and_the_chosen_one_stays() {
    let now = Instant::now();
    let provider = provider();
    let mut agent = Agent::new(local(), "them", now);
    let choosing = request(&local(), "them", &[ATTR_USE_CANDIDATE]);
    let plain = request(&local(), "them", &[]);
    agent
        .handle(path(1), &choosing, now, provider.crypto())
        .expect("answered");
    for port in 2..40 {
        let now = now + Duration::from_millis(port.into());
        agent
            .handle(path(port), &plain, now, provider.crypto())
            .expect("answered");
    }
    assert_eq!(agent.paths().count(), 8);
    assert!(agent.paths().any(|known| known == path(1)));
    assert!(agent.paths().any(|known| known == path(39)));
}

#[test]
fn names_are_checked_and_passwords_not_shown() {
    assert!(Credentials::parse("abc", "1234567890123456789012").is_err());
    assert!(Credentials::parse("abcd", "123456789012345678901").is_err());
    assert!(Credentials::parse("ab\r\ncd", "1234567890123456789012").is_err());
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
        let now = Instant::now();
        let mut agent = Agent::new(local(), "them", now);
        prop_assert!(agent.handle(path(1), &bytes, now, provider().crypto()).is_err());
        prop_assert!(Check::verify(&bytes, local().password(), provider().crypto()).is_err());
    }
}
