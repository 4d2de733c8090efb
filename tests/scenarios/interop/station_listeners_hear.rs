//! Players and recorders of radio receive a station as it was sent: the right audio at the right pitch, under the right titles.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::{PUBLISH_KEY, Process, Server, Tool, vlc};

use crate::support::titles::update;
use crate::support::tones;
use crate::support::{DEADLINE, wait_for_stream, wait_until};

/// Each song is a tone of its own, one after the other, followed by a second of silence.
const SONG_SECONDS: u32 = 8;
const SILENCE_SECONDS: u32 = 1;
const SONGS: [&str; 4] = ["One", "Two", "Three", "Four"];
const FIRST_HZ: u32 = 440;

/// Returns the pitch of the song with this index, in Hz.
fn pitch_of(song: usize) -> f64 {
    f64::from(FIRST_HZ) * (song + 1) as f64
}

fn period() -> Duration {
    Duration::from_secs((SONG_SECONDS + SILENCE_SECONDS).into())
}

/// Makes one file of all songs.
fn songs(folder: &Path, name: &str, arguments: &str) -> PathBuf {
    let period = SONG_SECONDS + SILENCE_SECONDS;
    let seconds = period * SONGS.len() as u32;
    let tone = format!(
        "aevalsrc='0.5*sin(2*PI*t*{FIRST_HZ}*(1+floor(t/{period})))*lt(mod(t,{period}),{SONG_SECONDS})'\
         :d={seconds}:s={}",
        tones::RATE
    );
    let path = folder.join(name);
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &tone, "-ac", "2", "-b:a", "128k"])
        .args(arguments.split(' '))
        .arg(&path)
        .run(DEADLINE);
    path
}

/// Station that plays the songs from its start.
struct Station {
    server: Server,
    folder: TempDir,
    begun: Instant,
    _source: Process,
}

impl Station {
    fn mp3() -> Self {
        let encoder = "-c:a libmp3lame -write_xing 0 -id3v2_version 0";
        Self::start("radio.mp3", encoder, "-f mp3 -content_type audio/mpeg")
    }

    fn ogg() -> Self {
        let encoder = "-c:a libvorbis -metadata artist=Band -metadata title=One";
        Self::start("radio.ogg", encoder, "-f ogg -content_type application/ogg")
    }

    fn start(stream: &str, encoder: &str, format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let songs = songs(folder.path(), stream, encoder);
        let server = Server::start();
        let source = Tool::ffmpeg()
            .args(["-re", "-i"])
            .arg(songs)
            .args(["-c", "copy"])
            .args(format.split(' '))
            .arg(server.icecast_url(stream, PUBLISH_KEY))
            .start();
        wait_for_stream(&server, stream);
        Self {
            server,
            folder,
            begun: Instant::now(),
            _source: source,
        }
    }

