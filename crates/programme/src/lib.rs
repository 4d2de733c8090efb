//! Media that listeners receive although no publisher sends it now: stations and fallbacks.
//!
//! * [`station`]: playlists of files as live streams, with a schedule, requests and live shows.
//! * [`fallback`]: another stream under the name of one whose publisher is away.
//!
//! Both publish through the registry as any source does. Callers: `server`, which starts them; `web`, `links` and `operator`, which show
//! and control them.

pub mod fallback;
pub mod station;

use std::time::Instant;

use base::Counter;
use fanout::Publisher;
use media::Item;

/// Writes items, and adds their bytes of media to `written`. Returns whether the publisher still has its stream.
fn write(publisher: &mut Publisher, items: &mut Vec<Item>, written: &Counter) -> bool {
    let bytes = items.iter().map(|item| match item {
        Item::Sample(sample) => sample.bytes() as u64,
        _ => 0,
    });
    let bytes = bytes.sum();
    let is_written = items.is_empty() || publisher.write(items, now()).is_ok();
    if is_written {
        written.add(bytes);
    }
    is_written
}

/// Returns the present time on the clock of the runtime's timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
