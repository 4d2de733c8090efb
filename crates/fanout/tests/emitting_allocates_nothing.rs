//! Cost of an event while nothing reads events.
//!
//! The allocator counts for all threads, and the test harness allocates in its own while a test runs. So this target
//! has no harness (`crates/fanout/Cargo.toml`): its process has one thread, and all counted allocations are that
//! thread's.

#![allow(clippy::unwrap_used, reason = "a test says so when it fails")]

extern crate carillon_fanout as fanout;

use std::sync::Arc;
use std::time::SystemTime;

use fanout::ListenerId;
use fanout::events::{EventKind, Events, RECENT_MAX};
use media::{StreamName, Title};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn main() {
    emitting_allocates_nothing();
    // Printed in the harness's format, by which tests are counted.
    println!(
        "test emitting_allocates_nothing ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored"
    );
}

fn emitting_allocates_nothing() {
    let events = Arc::new(Events::new(SystemTime::now()));
    let stream = StreamName::parse("live/show").unwrap();
    let title = Arc::new(Title {
        text: "noon".to_owned(),
        url: String::new(),
    });
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    for number in 0..3 * RECENT_MAX as u64 {
        let listener = ListenerId(number);
        events.emit(Some(&stream), EventKind::Degraded { listener });
        let title = Some(Arc::clone(&title));
        events.emit(Some(&stream), EventKind::TitleChanged { title });
    }
    assert_eq!(MEMORY.current_usage(), before);
    assert_eq!(MEMORY.peak_usage(), before);
}
