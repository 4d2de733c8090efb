//! Connectivity checks: a sender without the password gets no answer; and whatever attributes a sender with the password puts
//! before the signature, the answer is a response or an error.

#![no_main]

use std::sync::LazyLock;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_stun::integrity::MessageIntegrity;
use rtc_stun::message::{Message, Setter};
use webrtc::ice::{Agent, Credentials, Path, RANDOM_LEN, looks_like_check, username};

static PROVIDER: LazyLock<AwsLcRsProvider> = LazyLock::new(AwsLcRsProvider::new);
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fuzz_target!(|bytes: &[u8]| {
    let local = Credentials::generate(&[7; RANDOM_LEN]);
    let mut agent = Agent::new(local.clone(), "them", *START);
    let path = Path::udp(([127, 0, 0, 1], 1).into());
    assert!(username(bytes).is_none() || looks_like_check(bytes));
    assert!(
        agent
            .handle(path, bytes, *START, PROVIDER.crypto())
            .is_err()
    );
    assert_eq!(agent.paths().count(), 0);

    let Some(check) = signed(&local, bytes) else {
        return;
    };
    if let Ok(answered) = agent.handle(path, &check, *START, PROVIDER.crypto()) {
        let proved = usize::from(answered.proved);
        assert_eq!(agent.paths().count(), proved);
        // Success or error, for the binding method.
        let kind = [answered.response[0], answered.response[1]];
        assert_eq!(kind, if answered.proved { [1, 1] } else { [1, 0x11] });
        assert!(proved == 1 || !answered.moved);
    }
});

/// Returns a request with our names, then `attributes`, then a valid signature.
fn signed(local: &Credentials, attributes: &[u8]) -> Option<Vec<u8>> {
    let name = format!("{}:them", local.ufrag());
    let mut raw = vec![
        0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ];
    raw.extend([0, 6]);
    raw.extend((name.len() as u16).to_be_bytes());
    raw.extend(name.as_bytes());
    raw.resize(raw.len().next_multiple_of(4), 0);
    raw.extend(attributes);
    let len = u16::try_from(raw.len() - 20).ok()?;
    raw[2..4].copy_from_slice(&len.to_be_bytes());
    let mut message = Message {
        raw,
        ..Message::default()
    };
    message.decode().ok()?;
    let password = local.password().to_owned();
    MessageIntegrity::new_short_term_integrity_with_provider(password, PROVIDER.crypto())
        .add_to(&mut message)
        .ok()?;
    Some(message.raw)
}
