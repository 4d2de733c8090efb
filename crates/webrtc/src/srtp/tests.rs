use proptest::prelude::*;
use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_srtp::context::Context;
use rtc_srtp::protection_profile::ProtectionProfile;

use super::cipher::{Cipher, CounterMode, RTP_LABELS, Session, derivation_iv};
use super::sources::Sources;
use super::*;

const PROFILES: [Profile; 2] = [Profile::Aes128CmSha1_80, Profile::Aes128Gcm];

fn hex(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit);
    let digits = digits.map(|digit| (digit as char).to_digit(16).expect("a digit") as u8);
    let digits: Vec<_> = digits.collect();
    let pairs = digits.chunks(2);
    pairs.map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn master(profile: Profile) -> (Vec<u8>, Vec<u8>) {
    let key = hex("E1F97A0D3E018BE0D64FA32C06DE4139");
    let mut salt = hex("0EC675AD498AFEEBB6960B3AABE6");
    salt.truncate(profile.salt_len());
    (key, salt)
}

fn master_key(profile: Profile) -> MasterKey {
    let (key, salt) = master(profile);
    MasterKey::new(profile, &key, &salt).expect("lengths are right")
}

/// Keys with one master key for both directions.
fn keys(profile: Profile) -> Keys {
    Keys {
        profile,
        local: master_key(profile),
        remote: master_key(profile),
    }
}

fn pair(profile: Profile) -> (Sealer, Opener) {
    let keys = keys(profile);
    let sealer = Sealer::new(&keys).expect("a key");
    (sealer, Opener::new(&keys).expect("a key"))
}

fn rtcp_pair(profile: Profile) -> (RtcpSealer, RtcpOpener) {
    let keys = keys(profile);
    let sealer = RtcpSealer::new(&keys).expect("a key");
    (sealer, RtcpOpener::new(&keys).expect("a key"))
}

/// A packet of a source.
fn sealed(sealer: &Sealer, index: u64, ssrc: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 100];
    let len = sealer.seal(index, &header(index as u16, ssrc), payload, &mut out);
    out.truncate(len.expect("sealed"));
    out
}

/// The reference implementation with the same keys.
fn reference(profile: Profile) -> Context {
    let (key, salt) = master(profile);
    let theirs = match profile {
        Profile::Aes128CmSha1_80 => ProtectionProfile::Aes128CmHmacSha1_80,
        Profile::Aes128Gcm => ProtectionProfile::AeadAes128Gcm,
    };
    let provider = AwsLcRsProvider::new();
    Context::new(&key, &salt, theirs, None, None, provider.crypto()).expect("a context")
}

fn header(sequence: u16, ssrc: u32) -> Vec<u8> {
    let mut header = vec![0x80, 96];
    header.extend(sequence.to_be_bytes());
    header.extend(0x0102_0304u32.to_be_bytes());
    header.extend(ssrc.to_be_bytes());
    header
}

