//! Films, joined: every sample, every distance within a film, and every join is exact.

use media::TrackId;

use super::*;

/// Entry of ffprobe about a packet of a file: whether it is video, its presentation time, and its bytes.
fn packets(path: &Path) -> Vec<(bool, f64, usize)> {
    let reported = Tool::ffprobe()
        .args(["-show_entries", "packet=codec_type,pts_time,size"])
        .args(["-of", "csv=p=0"])
        .arg(path)
        .run(DEADLINE);
    let reported = String::from_utf8(reported).expect("text");
    let packet = |line: &str| {
        let mut fields = line.split(',');
        let is_picture = fields.next()? == "video";
        let at = fields.next()?.parse().ok()?;
        Some((is_picture, at, fields.next()?.parse().ok()?))
    };
    reported.lines().filter_map(packet).collect()
}

/// A film with B-frames and audio, made anew as long as it is wanted.
struct Studio {
    folder: tempfile::TempDir,
    whole: std::path::PathBuf,
}

impl Studio {
    fn new(seconds: u32, size: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = folder.path().join("whole.mp4");
        Tool::ffmpeg()
            .args(["-f", "lavfi", "-i"])
            .arg(format!("testsrc2=size={size}:rate=25:duration={seconds}"))
            .args(["-f", "lavfi", "-i"])
            .arg(format!("sine=sample_rate=48000:duration={seconds}"))
            .args("-c:v libx264 -preset ultrafast -bf 2 -g 50 -threads 1 -c:a aac".split(' '))
            .arg(&whole)
            .run(DEADLINE);
        Self { folder, whole }
    }

    /// A copy with this name, whose audio and video end at different times.
    fn film(&self, name: &str, [audio, pictures]: [f64; 2]) -> Track {
        let path = self.folder.path().join(name);
        let one = |seconds: f64| format!("{seconds}");
        Tool::ffmpeg()
            .args(["-t", &one(pictures), "-i"])
            .arg(&self.whole)
            .args(["-t", &one(audio), "-i"])
            .arg(&self.whole)
            .args("-map 0:v -map 1:a -c copy".split(' '))
            .arg(&path)
            .run(DEADLINE);
        Track {
            title: name.to_owned(),
            ..track_of(&path)
        }
    }
}

/// The samples of each film that was played.
fn films(station: &Station) -> Vec<Vec<&Sample>> {
    let mut films: Vec<Vec<&Sample>> = Vec::new();
    for item in &station.items {
        match item {
            Item::Title(_) => films.push(Vec::new()),
            Item::Sample(sample) => films.last_mut().expect("a film").push(sample),
            _ => {}
        }
    }
    films
}

fn is_picture(sample: &Sample) -> bool {
    sample.track == TrackId::VIDEO
}

fn begin(film: &[&Sample]) -> Timestamp {
    film.iter().map(|sample| sample.pts).min().expect("samples")
}

fn end(film: &[&Sample]) -> Timestamp {
    let ends = film.iter().map(|sample| sample.pts + sample.duration);
    ends.max().expect("samples")
}

