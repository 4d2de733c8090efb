//! Viewers behind links that lose packets: too small ones, and such that lose some by chance.

use std::collections::{HashSet, VecDeque};

use webrtc::rtcp::{
    Packet as Item, ReportBlock, packets as items, write_nack, write_pli, write_receiver_report,
};

use super::*;

/// The viewer's answer takes this long on its way back, which is empty.
const WAY_BACK: Duration = Duration::from_millis(10);

/// Longest queue in front of a link, in time.
const QUEUE: Duration = Duration::from_millis(500);

/// A link towards a viewer, and the viewer's side of RTCP.
struct TestLink {
    viewer: TestViewer,
    /// Bits per second; `None` for more than is sent.
    rate: Option<u64>,
    /// One packet in so many is lost by chance.
    chance: Option<u64>,
    random: u64,
    busy_until: Instant,
    under_way: VecDeque<(Instant, Arriving)>,
    compounds: usize,
    pictures: Received,
    audio_frames: Received,
    /// The last sender report's time, and when it came.
    reported: Option<(u32, Instant)>,
    report_at: Instant,
}

enum Arriving {
    Media(Got),
    Report(u32),
}

/// Packets of one source.
#[derive(Default)]
struct Received {
    sent: usize,
    numbers: HashSet<u16>,
    highest: u16,
    /// Times of the packets, in ticks of their clock.
    times: Vec<u32>,
}

impl TestLink {
    fn new(worker: &TestWorker, viewer: TestViewer) -> Self {
        Self {
            viewer,
            rate: None,
            chance: None,
            random: 7,
            busy_until: worker.now,
            under_way: VecDeque::new(),
            compounds: 0,
            pictures: Received::default(),
            audio_frames: Received::default(),
            reported: None,
            report_at: worker.now + Duration::from_secs(1),
        }
    }

    fn is_lost_by_chance(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.chance
            .is_some_and(|one| self.random.is_multiple_of(one))
    }

    fn pass(&mut self, bytes: usize, what: Arriving, now: Instant) {
        let begins = self.busy_until.max(now);
        if self.is_lost_by_chance() || begins - now > QUEUE {
            return;
        }
        let bits = bytes as f64 * 8.0;
        let takes = self.rate.map_or(0.0, |rate| bits / rate as f64);
        self.busy_until = begins + Duration::from_secs_f64(takes);
        self.under_way.push_back((self.busy_until, what));
    }

    /// Takes what the worker has sent, and reports each second.
    fn look(&mut self, worker: &mut TestWorker) {
        for got in worker.take(&mut self.viewer) {
            if let Some(received) = self.received(got.ssrc) {
                received.sent += 1;
            }
            let bytes = HEADER_BYTES + got.payload.len() + got.padding + 16 + 28;
            self.pass(bytes, Arriving::Media(got), worker.now);
        }
        let new: Vec<_> = worker.wire.compounds[self.compounds..].to_vec();
        self.compounds = worker.wire.compounds.len();
        let session = self.viewer.session;
        for (_, compound) in new.iter().filter(|(of, _)| *of == session) {
            for item in items(compound) {
                if let Item::SenderReport { report, .. } = item {
                    self.pass(100, Arriving::Report((report.ntp >> 16) as u32), worker.now);
                }
            }
        }
        let now = worker.now;
        while let Some((at, what)) = self.under_way.pop_front_if(|(at, _)| *at <= now) {
            match what {
                Arriving::Report(ntp) => self.reported = Some((ntp, at)),
                Arriving::Media(got) => {
                    if let Some(received) = self.received(got.ssrc) {
                        received.numbers.insert(got.sequence);
                        received.highest = received.highest.max(got.sequence);
                        received.times.push(got.timestamp);
                    }
                }
            }
        }
        if worker.now >= self.report_at {
            self.report_at = worker.now + Duration::from_secs(1);
            self.report(worker);
        }
    }

    fn received(&mut self, ssrc: u32) -> Option<&mut Received> {
        if ssrc == codes::ssrc(H264) {
            return Some(&mut self.pictures);
        }
        (ssrc == codes::ssrc(Opus)).then_some(&mut self.audio_frames)
    }

