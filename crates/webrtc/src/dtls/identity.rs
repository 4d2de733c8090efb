//! Identity of the server: one certificate for the life of the process.

use std::sync::Arc;
use std::time::Duration;

use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::{ClientAuthType, ConfigBuilder, ExtendedMasterSecretType, HandshakeConfig};
use rtc_dtls::crypto::Certificate;
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;

use super::Error;
use super::keys::Side;
use crate::sdp::Fingerprint;
use crate::srtp::Profile;

/// Time after which a flight is retransmitted. The client notices a loss within a tenth of a second, but only we notice the
/// loss of our own flight.
const FLIGHT_INTERVAL: Duration = Duration::from_millis(500);

/// A certificate with its fingerprint, and everything else that a handshake needs. Cheap to clone.
#[derive(Clone)]
pub struct ServerIdentity {
    /// The library's cryptographic primitives.
    pub(crate) provider: Arc<dyn RTCCryptoProvider>,
    /// Configurations of handshakes that the peer opens, in the order of [`Profile`].
    pub(super) serving: [Arc<HandshakeConfig>; 2],
    /// Configuration of handshakes that we open.
    pub(super) opening: Arc<HandshakeConfig>,
    fingerprint: Fingerprint,
}

impl ServerIdentity {
    /// Creates a new self-signed certificate (ECDSA P-256).
    pub fn generate() -> Result<Self, Error> {
        Self::with_provider(Arc::new(AwsLcRsProvider::new()))
    }

    /// Creates the identity with these cryptographic primitives.
    pub(crate) fn with_provider(provider: Arc<dyn RTCCryptoProvider>) -> Result<Self, Error> {
        let (certificate, fingerprint) = self_signed(&provider, "carillon")?;
        let interval = FLIGHT_INTERVAL;
        let config = |side, suites: &[_], profiles: &[_]| {
            config(&provider, &certificate, side, suites, profiles, interval)
        };
        let serving = |profile| {
            let suites = [
                CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256,
                CipherSuiteId::Tls_Ecdhe_Ecdsa_With_ChaCha20_Poly1305_Sha256,
            ];
            // One SRTP profile, so that our order decides.
            config(Side::Server, &suites, &[profile])
        };
        // The peer chooses between both profiles and between both kinds of certificates.
        let suites = [
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256,
            CipherSuiteId::Tls_Ecdhe_Rsa_With_Aes_128_Gcm_Sha256,
        ];
        let profiles = [Profile::Aes128Gcm, Profile::Aes128CmSha1_80];
        Ok(Self {
            serving: [
                serving(Profile::Aes128CmSha1_80)?,
                serving(Profile::Aes128Gcm)?,
            ],
            opening: config(Side::Client, &suites, &profiles)?,
            provider: provider.clone(),
            fingerprint,
        })
    }

    /// Returns the fingerprint for the answer.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

base::debug!(ServerIdentity { fingerprint });

/// Creates a new self-signed certificate of this name (ECDSA P-256), and its fingerprint.
pub(crate) fn self_signed(
    provider: &Arc<dyn RTCCryptoProvider>,
    name: &str,
) -> Result<(Certificate, Fingerprint), Error> {
    let made = Certificate::generate_self_signed(vec![name.to_owned()], provider.crypto());
    let certificate = made.map_err(|_| Error::Crypto)?;
    let der = certificate.certificate.first().ok_or(Error::Crypto)?;
    let fingerprint = Fingerprint::of_certificate(der);
    Ok((certificate, fingerprint))
}

/// Returns the configuration of our side's handshakes.
pub(crate) fn config(
    provider: &Arc<dyn RTCCryptoProvider>,
    certificate: &Certificate,
    side: Side,
    suites: &[CipherSuiteId],
    profiles: &[Profile],
    flight_interval: Duration,
) -> Result<Arc<HandshakeConfig>, Error> {
    let (is_client, client_auth) = match side {
        Side::Client => (true, ClientAuthType::NoClientCert),
        Side::Server => (false, ClientAuthType::RequireAnyClientCert),
    };
    ConfigBuilder::default()
        .with_crypto_provider(provider.clone())
        .with_certificates(vec![certificate.clone()])
        .with_cipher_suites(suites.to_vec())
        .with_srtp_protection_profiles(profiles.iter().copied().map(theirs).collect())
        // Any certificate is accepted here; it is compared with the peer's description after the handshake. The handshake
        // itself proves that the peer owns it.
        .with_client_auth(client_auth)
        .with_insecure_skip_verify(true)
        .with_extended_master_secret(ExtendedMasterSecretType::Require)
        .with_flight_interval(flight_interval)
        .build(is_client, None)
        .map(Arc::new)
        .map_err(|_| Error::Crypto)
}

/// Returns the library's value for a profile.
pub(super) const fn theirs(profile: Profile) -> SrtpProtectionProfile {
    match profile {
        Profile::Aes128CmSha1_80 => SrtpProtectionProfile::Srtp_Aes128_Cm_Hmac_Sha1_80,
        Profile::Aes128Gcm => SrtpProtectionProfile::Srtp_Aead_Aes_128_Gcm,
    }
}
