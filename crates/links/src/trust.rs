//! Certificate authorities by which other servers are trusted: those of this host.

use std::sync::Arc;

use config::Config;
use net::link::Connector;
use rustls::{ClientConfig, RootCertStore};

/// Reason why encrypted connections are impossible.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The host trusts no certificate authority.
    #[error(
        "this host has no certificates to check other servers by{0}; install its package \
         `ca-certificates`, or name a PEM file in the variable SSL_CERT_FILE"
    )]
    NoRoots(String),
    /// The TLS library refuses the configuration.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Creates the connector to the other servers of a configuration. The certificates that this host trusts are read if there is
/// any such server, because a plain address may redirect to an encrypted one; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
///
/// # Errors
/// If the host has none and the configuration names an encrypted address.
pub fn connector(config: &Config) -> Result<Connector, TrustError> {
    let roots = roots(config, native_roots)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Connector::new(Arc::new(config)))
}

/// Returns the trusted certificates, which may be none if no address needs them.
fn roots(
    config: &Config,
    native: impl FnOnce() -> Result<RootCertStore, TrustError>,
) -> Result<RootCertStore, TrustError> {
    let outbound = config.outbound();
    if outbound.is_empty() {
        return Ok(RootCertStore::empty());
    }
    match native() {
        Err(error) if !outbound.iter().any(|one| one.is_secure) => {
            tracing::debug!(%error, "encrypted addresses, which plain ones may lead on to, cannot be reached");
            Ok(RootCertStore::empty())
        }
        roots => roots,
    }
}

fn native_roots() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A host's collection may contain some that the library does not accept; the rest is enough.
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        let errors = found.errors.iter().map(|error| format!(": {error}"));
        return Err(TrustError::NoRoots(errors.collect()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(links: &str, native: Option<&RootCertStore>) -> Option<usize> {
        let config = Config::parse("test", links, std::iter::empty()).expect("valid");
        let native = || match native {
            Some(roots) => Ok(roots.clone()),
            None => Err(TrustError::NoRoots(String::new())),
        };
        roots(&config, native).ok().map(|roots| roots.len())
    }

    #[test]
    fn links_that_may_be_redirected_need_trusted_certificates() {
        let made = rcgen::generate_simple_self_signed(["h".to_owned()]).expect("a certificate");
        let mut one = RootCertStore::empty();
        one.add(made.cert.der().clone()).expect("its own root");
        let pull = |scheme| format!("[[pull]]\nstream = \"a\"\nurl = \"{scheme}://h/x/a\"\n");
        let push = |scheme| format!("[[push]]\nmatch = \"a\"\nurl = \"{scheme}://h/x/a\"\n");
        assert_eq!(trusted("", Some(&one)), Some(0), "no links");
        for plain in [pull("http"), pull("rtmp"), push("rtmp")] {
            assert_eq!(trusted(&plain, Some(&one)), Some(1), "{plain}");
            assert_eq!(trusted(&plain, None), Some(0), "{plain}");
        }
        let upload = |endpoint| {
            format!(
                "[recording]\ndirectory = \"/rec\"\n\
                 [recording.upload]\nbucket = \"radio\"\nendpoint = \"{endpoint}\"\n"
            )
        };
        assert_eq!(trusted(&upload("http://minio:9000"), None), Some(0));
        let secure = [upload("https://minio:9000"), upload("")];
        for secure in secure
            .into_iter()
            .chain([pull("https"), pull("rtmps"), push("rtmps")])
            .chain(["[auth.jwt]\njwks_url = \"https://h/certs\"\n".to_owned()])
        {
            assert_eq!(trusted(&secure, Some(&one)), Some(1), "{secure}");
            assert_eq!(trusted(&secure, None), None, "{secure}");
        }
    }
}
