//! Credentials for signing requests: from a file, or from the environment and the machine.
//!
//! A file is read for each request, so that renewed or corrected credentials need no restart. Nothing here is ever logged.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::{AmazonS3Builder, AwsCredential};

/// Source name of errors about credentials.
pub(crate) const SOURCE: &str = "credentials";

/// Longest file, in bytes; a profile has a few lines.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// AWS variables that contain or locate credentials. Others would contradict the configuration.
const VARIABLES: [&str; 9] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// Configures signing with credentials from AWS variables, or else from the machine's provider.
pub(crate) fn of_environment(builder: AmazonS3Builder) -> AmazonS3Builder {
    VARIABLES.iter().fold(builder, |builder, name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        match (value, name.to_ascii_lowercase().parse()) {
            (Some(value), Ok(key)) => builder.with_config(key, value),
            _ => builder,
        }
    })
}

/// File in the format of AWS tools: its profile `default`, or the lines before any profile.
#[derive(Debug)]
pub(crate) struct CredentialsFile(pub(crate) PathBuf);

#[async_trait]
impl CredentialProvider for CredentialsFile {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let path = self.0.display();
        let read = || {
            let bytes = std::fs::metadata(&self.0)?.len();
            match bytes > FILE_BYTES_MAX {
                true => Err(std::io::Error::other("it is longer than 64 KiB")),
                false => std::fs::read_to_string(&self.0),
            }
        };
        let text = read().map_err(|error| unusable(format!("{path} cannot be read: {error}")))?;
        let credential = parse(&text).ok_or_else(|| {
            unusable(format!(
                "{path} has no aws_access_key_id and aws_secret_access_key in [default]"
            ))
        })?;
        Ok(Arc::new(credential))
    }
}

/// Fault of a credentials file; the text does not contain anything of it.
fn unusable(text: String) -> object_store::Error {
    object_store::Error::Generic {
        store: SOURCE,
        source: text.into(),
    }
}

fn parse(text: &str) -> Option<AwsCredential> {
    let (mut key_id, mut secret_key, mut token) = (None, None, None);
    let mut is_ours = true;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_ours = line == "[default]";
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_ours) else {
            continue;
        };
        let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        match name.trim() {
            "aws_access_key_id" => key_id = value,
            "aws_secret_access_key" => secret_key = value,
            "aws_session_token" => token = value,
            _ => {}
        }
    }
    Some(AwsCredential {
        key_id: key_id?,
        secret_key: secret_key?,
        token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_profile_is_read() {
        let file = "# mine\n[other]\naws_access_key_id = no\naws_secret_access_key = no\n\
            [default]\naws_access_key_id = AKIA\naws_secret_access_key=s/e+c=ret\n";
        let credential = parse(file).expect("a credential");
        assert_eq!(credential.key_id, "AKIA");
        assert_eq!(credential.secret_key, "s/e+c=ret");
        assert_eq!(credential.token, None);
        let bare = "aws_access_key_id=A\naws_secret_access_key=B\naws_session_token=C\n";
        assert_eq!(parse(bare).and_then(|it| it.token).as_deref(), Some("C"));
        assert!(parse("").is_none());
        assert!(parse("[default]\naws_access_key_id = A\naws_secret_access_key =\n").is_none());
        assert!(parse("[other]\naws_access_key_id=A\naws_secret_access_key=B\n").is_none());
    }

    #[tokio::test]
    async fn what_is_wrong_is_said_without_the_secret() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("credentials");
        let file = CredentialsFile(path.clone());
        let missing = file.get_credential().await.expect_err("no file");
        assert!(missing.to_string().contains("cannot be read"), "{missing}");
        std::fs::write(&path, "aws_secret_access_key = hidden\n").expect("written");
        let partial = file.get_credential().await.expect_err("half of it");
        assert!(!partial.to_string().contains("hidden"), "{partial}");
        let whole = "aws_access_key_id = A\naws_secret_access_key = hidden\n";
        std::fs::write(&path, whole).expect("written");
        let credential = file.get_credential().await.expect("mended");
        assert!(!format!("{credential:?}").contains("hidden"));
    }

    #[test]
    fn every_variable_has_a_meaning() {
        for name in VARIABLES {
            let key = name.to_ascii_lowercase();
            let key = key.parse::<object_store::aws::AmazonS3ConfigKey>();
            assert!(key.is_ok(), "{name}");
        }
    }
}
