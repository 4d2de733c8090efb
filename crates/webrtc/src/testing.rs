//! A peer for the tests: connectivity checks, and the client side of a DTLS handshake.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::{ConfigBuilder, ExtendedMasterSecretType};
use rtc_dtls::crypto::Certificate;
use rtc_dtls::endpoint::{Endpoint, EndpointEvent};
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;
use rtc_shared::TransportProtocol;
use rtc_srtp::config::LABEL_EXTRACTOR_DTLS_SRTP;
use rtc_stun::attributes::{ATTR_ICE_CONTROLLED, ATTR_USERNAME, AttrType};
use rtc_stun::fingerprint::FINGERPRINT;
use rtc_stun::integrity::MessageIntegrity;
use rtc_stun::message::{BINDING_REQUEST, Message, Setter, TransactionId};
use rtc_stun::textattrs::TextAttribute;

use crate::ice::Credentials;
use crate::mux::NewSession;
use crate::sdp::{Fingerprint, Setup};
use crate::srtp::{Keys, Profile};

/// Profiles that browsers offer: counter mode first.
pub(crate) const CM_FIRST: [SrtpProtectionProfile; 2] = [
    SrtpProtectionProfile::Srtp_Aes128_Cm_Hmac_Sha1_80,
    SrtpProtectionProfile::Srtp_Aead_Aes_128_Gcm,
];

/// A DTLS client.
pub(crate) struct Client {
    endpoint: Endpoint,
    server: SocketAddr,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) is_complete: bool,
    pub(crate) is_closed: bool,
    is_answered: bool,
}

impl Client {
    pub(crate) fn new(profiles: &[SrtpProtectionProfile], now: Instant) -> Self {
        let provider: Arc<dyn RTCCryptoProvider> = Arc::new(AwsLcRsProvider::new());
        let certificate =
            Certificate::generate_self_signed(vec!["peer".to_owned()], provider.crypto())
                .expect("a certificate");
        let fingerprint = Fingerprint::of_certificate(&certificate.certificate[0]);
        let config = ConfigBuilder::default()
            .with_crypto_provider(provider)
            .with_certificates(vec![certificate])
            .with_cipher_suites(vec![CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256])
            .with_srtp_protection_profiles(profiles.to_vec())
            .with_insecure_skip_verify(true)
            .with_extended_master_secret(ExtendedMasterSecretType::Require)
            .with_flight_interval(Duration::from_millis(700))
            .build(true, None)
            .expect("a configuration");
        let server = ([127, 0, 0, 1], 1).into();
        let mut endpoint = Endpoint::new(server, TransportProtocol::UDP, None);
        endpoint
            .connect(now, server, Arc::new(config), None)
            .expect("begun");
        Self {
            endpoint,
            server,
            fingerprint,
            is_complete: false,
            is_closed: false,
            is_answered: false,
        }
    }

    /// Returns the next datagram that the client sends.
    pub(crate) fn send(&mut self) -> Option<BytesMut> {
        self.endpoint
            .poll_transmit()
            .map(|transmit| transmit.message)
    }

    /// Gives the client a datagram. A repeated flight of the server means that the client's was lost; it stops the library's
    /// timer, so the client is woken instead.
    pub(crate) fn receive(&mut self, datagram: &[u8], now: Instant) {
        const SERVER_HELLO: u8 = 2;
        let is_hello = datagram[0] == 22 && datagram[13] == SERVER_HELLO;
        if is_hello && std::mem::replace(&mut self.is_answered, true) {
            if let Some(due) = self.timeout() {
                self.handle_timeout(due);
            }
            return;
        }
        let events = self
            .endpoint
            .read(now, self.server, None, BytesMut::from(datagram));
        for event in events.unwrap_or_default() {
            match event {
                EndpointEvent::HandshakeComplete => self.is_complete = true,
                EndpointEvent::PeerClosed => self.is_closed = true,
                _ => {}
            }
        }
    }

    /// Returns the time at which the client must be woken.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout(&self.server)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.endpoint
            .handle_timeout(self.server, now)
            .expect("not given up");
    }

    /// Closes the association.
    pub(crate) fn close(&mut self, now: Instant) {
        drop(self.endpoint.stop(now, self.server));
    }

    /// The client's keys, its own as `local`.
    pub(crate) fn keys(&self, profile: Profile) -> Keys {
        let state = self
            .endpoint
            .get_connection_state(self.server)
            .expect("a state");
        let material = state
            .export_keying_material(LABEL_EXTRACTOR_DTLS_SRTP, &[], Keys::exported_len(profile))
            .expect("exported");
        let theirs = Keys::from_exported(profile, material.as_ref()).expect("the right length");
        Keys {
            profile,
            local: theirs.remote,
            remote: theirs.local,
        }
    }
}

/// A session with the peer of this name, as a check of [`check_request`]'s is for it.
pub(crate) fn session(local: &Credentials, fingerprint: Fingerprint, setup: Setup) -> NewSession {
    NewSession {
        local: local.clone(),
        remote_ufrag: "them".into(),
        fingerprint,
        setup,
    }
}

/// A flag attribute.
struct Flag(AttrType);

impl Setter for Flag {
    fn add_to(&self, message: &mut Message) -> rtc_shared::error::Result<()> {
        let value: &[u8] = if self.0 == ATTR_ICE_CONTROLLED {
            &[0; 8]
        } else {
            &[]
        };
        message.add(self.0, value);
        Ok(())
    }
}

/// A check for the peer with these credentials, by the peer of this name.
pub(crate) fn check_request(
    credentials: &Credentials,
    remote: &str,
    flags: &[AttrType],
) -> Vec<u8> {
    let provider = AwsLcRsProvider::new();
    let name = format!("{}:{remote}", credentials.ufrag());
    let mut setters: Vec<Box<dyn Setter + '_>> = vec![
        Box::new(BINDING_REQUEST),
        Box::new(TransactionId([5; 12])),
        Box::new(TextAttribute::new(ATTR_USERNAME, name)),
    ];
    for flag in flags {
        setters.push(Box::new(Flag(*flag)));
    }
    let password = credentials.password().to_owned();
    let crypto = provider.crypto();
    setters.push(Box::new(
        MessageIntegrity::new_short_term_integrity_with_provider(password, crypto),
    ));
    setters.push(Box::new(FINGERPRINT));
    let mut message = Message::new();
    message.build(&setters).expect("built");
    message.raw
}
