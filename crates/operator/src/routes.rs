//! Every address of the operator's port, and the permission it needs. The router is built from this table.

use web::routes::{Demand, Endpoint, Surface};

const fn open(method: &'static str, path: &'static str) -> Endpoint {
    Endpoint {
        surface: Surface::Admin,
        method,
        path,
        demand: Demand::Nothing,
    }
}

const fn guarded(method: &'static str, path: &'static str) -> Endpoint {
    Endpoint {
        demand: Demand::Password,
        ..open(method, path)
    }
}

/// Every row, with its path in axum's notation.
pub const ENDPOINTS: [Endpoint; 25] = [
    // The operator's page of recordings.
    guarded("GET", "/recordings"),
    // Its script.
    guarded("GET", "/_/operator.js"),
    // Its style.
    guarded("GET", "/_/style.css"),
    // Its icon.
    guarded("GET", "/_/icon.svg"),
    // Metrics for Prometheus.
    guarded("GET", "/metrics"),
    // Liveness probe.
    open("GET", "/livez"),
    // Readiness probe.
    open("GET", "/readyz"),
    // All streams.
    guarded("GET", "/api/v1/streams"),
    // End a stream.
    guarded("DELETE", "/api/v1/streams/{*name}"),
    // The newest keyframe of a stream; behind the name stands `/snapshot`.
    guarded("GET", "/api/v1/streams/{*name}"),
    // Announce an event, or begin, end or split a recording; behind the name stands `/events` or `/recording`.
    guarded("POST", "/api/v1/streams/{*name}"),
    // The recordings.
    guarded("GET", "/api/v1/recordings"),
    // One of them.
    guarded("GET", "/api/v1/recordings/{id}"),
    // Its file.
    guarded("GET", "/api/v1/recordings/{id}/file"),
    // An address at which its copy in object storage can be fetched for some time.
    guarded("GET", "/api/v1/recordings/{id}/link"),
    // Keep it whatever the rules say, or no longer.
    guarded("PATCH", "/api/v1/recordings/{id}"),
    // Remove it.
    guarded("DELETE", "/api/v1/recordings/{id}"),
    // All listeners.
    guarded("GET", "/api/v1/listeners"),
    // The event stream.
    guarded("GET", "/api/v1/events"),
    // Pushes to other servers and their states.
    guarded("GET", "/api/v1/push"),
    // Pulls from other servers and their states.
    guarded("GET", "/api/v1/pull"),
    // Streams with a fallback, and whether it is playing.
    guarded("GET", "/api/v1/fallbacks"),
    // Stations, and what they play.
    guarded("GET", "/api/v1/stations"),
    // Command a station.
    guarded("POST", "/api/v1/stations/{*name}"),
    // Remove a listener.
    guarded("DELETE", "/api/v1/listeners/{id}"),
];
