//! With ten listeners and default settings a sample reaches the sockets within five milliseconds:
//! messages grow only under load.
//!
//! What is late is compared with words from one thread of this program to another, over a socket, at the
//! same time: on a machine that is busy some of those are late as well. A sample takes that way twice, to
//! the thread that reads and to the worker.

use std::time::Duration;

use testkit::{Clip, Hops, Metrics, Server};

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
    let hops = Hops::watch();
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
    let hop_late = hops.share_above(Duration::from_millis(5));
    let late = 1.0 - below / all;
    println!(
        "{late:.4} of {all} messages took longer than 5 ms; of words between two threads {hop_late:.4}"
    );
    assert!(all > 1_000.0, "{all} messages");
    assert!(
        late <= 0.01 + 2.0 * hop_late,
        "{below} of {all} within 5 ms; {hop_late} of the words between two threads were late"
    );
}
