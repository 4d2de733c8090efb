//! Whom links believe: the certificates that this host trusts.

use std::sync::Arc;

use net::link::Connector;
use rustls::{ClientConfig, RootCertStore};

use crate::config::Config;

/// Why encrypted links are not possible.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is nobody to believe.
    #[error(
        "this host has no certificates to check other servers by{0}; install its package \
         `ca-certificates`, or name a PEM file in the variable SSL_CERT_FILE"
    )]
    NoRoots(String),
    /// The library refuses.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// What makes connections for the links of a configuration. The certificates that this host trusts
/// are read only if one of them is encrypted; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
///
/// # Errors
/// When there are none.
pub(crate) fn connector(config: &Config) -> Result<Connector, TrustError> {
    let is_needed = config.pushes.iter().any(|rule| rule.url.is_secure())
        || config.pulls.iter().any(|rule| rule.url.is_secure());
    let roots = if is_needed {
        native_roots()?
    } else {
        RootCertStore::empty()
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Connector::new(Arc::new(config)))
}

fn native_roots() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A host's collection may hold some that no library takes; the rest is enough.
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        let errors = found.errors.iter().map(|error| format!(": {error}"));
        return Err(TrustError::NoRoots(errors.collect()));
    }
    Ok(roots)
}
