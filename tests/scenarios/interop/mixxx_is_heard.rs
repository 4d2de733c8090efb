//! Mixxx, the disc jockey's program, publishes to the server: its audio plays, with the title of the song.
//!
//! Mixxx runs on a display without a screen, on JACK's dummy driver, and is operated by keys: it has no remote control.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use testkit::{PUBLISH_KEY, Process, Server, Tool};

use crate::support::desktop::{Display, Jack};
use crate::support::encoders::{decode, mount};
use crate::support::{DEADLINE, wait_until};

/// Longest time that a key that Mixxx has taken may be without effect. Pressing the same key again undoes it.
const EFFECT: Duration = Duration::from_secs(20);

/// Mixxx, its files, and the display and sound server that it takes for a desk.
struct Mixxx {
    home: TempDir,
    display: Display,
    jack: Jack,
}

impl Mixxx {
    /// Makes a Mixxx that has never been run. `format` is its name of a codec.
    fn new(server: &Server, stream: &str, format: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let this = Self {
            home,
            display: Display::start(),
            jack: Jack::start(),
        };
        let addr = server.addr("http");
        let profiles = this.path("broadcast_profiles");
        std::fs::create_dir(&profiles).unwrap();
        let profile = format!(
            "<!DOCTYPE broadcastprofile>\n<BroadcastProfile>\n<ProfileName>here</ProfileName><Enabled>1</Enabled>\n\
             <Host>{}</Host><Port>{}</Port><Servertype>Icecast2</Servertype><Login>source</Login>\n\
             <Password>{PUBLISH_KEY}</Password><Mountpoint>/{stream}</Mountpoint><StreamName>Booth</StreamName>\n\
             <StreamGenre>House</StreamGenre><Format>{format}</Format><Bitrate>128</Bitrate><Channels>2</Channels>\n\
             <MetadataFormat>$artist - $title</MetadataFormat>\n</BroadcastProfile>\n",
            addr.ip(),
            addr.port()
        );
        std::fs::write(profiles.join("here.bcp.xml"), profile).unwrap();
        let audio = "<!DOCTYPE SoundManagerConfig>\n\
                     <SoundManagerConfig api=\"JACK Audio Connection Kit\" samplerate=\"48000\" latency=\"5\" \
                     sync_buffers=\"2\" force_network_clock=\"0\" deck_count=\"2\">\n\
                     <SoundDevice name=\"system\" portAudioIndex=\"0\">\n\
                     <output type=\"Master\" index=\"0\" channel=\"0\" channel_count=\"2\"/>\n\
                     </SoundDevice>\n</SoundManagerConfig>\n";
        std::fs::write(this.path("soundconfig.xml"), audio).unwrap();
        std::fs::write(this.path("mixxx.cfg"), "[Keyboard]\nEnabled 1\n").unwrap();
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn start(&self, song: Option<&Path>) -> Process {
        let mixxx = Tool::new("mixxx")
            .arg("--settingsPath")
            .arg(self.home.path())
            // Mixxx's log, for when a test fails.
            .args(["--logLevel", "debug"])
            .env("HOME", self.home.path())
            .env("DISPLAY", &self.display.name)
            .env("JACK_DEFAULT_SERVER", &self.jack.name)
            .env("JACK_NO_START_SERVER", "1");
        match song {
            Some(song) => mixxx.arg(song),
            None => mixxx,
        }
        .start()
    }

    /// Runs xdotool, which is the user's hands and eyes.
    fn xdotool(&self, arguments: &[&str]) -> bool {
        Tool::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.display.name)
            .finish(DEADLINE)
            .status
            .success()
    }

    fn wait_for_window(&self, mixxx: &mut Process, title: &str) {
        wait_until(&format!("the window {title}"), || {
            assert!(mixxx.is_running(), "Mixxx ended: {}", mixxx.stderr());
            self.xdotool(&["search", "--onlyvisible", "--name", title])
        });
    }

    /// Chooses the music folder, which Mixxx requests at its first start, in a window that keys cannot operate.
    fn choose_music(&self) {
        let mut first = self.start(None);
        self.wait_for_window(&mut first, "^Choose music library directory$");
        first.kill();
        let music = format!(
            "INSERT INTO directories VALUES ('{}')",
            self.home.path().display()
        );
        Tool::new("sqlite3")
            .arg(self.path("mixxxdb.sqlite"))
            .arg(music)
            .run(DEADLINE);
    }

    /// Presses a key until it has an effect: Mixxx does not report when it starts to accept keys.
    fn press(&self, key: &str, has_effect: impl Fn() -> bool) {
        testkit::wait_until(&format!("the effect of {key}"), 3 * DEADLINE, || {
            // The click is at a spot without controls: it gives the window the keyboard.
            self.xdotool(&["mousemove", "512", "600", "click", "1", "key", key]);
            let until = std::time::Instant::now() + EFFECT;
            while std::time::Instant::now() < until {
                if has_effect() {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            false
        });
    }
}

#[test]
fn mixxx_sends_what_it_plays() {
    let server = Server::start();
    let stream = "booth.mp3";
    let mixxx = Mixxx::new(&server, stream, "MP3");
    mixxx.choose_music();
    let song = mixxx.path("song.flac");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", "sine=sample_rate=48000:duration=600"])
        .args(["-ac", "2"])
        .args(["-metadata", "artist=Band", "-metadata", "title=Song"])
        .arg(&song)
        .run(DEADLINE);
    let mut desk = mixxx.start(Some(&song));
    mixxx.wait_for_window(&mut desk, "^Mixxx$");
    mixxx.press("ctrl+l", || {
        mount(&server, stream)["server_name"] == "Booth"
    });
    // The song on the command line is in the second deck.
    mixxx.press("l", || {
        mount(&server, stream)["yp_currently_playing"] == "Band - Song"
    });
    // The audio may have gaps: JACK does not wait for a program that is late on a busy machine.
    let audio = decode(&server, stream);
    let loudest = audio.iter().map(|sample| sample.unsigned_abs()).max();
    assert!(loudest > Some(1_000), "it plays: {loudest:?}");
    let facts = mount(&server, stream);
    assert_eq!(facts["genre"], "House", "{facts}");
    assert!(desk.is_running());
}
