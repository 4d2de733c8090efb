//! A publisher returns after a gap, and a viewer over WebRTC sees and hears as before.

use std::time::Duration;

use serde_json::Value;
use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::session::{figures, wait_for_frames, watch};
use crate::support::{publish_rtmp, wait_until};

/// Lengths of the publisher's absence.
const GAPS: [Duration; 3] = [
    Duration::from_millis(1_500),
    Duration::from_secs(5),
    Duration::from_secs(30),
];
/// Longest time that a viewer may take to recover.
const RECOVERY: Duration = Duration::from_secs(5);
/// Length of the measurements before and after.
const WINDOW: Duration = Duration::from_secs(8);

/// Smallest share of arriving frames that must be shown.
const SHOWN_MIN: f64 = 0.95;
/// Milliseconds by which frames may be shown later after their arrival: browsers delay video for the audio in steps of 80 ms.
/// If the lane's clock stopped in the gap, the delay would grow by 200 to 3,000 ms.
const DELAY_MORE_MAX_MS: f64 = 100.0;
/// Largest distance between audio and video as played.
const APART_MAX_MS: f64 = 40.0;
/// Length of a frame of Opus: a browser reports its audio position in such steps, so that the median of a stretch moves by as
/// much from one to the next.
const APART_STEP_MS: f64 = 20.0;

/// Script that records the browser's figures on its session, ten times a second.
const LOOK: &str = r"
    window.looks = [];
    const seen = {shown: 0, late: 0, count: 0};
    video.requestVideoFrameCallback(function note(_, frame) {
        seen.shown = frame.presentedFrames;
        seen.late += frame.expectedDisplayTime - frame.receiveTime;
        seen.count += 1;
        video.requestVideoFrameCallback(note);
    });
    setInterval(async () => {
        const look = {at: performance.now(), seen: {...seen}};
        for (const s of (await pc.getStats()).values()) if (s.type === 'inbound-rtp') look[s.kind] = s;
        looks.push(look);
    }, 100);
    return null;
";

/// Script that summarises the records of a stretch of time: times in milliseconds, the distance of audio and video as their
/// median.
const SUMMARY: &str = r"
    const all = looks.filter(look => look.at >= FROM && look.at < TO && look.audio && look.video);
    const first = all[0], last = all[all.length - 1];
    const held = kind => 1000 * (last[kind].jitterBufferDelay - first[kind].jitterBufferDelay)
        / (last[kind].jitterBufferEmittedCount - first[kind].jitterBufferEmittedCount);
    const apart = all
        .map(({audio, video}) => video.estimatedPlayoutTimestamp - audio.estimatedPlayoutTimestamp)
        .sort((one, other) => one - other);
    return {
        received: last.video.framesReceived - first.video.framesReceived,
        decoded: last.video.framesDecoded - first.video.framesDecoded,
        shown: last.seen.shown - first.seen.shown,
        late: (last.seen.late - first.seen.late) / (last.seen.count - first.seen.count),
        held: held('video'),
        heldSound: held('audio'),
        apart: apart[apart.length >> 1],
    };
";

/// A viewer whose publisher leaves and returns, and one whose publisher stays: effects of a busy machine show on both.
struct Pair<T> {
    returned: T,
    stayed: T,
}

#[test]
fn after_a_moment_some_seconds_and_half_a_minute() {
    let server = Server::builder().set("ingest", "linger", "\"60s\"").start();
    let clip = Clip::Flv.seconds(90);
    let clip_that_stays = Clip::Flv.seconds(240);
    let viewers = Pair {
        returned: Browser::open(),
        stayed: Browser::open(),
    };
    for gap in GAPS {
        let stream = format!("live/gone-{}", gap.as_millis());
        let stream_that_stays = format!("{stream}-not");
        let _stays = publish_rtmp(&server, &clip_that_stays, &stream_that_stays);
        let publisher = publish_rtmp(&server, &clip, &stream);
        for (viewer, stream) in [
            (&viewers.stayed, &stream_that_stays),
            (&viewers.returned, &stream),
        ] {
            watch(viewer, &server, &format!("/{stream}"));
            wait_for_frames(viewer, 250);
            viewer.run(LOOK);
        }
        let before = look(&viewers);
        drop(publisher);
        std::thread::sleep(gap);
        let _publisher = publish_rtmp(&server, &clip, &stream);
        wait_for_frames(&viewers.returned, 1);
        std::thread::sleep(RECOVERY);
        let after = look(&viewers);
        println!(
            "{gap:?}: {} before, {} after",
            before.returned, after.returned
        );
        println!("beside: {} before, {} after", before.stayed, after.stayed);
        assert_as_before(&before, &after);
    }
}

/// Measures both viewers from now on.
fn look(viewers: &Pair<Browser>) -> Pair<Value> {
    let now = |viewer: &Browser| viewer.run("return performance.now();").as_f64().unwrap();
    let stretch = |viewer| {
        let from = now(viewer);
        (viewer, from, from + WINDOW.as_millis() as f64)
    };
    let stretches = [stretch(&viewers.returned), stretch(&viewers.stayed)];
    wait_until("the stretch to be over", || {
        stretches.iter().all(|(viewer, _, to)| now(viewer) > *to)
    });
    let [returned, stayed] = stretches.map(|(viewer, from, to)| {
        assert!(figures(viewer).is_object());
        viewer.run(
            &SUMMARY
                .replace("FROM", &from.to_string())
                .replace("TO", &to.to_string()),
        )
    });
    Pair { returned, stayed }
}

fn assert_as_before(before: &Pair<Value>, after: &Pair<Value>) {
    let number =
        |of: &Value, name: &str| of[name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"));
    let (then, now) = (&before.returned, &after.returned);
    let beside = &after.stayed;
    let least = 0.9 * number(then, "received");
    assert!(number(now, "received") > least, "{then} {now}");
    for count in ["decoded", "shown"] {
        let share = |of| number(of, count) / number(of, "received");
        let least = SHOWN_MIN.min(share(beside));
        assert!(
            share(now) >= least,
            "{count}: {then} {now}, beside {beside}"
        );
    }
    let late = |of| number(of, "late");
    let grown_beside = (late(beside) - late(&before.stayed)).max(0.0);
    let usual = (late(then) + grown_beside).max(late(beside));
    let most = usual + DELAY_MORE_MAX_MS;
    assert!(
        late(now) <= most,
        "later than {most} ms: {now}, beside {beside}"
    );
    // A browser with too little processor time misses the limit without a gap, too.
    let apart = |of| number(of, "apart").abs();
    let usual = apart(then).max(apart(beside));
    let most = match usual <= APART_MAX_MS {
        true => APART_MAX_MS,
        false => usual + APART_STEP_MS,
    };
    assert!(
        apart(now) <= most,
        "further apart than {most} ms: {then} {now}, beside {beside}"
    );
}