    fn report(&self, worker: &mut TestWorker) {
        let sent = worker.now - WAY_BACK;
        let block = |format, received: &Received| ReportBlock {
            ssrc: codes::ssrc(format),
            lost: i32::from(received.highest) - received.numbers.len() as i32,
            highest_sequence: received.highest.into(),
            last_report: self.reported.map_or(0, |(ntp, _)| ntp),
            since_last_report: self.reported.map_or(0, |(_, at)| {
                let held = sent.saturating_duration_since(at);
                (held.as_secs_f64() * 65_536.0) as u32
            }),
            ..ReportBlock::default()
        };
        let blocks = [block(H264, &self.pictures), block(Opus, &self.audio_frames)];
        let mut compound = Vec::new();
        write_receiver_report(&mut compound, 9, &blocks);
        self.write(worker, &compound);
    }

    fn write(&self, worker: &mut TestWorker, compound: &[u8]) {
        worker.rtcp(&self.viewer, compound);
    }

    /// Films for `seconds` seconds. Returns the audio packets that were sent, the numbers of those that arrived, and the times
    /// of the video frames that arrived.
    fn film(&mut self, worker: &mut TestWorker, camera: &mut Camera, seconds: usize) -> Film {
        let (sent, came) = (self.audio_frames.sent, self.audio_frames.numbers.len());
        self.pictures.times.clear();
        let pictures = self.pictures.sent;
        for _ in 0..seconds * 50 {
            worker.film(camera, 1);
            self.look(worker);
        }
        let mut times = std::mem::take(&mut self.pictures.times);
        times.dedup();
        Film {
            audio_frames: (self.audio_frames.numbers.len() - came) as f64
                / (self.audio_frames.sent - sent) as f64,
            packets: self.pictures.sent - pictures,
            pictures: times.len(),
        }
    }
}

#[derive(Debug)]
struct Film {
    /// Share of audio packets that arrived.
    audio_frames: f64,
    /// Video packets that were sent.
    packets: usize,
    /// Video frames of which at least a part arrived.
    pictures: usize,
}

fn start() -> (TestWorker, Camera, TestLink) {
    let (worker, camera, viewer) = show(&BOTH);
    let link = TestLink::new(&worker, viewer);
    (worker, camera, link)
}

#[test]
fn a_link_that_is_too_small_is_sent_the_audio_and_the_picture_when_it_is_free() {
    let (mut worker, mut camera, mut link) = start();
    // A keyframe is never so old that another one is requested.
    camera.key_every = 30;
    assert!(link.film(&mut worker, &mut camera, 5).audio_frames > 0.99);
    // Video and audio take 1 Mb/s.
    link.rate = Some(300_000);
    link.film(&mut worker, &mut camera, 10);
    assert_eq!(worker.counters().held_pictures, 1);
    assert_eq!(worker.books.degraded.value(), 1);
    let squeezed = link.film(&mut worker, &mut camera, 30);
    assert!(squeezed.audio_frames >= 0.95, "{squeezed:?}");
    // Keyframes of 27 packets, as probes: after 5, 10 and 20 s.
    assert!((27..=4 * 27).contains(&squeezed.packets), "{squeezed:?}");
    link.rate = None;
    let resumed: Vec<_> = (0..30)
        .map(|_| link.film(&mut worker, &mut camera, 1).packets)
        .collect();
    let free = link.film(&mut worker, &mut camera, 4);
    // A probe and a second of video at most, and nothing from the past.
    let second_max = 27 + free.packets / 4;
    assert!(
        resumed.iter().all(|sent| *sent <= second_max),
        "{resumed:?}"
    );
    assert!(free.pictures >= 99 && free.audio_frames > 0.99, "{free:?}");
    assert_eq!(worker.counters().held_pictures, 1);
    link.film(&mut worker, &mut camera, 11);
    assert_eq!(worker.books.degraded.value(), 0);
}

