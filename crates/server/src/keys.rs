//! Secrets generated at start-up where the operator configured none.
//!
//! Publishing is never open: without a configured key, one is generated, which only the start-up notice shows. The operator's
//! password works likewise.

use auth::Scope;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use config::{Auth, KeySecret, Secret};
use fanout::gate::Identity;

/// Secret length: 144 bits, out of reach of guessing, and 24 characters of Base64 without padding.
const SECRET_BYTES: usize = 18;

/// Secrets that were generated, so that each is shown once.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Generated {
    /// The key for publishers.
    pub(crate) publish_key: bool,
    /// Named keys.
    pub(crate) keys: Vec<Identity>,
    /// The operator's password.
    pub(crate) admin_password: bool,
}

/// Completes the section so that it has every secret. If there are named keys for publishing, no key for all streams is
/// generated: each named key can be handed out and revoked by its name.
///
/// # Errors
/// Returns an error if the system has no random bytes.
pub(crate) fn complete(auth: &mut Auth) -> Result<Generated, getrandom::Error> {
    let mut keys = Vec::new();
    for key in &mut auth.keys {
        if key.secret.is_none() {
            let mut secret = None;
            fill(&mut secret)?;
            key.secret = secret.map(KeySecret::Plain);
            keys.push(key.name.clone());
        }
    }
    let mut named = auth.keys.iter();
    let has_named = auth.keys_file.is_some()
        || auth.jwt.is_used()
        || auth
            .users
            .iter()
            .any(|users| users.scopes.contains(Scope::Publish))
        || named.any(|key| key.scopes.contains(Scope::Publish));
    Ok(Generated {
        publish_key: !has_named && fill(&mut auth.publish_key)?,
        keys,
        admin_password: fill(&mut auth.admin_password)?,
    })
}

fn fill(secret: &mut Option<Secret>) -> Result<bool, getrandom::Error> {
    if secret.is_some() {
        return Ok(false);
    }
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    *secret = Some(Secret::new(URL_SAFE_NO_PAD.encode(bytes)));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use config::Config;

    use super::*;

    #[test]
    fn only_missing_secrets_are_made_and_no_two_are_alike() {
        let mut first = Auth {
            publish_key: Some(Secret::new("chosen-by-hand")),
            ..Auth::default()
        };
        let made = complete(&mut first).expect("randomness");
        let password_alone = Generated {
            admin_password: true,
            ..Generated::default()
        };
        assert_eq!(made, password_alone);
        assert_eq!(first.publish_key.expect("kept").reveal(), "chosen-by-hand");

        let mut second = Auth::default();
        complete(&mut second).expect("randomness");
        let key = second.publish_key.expect("made");
        assert_ne!(key, second.admin_password.expect("made"));
        let named = "[[auth.key]]\nname = \"studio\"\nmatch = \"live/*\"";
        let third = Config::parse("test", named, std::iter::empty());
        let mut third = third.expect("valid").auth;
        let made = complete(&mut third).expect("randomness");
        assert_eq!(made.keys, [third.keys[0].name.clone()]);
        assert!(third.keys[0].secret.is_some() && third.publish_key.is_none());
        // It is used unescaped in URLs, in OBS's stream key and in `source:KEY@host`.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        assert!(key.reveal().len() == 24 && key.reveal().chars().all(plain));
    }
}
