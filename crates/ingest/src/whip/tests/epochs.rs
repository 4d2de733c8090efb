//! Publishers that come, go, fall silent and take a stream from each other.

use media::codec::h264::AvcConfig;
use net::panics::Part;
use net::wait;

use super::super::permit;
use super::peer::ntp;
use super::*;
use crate::testing::request;
use crate::{Error, Rejection};

fn pictures() -> String {
    offer(&[picture(PayloadFormat::Vp8, FEEDBACK)])
}

/// A publisher of small pictures.
fn trial() -> Trial {
    Trial::new(&pictures(), vec![Line::pictures(500)], Link::default())
}

/// A ticket for audio.
fn heard(context: &Context) -> PublisherTicket {
    ticket(context, agreed(&[audio()]).expect("usable"))
}

fn phase(context: &Context) -> Phase {
    context.registry.list()[0].info().phase
}

#[test]
fn a_publisher_is_counted_while_it_is_there() {
    let log = Log::default();
    let _listening = log.capture();
    let mut trial = trial();
    let stats = Arc::clone(&trial.context.stats);
    let publishers = || stats.publishers.value(Protocol::Whip);
    assert_eq!(publishers(), 0, "it has sent nothing");
    trial.run(SECOND);
    assert_eq!(publishers(), 1);
    assert!(stats.bytes.value(Protocol::Whip) > 10_000);
    trial.close();
    let packets = trial.counts().packets.value();
    assert_eq!(packets, u64::from(trial.lines[0].packets));
    assert_eq!(publishers(), 0);
    assert!(trial.publishers.is_empty());
    assert_eq!(phase(&trial.context), Phase::Lingering);
    assert!(line(&log, "publishing begins").contains("whip"));
    line(&log, "the peer closed the session");
    // Nothing of it is left: its packets belong to no session.
    let (now, mut said) = (Instant::now(), Said::default());
    let publishers = &mut trial.publishers;
    publishers.rtp(handle(7), &[0x80; 40], now, &mut said);
    publishers.closed(handle(7), CloseReason::Silent);
}

/// A session that cannot be sent to.
#[derive(Default)]
struct Broken {
    closed: Vec<Handle>,
}

impl PublisherOutbox for Broken {
    fn rtcp(&mut self, _: Handle, _: &[u8]) {
        panic!("a defect of the server");
    }

    fn close(&mut self, session: Handle) {
        self.closed.push(session);
    }
}

#[test]
fn a_panic_in_a_session_s_turn_ends_that_session() {
    net::panics::install_hook();
    let mut trial = trial();
    trial.run(SECOND);
    let panics = Part::Webrtc.panics();
    let mut broken = Broken::default();
    // By then it has to report.
    let later = Instant::now() + 5 * SECOND;
    trial.publishers.turn(later, &mut broken);
    assert!(Part::Webrtc.panics() > panics);
    assert_eq!(broken.closed, [handle(7)]);
    assert!(trial.publishers.is_empty());
    assert_eq!(phase(&trial.context), Phase::Lingering);
}

#[test]
fn silence_ends_a_publisher() {
    let mut trial = Trial::new(&pictures(), Vec::new(), Link::default());
    trial.run(Duration::from_secs(19));
    assert!(trial.closed.is_empty());
    trial.run(Duration::from_secs(21));
    assert_eq!(trial.closed, [handle(7)], "no media at all");
    let context = Arc::clone(&trial.context);
    assert_eq!(context.stats.rejected.value(Rejection::Slow), 1);
    assert_eq!(phase(&context), Phase::Lingering);

    let mut stopped = self::trial();
    stopped.run(3 * SECOND);
    stopped.lines[0].stop();
    stopped.run(12 * SECOND);
    assert!(stopped.closed.is_empty());
    stopped.run(14 * SECOND);
    assert_eq!(stopped.closed, [handle(7)]);
    assert!(stopped.publishers.is_empty());
}

