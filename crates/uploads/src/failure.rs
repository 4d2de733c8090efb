//! Why there is no copy yet, and whose fault that is.

use std::io;
use std::time::Duration;

use crate::counts::Outcome;
use crate::credentials;
use crate::uploader::LOOK_INTERVAL;

/// Bytes of what the storage says that are shown: its code and message, and not a page of HTML.
const TOLD_BYTES_MAX: usize = 300;

/// How long a recording waits whose name another object has: somebody has to remove that first.
const TAKEN_PATIENCE: Duration = Duration::from_secs(3_600);

/// How long one waits whose file cannot be read.
const DISK_PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no copy yet.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The operator's: credentials, their rights, or the clock of this machine.
    #[error("the storage refuses the credentials: {0}")]
    Refused(String),
    /// The operator's: the bucket, or nobody's: the storage has forgotten an upload that had begun.
    #[error("the storage does not know the bucket or the upload: {0}")]
    Unknown(String),
    /// The operator's: something else is in the bucket under the name.
    #[error("another object has the name `{0}`; it is not overwritten")]
    Taken(String),
    /// The storage's, or the network's.
    #[error("the storage cannot be used: {0}")]
    Storage(String),
    /// The storage's: what it has is not what was sent.
    #[error("the storage has something else than what was sent to it")]
    Unlike,
    /// The file was finalised meanwhile.
    #[error("the file has changed meanwhile")]
    Changed,
    /// The disk's.
    #[error("the file cannot be read: {0}")]
    Disk(#[from] io::Error),
    /// The disk's: it cannot be written down what has arrived.
    #[error("the journal cannot be used: {0}")]
    Journal(#[from] journal::Error),
}

impl Failure {
    /// What it counts as.
    pub(crate) const fn outcome(&self) -> Outcome {
        match self {
            Self::Refused(_) | Self::Unknown(_) => Outcome::Refused,
            Self::Taken(_) => Outcome::Taken,
            _ => Outcome::Failed,
        }
    }

    /// How long the recording waits, where the failure is its own; `None` where it is most often that of all.
    pub(crate) const fn patience(&self) -> Option<Duration> {
        match self {
            Self::Taken(_) => Some(TAKEN_PATIENCE),
            Self::Disk(_) => Some(DISK_PATIENCE),
            Self::Changed => Some(LOOK_INTERVAL),
            _ => None,
        }
    }
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error::{
            AlreadyExists, Generic, NotFound, PermissionDenied, Unauthenticated,
        };
        let told = told(&error.to_string());
        match error {
            PermissionDenied { .. } | Unauthenticated { .. } => Self::Refused(told),
            NotFound { .. } => Self::Unknown(told),
            AlreadyExists { path, .. } => Self::Taken(path),
            Generic {
                store: credentials::SOURCE,
                ..
            } => Self::Refused(told),
            _ => Self::Storage(told),
        }
    }
}

/// What the storage says, without the request that it answers.
fn told(error: &str) -> String {
    let within = |tag: &str| {
        let (_, rest) = error.split_once(&format!("<{tag}>"))?;
        let (text, _) = rest.split_once(&format!("</{tag}>"))?;
        Some(text)
    };
    let told = match (within("Code"), within("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        // Before the last dash are the address, the time taken and the number of attempts.
        _ => error.rsplit(" - ").next().unwrap_or(error).to_owned(),
    };
    let told = told.trim().replace(char::is_control, " ");
    let end = told.floor_char_boundary(TOLD_BYTES_MAX);
    told[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_is_quoted_briefly() {
        let xml = "Error performing PUT https://h/b/k in 3ms - Server returned non-2xx status code: 403 Forbidden: \
            <?xml version=\"1.0\"?><Error><Code>InvalidAccessKeyId</Code><Message>Not known.</Message>\
            <AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        assert_eq!(told(xml), "InvalidAccessKeyId: Not known.");
        let refused = "Error performing PUT http://h:1/b/k in 3s, after 3 retries, max_retries: 3, \
            retry_timeout: 30s  - cannot connect to 127.0.0.1:1: Connection refused (os error 111)";
        assert_eq!(
            told(refused),
            "cannot connect to 127.0.0.1:1: Connection refused (os error 111)"
        );
        let page = format!("in 3s - <html>\r\n{}", "ä".repeat(1_000));
        assert!(told(&page).len() <= TOLD_BYTES_MAX && !told(&page).contains('\n'));
    }
}
