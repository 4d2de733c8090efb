//! Networks that lose much, and publishers that do not repair it.

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const FAR: Link = Link {
    delay: ms(50),
    jitter: ms(5),
    lost: 0,
    doubled: 0,
};

/// A megabit a second of video, repeated as a browser does, and audio.
fn lines() -> Vec<Line> {
    let mut seen = Line::pictures(5_000);
    seen.rtx = Some((97, 201));
    vec![Line::audio(), seen]
}

/// Frames that arrived are among those sent, in order, and begin with a keyframe.
fn check_pictures(trial: &Trial, line: usize) -> f64 {
    let came = trial.recording.samples(TrackId::VIDEO);
    let sent = &trial.lines[line].sent;
    let mut rest = sent.iter();
    for sample in &came {
        assert!(rest.any(|sent| sent.data == sample.data), "it was not sent");
    }
    assert!(came.first().is_some_and(|first| first.keyframe));
    assert!(came.windows(2).all(|pair| pair[0].dts <= pair[1].dts));
    came.len() as f64 / sent.len() as f64
}

#[test]
fn one_packet_in_ten_is_mended_with_few_words() {
    let text = offer(&[audio(), picture(PayloadFormat::Vp8, FEEDBACK)]);
    let mut trial = Trial::new(&text, lines(), FAR);
    trial.run(ms(100));
    trial.link.lost = 100;
    trial.run(Duration::from_secs(60));
    // What is missing may still arrive.
    trial.lines.iter_mut().for_each(Line::stop);
    trial.run(Duration::from_secs(62));
    let share = check_pictures(&trial, 1);
    assert!(share > 0.99, "{share}");
    let counts = trial.counts();
    let packets = f64::from(trial.lines[1].packets);
    let nacked: usize = trial.nacks.iter().map(|(_, lost)| lost.len()).sum();
    // A tenth is lost, and a fifth of the requests or their answers, again and again.
    assert!((nacked as f64) < 0.16 * packets, "{nacked} of {packets}");
    let is_so = counts.recovered.value() as f64 > 0.08 * packets;
    assert!(is_so, "{counts:?}");
    assert_eq!(
        (counts.nacks.value(), counts.nacked.value()),
        (trial.nacks.len() as u64, nacked as u64)
    );
    for pair in trial.nacks.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= ms(10));
    }
    trial.check_plis();
    assert!(trial.plis.len() <= 6, "{:?}", trial.plis);
    assert_eq!(counts.plis.value(), trial.plis.len() as u64);
}

#[test]
fn nothing_is_asked_for_of_encoders_that_repeat_nothing() {
    let feedback = "a=rtcp-fb:96 nack pli\r\n";
    let text = offer(&[picture(PayloadFormat::Vp8, feedback)]);
    let mut trial = Trial::new(&text, vec![Line::pictures(3_000)], FAR);
    trial.run(ms(100));
    trial.link.lost = 5;
    trial.run(Duration::from_secs(60));
    let share = check_pictures(&trial, 0);
    assert!(share > 0.6, "{share}");
    assert!(trial.nacks.is_empty() && trial.plis.len() > 3);
    trial.check_plis();
    let counts = trial.counts();
    let is_so = counts.lost.value() > 10 && counts.recovered.value() == 0;
    assert!(is_so, "{counts:?}");
    assert!(counts.dropped_frames.value() > 10);
    // Feedback that may not be sent alone follows a report.
    let is_whole = |compound: &Vec<u8>| compound[1] == 201;
    assert!(trial.compounds.iter().all(is_whole));
}

/// As ffmpeg does, which reads a request only at the beginning of a datagram.
#[test]
fn requests_come_alone_where_one_section_says_that_they_may() {
    let unsaid = audio().replace("a=rtcp-rsize\r\n", "");
    let text = offer(&[unsaid, picture(PayloadFormat::Vp8, FEEDBACK)]);
    let mut trial = Trial::new(&text, lines(), FAR);
    trial.link.lost = 50;
    trial.run(Duration::from_secs(5));
    let asks = |compound: &&Vec<u8>| {
        let mut packets = rtcp::packets(compound);
        packets.any(|packet| matches!(packet, rtcp::Packet::Nack { .. }))
    };
    let requests: Vec<_> = trial.compounds.iter().filter(asks).collect();
    assert!(requests.len() > 10, "{}", requests.len());
    assert!(requests.iter().all(|compound| compound[1] == 205));
}

#[test]
fn a_picture_without_beginning_is_asked_for() {
    let text = offer(&[picture(PayloadFormat::Vp8, FEEDBACK)]);
    let mut line = Line::pictures(3_000);
    // The first one is lost.
    line.send();
    let mut trial = Trial::new(&text, vec![line], FAR);
    trial.run(Duration::from_secs(3));
    check_pictures(&trial, 0);
    let first = trial.plis.first().expect("a request");
    assert!(*first <= ms(40 + 50 + 45), "{first:?}");
    assert_eq!(trial.plis.len(), 1, "{:?}", trial.plis);
    let came = trial.recording.samples(TrackId::VIDEO);
    assert!(came.len() >= 25 * 5 / 2, "{}", came.len());
}

#[test]
fn listeners_wishes_are_passed_on_and_kept_apart() {
    let text = offer(&[picture(PayloadFormat::Vp8, FEEDBACK)]);
    // In order, so that the first frame is whole.
    let link = Link {
        jitter: Duration::ZERO,
        ..FAR
    };
    let mut trial = Trial::new(&text, vec![Line::pictures(3_000)], link);
    trial.run(Duration::from_secs(1));
    assert!(trial.plis.is_empty());
    let stream = trial.context.registry.list().remove(0);
    for step in 0..500 {
        stream.request_keyframe();
        trial.run(ms(1_000 + 10 * step));
    }
    trial.check_plis();
    assert!((4..=6).contains(&trial.plis.len()), "{:?}", trial.plis);
    let keyframes = trial.recording.samples(TrackId::VIDEO);
    let keyframes = keyframes.iter().filter(|sample| sample.keyframe).count();
    assert!(keyframes >= trial.plis.len());
}
