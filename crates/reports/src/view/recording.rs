//! Views of a recording, and of a station's track, for the API and webhooks.

use base::date;
use programme::station::Playing;
use recordings::Recording;
use serde_json::{Value, json};

/// Returns the view of a recording.
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

/// Returns the view of a track that is or was played.
pub fn playing(track: &Playing) -> Value {
    json!({
        "title": track.title,
        "file": track.name,
        "since": date::rfc3339(track.since),
        "seconds": track.length.map(|length| length.seconds()),
        "by": track.by.label(),
    })
}
