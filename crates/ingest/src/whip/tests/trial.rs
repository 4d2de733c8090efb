//! A publisher, a network and the server's side of a session, in virtual time.

use std::collections::BTreeMap;

use fanout::Stream;
use webrtc::sdp::Offer;

use super::super::Counters;
use super::feedback::Numbered;
use super::*;

/// The state of one direction of a network.
#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) delay: Duration,
    /// Added to the delay, at random.
    pub(super) jitter: Duration,
    /// Packets of a thousand that are lost, and that arrive twice.
    pub(super) lost: u64,
    pub(super) doubled: u64,
}

impl Link {
    /// A perfect network, `millis` away.
    pub(super) fn delayed(millis: u64) -> Self {
        Self {
            delay: Duration::from_millis(millis),
            ..Self::default()
        }
    }
}

enum Event {
    /// A line's next sample goes out.
    Sample(usize),
    /// A line's report goes out.
    Report(usize),
    Rtp(Vec<u8>),
    Rtcp(Vec<u8>),
    /// The server's packets reach the peer.
    Said(Vec<u8>),
}

/// A trial run of a session: its peer's lines, the network between, and a recording of the result.
pub(super) struct Trial {
    pub(super) context: Arc<Context>,
    pub(super) publishers: Publishers,
    pub(super) recording: Recording,
    pub(super) lines: Vec<Line>,
    pub(super) link: Link,
    /// Packets that the server requested, and the times of the requests.
    pub(super) nacks: Vec<(Duration, Vec<u16>)>,
    pub(super) plis: Vec<Duration>,
    /// Sources that the server asked for a keyframe.
    pub(super) pli_sources: Vec<u32>,
    pub(super) reports: Vec<(Duration, Vec<rtcp::ReportBlock>)>,
    pub(super) compounds: Vec<Vec<u8>>,
    /// Packets by their numbers across all lines, if they have them.
    pub(super) numbered: Option<Numbered>,
    pub(super) closed: Vec<Handle>,
    pub(super) now: Duration,
    start: Instant,
    due: Option<Instant>,
    queue: BTreeMap<(Duration, u64), Event>,
    scheduled: u64,
    random: u64,
}

/// Publishers of whom one is connected, and what the server says.
pub(super) struct Connected {
    pub(super) publishers: Publishers,
    pub(super) said: Said,
    pub(super) now: Instant,
}

impl Connected {
    /// A session of another publisher than a trial's.
    pub(super) fn new(context: &Context, ticket: PublisherTicket) -> Self {
        let mut publishers = Publishers::new(Settings::default(), Arc::clone(&context.stats));
        let now = Instant::now();
        publishers.connected(handle(8), ticket, now);
        Self {
            publishers,
            said: Said::default(),
            now,
        }
    }

    pub(super) fn rtp(&mut self, packet: &[u8], later: Duration) {
        let now = self.now + later;
        self.publishers.rtp(handle(8), packet, now, &mut self.said);
    }

    pub(super) fn turn(&mut self, later: Duration) {
        self.publishers.turn(self.now + later, &mut self.said);
    }
}

impl Trial {
    /// A session for an offer, on a stream of its own.
    pub(super) fn new(offer: &str, lines: Vec<Line>, link: Link) -> Self {
        let offer = Offer::parse(offer).expect("a good offer");
        let agreed = agree(&offer).expect("a usable offer");
        let context = test_context(Takeover::SameCredential, 4);
        let start = Instant::now();
        let mut publishers = Publishers::new(Settings::default(), Arc::clone(&context.stats));
        let ticket = ticket(&context, agreed);
        lingering(&context);
        let recording = Recording::of(&context);
        publishers.connected(handle(7), ticket, start);
        let mut trial = Self {
            context,
            publishers,
            recording,
            lines,
            link,
            nacks: Vec::new(),
            plis: Vec::new(),
            pli_sources: Vec::new(),
            reports: Vec::new(),
            compounds: Vec::new(),
            numbered: None,
            closed: Vec::new(),
            now: Duration::ZERO,
            start,
            due: Some(start),
            queue: BTreeMap::new(),
            scheduled: 0,
            random: 0x9E37_79B9_7F4A_7C15,
        };
        for line in 0..trial.lines.len() {
            trial.next_sample(line);
        }
        trial
    }

    /// With reports of all lines each second, from `first` on.
    pub(super) fn with_reports(mut self, first: Duration) -> Self {
        for line in 0..self.lines.len() {
            // Never both at once.
            let at = first + Duration::from_millis(130 * line as u64);
            self.schedule(at, Event::Report(line));
        }
        self
    }

    /// Runs until `until`.
    pub(super) fn run(&mut self, until: Duration) {
        let mut turns_in_place = 0;
        loop {
            let event = self.queue.keys().next().map(|(at, _)| *at);
            let due = self
                .due
                .map(|due| due.saturating_duration_since(self.start));
            let Some(at) = event.into_iter().chain(due).min().filter(|at| *at <= until) else {
                break;
            };
            turns_in_place = if at > self.now { 0 } else { turns_in_place + 1 };
            assert!(turns_in_place < 5_000, "time stands still at {at:?}");
            self.now = self.now.max(at);
            let now = self.start + self.now;
            let mut said = Said::default();
            if due.is_none_or(|due| due > self.now)
                && let Some((_, event)) = self.queue.pop_first()
            {
                self.handle(event, now, &mut said);
            }
            self.due = self.publishers.turn(now, &mut said);
            self.say(said);
        }
        self.now = until;
    }

    /// The server gets a packet of media, or of reports, now.
    pub(super) fn hear_media(&mut self, packet: Vec<u8>) {
        self.schedule(self.now, Event::Rtp(packet));
        self.run(self.now);
    }