#[test]
fn the_next_publisher_takes_over_and_listeners_stay() {
    let mut trial = trial();
    trial.run(2 * SECOND);
    let before = trial.pictures();
    let context = Arc::clone(&trial.context);
    let agreed = agreed(&[picture(PayloadFormat::Vp8, FEEDBACK)]);
    let next = ticket(&context, agreed.expect("usable"));
    let mut next = Connected::new(&context, next);
    next.turn(SECOND);
    trial.run(3 * SECOND);
    assert!(trial.closed.is_empty(), "the next one has sent nothing yet");
    let before = trial.pictures().len().max(before.len());
    let mut line = Line::pictures(500);
    for step in 0..10 {
        for packet in line.send() {
            next.rtp(&packet, Duration::from_millis(40 * step));
        }
    }
    let items = trial.recording.items();
    let epochs = items.iter().filter(|item| matches!(item, Item::Epoch));
    assert_eq!(epochs.count(), 2);
    let all = trial.pictures();
    assert_eq!(all.len(), before + 10);
    assert!(all.windows(2).all(|pair| pair[0].dts <= pair[1].dts));
    // The old one learns of it by its next packet.
    trial.run(4 * SECOND);
    assert_eq!(trial.closed, [handle(7)]);
    assert!(trial.publishers.is_empty());
    assert_eq!(context.stats.publishers.value(Protocol::Whip), 1);
    // And it also learns it when it sends nothing.
    context.registry.list()[0].end(fanout::events::EndReason::Operator);
    next.turn(2 * SECOND);
    assert_eq!(next.said.closed, [handle(8)]);
    assert!(next.publishers.is_empty());
}

#[test]
fn the_server_ends_all_sessions() {
    let mut trial = trial();
    trial.run(SECOND);
    trial.publishers.end();
    assert!(trial.publishers.is_empty());
    assert_eq!(trial.context.stats.publishers.value(Protocol::Whip), 0);
    let due = trial.publishers.turn(Instant::now(), &mut Said::default());
    assert_eq!(due, None);
}

#[test]
fn refused_publishers_are_counted() {
    let context = test_context(Takeover::SameCredential, 1);
    let refused = |name: &str, secret: Option<&str>| {
        let name = StreamName::parse(name).expect("a name");
        let request = request(&name, secret);
        let answer = wait::at_once(&mut Box::pin(permit(&context, &request)));
        answer.expect("at once").expect_err("it may not")
    };
    for (name, secret, reason) in [
        ("a/b", None, Rejection::CredentialMissing),
        ("a/b", Some("guess"), Rejection::CredentialWrong),
        ("admin/x", Some(KEY), Rejection::Name),
        ("live/show/titles", Some(KEY), Rejection::Name),
    ] {
        let before = context.stats.rejected.value(reason);
        assert_eq!(refused(name, secret).rejection(), Some(reason), "{name}");
        assert_eq!(context.stats.rejected.value(reason), before + 1, "{name}");
    }
    let first = live(&context);
    let other = agreed(&[audio()]).expect("usable");
    let permission = publishing(&context, &name(), OTHER_KEY);
    let error = admit(&context, permission, PEER, "x", other);
    assert!(matches!(error, Err(Error::Refused(_))));
    drop(first);
    assert_eq!(phase(&context), Phase::Lingering);
}

/// The line of a log that says something.
fn line(log: &Log, words: &str) -> String {
    let found = log.lines().into_iter().find(|line| line.contains(words));
    found.unwrap_or_else(|| panic!("{words:?} is not in the log"))
}

#[test]
fn an_offer_alone_disturbs_no_publisher() {
    let log = Log::default();
    let _listening = log.capture();
    let context = test_context(Takeover::SameCredential, 1);
    let present = live(&context);
    let epoch = || context.registry.list()[0].info().epoch;
    let before = epoch();
    let next = || heard(&context);
    // One never sends anything; one breaks off; one is withdrawn; one connects and sends nothing.
    next().abandon(CloseReason::NeverCame);
    assert!(line(&log, "no connectivity check").contains(STREAM));
    next().abandon(CloseReason::NotConnected);
    line(&log, "made no keys in time");
    drop(next());
    line(&log, "was asked for");
    let mut idle = Connected::new(&context, next());
    idle.rtp(&[0x80; 40], Duration::ZERO);
    idle.turn(21 * SECOND);
    assert_eq!(idle.said.closed, [handle(8)]);
    let words = line(&log, "no media arrived");
    assert!(words.contains("came to nothing") && words.contains(&PEER.to_string()));
    assert_eq!((epoch(), phase(&context)), (before, Phase::Live));
    assert_eq!(context.stats.rejected.value(Rejection::Slow), 4);
    assert_eq!(context.stats.publishers.value(Protocol::Whip), 0);
    drop(present);
}

#[test]
fn a_stream_that_went_to_another_meanwhile_is_not_taken() {
    let log = Log::default();
    let _listening = log.capture();
    let context = test_context(Takeover::Never, 1);
    let late = heard(&context);
    let present = live(&context);
    let mut late = Connected::new(&context, late);
    for packet in Line::audio().send() {
        late.rtp(&packet, Duration::ZERO);
    }
    assert_eq!(late.said.closed, [handle(8)]);
    assert!(late.publishers.is_empty());
    assert!(line(&log, "came to nothing").contains("published by another client"));
    assert_eq!(context.stats.rejected.value(Rejection::Busy), 1);
    assert_eq!(phase(&context), Phase::Live);
    drop(present);
}

