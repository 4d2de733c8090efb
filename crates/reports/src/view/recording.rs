//! A recording, and a station's track, as the API and webhooks show them.

use base::date;
use recordings::Recording;
use serde_json::{Value, json};
use station::Playing;

/// What is known of a recording.
pub fn recording(recording: &Recording) -> Value {
    let path = recording.is_local.then(|| recording.path.to_string_lossy());
    json!({
        "id": recording.id.to_string(),
        "stream": recording.stream.as_str(),
        "path": path,
        "state": recording.state.label(),
        "type": recording.container.media_type(),
        "started": date::rfc3339(recording.started),
        "ended": date::rfc3339(recording.ended()),
        "seconds": recording.duration.as_secs_f64(),
        "bytes": recording.bytes,
        "pinned": recording.is_pinned,
        "uploaded": recording.upload.is_stored(),
        "upload": recording.upload.as_str(),
    })
}

/// A track that is played, or was.
pub fn playing(track: &Playing) -> Value {
    json!({
        "title": track.title,
        "file": track.name,
        "since": date::rfc3339(track.since),
        "seconds": track.length.map(|length| length.seconds()),
        "by": track.by.label(),
    })
}