/// Demands that the films follow each other, and that each is as in its file.
fn assert_exact(station: &Station, tracks: &[Track]) -> Timestamp {
    let films = films(station);
    assert_eq!(films.len(), tracks.len());
    let mut ended = Timestamp::ZERO;
    for (film, track) in films.iter().zip(tracks) {
        let packets = packets(&track.path);
        let shown = packets.iter().filter(|packet| packet.0);
        let origin = shown.map(|packet| packet.1).fold(f64::MAX, f64::min);
        let first = film.iter().find(|sample| is_picture(sample));
        let first = first.expect("pictures").pts;
        for of_pictures in [true, false] {
            let expected = packets.iter().filter(|packet| packet.0 == of_pictures);
            let is_of = |sample: &&&Sample| is_picture(sample) == of_pictures;
            let found: Vec<_> = film.iter().filter(is_of).collect();
            let mut count = 0;
            for (sample, (_, at, bytes)) in found.iter().zip(expected.clone()) {
                assert_eq!(sample.data.len(), *bytes, "{}: {count}", track.title);
                let apart = (sample.pts - first).seconds() - (at - origin);
                assert!(apart.abs() < 2e-6, "{}: {count}: {apart}", track.title);
                count += 1;
            }
            assert_eq!(found.len(), count, "{}", track.title);
            assert_eq!(expected.count(), count, "{}", track.title);
        }
        let title = &track.title;
        assert_eq!(begin(film), ended, "{title}: no hole and no overlap");
        ended = end(film);
    }
    for of_pictures in [true, false] {
        let samples = station.samples();
        let mut samples = samples.filter(|sample| is_picture(sample) == of_pictures);
        let mut last = samples.next().expect("samples").dts;
        for sample in samples {
            assert!(sample.dts > last && sample.pts >= sample.dts);
            last = sample.dts;
        }
    }
    ended
}

#[test]
fn an_hour_of_twenty_films_is_exact() {
    let studio = Studio::new(200, "64x36");
    let tracks: Vec<_> = (0..20)
        .map(|number| {
            let kind = if number % 3 == 1 { "flv" } else { "mp4" };
            // Alternately the audio and the video is longer.
            let shorter = 175.0 + 1.3 * f64::from(number);
            let lengths = [shorter, 180.0 + f64::from(number % 2)];
            studio.film(&format!("{number}.{kind}"), lengths)
        })
        .collect();
    let format = tracks[0].format;
    assert_eq!(format.to_string(), "H.264 with AAC-LC, 48000 Hz, mono");
    assert!(tracks.iter().all(|track| track.format == format));
    let files = tracks.iter().cloned().map(|track| (track, Vec::new()));
    let mut station = Station::of(format, files.collect());
    while let Some(at) = station.wake() {
        assert!(at > station.now, "it always waits");
        station.now = at;
    }
    let end = assert_exact(&station, &tracks);
    let lengths = tracks.iter().map(|track| track.length.expect("known"));
    let sum = lengths.fold(Span::ZERO, |sum, one| sum + one);
    let error = (end - Timestamp::ZERO).seconds() - sum.seconds();
    assert!(error.abs() < 20.0 * 0.1, "lengths are about right: {error}");
    let elapsed = Span::from(station.now - station.began);
    let ahead = end.millis() - elapsed.millis();
    assert!((0..=1_300).contains(&ahead), "{ahead} ms ahead");
    let reported = station.items.iter();
    let reported = reported.filter(|item| matches!(item, Item::Track(_)));
    assert_eq!(reported.count(), 2, "all have one configuration");
}

#[test]
fn a_skip_goes_to_the_next_films_keyframe() {
    let [one, other] = ["64x36", "96x54"].map(|size| Studio::new(8, size));
    let tracks = [
        one.film("a.mp4", [8.0; 2]),
        other.film("b.flv", [8.0; 2]),
        one.film("c.mp4", [8.0; 2]),
    ];
    let files = tracks.clone().map(|track| (track, Vec::new()));
    let mut station = Station::of(tracks[0].format, files.into());
    for _ in 0..5 {
        station.now = station.wake().expect("it goes on");
    }
    station.playout.skip();
    station.present = Box::new(Vec::new);
    station.play();
    let films = films(&station);
    assert_eq!(films.len(), 3);
    let end = end(&films[0]);
    assert!((1_500..3_000).contains(&end.millis()), "{end:?}");
    let begin = begin(&films[1]) - end;
    // A frame of the previous film may have been decoded already.
    assert!((0..=80).contains(&begin.millis()), "{begin:?}");
    let picture = films[1].iter().find(|sample| is_picture(sample));
    assert!(picture.expect("pictures").keyframe);
    let configurations = station.items.iter().filter(|item| match item {
        Item::Track(track) => track.id == TrackId::VIDEO,
        _ => false,
    });
    assert_eq!(configurations.count(), 3, "each film has its own");
}
