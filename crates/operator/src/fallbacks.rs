//! `GET /api/v1/fallbacks`: streams with a fallback, and whether it is playing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use programme::fallback::State as Doing;
use serde_json::{Value, json};

use crate::Console;

/// `GET /api/v1/fallbacks`.
pub(super) async fn list(State(console): State<Arc<Console>>) -> Json<Value> {
    let all = console.fallbacks.board.list();
    let all = all.iter().map(|(stream, shown)| {
        let reason = match &shown.state {
            Doing::Refused(reason) => Some(reason),
            Doing::Waiting | Doing::Playing => None,
        };
        json!({
            "stream": stream.as_str(),
            "fallback": shown.fallback.as_str(),
            "moved": shown.is_move,
            "state": shown.state.label(),
            "reason": reason,
        })
    });
    Json(json!({ "fallbacks": all.collect::<Vec<_>>() }))
}
