//! Audio and video in step.

use super::*;

/// A session whose audio and video take so many ms from their sampling to the network.
fn trial(audio_takes: u64, picture_takes: u64) -> Trial {
    let (mut heard, mut seen) = (Line::audio(), Line::pictures(2_000));
    heard.takes = Duration::from_millis(audio_takes);
    seen.takes = Duration::from_millis(picture_takes);
    let text = offer(&[audio(), picture(PayloadFormat::Vp8, FEEDBACK)]);
    let link = Link::delayed(20);
    Trial::new(&text, vec![heard, seen], link)
}

/// Sampling time of each sample, in ms, and how much later its timestamp is.
fn reported(trial: &Trial, line: usize, id: TrackId) -> Vec<(f64, f64)> {
    let sent = &trial.lines[line].sent;
    let came = trial.recording.samples(id);
    let reported = |came: &Sample| {
        let sent = sent.iter().find(|sent| sent.data == came.data);
        let sent = sent.expect("it was sent").pts;
        (millis(Timestamp::ZERO, sent), millis(sent, came.pts))
    };
    came.iter().map(reported).collect()
}

fn offsets(trial: &Trial, line: usize, id: TrackId) -> Vec<f64> {
    let reported = reported(trial, line, id);
    reported.into_iter().map(|(_, offset)| offset).collect()
}

/// Audio does not move at all, and no video frame jumps.
fn check_steps(trial: &Trial) {
    let audio = offsets(trial, 0, TrackId::AUDIO);
    assert!(audio.iter().all(|offset| (offset - audio[0]).abs() < 0.001));
    let picture = reported(trial, 1, TrackId::VIDEO);
    for pair in picture.windows(2) {
        let (passed, moved) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        assert!(moved.abs() <= passed / 9.9, "a leap: {pair:?}");
    }
}

#[test]
fn a_lossy_network_does_not_move_them() {
    let mut trial = trial(15, 85).with_reports(Duration::from_millis(900));
    trial.run(Duration::from_millis(60));
    trial.link = Link {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(30),
        lost: 50,
        doubled: 20,
    };
    trial.run(Duration::from_secs(10));
    check_steps(&trial);
    let audio = offsets(&trial, 0, TrackId::AUDIO)[0];
    let picture = offsets(&trial, 1, TrackId::VIDEO);
    assert!(picture.len() > 200);
    for offset in &picture[150..] {
        // Reports travel over the same network, but state the sampling time, not the arrival.
        assert!((offset - audio).abs() < 1.0);
    }
}
