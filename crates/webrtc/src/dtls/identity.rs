//! The server's identity: one certificate for the life of the process.

use std::sync::Arc;
use std::time::Duration;

use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::{ClientAuthType, ConfigBuilder, ExtendedMasterSecretType, HandshakeConfig};
use rtc_dtls::crypto::Certificate;
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;

use super::Error;
use crate::sdp::Fingerprint;
use crate::srtp::Profile;

/// When a flight is sent again. The client notices a loss within a tenth of a second, but only we
/// notice the loss of a flight of ours.
const FLIGHT_INTERVAL: Duration = Duration::from_millis(500);

/// A certificate with its fingerprint, and what else a handshake needs. Cheap to clone.
#[derive(Clone)]
pub struct ServerIdentity {
    pub(super) provider: Arc<dyn RTCCryptoProvider>,
    pub(super) gcm: Arc<HandshakeConfig>,
    pub(super) cm: Arc<HandshakeConfig>,
    /// For handshakes that we open.
    pub(super) opening: Arc<HandshakeConfig>,
    fingerprint: Fingerprint,
}

impl ServerIdentity {
    /// Makes a new self-signed certificate (ECDSA P-256).
    pub fn generate() -> Result<Self, Error> {
        Self::with_provider(Arc::new(AwsLcRsProvider::new()))
    }

    /// The same with these primitives.
    pub(crate) fn with_provider(provider: Arc<dyn RTCCryptoProvider>) -> Result<Self, Error> {
        let names = vec!["carillon".to_owned()];
        let certificate = Certificate::generate_self_signed(names, provider.crypto())
            .map_err(|_| Error::Crypto)?;
        let der = certificate.certificate.first().ok_or(Error::Crypto)?;
        let fingerprint = Fingerprint::of_certificate(der);
        let opening = opening(&provider, certificate.clone())?;
        let config = |profile| config(&provider, certificate.clone(), profile).map(Arc::new);
        Ok(Self {
            gcm: config(Profile::Aes128Gcm)?,
            cm: config(Profile::Aes128CmSha1_80)?,
            opening: Arc::new(opening),
            provider,
            fingerprint,
        })
    }

    /// The fingerprint that an answer names.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// The library's primitives.
    pub(crate) fn provider(&self) -> &Arc<dyn RTCCryptoProvider> {
        &self.provider
    }
}

base::debug!(ServerIdentity { fingerprint });

/// A server's configuration with one SRTP profile, so that our order decides.
fn config(
    provider: &Arc<dyn RTCCryptoProvider>,
    certificate: Certificate,
    profile: Profile,
) -> Result<HandshakeConfig, Error> {
    ConfigBuilder::default()
        .with_crypto_provider(provider.clone())
        .with_certificates(vec![certificate])
        .with_cipher_suites(vec![
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256,
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_ChaCha20_Poly1305_Sha256,
        ])
        .with_srtp_protection_profiles(vec![theirs(profile)])
        // Any certificate is accepted here: it is compared with the offer once the handshake is
        // done. The handshake itself proves that the peer owns it.
        .with_client_auth(ClientAuthType::RequireAnyClientCert)
        .with_insecure_skip_verify(true)
        .with_extended_master_secret(ExtendedMasterSecretType::Require)
        .with_flight_interval(FLIGHT_INTERVAL)
        .build(false, None)
        .map_err(|_| Error::Crypto)
}

/// A client's configuration. The server chooses, of both profiles and of certificates of both kinds.
fn opening(
    provider: &Arc<dyn RTCCryptoProvider>,
    certificate: Certificate,
) -> Result<HandshakeConfig, Error> {
    let profiles = [Profile::Aes128Gcm, Profile::Aes128CmSha1_80];
    ConfigBuilder::default()
        .with_crypto_provider(provider.clone())
        .with_certificates(vec![certificate])
        .with_cipher_suites(vec![
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256,
            CipherSuiteId::Tls_Ecdhe_Rsa_With_Aes_128_Gcm_Sha256,
        ])
        .with_srtp_protection_profiles(profiles.map(theirs).to_vec())
        // The certificate is compared with the offer once the handshake is done.
        .with_insecure_skip_verify(true)
        .with_extended_master_secret(ExtendedMasterSecretType::Require)
        .with_flight_interval(FLIGHT_INTERVAL)
        .build(true, None)
        .map_err(|_| Error::Crypto)
}

/// The library's name of a profile.
pub(crate) const fn theirs(profile: Profile) -> SrtpProtectionProfile {
    match profile {
        Profile::Aes128CmSha1_80 => SrtpProtectionProfile::Srtp_Aes128_Cm_Hmac_Sha1_80,
        Profile::Aes128Gcm => SrtpProtectionProfile::Srtp_Aead_Aes_128_Gcm,
    }
}