#[test]
fn rfc_3711_b2_key_stream() {
    let key = hex("2B7E151628AED2A6ABF7158809CF4F3C");
    let stream = CounterMode::new(&key.try_into().expect("16 bytes")).expect("a key");
    let mut iv = [0; 16];
    iv[..14].copy_from_slice(&hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD"));
    let mut text = vec![0; 48];
    stream.apply(iv, &mut text).expect("applied");
    let expected = "E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB \
                    41E95B3BB0A2E8DD477901E4FCA894C0";
    assert_eq!(text, hex(expected));
}

#[test]
fn rfc_3711_b3_key_derivation() {
    let master = master_key(Profile::Aes128CmSha1_80);
    let session = Session::derive(&master, RTP_LABELS).expect("derived");
    let key = hex("C61E7A93744F39EE10734AFE3FF7A087");
    assert_eq!(session.key.to_vec(), key);
    assert_eq!(session.salt.to_vec(), hex("30CBBC08863D8C85D49DB34A9AE1"));
    let auth = hex("CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4");
    assert_eq!(session.auth.to_vec(), auth);

    let stream = CounterMode::new(&master.key).expect("a key");
    let mut long = vec![0; 94];
    let applied = stream.apply(derivation_iv(&master, 1), &mut long);
    applied.expect("applied");
    let expected = "CEBE321F6FF7716B6FD4AB49AF256A15 6D38BAA48F0A0ACF3C34E2359E6CDBCE \
                    E049646C43D9327AD175578EF7227098 6371C10C9A369AC2F94A8C5FBCDDDC25 \
                    6D6E919A48B610EF17C2041E47403576 6B68642C59BBFC2F34DB60DBDFB2";
    assert_eq!(long, hex(expected));
}

/// The session keys of RFC 7714's examples.
fn rfc_7714_session() -> Session {
    let mut salt = [0; SALT_LEN_MAX];
    salt[..12].copy_from_slice(&hex("517569642070726f2071756f"));
    let key = hex("000102030405060708090a0b0c0d0e0f").try_into();
    Session {
        key: key.expect("16 bytes"),
        auth: [0; 20],
        salt,
    }
}

#[test]
fn rfc_7714_16_1_1_rtp() {
    let session = rfc_7714_session();
    let plain = hex(
        "8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120 \
         696e2070 61727465 73207472 6573",
    );
    let expected = hex(
        "8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f \
         42a5f47a 51c7d19b 36de3adf 8833899d 7f27beb1 6a9152cf 765ee439 0cce",
    );
    let cipher = || Cipher::new(Profile::Aes128Gcm, &session).expect("a key");
    let sealer = Sealer(cipher());
    let mut out = [0; 100];
    let len = sealer.seal(0xf17b, &plain[..12], &plain[12..], &mut out);
    let len = len.expect("sealed");
    assert_eq!(&out[..len], expected);
    let mut opener = Opener {
        cipher: cipher(),
        sources: Sources::default(),
    };
    let opened = opener.open(&mut out[..len]).expect("opened");
    assert_eq!((opened.index, opened.len), (0xf17b, plain.len()));
    assert_eq!(&out[..opened.len], plain);
}

#[test]
fn rfc_7714_17_1_rtcp() {
    let session = rfc_7714_session();
    let plain = hex(
        "81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61 deadbeef \
         deadbeef deadbeef deadbeef deadbeef",
    );
    let expected = hex(
        "81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d c676a5f1 \
         730d6fda 4ce09b46 86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4",
    );
    let cipher = || Cipher::new(Profile::Aes128Gcm, &session).expect("a key");
    let mut sealer = RtcpSealer {
        cipher: cipher(),
        next: 0x5d4,
    };
    let mut out = [0; 100];
    let len = sealer.seal(&plain, &mut out).expect("sealed");
    assert_eq!(&out[..len], expected);
    let mut opener = RtcpOpener {
        cipher: cipher(),
        sources: Sources::default(),
    };
    assert_eq!(opener.open(&mut out[..len]), Ok(plain.len()));
    assert_eq!(&out[..plain.len()], plain);
}

proptest! {
    #[test]
    fn our_seal_equals_the_reference(
        gcm in any::<bool>(),
        ssrc in any::<u32>(),
        first in any::<u16>(),
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20),
    ) {
        let profile = PROFILES[usize::from(gcm)];
        let (sealer, mut opener) = pair(profile);
        let mut theirs = reference(profile);
        let mut their_opener = reference(profile);
        for (at, payload) in payloads.iter().enumerate() {
            let index = u64::from(first) + at as u64;
            let header = header(index as u16, ssrc);
            let plain = [&header[..], payload].concat();
            let mut out = vec![0; plain.len() + RTP_OVERHEAD_MAX];
            let len = sealer.seal(index, &header, payload, &mut out).expect("sealed");
            prop_assert_eq!(len, plain.len() + sealer.overhead());
            let expected = theirs.encrypt_rtp(&plain).expect("sealed");
            prop_assert_eq!(&out[..len], &expected[..]);
            let back = their_opener.decrypt_rtp(&out[..len]).expect("opened");
            prop_assert_eq!(&back[..], &plain[..]);
            let opened = opener.open(&mut out[..len]).expect("opened");
            prop_assert_eq!(opened, Opened { index, len: plain.len() });
            prop_assert_eq!(&out[..opened.len], &plain[..]);
        }
    }

    #[test]
    fn our_rtcp_seal_equals_the_reference(
        gcm in any::<bool>(),
        ssrc in any::<u32>(),
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..10),
    ) {
        let profile = PROFILES[usize::from(gcm)];
        let (mut sealer, mut opener) = rtcp_pair(profile);
        let mut theirs = reference(profile);
        for body in bodies {
            let mut plain = vec![0x80, 200, 0, 6];
            plain.extend(ssrc.to_be_bytes());
            plain.extend(body);
            let mut out = vec![0; plain.len() + RTCP_OVERHEAD_MAX];
            let len = sealer.seal(&plain, &mut out).expect("sealed");
            let expected = theirs.encrypt_rtcp(&plain).expect("sealed");
            prop_assert_eq!(&out[..len], &expected[..]);
            prop_assert_eq!(opener.open(&mut out[..len]), Ok(plain.len()));
            prop_assert_eq!(&out[..plain.len()], &plain[..]);
        }
    }

    #[test]
    fn a_changed_packet_is_refused_and_leaves_no_trace(
        gcm in any::<bool>(),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let profile = PROFILES[usize::from(gcm)];
        let (sealer, mut opener) = pair(profile);
        let mut good = sealed(&sealer, 7, 1, b"something");
        let mut bad = good.clone();
        bad[at.index(good.len())] ^= flip;
        prop_assert!(opener.open(&mut bad).is_err());
        prop_assert!(opener.open(&mut good).is_ok());
    }

    #[test]
    fn garbage_is_refused(gcm in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let profile = PROFILES[usize::from(gcm)];
        let (_, mut rtp) = pair(profile);
        let (_, mut rtcp) = rtcp_pair(profile);
        prop_assert!(rtp.open(&mut bytes.clone()).is_err());
        let mut bytes = bytes;
        prop_assert!(rtcp.open(&mut bytes).is_err());
    }
}

