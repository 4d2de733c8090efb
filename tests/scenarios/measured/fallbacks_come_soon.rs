//! A publisher ends, and listeners receive the fallback within a second, whatever the format.

use std::time::{Duration, Instant};

use testkit::Server;

use crate::support::mount::{AUDIO, Mount, SECONDS, rules};

/// Longest time from the end of the publisher to the first byte of the fallback.
const SOON: Duration = Duration::from_secs(1);

/// Number of switches that are measured for each format.
const SWITCHES: u32 = 3;

#[test]
fn within_a_second_in_each_format() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::builder().toml(&rules()).start();
    for kind in AUDIO {
        let files = [1, 2].map(|seed| kind.make(&folder, seed, SECONDS));
        let mut mount = Mount::begin(kind, files, &server);
        for switch in 0..SWITCHES {
            mount.hears(0);
            mount.more();
            mount.studio.kill();
            let left = Instant::now();
            mount.hears(1);
            let silence = mount.listener.longest_gap(left);
            println!(
                "{}, switch {switch}: {silence:?} without sound",
                mount.stream
            );
            assert!(silence <= SOON, "{}: {silence:?}", mount.stream);
            mount.more();
            mount.studio = mount.kind.publish(&server, &mount.files[0], &mount.stream);
        }
    }
}