    fn url(&self, stream: &str) -> String {
        self.server.http_url(&format!("/{stream}"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sends the title of a song when its turn has come.
    fn tell(&self, song: usize) {
        let turn = self.begun + period() * song as u32;
        wait_until("the next song", || Instant::now() >= turn);
        let query = format!("song=Band+-+{}", SONGS[song]);
        assert_eq!(update(self.server.addr("http"), PUBLISH_KEY, &query), 200);
    }
}

/// Returns the pitch of each half second.
fn halves(path: &Path) -> Vec<f64> {
    let audio = tones::decode(path);
    let halves = audio.chunks_exact(tones::RATE as usize / 2);
    halves.map(tones::pitch).collect()
}

fn count(halves: &[f64], song: usize) -> usize {
    let of_song = halves
        .iter()
        .filter(|heard| tones::is_pitch(**heard, pitch_of(song)));
    of_song.count()
}

/// Asserts that a recording of at least so many half seconds begins with the first song and continues with the second, with
/// nothing between them but their silence and the half seconds that contain some of either.
fn assert_songs(what: &str, path: &Path, halves_min: usize) {
    let heard = halves(path);
    assert!(heard.len() >= halves_min, "{what}: {heard:?}");
    let known = count(&heard, 0) + count(&heard, 1);
    // Half seconds on the boundaries on either side of a silence of two halves.
    assert!(heard.len() - known <= 4, "{what}: {heard:?}");
    let is_of = |song: usize| move |pitch: &f64| tones::is_pitch(*pitch, pitch_of(song));
    let last_of_first = heard.iter().rposition(is_of(0));
    let first_of_second = heard.iter().position(is_of(1));
    assert!(last_of_first.is_some(), "{what}: {heard:?}");
    let is_in_order = first_of_second.is_none() || last_of_first < first_of_second;
    assert!(is_in_order, "{what}: {heard:?}");
}

#[test]
fn mpg123_plays_and_shows_titles() {
    const FRAMES: &str = "460"; // Twelve seconds.
    let station = Station::mp3();
    station.tell(0);
    let wav = station.file("heard.wav");
    let mut player = Tool::new("mpg123")
        .args(["-n", FRAMES, "-w"])
        .arg(&wav)
        .arg(station.url("radio.mp3"))
        .start();
    let shows = |player: &Process, title: &str| {
        let line = format!("ICY-META: StreamTitle='Band - {title}';");
        wait_until(&line, || player.stderr().contains(&line));
    };
    shows(&player, "One");
    station.tell(1);
    shows(&player, "Two");
    assert!(player.wait(DEADLINE).success(), "{}", player.stderr());
    assert_songs("mpg123", &wav, 20);
}

#[test]
fn ogg123_plays_and_shows_titles() {
    let station = Station::ogg();
    let wav = station.file("heard.wav");
    let mut player = Tool::new("ogg123")
        // ogg123 fills half of its buffer before it begins.
        .args(["--buffer", "64", "--prebuffer", "10"])
        .args(["--end", "11", "--device", "wav", "--file"])
        .arg(&wav)
        .arg(station.url("radio.ogg"))
        .start();
    assert!(player.wait(DEADLINE).success(), "{}", player.stderr());
    let said = player.stderr();
    let stream = "Ogg Vorbis stream: 2 channel, 44100 Hz";
    for line in [stream, "Title: One", "Artist: Band"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let complains = said.contains("Warning") || said.contains("Error");
    assert!(!complains, "{said}");
    assert_songs("ogg123", &wav, 20);
}

/// Streamripper writes a song to a folder of its own while the song plays, and leaves the first song there, whose beginning it
/// missed.
#[test]
fn streamripper_splits_at_the_titles() {
    let station = Station::mp3();
    station.tell(0);
    let folder = station.file("rip");
    let _ripper = Tool::new("streamripper")
        .arg(station.url("radio.mp3"))
        .arg("-d")
        .arg(&folder)
        // `-s`: no folder for the station.
        .arg("-s")
        .start();
    let name = |song: usize| format!("Band - {}.mp3", SONGS[song]);
    let incomplete = |song: usize| folder.join("incomplete").join(name(song));
    let complete = |song: usize| folder.join(name(song));
    wait_until("the first title", || incomplete(0).exists());
    for song in [1, 2] {
        station.tell(song);
    }
    wait_until("the end of the second song", || complete(1).exists());
    wait_until("the third song", || incomplete(2).exists());
    for (song, path, halves_min) in [(0, incomplete(0), 8), (1, complete(1), 14)] {
        let heard = halves(&path);
        // Streamripper looks for the silence nearest to a title: less than a second of another song remains.
        let own = count(&heard, song);
        let others: usize = (0..SONGS.len()).map(|other| count(&heard, other)).sum();
        assert!(own >= halves_min && others - own <= 1, "{song}: {heard:?}");
    }
    let tags = Tool::ffprobe()
        .args(["-show_entries", "format_tags=artist,title"])
        .args(["-of", "csv=p=0"])
        .arg(complete(1))
        .run(DEADLINE);
    let tags = String::from_utf8(tags).unwrap();
    assert!(tags.contains("Band") && tags.contains("Two"), "{tags}");
}

/// mpv's status line ends with the player, so it is read then.
#[test]
fn mpv_plays_and_shows_titles() {
    let station = Station::mp3();
    station.tell(0);
    let mut player = Tool::new("mpv")
        .args(["--no-config", "--no-video", "--ao=null", "--length=16"])
        .arg("--term-status-msg=at ${=time-pos} now ${media-title}")
        .arg(station.url("radio.mp3"))
        .start();
    station.tell(1);
    let status = player.wait(DEADLINE);
    let said = [player.stdout(), player.stderr().into_bytes()].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(status.success(), "{said}");
    let (first, second) = (said.find("now Band - One"), said.find("now Band - Two"));
    assert!(first.is_some() && first < second, "{said}");
    assert!(said.contains("AO: [null] 44100Hz stereo"), "{said}");
    assert!(said.contains("at 15."), "{said}");
    let complains = said.to_lowercase().contains("error") || said.contains("Invalid");
    assert!(!complains, "{said}");
}

#[test]
fn vlc_plays() {
    let station = Station::mp3();
    let folder = station.file("vlc");
    std::fs::create_dir(&folder).unwrap();
    let wav = folder.join("heard.wav");
    // VLC runs as another user where the tests run as root.
    for path in [station.folder.path(), &folder] {
        make_writable(path);
    }
    let output = format!(
        "#transcode{{acodec=s16l,channels=2,samplerate={}}}:std{{access=file,mux=wav,dst={}}}",
        tones::RATE,
        wav.display()
    );
    let mut player = vlc()
        .args(["--quiet", "--intf", "dummy", "--run-time", "12"])
        .arg(station.url("radio.mp3"))
        .args(["--sout", &output, "vlc://quit"])
        .start();
    assert!(player.wait(DEADLINE).success(), "{}", player.stderr());
    assert_songs("VLC", &wav, 20);
}

fn make_writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
}
