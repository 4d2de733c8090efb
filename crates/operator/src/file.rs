//! `GET /api/v1/recordings/{id}/file`: the file of a recording, whole or by ranges, for the operator's page.
//!
//! If only a recording's copy in object storage is left, it is sent from there. A connection that sends a file lasts as long as
//! its client reads; there are at most [`FILES_MAX`] such connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vod::{Found, PastAddress, PastRequest};
use web::copies;

use super::api::{not_found, refuse};
use super::connections::Lease;
use super::recordings::found;
use crate::Console;

/// Maximum number of files sent at a time: those of a few people, whose players open a few connections each.
const FILES_MAX: usize = 32;

/// Shared state for sending files.
#[derive(Clone)]
pub(super) struct Files {
    console: Arc<Console>,
    permits: Arc<Semaphore>,
}

impl Files {
    pub(super) fn of(console: &Arc<Console>) -> Self {
        Self {
            console: Arc::clone(console),
            permits: Arc::new(Semaphore::new(FILES_MAX)),
        }
    }
}

/// Answers a request for a file.
pub(super) async fn file(
    State(Files { console, permits }): State<Files>,
    Extension(lease): Extension<Lease>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let front = &console.front;
    let found = found(&console, &id);
    let address = found.as_ref().and_then(|it| {
        let file = PastAddress::file(it.id, it.container);
        PastAddress::of(&format!("/{}/{file}", it.stream))
    });
    let (Some(recording), Some(address)) = (found, address) else {
        return not_found("there is no such recording");
    };
    let Ok(permit) = permits.try_acquire_owned() else {
        let text = "too many recordings are being sent";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    let mut headers = request.headers().clone();
    if recording.state == recordings::State::Open {
        // Without ranges, the response has an end, and the browser plays what is there.
        headers.remove(header::RANGE);
    }
    let wanted = PastRequest {
        address: &address,
        is_head: false,
        headers: &headers,
        query: request.uri().query().unwrap_or_default(),
        is_private: true,
        now: SystemTime::now(),
    };
    let answer = match front.past.answer(wanted).await {
        Found::Here(answer) => answer,
        Found::Elsewhere(copied) => {
            let (uploads, retry_after) = (front.uploads.as_deref(), front.drain.retry_after());
            let lead = copies::lead(uploads, &copied, false, retry_after).await;
            return crate::response(lead);
        }
    };
    lease.outlast();
    let mut response = Body::new(Sent {
        body: answer.body,
        lease,
        _permit: permit,
    })
    .into_response();
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

/// A file that is being sent.
struct Sent {
    body: vod::Body,
    lease: Lease,
    _permit: OwnedSemaphorePermit,
}

impl hyper::body::Body for Sent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        // The next piece is requested once the client has taken the previous one.
        self.lease.went_on();
        let next = self.body.poll_next(cx);
        next.map(|next| next.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.left() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.body.left();
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
