//! Reasons why there is no copy yet, and the party at fault.

use std::io;
use std::time::Duration;

use crate::uploads::counts::Outcome;
use crate::uploads::credentials;
use crate::uploads::uploader::LOOK_INTERVAL;

/// Longest message from the storage shown, in bytes: its code and message, but not a page of HTML.
const REPORTED_BYTES_MAX: usize = 300;

/// Wait of a recording whose name is taken by another object: somebody must remove that first.
const TAKEN_PATIENCE: Duration = Duration::from_secs(3_600);

/// Wait of a recording whose file cannot be read.
const DISK_PATIENCE: Duration = Duration::from_secs(60);

/// Reason why there is no copy yet.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Operator: the credentials, their rights, or the clock of this machine are wrong.
    #[error("the storage refuses the credentials: {0}")]
    Refused(String),
    /// Operator: the bucket does not exist; or nobody: the storage has dropped a started upload.
    #[error("the storage does not know the bucket or the upload: {0}")]
    Unknown(String),
    /// Operator: another object in the bucket has the name.
    #[error("another object has the name `{0}`; it is not overwritten")]
    Taken(String),
    /// Storage or network failure.
    #[error("the storage cannot be used: {0}")]
    Storage(String),
    /// Storage: its object differs from what was sent.
    #[error("the storage has something else than what was sent to it")]
    Unlike,
    /// The file was finalised meanwhile.
    #[error("the file has changed meanwhile")]
    Changed,
    /// Disk failure.
    #[error("the file cannot be read: {0}")]
    Disk(#[from] io::Error),
    /// Disk: arrived parts cannot be recorded.
    #[error("the journal cannot be used: {0}")]
    Journal(#[from] crate::journal::Error),
}

impl Failure {
    /// Returns the outcome the failure counts as.
    pub(crate) const fn outcome(&self) -> Outcome {
        match self {
            Self::Refused(_) | Self::Unknown(_) => Outcome::Refused,
            Self::Taken(_) => Outcome::Taken,
            _ => Outcome::Failed,
        }
    }

    /// Returns the recording's wait if the failure is its own; `None` if it most often affects all.
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
        let reported = reported(&error.to_string());
        match error {
            PermissionDenied { .. } | Unauthenticated { .. } => Self::Refused(reported),
            NotFound { .. } => Self::Unknown(reported),
            AlreadyExists { path, .. } => Self::Taken(path),
            Generic {
                store: credentials::SOURCE,
                ..
            } => Self::Refused(reported),
            _ => Self::Storage(reported),
        }
    }
}

/// Returns the storage's message, without the request that it answers.
fn reported(error: &str) -> String {
    let within = |tag: &str| {
        let (_, rest) = error.split_once(&format!("<{tag}>"))?;
        let (text, _) = rest.split_once(&format!("</{tag}>"))?;
        Some(text)
    };
    let reported = match (within("Code"), within("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        // The address, the duration and the number of attempts precede the last dash.
        _ => error.rsplit(" - ").next().unwrap_or(error).to_owned(),
    };
    let reported = reported.trim().replace(char::is_control, " ");
    let end = reported.floor_char_boundary(REPORTED_BYTES_MAX);
    reported[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_is_quoted_briefly() {
        let xml = "Error performing PUT https://h/b/k in 3ms - Server returned non-2xx status code: 403 Forbidden: \
            <?xml version=\"1.0\"?><Error><Code>InvalidAccessKeyId</Code><Message>Not known.</Message>\
            <AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        assert_eq!(reported(xml), "InvalidAccessKeyId: Not known.");
        let refused = "Error performing PUT http://h:1/b/k in 3s, after 3 retries, max_retries: 3, \
            retry_timeout: 30s  - cannot connect to 127.0.0.1:1: Connection refused (os error 111)";
        let last = "cannot connect to 127.0.0.1:1: Connection refused (os error 111)";
        assert_eq!(reported(refused), last);
        let page = format!("in 3s - <html>\r\n{}", "ä".repeat(1_000));
        assert!(reported(&page).len() <= REPORTED_BYTES_MAX && !reported(&page).contains('\n'));
    }
}