#[test]
fn reports_tell_what_came_and_how_much_may_come() {
    let text = offer(&[audio(), picture(PayloadFormat::Vp8, FEEDBACK)]);
    let lines = vec![Line::audio(), Line::pictures(3_000)];
    let link = Link::delayed(30);
    let mut trial = Trial::new(&text, lines, link).with_reports(Duration::from_millis(500));
    trial.run(Duration::from_millis(100));
    // At once, so that the sender does not begin with too little.
    let (at, first) = &trial.reports[0];
    assert_eq!((*at, first.len()), (link.delay, 1));
    let mut allowed = Vec::new();
    rtcp::write_remb(&mut allowed, 1, 2_500_000, &[first[0].ssrc]);
    let compound = &trial.compounds[0];
    assert!(compound.ends_with(&allowed) && compound[1] == 201);
    // The reports' description of their source.
    assert!(compound.windows(8).any(|bytes| bytes == b"carillon"));

    trial.link.lost = 100;
    trial.link.jitter = Duration::from_millis(3);
    trial.run(20 * SECOND);
    for pair in trial.reports.windows(2).skip(2) {
        let apart = pair[1].0 - pair[0].0;
        let usual = SECOND..SECOND + Duration::from_millis(50);
        assert!(usual.contains(&apart), "{apart:?}");
    }
    let (at, last) = trial.reports.last().expect("there are some");
    assert_eq!(last.len(), 2);
    for report in last {
        let line = trial.lines.iter().find(|line| line.ssrc == report.ssrc);
        let share = f64::from(report.lost) / f64::from(line.expect("a line").packets);
        // Repeated packets do not hide it.
        assert!((0.06..0.14).contains(&share), "{share}");
        // The round trip in 65,536ths of a second, if the peer receives it now.
        let middle = (ntp(*at + link.delay) >> 16) as u32;
        let round_trip = report.round_trip(middle).expect("a report was echoed");
        let off = round_trip.abs_diff(65_536 * 60 / 1_000);
        assert!(off < 200, "{round_trip}");
    }
    let audio = last.iter().find(|report| report.ssrc == 100);
    let audio = audio.expect("sound");
    assert!(audio.lost > 60 && audio.fraction_lost < 128, "{audio:?}");
    let counts = trial.counts();
    let reported = trial.reports.iter().map(|(_, all)| all.len() as u64);
    assert_eq!(counts.reports.value(), reported.sum::<u64>());
    assert!(counts.jitter_micros.value() > 0);
}

/// As some encoders send several sizes: without a word about them. The smallest arrives first.
#[test]
fn of_sources_without_names_the_one_is_taken_that_brings_most() {
    let (mut low, mut high) = (Line::pictures(300), Line::pictures(900));
    low.become_another(300, 1, 2);
    high.takes = Duration::from_millis(5);
    let mut trial = Trial::new(&pictures(), vec![low, high], Link::default());
    trial.run(SECOND / 2);
    let of = |trial: &Trial, line: usize| {
        let sent = &trial.lines[line].sent;
        let came = trial.pictures().into_iter();
        let is_of = |sample: Sample| sent.iter().any(|one| one.data == sample.data);
        came.map(is_of).collect::<Vec<_>>()
    };
    assert!(!of(&trial, 0).contains(&false), "nothing is known yet");
    trial.run(5 * SECOND);
    let is_high = of(&trial, 1);
    let first = is_high.iter().position(|is_high| *is_high);
    let first = first.expect("it was taken");
    assert!(first < 30, "within a second or so: {first}");
    assert!(!is_high[first..].contains(&false), "and for good");
    assert!(is_high.len() - first > 80);
    // It begins with a keyframe, which was asked for.
    assert!(trial.pictures()[first].keyframe);
    assert!(trial.counts().refused.value() > 80);
    // One that stops makes room for another.
    trial.lines[1].stop();
    trial.run(8 * SECOND);
    assert_eq!(of(&trial, 0).last(), Some(&true));
}

