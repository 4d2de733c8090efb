//! Cost of an audience for a server over a span of time.

use std::time::{Duration, Instant};

use crate::{Audience, Clip, PUBLISH_KEY, Server, ServerBuilder, Tool, wait_until};

/// Differences between two reads of a server's counters.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Time between them.
    pub span: Duration,
    /// Processor time that the server used, user and system.
    pub cpu: Duration,
    /// Number of send calls.
    pub sends: f64,
    /// Number of messages whose samples were counted.
    pub messages: f64,
    /// Number of samples in all of them.
    pub samples: f64,
    /// Number of bytes that the audience received.
    pub bytes: u64,
}

impl Sampling {
    /// Returns the number of samples in the average message.
    pub fn samples_per_message(&self) -> f64 {
        self.samples / self.messages
    }

    /// Returns the number of sends per second.
    pub fn sends_per_second(&self) -> f64 {
        self.sends / self.span.as_secs_f64()
    }

    /// Returns the processor time as a share of one core.
    pub fn cores(&self) -> f64 {
        self.cpu.as_secs_f64() / self.span.as_secs_f64()
    }
}

/// Measures the cost of `audience` for `server` over `span`.
pub fn sample(server: &Server, audience: &Audience, span: Duration) -> Sampling {
    let look = || {
        let metrics = server.metrics();
        let of = |name: &str| metrics.sum(name, &[]);
        (
            Instant::now(),
            server.cpu_time(),
            of("carillon_sends_total"),
            of("carillon_message_samples_count"),
            of("carillon_message_samples_sum"),
            audience.bytes(),
        )
    };
    let before = look();
    std::thread::sleep(span);
    let after = look();
    Sampling {
        span: after.0 - before.0,
        cpu: after.1 - before.1,
        sends: after.2 - before.2,
        messages: after.3 - before.3,
        samples: after.4 - before.4,
        bytes: after.5 - before.5,
    }
}

/// Time limit for starting and for all listeners to join, on a loaded machine.
const JOIN_DEADLINE: Duration = crate::DEADLINE;
/// Time for the burst of the last joiners to drain before the measurement begins.
const SETTLE: Duration = Duration::from_secs(2);

/// Returns the cost of `listeners` of a 128 kb/s MP3 mount when each message combines `max_samples` frames.
///
/// # Panics
/// Panics if a listener is lost.
pub fn combining(
    server: ServerBuilder,
    max_samples: u32,
    listeners: usize,
    span: Duration,
) -> Sampling {
    // Equal waits make the window fixed; otherwise a small audience gets smaller messages.
    let server = server
        .set("fanout.audio", "max_samples", &max_samples.to_string())
        .set("fanout.audio", "min_wait", "\"450ms\"")
        .set("fanout.audio", "max_wait", "\"450ms\"")
        .start();
    let _source = Tool::ffmpeg()
        .args(["-re", "-stream_loop", "-1", "-i"])
        .arg(Clip::Mp3.seconds(30))
        .args(["-c", "copy", "-content_type", "audio/mpeg", "-f", "mp3"])
        .arg(server.icecast_url("radio.mp3", PUBLISH_KEY))
        .start();
    wait_until("the stream", JOIN_DEADLINE, || {
        server.metrics().sum("carillon_publishers", &[]) == 1.0
    });
    let audience = Audience::join(server.addr("http"), "/radio.mp3", listeners);
    wait_until("all listeners to have joined", JOIN_DEADLINE, || {
        server.metrics().sum("carillon_listeners", &[]) == listeners as f64
    });
    std::thread::sleep(SETTLE);
    let result = sample(&server, &audience, span);
    assert_eq!(audience.alive(), listeners, "no listener was lost");
    result
}
