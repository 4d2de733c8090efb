//! A stream's recordings: `/{stream}/recordings.json`, and what `vod` has of them, behind the gate.

use std::time::SystemTime;

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::date;
use http1::Query;
use limits::Handover;
use media::StreamName;
use recordings::{Recording, RecordingId};
use serde_json::{Value, json};
use vod::{Found, PastAddress, PastRequest};

use super::playbacks::{Subject, Wanted};
use super::{files, permit};
use crate::copies;
use crate::front_door::FrontDoor;
use crate::visitor::Visitor;

/// Recordings in one answer.
const PAGE: usize = 100;

/// The name in the query of the next page.
const CURSOR: &str = "cursor";

/// The list of a stream's recordings, newest first. Addresses in it are relative to it, and so to the stream's page.
pub(super) async fn list(
    front: &FrontDoor,
    visitor: Visitor,
    stream: &StreamName,
    request: Request,
) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    if let Err(denied) = permit::permit(&*front.gate, visitor, stream, headers, uri).await {
        return permit::refuse(denied);
    }
    let query = Query::new(uri.query().unwrap_or_default().as_bytes());
    let cursor = query.get(CURSOR).map(|text| text.parse::<RecordingId>());
    let Ok(cursor) = cursor.transpose() else {
        let text = "cursor: it is that of an answer before\n";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    let page = front.shelf.newest(Some(stream), cursor, PAGE);
    let next = page.last().filter(|_| page.len() == PAGE);
    let next = next.map(|last| last.id.to_string());
    let has_hls = !front.config.encryption(stream);
    let all: Vec<_> = page.iter().map(|one| view(one, has_hls)).collect();
    let mut response = Json(json!({ "recordings": all, "cursor": next })).into_response();
    let caching = HeaderValue::from_static("no-cache");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, caching);
    response
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

/// Answers a request for a recording, or for what is made of some.
pub(super) async fn answer(
    front: &FrontDoor,
    visitor: Visitor,
    handover: &Handover,
    address: &PastAddress,
    request: Request,
) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let wanted = Wanted {
        visitor,
        headers,
        uri,
        is_head: request.method() == Method::HEAD,
        stream: address.stream(),
        subject: address.played().map_or(Subject::Alone, Subject::Recorded),
    };
    let pass = match front
        .pages
        .playbacks
        .admit(&*front.gate, &front.admission, &wanted)
        .await
    {
        Ok(pass) => pass,
        Err(refused) => return refused.answer(&front.admission, visitor),
    };
    if address.is_hls() && front.config.encryption(address.stream()) {
        // Over HLS nothing of it is in clear.
        let text = "Over HLS this stream is encrypted; its recordings are files.\n";
        return (StatusCode::NOT_FOUND, text).into_response();
    }
    let asked = PastRequest {
        address,
        is_head: wanted.is_head,
        headers,
        query: uri.query().unwrap_or_default(),
        is_private: permit::is_private(&front.config, address.stream(), headers, uri),
        now: SystemTime::now(),
    };
    match front.past.answer(asked).await {
        Found::Here(answer) => files::send(front, handover, (&wanted, pass), *answer),
        Found::Elsewhere(copied) => {
            let (uploads, retry_after) = (front.uploads.as_deref(), front.drain.retry_after());
            copies::lead(uploads, &copied, wanted.is_head, retry_after).await
        }
    }
}
