//! List of all addresses of other servers to which a configuration makes this server connect.
//!
//! Code that prepares connections (the trusted certificates) relies on this list, so that no kind of address is forgotten; a
//! test checks all keys that accept an address.

use crate::{Config, PullRule};

/// Address of another server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outbound {
    /// Key of the address, such as `push.0.url`.
    pub key: String,
    /// Whether the server is reached over TLS.
    pub is_secure: bool,
}

impl Config {
    /// Returns the addresses of other servers that are connected to.
    pub fn outbound(&self) -> Vec<Outbound> {
        let of = |key: String, is_secure| Outbound { key, is_secure };
        let hook = &self.auth.hook;
        let of_auth = [
            ("auth.jwt.jwks_url", &self.auth.jwt.jwks_url),
            ("auth.hook.url", &hook.url),
            ("auth.hook.play_url", &hook.play_url),
            ("auth.hook.connect_url", &hook.connect_url),
            ("auth.hook.end_url", &hook.end_url),
            ("auth.hook.update_url", &hook.update_url),
            ("auth.hook.mount_url", &hook.mount_url),
        ];
        let of_auth = of_auth
            .into_iter()
            .filter_map(|(key, url)| Some(of(key.to_owned(), url.as_ref()?.is_secure())));
        let upload = &self.recording.upload;
        let of_upload = upload
            .is_on()
            .then(|| of("recording.upload.endpoint".to_owned(), upload.is_secure()));
        let hooks = self.hooks.iter();
        let hooks = hooks.map(|rule| of(format!("{}.url", rule.key), rule.url.is_secure()));
        let directories = self.directories.iter();
        let directories =
            directories.map(|rule| of(format!("{}.url", rule.key), rule.url.is_secure()));
        let pushes = self.pushes.iter();
        let pushes = pushes.map(|rule| of(format!("{}.url", rule.key), rule.url.is_secure()));
        let pulls = self.pulls.iter().flat_map(|rule: &PullRule| {
            let others = rule.alternates.iter();
            let others = others.map(|url| of(format!("{}.alternates", rule.key), url.is_secure()));
            std::iter::once(of(format!("{}.url", rule.key), rule.url.is_secure())).chain(others)
        });
        of_auth
            .chain(of_upload)
            .chain(hooks)
            .chain(directories)
            .chain(pushes)
            .chain(pulls)
            .collect()
    }
}
