//! Four clients request the most expensive segments there are, again and again: of a film of two hours with one keyframe, and
//! of a made-up one of two million samples. Another client gets its pages as fast as before; both are compared in one run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::Server;

use crate::support::films::{of_one_keyframe, of_scattered_samples};
use crate::support::library::Library;
use crate::support::{End, wait_until};

/// Number of pages whose delays are measured, and of clients that request segments meanwhile.
const PAGES: usize = 500;
const CLIENTS: usize = 4;
/// Factor by which pages may come later, at the 99th percentile.
const SLOWER_MAX: u32 = 3;
/// Delay that a small machine adds when it is busy with the clients themselves.
const BUSY: Duration = Duration::from_millis(2);
/// Length of the film in seconds.
const SECONDS: u32 = 7_200;

#[test]
fn pages_come_while_the_dearest_segments_are_sent() {
    let library = Library::make();
    of_one_keyframe(&library.folder().join("one.mp4"), SECONDS);
    of_scattered_samples(&library.folder().join("scattered.mp4"));
    let server = library.serve();
    let calm = pages(&server);
    for film in ["one", "scattered"] {
        let segment = dearest(&server, film);
        let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let busy = thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let answer = server.get(&segment);
                        assert_eq!(answer.status, 200, "{}", answer.text());
                        bytes.fetch_add(answer.body.len() as u64, Ordering::Relaxed);
                    }
                });
            }
            let _end = End(&stop);
            wait_until("segments", || bytes.load(Ordering::Relaxed) > 0);
            pages(&server)
        });
        let bytes = bytes.into_inner();
        println!("{film}: pages within {calm:?}, and {busy:?} while {bytes} bytes were sent");
        assert!(
            busy <= SLOWER_MAX * calm.max(BUSY),
            "{film}: {calm:?}, then {busy:?}"
        );
    }
}

/// Measures the delay of a page, at the 99th percentile.
fn pages(server: &Server) -> Duration {
    let one = |_| {
        let asked = Instant::now();
        assert_eq!(server.get("/_/player.js").status, 200);
        asked.elapsed()
    };
    let mut all: Vec<_> = (0..PAGES).map(one).collect();
    all.sort_unstable();
    all[PAGES * 99 / 100]
}

/// Returns the address of the longest segment of a film.
fn dearest(server: &Server, film: &str) -> String {
    let path = format!("/vod/{film}.mp4");
    let text = server.get(&format!("{path}/index.m3u8")).text();
    let lengths = text.lines().filter_map(|line| {
        let seconds = line.strip_prefix("#EXTINF:")?.trim_end_matches(',');
        Some(seconds.parse::<f64>().unwrap())
    });
    let longest = lengths.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let (number, _) = longest.unwrap_or_else(|| panic!("{text}"));
    format!("{path}/{number}.m4s")
}
