//! With ten listeners and default settings a sample reaches the sockets within five milliseconds: messages grow only under
//! load.
//!
//! Delays are compared with those of messages between two threads of this program, over a socket, at the same time: on a busy
//! machine some of those are late as well. The messages are as frequent as the server's visits, and the receiving thread works
//! for as long, because a working thread is interrupted more often than one that only wakes. A sample makes two such hops: to
//! the thread that reads, and to the worker.

use std::time::{Duration, Instant};

use testkit::http::Listener;
use testkit::{Clip, Hops, Metrics, Server};

use crate::support::publish_rtmp;

const LISTENERS: usize = 10;
/// Bytes per listener from which the server's work and pace are learnt, and bytes per listener in which its delays are
/// measured.
const LEARNT_BYTES: usize = 300_000;
const MEASURED_BYTES: usize = 1_600_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the number of observations at or below a bound, and of all.
fn observed(metrics: &Metrics, bound: &str) -> (f64, f64) {
    let name = "carillon_forward_delay_seconds";
    let below = metrics.sum(&format!("{name}_bucket"), &[&format!("le=\"{bound}\"")]);
    (below, metrics.sum(&format!("{name}_count"), &[]))
}

#[test]
fn ten_listeners() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    let mut listeners: Vec<_> = (0..LISTENERS)
        .map(|_| server.listen("/live/show.flv"))
        .collect();

    let (begin, cpu_before) = (Instant::now(), server.cpu_time());
    let (_, all_before) = observed(&server.metrics(), "0.005");
    read(&mut listeners, LEARNT_BYTES);
    let (_, all) = observed(&server.metrics(), "0.005");
    let visits = (all - all_before) / LISTENERS as f64;
    let pace = begin.elapsed().div_f64(visits);
    let work = (server.cpu_time() - cpu_before).div_f64(visits);

    let (below_before, all_before) = observed(&server.metrics(), "0.005");
    let hops = Hops::watch(pace, work);
    read(&mut listeners, MEASURED_BYTES);
    let (below, all) = observed(&server.metrics(), "0.005");
    let (below, all) = (below - below_before, all - all_before);
    let hop_late = hops.share_above(Duration::from_millis(5));
    let late = 1.0 - below / all;
    println!(
        "{late:.4} of {all} messages took longer than 5 ms; {hop_late:.4} of words between two threads every \
         {pace:?} with {work:?} of work"
    );
    assert!(all > 1_000.0, "{all} messages");
    assert!(
        late <= 0.01 + 2.0 * hop_late,
        "{below} of {all} within 5 ms; {hop_late} of the words between two threads were late"
    );
}

/// Lets each listener read `bytes` more.
fn read(listeners: &mut [Listener], bytes: usize) {
    std::thread::scope(|scope| {
        for listener in listeners {
            scope.spawn(move || {
                let length = listener.body().len();
                listener.read_bytes(length.max(1) + bytes, PATIENCE).len()
            });
        }
    });
}
