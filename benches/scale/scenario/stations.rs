//! Listeners of a station, compared with as many of a live stream.

use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use testkit::{Server, Tool, wait_until};

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{self, Flow, Turn, Way};
use crate::figure::{Against, Target, Unit};
use crate::source;

const LISTENERS: u64 = 5_000;
/// Joins per second.
const RAMP: u64 = 1_000;
/// Number and length of the songs in the catalogue: at least one joint in each window.
const SONGS: u32 = 20;
const SONG_SECONDS: u32 = 8;
const MAKE_DEADLINE: Duration = Duration::from_secs(120);
/// Time limit for the files to be examined.
const PLAYING: Duration = Duration::from_secs(30);
/// Maximum cost of a station's listeners, relative to those of a live stream.
const RATIO_MAX: f64 = 1.05;

const MOUNT: Way = Way::Mount("radio.mp3");
const LIVE: &str = "live";

pub(crate) fn five_thousand(bench: &mut Bench) {
    let songs = songs();
    let plans = [ListenPlan::new(LISTENERS, RAMP, bench.window())];
    let [mut ours, mut live, mut lost] = [const { Vec::new() }; 3];
    for round in 0..bench.rounds() {
        let mut measure = |is_station: bool| {
            let (turn, flow) = match is_station {
                true => of_station(bench, &songs, &plans),
                false => of_live(bench, &plans),
            };
            let who = if is_station { contest::OURS } else { LIVE };
            bench.note(round, who, &turn.0.iter().collect::<Vec<_>>());
            let sends = flow.sends_per_second();
            bench.note_value(
                round,
                who,
                json!({ "sends_per_second": sends, "bytes_per_send": flow.bytes_per_send() }),
            );
            lost.push(flow.drops + turn.sum(crate::audience::Report::missing));
            turn.cpu()
        };
        // The order alternates, so that a machine that slows down favours neither side.
        if round % 2 == 0 {
            ours.push(measure(true));
            live.push(measure(false));
        } else {
            live.push(measure(false));
            ours.push(measure(true));
        }
    }
    let against = Some(Against::Itself(LIVE, live));
    let target = Some(Target::AtMost(RATIO_MAX));
    let what = "CPU of 5,000 listeners of a station";
    bench.figure(what, Unit::Core, ours, against, target);
    bench.losses(lost);
}

fn of_station(bench: &mut Bench, songs: &TempDir, plans: &[ListenPlan]) -> (Turn, Flow) {
    let folder = songs.path().display();
    let station = format!("[[station]]\nstream = \"radio.mp3\"\nfolder = \"{folder}\"");
    let server = Server::builder().release().toml(&station).start();
    bench.learn_backend(&server);
    wait_until("the station", PLAYING, || {
        server.api("stations")["stations"][0]["state"] == "playing"
    });
    contest::attend(&server, plans, &MOUNT.url(&server))
}

fn of_live(bench: &mut Bench, plans: &[ListenPlan]) -> (Turn, Flow) {
    let server = contest::serve(bench, &[]);
    let _publisher = source::publish(&MOUNT.source_url(&server), &super::mp3_media());
    source::wait_for_publisher(&server);
    contest::attend(&server, plans, &MOUNT.url(&server))
}

/// Creates a folder of MP3s of 128 kb/s.
fn songs() -> TempDir {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("a folder: {error}"));
    for number in 0..SONGS {
        let pitch = 220 + 40 * number;
        let audio = format!("sine={pitch}:r=44100:d={SONG_SECONDS}");
        Tool::ffmpeg()
            .args(["-y", "-f", "lavfi", "-i", &audio])
            .args(["-c:a", "libmp3lame", "-b:a", "128k", "-ac", "2"])
            .arg(folder.path().join(format!("{number:02}.mp3")))
            .run(MAKE_DEADLINE);
    }
    folder
}
