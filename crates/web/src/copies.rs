//! Redirects to recordings of which only the copy in object storage is left: for viewers, and for the operator's page.

use std::time::Duration;

use http::{StatusCode, header};
use outbound::uploads::{Link, Uploader};
use vod::Copied;

use crate::reply::Reply;

/// Time that the address of a copy is valid, in addition to its playing time: long enough to begin, and to pause.
const LINK_VALID: Duration = Duration::from_secs(3_600);

/// Redirects a client to a copy by an address of its own; a cache must not lead others there.
pub async fn lead(
    uploads: Option<&Uploader>,
    copied: &Copied,
    is_head: bool,
    retry_after: u64,
) -> Reply {
    let link = Link {
        is_head,
        valid: LINK_VALID + copied.plays,
        kept_as: copied.kept_as.as_deref(),
    };
    let url = match uploads {
        Some(uploads) => uploads.link(&copied.key, &link).await,
        None => return Reply::text(StatusCode::NOT_FOUND, "There is no such recording.\n"),
    };
    match url {
        Ok(url) => Reply::new(StatusCode::FOUND)
            .with(header::LOCATION, url.as_str())
            .with(header::CACHE_CONTROL, "no-store")
            .with(header::REFERRER_POLICY, "no-referrer"),
        Err(failure) => {
            tracing::warn!(key = %copied.key, %failure, "no address of a copy can be signed");
            let text = "The copy of the recording cannot be reached now.\n";
            Reply::text(StatusCode::SERVICE_UNAVAILABLE, text)
                .with(header::RETRY_AFTER, retry_after)
        }
    }
}
