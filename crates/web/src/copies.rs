//! The way to a recording whose copy in object storage alone is left: for viewers, and for the operator's page.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use uploads::{Link, Uploader};
use vod::Copied;

/// How long the address of a copy is valid, beside the time that it plays: long enough to begin, and to pause.
const LINK_VALID: Duration = Duration::from_secs(3_600);

/// Sends a client to a copy, by an address of its own: others are not to be led there by a cache.
pub async fn lead(
    uploads: Option<&Uploader>,
    copied: &Copied,
    is_head: bool,
    retry_after: u64,
) -> Response {
    let link = Link {
        is_head,
        valid: LINK_VALID + copied.plays,
        kept_as: copied.kept_as.as_deref(),
    };
    let url = match uploads {
        Some(uploads) => uploads.link(&copied.key, &link).await,
        None => return (StatusCode::NOT_FOUND, "There is no such recording.\n").into_response(),
    };
    match url {
        Ok(url) => {
            let headers = [
                (header::LOCATION, url.as_str()),
                (header::CACHE_CONTROL, "no-store"),
                (header::REFERRER_POLICY, "no-referrer"),
            ];
            (StatusCode::FOUND, headers).into_response()
        }
        Err(failure) => {
            tracing::warn!(key = %copied.key, %failure, "no address of a copy can be signed");
            let text = "The copy of the recording cannot be reached now.\n";
            let retry_after = [(header::RETRY_AFTER, retry_after.to_string())];
            (StatusCode::SERVICE_UNAVAILABLE, retry_after, text).into_response()
        }
    }
}
