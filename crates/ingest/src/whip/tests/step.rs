//! Sound and picture in step.

use std::time::Duration;

use container::rtp::PayloadFormat;
use media::{Sample, Timestamp, TrackId};

use super::millis;
use super::offers::{FEEDBACK, offer, picture, sound};
use super::peer::Line;
use super::trial::{Link, Trial};

/// A session whose sound and picture take so many ms from their sampling to the network.
fn trial(sound_takes: u64, picture_takes: u64) -> Trial {
    let (mut heard, mut seen) = (Line::sound(), Line::pictures(2_000));
    heard.takes = Duration::from_millis(sound_takes);
    seen.takes = Duration::from_millis(picture_takes);
    let text = offer(&[sound(), picture(PayloadFormat::Vp8, FEEDBACK)]);
    let link = Link {
        delay: Duration::from_millis(20),
        ..Link::default()
    };
    Trial::new(&text, vec![heard, seen], link)
}

/// When each sample was sampled, in ms, and how much later its timestamp is.
fn told(trial: &Trial, line: usize, id: TrackId) -> Vec<(f64, f64)> {
    let sent = &trial.lines[line].sent;
    let came = trial.recording.samples(id);
    let told = |came: &Sample| {
        let sent = sent.iter().find(|sent| sent.data == came.data);
        let sent = sent.expect("it was sent").pts;
        (millis(Timestamp::ZERO, sent), millis(sent, came.pts))
    };
    came.iter().map(told).collect()
}

fn offsets(trial: &Trial, line: usize, id: TrackId) -> Vec<f64> {
    let told = told(trial, line, id);
    told.into_iter().map(|(_, offset)| offset).collect()
}

/// Sound does not move at all, and no picture jumps.
fn check_steps(trial: &Trial) {
    let sound = offsets(trial, 0, TrackId::AUDIO);
    assert!(sound.iter().all(|offset| (offset - sound[0]).abs() < 0.001));
    let picture = told(trial, 1, TrackId::VIDEO);
    for pair in picture.windows(2) {
        let (passed, moved) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        assert!(moved.abs() <= passed / 9.9, "a leap: {pair:?}");
    }
}

#[test]
fn reports_bring_picture_beside_sound() {
    for (sound_takes, picture_takes) in [(15, 85), (60, 5), (10, 10), (10, 18), (10, 400)] {
        let mut trial =
            trial(sound_takes, picture_takes).with_reports(Duration::from_millis(1_500));
        trial.run(Duration::from_secs(10));
        check_steps(&trial);
        let sound = offsets(&trial, 0, TrackId::AUDIO)[0];
        let picture = offsets(&trial, 1, TrackId::VIDEO);
        let first = picture[0] - sound;
        let late = picture_takes as f64 - sound_takes as f64;
        // By arrival, until reports are known.
        assert!((first - late).abs() < 0.1, "{first} {late}");
        let settled = &picture[picture.len() - 60..];
        for offset in settled {
            assert!((offset - sound).abs() < 1.0, "{}", offset - sound);
        }
    }
}

#[test]
fn without_reports_they_are_where_they_arrive() {
    let mut trial = trial(15, 55);
    trial.run(Duration::from_secs(3));
    check_steps(&trial);
    let sound = offsets(&trial, 0, TrackId::AUDIO)[0];
    for offset in offsets(&trial, 1, TrackId::VIDEO) {
        assert!((offset - sound - 40.0).abs() < 0.1);
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
    let sound = offsets(&trial, 0, TrackId::AUDIO)[0];
    let picture = offsets(&trial, 1, TrackId::VIDEO);
    assert!(picture.len() > 200);
    for offset in &picture[150..] {
        // Reports travel over the same network, but state the sampling time, not the arrival.
        assert!((offset - sound).abs() < 1.0);
    }
}