/// No report shows the round trip without a queue.
#[test]
fn a_link_that_was_too_small_from_the_join_on_is_found_out() {
    // The stream has 1 Mb/s with the longer keyframes, 0.9 Mb/s with the shorter ones.
    for (key_bytes, rates) in [
        (30_000, [300_000, 700_000, 850_000]),
        (12_000, [300_000, 600_000, 750_000]),
    ] {
        for rate in rates {
            let (mut worker, mut camera, mut link) = start();
            camera.key_bytes = key_bytes;
            link.rate = Some(rate);
            link.film(&mut worker, &mut camera, 10);
            let after = link.film(&mut worker, &mut camera, 30);
            assert!(after.audio_frames >= 0.95, "{rate} b/s: {after:?}");
            assert!(worker.counters().held_pictures >= 1, "{rate} b/s");
        }
    }
}

#[test]
fn a_link_that_is_a_little_too_small_is_probed_in_growing_pauses() {
    let (mut worker, mut camera, mut link) = start();
    link.rate = Some(850_000);
    while worker.counters().held_pictures == 0 {
        link.film(&mut worker, &mut camera, 1);
    }
    let (mut probes, mut audio_frames) = (Vec::new(), 0.0);
    for second in 0..90 {
        let film = link.film(&mut worker, &mut camera, 1);
        audio_frames += film.audio_frames / 90.0;
        if film.packets > 0 && probes.last() != Some(&(second - 1)) {
            probes.push(second);
        }
    }
    let pauses: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let held = worker.counters().held_pictures;
    assert_eq!(held, 1, "no probe is taken for the stream");
    assert!(pauses.len() >= 3 && pauses.is_sorted(), "{probes:?}");
    assert!(pauses[0] >= 10 && pauses[1] >= 20, "{probes:?}");
    assert!(audio_frames >= 0.98, "{audio_frames}");
}

#[test]
fn a_stream_of_audio_alone_has_no_picture_to_be_held() {
    let (mut worker, mut camera) = filming("radio", &[Kind::Audio]);
    let viewer = worker.join("radio", &BOTH);
    let mut link = TestLink::new(&worker, viewer);
    link.chance = Some(2);
    let lossy = link.film(&mut worker, &mut camera, 20);
    assert!(lossy.audio_frames < 0.7, "{lossy:?}");
    assert_eq!(worker.counters().held_pictures, 0);
    assert_eq!(worker.books.degraded.value(), 0);
}

#[test]
fn losses_by_chance_and_outages_hold_no_picture() {
    let (mut worker, mut camera, mut link) = start();
    link.chance = Some(10);
    let film = link.film(&mut worker, &mut camera, 60);
    assert!(film.pictures >= 60 * 25 - 5, "{film:?}");
    link.chance = None;
    for outage in [1, 3, 10] {
        link.chance = Some(1);
        link.film(&mut worker, &mut camera, outage);
        link.chance = None;
        let film = link.film(&mut worker, &mut camera, 5);
        assert!(film.pictures >= 5 * 25 - 1, "{film:?}");
    }
    assert_eq!(worker.counters().held_pictures, 0);
}

#[test]
fn a_held_picture_is_asked_for_in_vain() {
    let (mut worker, mut camera, mut link) = start();
    link.rate = Some(300_000);
    link.film(&mut worker, &mut camera, 6);
    assert_eq!(worker.counters().held_pictures, 1);
    let _earlier = camera.publisher.takes_keyframe_request(worker.now);
    let media = codes::ssrc(H264);
    let mut compound = Vec::new();
    write_receiver_report(&mut compound, 9, &[]);
    write_pli(&mut compound, 9, media);
    write_nack(&mut compound, 9, media, &[3, 4, 5]);
    worker.pass(Duration::from_secs(4));
    let before = worker.counters();
    link.write(&mut worker, &compound);
    worker.pass(TICK);
    assert!(!camera.publisher.takes_keyframe_request(worker.now));
    let after = worker.counters();
    assert_eq!(after.nacks_refused - before.nacks_refused, 3);
    assert_eq!(after.retransmissions, before.retransmissions);
}
