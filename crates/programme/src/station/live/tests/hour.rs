//! An hour of twenty songs by real encoders, as fast as it goes: what a listener receives decodes without a fault, and
//! is as long as the songs.

use testkit::Tool;

use super::*;

const SONGS: usize = 20;

/// Silence of an encoder that may remain: 50 ms at a join.
const JOIN_MAX: Duration = Duration::from_millis(50);

/// Ways to encode a song: constant and variable bit rates, without a table of the encoder's silence, with old and with
/// long tags. All are 44.1 kHz in stereo.
const ENCODINGS: [&[&str]; 5] = [
    &["-b:a", "128k"],
    &["-q:a", "5", "-id3v2_version", "3"],
    &["-b:a", "320k", "-write_id3v1", "1"],
    &["-b:a", "64k", "-write_xing", "0"],
    &["-abr", "1", "-b:a", "160k", "-joint_stereo", "0"],
];

/// Encodes noise over a tone, so that frames take from the bit reservoir.
fn song(file: &Path, number: usize) {
    let seconds = 178.5 + number as f64;
    let audio = format!(
        "anoisesrc=color=pink:amplitude=0.2:duration={seconds}:sample_rate=44100[noise];\
         sine=frequency={}:duration={seconds}:sample_rate=44100[tone];\
         [noise][tone]amix=duration=first",
        200 + 20 * number
    );
    let encoder = Tool::ffmpeg().args(["-f", "lavfi", "-i", &audio]);
    // One has cover art, which stands before the audio.
    let cover = "testsrc=size=640x640:rate=1:duration=1";
    let encoder = match number {
        1 => encoder
            .args(["-f", "lavfi", "-i", cover, "-map", "0", "-map", "1"])
            .args(["-frames:v", "1", "-c:v", "mjpeg"]),
        _ => encoder,
    };
    encoder
        .args(["-ac", "2", "-compression_level", "9"])
        .args(ENCODINGS[number])
        .arg(file)
        .run(testkit::DEADLINE);
}

/// Duration of a file once it is decoded, and the complaints of the decoder.
fn decoded(file: &Path) -> (Duration, String) {
    let decoder = Tool::ffmpeg()
        .arg("-i")
        .arg(file)
        .args(["-map", "0:a", "-ac", "1", "-ar", "8000", "-f", "u8", "-"])
        .finish(testkit::DEADLINE);
    assert!(decoder.status.success(), "{}", decoder.stderr);
    let seconds = decoder.stdout.len() as f64 / 8_000.0;
    (Duration::from_secs_f64(seconds), decoder.stderr)
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_twenty_songs_decodes_without_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |number| folder.path().join(format!("{number:02}.mp3"));
    let mut songs = Duration::ZERO;
    for number in 0..ENCODINGS.len() {
        song(&path(number), number);
        // One was cut off in the middle of a frame.
        if number == 3 {
            let whole = fs::read(path(number)).expect("it is there");
            fs::write(path(number), &whole[..whole.len() - 10_100]).expect("it is written");
        }
        let copies = (number..SONGS).step_by(ENCODINGS.len());
        for copy in copies.clone().skip(1) {
            fs::copy(path(number), path(copy)).expect("it is copied");
        }
        songs += decoded(&path(number)).0 * copies.count() as u32;
    }
    // These two do not fit.
    let slow = folder.path().join("slow.mp3");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", "sine=duration=3:sample_rate=22050"])
        .args(["-ac", "2"])
        .arg(&slow)
        .run(testkit::DEADLINE);
    let torn = &fs::read(path(0)).expect("it is there")[..300];
    fs::write(folder.path().join("torn.mp3"), torn).expect("it is written");

    let station = TestStation::of(folder, false);
    let mut tap = station.tap().await;
    let began = now();
    let (mut bytes, mut samples, mut titles) = (Vec::new(), 0_u64, Vec::new());
    loop {
        let next = tap.next();
        match tokio::time::timeout(Duration::from_secs(5), next).await {
            Ok(Some(Tapped::Item(Item::Sample(sample)))) => {
                samples += 1_152;
                bytes.extend_from_slice(&sample.data);
            }
            Ok(Some(Tapped::Item(Item::Title(title)))) => titles.push(title.text.clone()),
            Ok(Some(Tapped::Item(_))) => {}
            Ok(other) => panic!("the stream is lost: {other:?}"),
            Err(_) => break,
        }
    }
    let elapsed = now() - began;
    let report = station.handle.report();
    assert_eq!((report.phase, report.tracks), (Phase::Ended, SONGS));
    let expected: Vec<_> = (0..SONGS).map(|number| format!("{number:02}")).collect();
    assert_eq!(titles, expected);
    let refused = report.refused.iter();
    let refused = refused.map(|one| (&one.name[..], one.reason.contains("22050 Hz")));
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused, [("torn.mp3", false), ("slow.mp3", true)]);

    let audio = Duration::from_secs_f64(samples as f64 / 44_100.0);
    assert!(elapsed + LEAD >= audio, "{audio:?} in {elapsed:?}");
    let received = station.folder.path().join("received");
    fs::write(&received, bytes).expect("it is written");
    let (heard, complaints) = decoded(&received);
    assert_eq!(complaints, "");
    let silence = heard.checked_sub(songs);
    let silence = silence.expect("nothing of a song is missing");
    let most = JOIN_MAX * SONGS as u32;
    assert!(silence <= most, "{silence:?} more than {songs:?}");
    assert!(songs > Duration::from_secs(3_600), "{songs:?}");
}