    pub(super) fn hear_report(&mut self, compound: Vec<u8>) {
        self.schedule(self.now, Event::Rtcp(compound));
        self.run(self.now);
    }

    /// A line has samples again.
    pub(super) fn wake(&mut self, line: usize) {
        self.next_sample(line);
    }

    /// A line that had stopped goes on.
    pub(super) fn proceed(&mut self, line: usize) {
        self.lines[line].proceed(self.now);
        self.wake(line);
    }

    /// The peer closes the session.
    pub(super) fn close(&mut self) {
        let reason = CloseReason::PeerClosed;
        self.publishers.closed(handle(7), reason);
    }

    pub(super) fn stream(&self, name: &StreamName) -> Option<Arc<Stream>> {
        self.context.registry.stream(name)
    }

    /// The frames that came.
    pub(super) fn pictures(&self) -> Vec<Sample> {
        self.recording.samples(TrackId::VIDEO)
    }

    pub(super) fn counts(&self) -> &Counters {
        &self.context.stats.whip
    }

    /// Requests for keyframes keep their distance.
    pub(super) fn check_plis(&self) {
        for pair in self.plis.windows(2) {
            let apart = pair[1] - pair[0];
            assert!(apart >= super::super::keyframes::INTERVAL, "{apart:?}");
        }
    }

    fn handle(&mut self, event: Event, now: Instant, said: &mut Said) {
        match event {
            // Unless it has stopped.
            Event::Sample(line) if self.lines[line].next_at().is_some() => {
                for packet in self.lines[line].send() {
                    self.post(packet);
                }
                self.next_sample(line);
            }
            Event::Sample(_) => {}
            Event::Report(line) => {
                let report = self.lines[line].report(self.now);
                self.schedule(self.now + self.link.delay, Event::Rtcp(report));
                self.schedule(self.now + Duration::from_secs(1), Event::Report(line));
            }
            Event::Rtp(packet) => {
                if let Some(numbered) = &mut self.numbered {
                    numbered.arrive(&packet, self.now);
                }
                self.publishers.rtp(handle(7), &packet, now, said);
            }
            Event::Rtcp(compound) => self.publishers.rtcp(handle(7), &compound, now, said),
            Event::Said(compound) => self.hear(&compound),
        }
    }

    fn next_sample(&mut self, line: usize) {
        if let Some(at) = self.lines[line].next_at() {
            self.schedule(at, Event::Sample(line));
        }
    }

    /// Sends a packet to the server, if it is not lost.
    fn post(&mut self, packet: Vec<u8>) {
        let packet = match &mut self.numbered {
            Some(numbered) => peer::numbered(packet, numbered.next(self.now)),
            None => packet,
        };
        if self.chance(self.link.doubled) {
            let at = self.travel();
            self.schedule(at, Event::Rtp(packet.clone()));
        }
        if !self.chance(self.link.lost) {
            let at = self.travel();
            self.schedule(at, Event::Rtp(packet));
        }
    }

    fn travel(&mut self) -> Duration {
        let jitter = u64::try_from(self.link.jitter.as_micros()).expect("it is short");
        let jitter = Duration::from_micros(self.random() % (jitter + 1));
        self.now + self.link.delay + jitter
    }

    /// Sends the server's packets to the peer, if they are not lost.
    fn say(&mut self, said: Said) {
        self.closed.extend(said.closed);
        for (session, compound) in said.compounds {
            assert_eq!(session, handle(7));
            self.note(&compound);
            if !self.chance(self.link.lost) {
                self.schedule(self.now + self.link.delay, Event::Said(compound.clone()));
            }
            self.compounds.push(compound);
        }
    }

    fn note(&mut self, compound: &[u8]) {
        let reported = feedback::read(compound);
        if let Some(numbered) = self.numbered.as_mut().filter(|_| !reported.is_empty()) {
            numbered.tell(reported, self.now);
        } else {
            assert!(reported.is_empty(), "nothing was numbered");
        }
        for packet in rtcp::packets(compound) {
            match packet {
                rtcp::Packet::Nack { lost, .. } => self.nacks.push((self.now, lost.collect())),
                rtcp::Packet::PictureLoss { media } => {
                    self.plis.push(self.now);
                    self.pli_sources.push(media);
                }
                rtcp::Packet::ReceiverReport { reports, .. } => {
                    let reports: Vec<_> = reports.collect();
                    if !reports.is_empty() {
                        self.reports.push((self.now, reports));
                    }
                }
                _ => panic!("{packet:?} was not asked for"),
            }
        }
    }

    /// The peer does what it is asked to.
    fn hear(&mut self, compound: &[u8]) {
        let mut again = Vec::new();
        for packet in rtcp::packets(compound) {
            match packet {
                rtcp::Packet::Nack { media, lost } => {
                    for line in self.lines.iter_mut().filter(|line| line.ssrc == media) {
                        again.extend(lost.clone().filter_map(|lost| line.repeat(lost)));
                    }
                }
                rtcp::Packet::PictureLoss { media } => {
                    let asked = self.lines.iter_mut().filter(|line| line.ssrc == media);
                    asked.for_each(Line::begin_anew);
                }
                _ => {}
            }
        }
        for packet in again {
            self.post(packet);
        }
    }

    fn schedule(&mut self, at: Duration, event: Event) {
        self.scheduled += 1;
        self.queue.insert((at, self.scheduled), event);
    }

    fn chance(&mut self, of_thousand: u64) -> bool {
        self.random() % 1_000 < of_thousand
    }

    /// Returns the next random number; every run has the same sequence.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }
}
