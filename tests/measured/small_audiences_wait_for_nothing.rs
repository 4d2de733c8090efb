//! With ten listeners and default settings a sample reaches the sockets within five milliseconds:
//! messages grow only under load.

use std::time::Duration;

use testkit::{Clip, Metrics, Server};

use crate::support::{publish_rtmp, wait_for_stream};

/// Observations at or below a bound, and all of them.
fn observed(metrics: &Metrics, bound: &str) -> (f64, f64) {
    let name = "carillon_forward_delay_seconds";
    let below = metrics.sum(&format!("{name}_bucket"), &[&format!("le=\"{bound}\"")]);
    (below, metrics.sum(&format!("{name}_count"), &[]))
}

#[test]
fn ten_listeners() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&server, "live/show");
    let mut listeners: Vec<_> = (0..10).map(|_| server.listen("/live/show.flv")).collect();
    let (below_before, all_before) = observed(&server.metrics(), "0.005");
    let length = listeners[0].body().len();
    std::thread::scope(|scope| {
        for listener in &mut listeners {
            scope.spawn(move || {
                listener
                    .read_bytes(length.max(1) + 1_600_000, Duration::from_secs(60))
                    .len()
            });
        }
    });
    let (below, all) = observed(&server.metrics(), "0.005");
    let (below, all) = (below - below_before, all - all_before);
    assert!(all > 1_000.0, "{all} messages");
    assert!(below / all >= 0.99, "{below} of {all} within 5 ms");
}
