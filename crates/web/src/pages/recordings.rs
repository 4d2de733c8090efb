//! A stream's recordings: `/{stream}/recordings.json`, and the media that `vod` serves from them, behind the gate.

use std::time::SystemTime;

use base::date;
use http::{StatusCode, header};
use media::StreamName;
use recordings::{Recording, RecordingId};
use serde_json::{Value, json};
use vod::{Found, PastAddress, PastRequest};

use super::files;
use super::playbacks::{Subject, Wanted};
use crate::reply::Reply;
use crate::request::Request;
use crate::{copies, refusal};

/// Maximum number of recordings in one reply.
const PAGE: usize = 100;

/// Query parameter of the next page.
const CURSOR: &str = "cursor";

/// Lists a stream's recordings, newest first. Addresses in the list are relative to it, and so to the stream's page.
pub(super) async fn list(request: &Request<'_>, stream: &StreamName) -> Reply {
    let front = request.front;
    if let Err(denied) = request.may_play(stream).await {
        return refusal::denied(denied);
    }
    let cursor = request.parameters().get(CURSOR);
    let Ok(cursor) = cursor.map(|text| text.parse::<RecordingId>()).transpose() else {
        let text = "cursor: it is that of an answer before\n";
        return Reply::text(StatusCode::BAD_REQUEST, text);
    };
    let page = front.shelf.newest(Some(stream), cursor, PAGE);
    let next = page.last().filter(|_| page.len() == PAGE);
    let next = next.map(|last| last.id.to_string());
    let has_hls = !front.config.encryption(stream);
    let all: Vec<_> = page.iter().map(|one| view(one, has_hls)).collect();
    Reply::json(&json!({ "recordings": all, "cursor": next }))
        .with(header::CACHE_CONTROL, "no-cache")
}

fn view(recording: &Recording, has_hls: bool) -> Value {
    let (id, container) = (recording.id, recording.container);
    json!({
        "id": id.to_string(),
        "state": recording.state.label(),
        "type": container.media_type(),
        "started": date::rfc3339(recording.started),
        "ended": date::rfc3339(recording.ended()),
        "seconds": recording.duration.as_secs_f64(),
        "bytes": recording.bytes,
        "file": PastAddress::file(id, container),
        "hls": PastAddress::playlist(id, container).filter(|_| has_hls && recording.is_local),
        "local": recording.is_local,
    })
}

/// Answers a request for a recording, or for media made from recordings.
pub(super) async fn answer(request: &Request<'_>, address: &PastAddress) -> Reply {
    let (front, stream) = (request.front, address.stream());
    let subject = address.played().map_or(Subject::Alone, Subject::Recorded);
    let wanted = Wanted {
        request,
        stream,
        subject,
    };
    let pass = match front.pages.playbacks.admit(&wanted).await {
        Ok(pass) => pass,
        Err(refused) => return refused.answer(request),
    };
    if address.is_hls() && front.config.encryption(stream) {
        // Over HLS nothing of this stream is sent in clear.
        let text = "Over HLS this stream is encrypted; its recordings are files.\n";
        return Reply::text(StatusCode::NOT_FOUND, text);
    }
    let asked = PastRequest {
        address,
        is_head: request.is_head(),
        headers: &request.headers,
        query: request.query(),
        is_private: request.is_private(stream),
        now: SystemTime::now(),
    };
    match front.past.answer(asked).await {
        Found::Here(answer) => files::send(&wanted, pass, *answer),
        Found::Elsewhere(copied) => {
            let (uploads, retry_after) = (front.uploads.as_deref(), front.drain.retry_after());
            copies::lead(uploads, &copied, request.is_head(), retry_after).await
        }
    }
}