/// Two listeners of one endless sequence, the second of which joins after some wraps: each opens everything it is sent, with
/// its own rollover counter.
#[test]
fn late_joiners_cross_wraps() {
    for profile in PROFILES {
        let (sealer, _) = pair(profile);
        for joined in [100u64, 0xff00, 3 << 16 | 0xff00, 7 << 16] {
            let rollover = Rollover::starting_at(joined);
            let mut theirs = reference(profile);
            let (_, mut ours) = pair(profile);
            // Steps of a prime pass over the wraps at different places.
            for sequence in (joined..joined + 3 * 0x1_0000).step_by(251) {
                let index = rollover.index(sequence).expect("after the join");
                let mut packet = sealed(&sealer, index, 9, b"picture");
                let plain = theirs.decrypt_rtp(&packet);
                let plain = plain.expect("the reference opens it");
                assert_eq!(&plain[12..], b"picture");
                let opened = ours.open(&mut packet).expect("opened");
                assert_eq!(opened.index, index);
            }
        }
    }
}

#[test]
fn loss_and_reordering_around_a_wrap_are_followed() {
    for profile in PROFILES {
        let (sealer, mut opener) = pair(profile);
        let order = [
            0xfff0u64, 0x1_0002, 0xffff, 0x1_0000, 0x1_0001, 0x1_7000, 0x1_f000, 0x2_0001, 0x1_ffff,
        ];
        for index in order {
            let mut packet = sealed(&sealer, index, 9, b"x");
            let mut again = packet.clone();
            let opened = opener.open(&mut packet);
            assert_eq!(opened.map(|opened| opened.index), Ok(index));
            assert_eq!(opener.open(&mut again), Err(Error::Replayed));
        }
    }
}

#[test]
fn sources_are_bounded() {
    let (sealer, mut opener) = pair(Profile::Aes128Gcm);
    let results = (0..20).map(|ssrc| opener.open(&mut sealed(&sealer, 1, ssrc, b"x")).err());
    let results: Vec<_> = results.collect();
    assert!(results[..16].iter().all(Option::is_none));
    assert_eq!(results[16..], [Some(Error::TooManySources); 4]);
}

#[test]
fn exported_material_is_split_by_role() {
    let material: Vec<u8> = (0..60).collect();
    let profile = Profile::Aes128CmSha1_80;
    let keys = Keys::from_exported(profile, &material).expect("60 bytes");
    let local = MasterKey::new(profile, &material[16..32], &material[46..60]);
    let remote = MasterKey::new(profile, &material[..16], &material[32..46]);
    assert_eq!((Ok(keys.local), Ok(keys.remote)), (local, remote));
    let short = Keys::from_exported(profile, &material[1..]);
    assert_eq!(short, Err(Error::KeyLength));
}

#[test]
fn keys_are_not_printed() {
    for profile in PROFILES {
        let keys = keys(profile);
        let (sealer, _) = pair(profile);
        let (_, opener) = rtcp_pair(profile);
        let text = format!("{keys:?} {sealer:?} {opener:?}");
        // Bytes of keys and salts would be printed as lists of numbers.
        assert_eq!(text.matches(", ").count(), 3, "{text}");
    }
}

#[test]
fn a_small_buffer_is_refused() {
    for profile in PROFILES {
        let (sealer, _) = pair(profile);
        let mut out = vec![0; 13 + sealer.overhead() - 1];
        let sealed = sealer.seal(1, &header(1, 1), b"x", &mut out);
        assert_eq!(sealed, Err(Error::NoRoom));
        let sealed = sealer.seal(1, &[0x80; 5], b"x", &mut out);
        assert_eq!(sealed, Err(Error::NotRtp));
    }
}