/// Video of every format that was answered is accepted, whichever is sent.
#[test]
fn the_first_packet_tells_the_format() {
    let both = "m=video 9 UDP/TLS/RTP/SAVPF 96 97 107\r\na=sendonly\r\na=rtcp-rsize\r\n\
         a=rtpmap:107 H264/90000\r\na=fmtp:107 packetization-mode=1;profile-level-id=42e01f\r\n\
         a=rtcp-fb:107 nack\r\na=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 nack\r\n\
         a=rtcp-fb:96 nack pli\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n";
    let text = offer(&[both.to_owned()]);
    let mut line = Line::pictures(500);
    line.rtx = Some((97, 201));
    let mut trial = Trial::new(&text, vec![line], Link::default());
    trial.run(2 * SECOND);
    assert!(trial.pictures().len() > 40);
    // The sender changes the format, as browsers may.
    let media = media_clips::of_clip(testkit::Clip::Flv, PayloadFormat::H264);
    let mut next = Line::of_media(&media, 200, 107);
    next.become_another(300, 1, 2);
    next.takes = 4 * SECOND;
    trial.lines[0].stop();
    trial.lines.push(next);
    trial.wake(1);
    trial.run(8 * SECOND);
    assert_eq!(trial.recording.tracks(TrackId::VIDEO).len(), 2);
}

fn goodbye(trial: &mut Trial) {
    let mut bye = Vec::new();
    rtcp::write_bye(&mut bye, trial.lines[0].ssrc);
    trial.hear_report(bye);
}

#[test]
fn a_source_that_begins_anew_continues() {
    let mut trial = trial();
    trial.run(2 * SECOND);
    let before = trial.pictures().len();
    // It sends a goodbye, and another source has other numbers and times.
    goodbye(&mut trial);
    trial.lines[0].become_another(999, 17, 5);
    trial.run(4 * SECOND);
    let all = trial.pictures();
    assert!(all.len() >= before + 45, "{} {before}", all.len());
    let mut steps = all.windows(2).map(|pair| pair[1].pts - pair[0].pts);
    // The one frame without its beginning is missing.
    assert!(steps.all(|step| (0..400).contains(&step.millis())));
    assert!(all[before..].iter().any(|sample| sample.keyframe));
}

#[test]
fn a_publisher_that_said_goodbye_is_asked_for_nothing() {
    let mut trial = trial();
    trial.run(2 * SECOND);
    goodbye(&mut trial);
    trial.lines[0].stop();
    let asked = (trial.plis.len(), trial.nacks.len());
    trial.context.registry.list().remove(0).request_keyframe();
    // Time would stand still if something stayed due and were never done.
    trial.run(4 * SECOND);
    assert_eq!((trial.plis.len(), trial.nacks.len()), asked);
}

#[test]
fn another_size_of_picture_is_announced() {
    let media = media_clips::of_clip(testkit::Clip::Flv, PayloadFormat::H264);
    let larger = media_clips::of_clip(testkit::Clip::FlvLarger, PayloadFormat::H264);
    let text = offer(&[picture(PayloadFormat::H264, FEEDBACK)]);
    let line = Line::of_media(&media, 200, 96);
    let mut trial = Trial::new(&text, vec![line], Link::default());
    trial.run(2 * SECOND);
    trial.lines[0].continue_with(&larger);
    trial.wake(0);
    trial.run(5 * SECOND);
    let tracks = trial.recording.tracks(TrackId::VIDEO);
    assert_eq!(tracks.len(), 2);
    for (track, size) in tracks.iter().zip([(320, 180), (480, 270)]) {
        let config = AvcConfig::parse(&track.config);
        assert_eq!(config.and_then(|config| config.dimensions()), Some(size));
    }
    let samples = trial.pictures().len();
    assert_eq!(samples, media.samples.len() + larger.samples.len());
}

#[test]
fn old_packets_in_the_role_of_padding_change_nothing() {
    let mut line = Line::pictures(3_000);
    line.rtx = Some((97, 201));
    let mut trial = Trial::new(&pictures(), vec![line], Link::default());
    trial.run(20 * SECOND);
    let before = trial.pictures().len();
    for step in 0..400u16 {
        // Those of ten seconds ago, and some that were never sent.
        let sequence = 65_500u16.wrapping_add(step);
        let header = Header {
            payload_type: 97,
            ssrc: 201,
            sequence: step,
            ..Header::default()
        };
        let head = [&header.to_bytes()[..], &sequence.to_be_bytes()].concat();
        trial.hear_media([&head[..], &[0x10, 0x51, 5, 0, 7]].concat());
        trial.hear_media(header.to_bytes().to_vec());
    }
    trial.run(22 * SECOND);
    let after = trial.pictures().len();
    assert!(after >= before + 49, "{before} {after}");
    assert!(trial.plis.is_empty());
    assert_eq!(trial.counts().lost.value(), 0);
}
