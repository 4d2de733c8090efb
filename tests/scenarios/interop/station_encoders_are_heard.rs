//! The encoders that radio stations run publish to the server: each sends a tone of 440 Hz, or silence where it has no other
//! input, and the audio that listeners receive decodes without a complaint, at that pitch, and with the title that the encoder
//! set.
//!
//! None of the encoders has a sound card: a tone comes to ALSA through a FIFO, and JACK runs with its dummy driver.

use std::path::PathBuf;

use tempfile::TempDir;
use testkit::{PUBLISH_KEY, Process, Server, Tool, free_address};

use crate::support::desktop::{Display, Jack};
use crate::support::encoders::{Mpd, TONE_HZ, decode, mount, tone_is_heard};
use crate::support::{DEADLINE, wait_for_stream, wait_until};

/// Title of the song that the encoders are given.
const TITLE: &str = "Band - Song";

fn is_titled(server: &Server, stream: &str) -> bool {
    let facts = mount(server, stream);
    // Ogg has a separate field for the artist; the panels' name for both is the same for every format.
    facts["yp_currently_playing"] == TITLE
}

fn wait_for_title(server: &Server, stream: &str) {
    wait_until(&format!("the title of {stream}"), || {
        is_titled(server, stream)
    });
}

/// ALSA sound card that is a FIFO: a program that reads the FIFO receives the tone, at its pace.
struct Card {
    folder: TempDir,
    _tone: Process,
}

impl Card {
    fn insert() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("sound");
        Tool::new("mkfifo").arg(&fifo).run(DEADLINE);
        let card = format!(
            "pcm.tone {{ type file slave.pcm {{ type null }} file \"/dev/null\" infile \"{}\" format \"raw\" }}\n",
            fifo.display()
        );
        std::fs::write(folder.path().join("asoundrc"), card).unwrap();
        let tone = format!("sine=frequency={TONE_HZ}:sample_rate=48000");
        let tone = Tool::ffmpeg()
            .args(["-y", "-re", "-f", "lavfi", "-i", &tone])
            .args(["-ac", "2", "-f", "s16le"])
            .arg(fifo)
            .start();
        Self {
            folder,
            _tone: tone,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// DarkIce sends its three formats at once.
#[test]
fn darkice_sends_mp3_vorbis_and_opus() {
    let server = Server::start();
    let addr = server.addr("http");
    let card = Card::insert();
    let mut config = String::from(
        "[general]\nduration = 0\nbufferSecs = 1\nreconnect = no\nrealtime = no\n\
         [input]\ndevice = tone\nsampleRate = 48000\nbitsPerSample = 16\nchannel = 2\n",
    );
    for (index, format) in ["mp3", "vorbis", "opus"].iter().enumerate() {
        config += &format!(
            "[icecast2-{index}]\nformat = {format}\nbitrateMode = cbr\nbitrate = 128\nserver = {}\nport = {}\n\
             password = {PUBLISH_KEY}\nmountPoint = dark.{format}\nname = Dark\ngenre = Tones\n",
            addr.ip(),
            addr.port()
        );
    }
    let path = card.file("darkice.cfg");
    std::fs::write(&path, config).unwrap();
    let _source = Tool::new("darkice")
        .arg("-c")
        .arg(path)
        .env("ALSA_CONFIG_PATH", card.file("asoundrc"))
        .start();
    for format in ["mp3", "vorbis", "opus"] {
        let stream = format!("dark.{format}");
        tone_is_heard(&server, &stream);
        let facts = mount(&server, &stream);
        assert_eq!(facts["server_name"], "Dark", "{facts}");
        assert_eq!(facts["genre"], "Tones", "{facts}");
    }
}

/// butt, with its window on a display of its own, and its remote control.
struct Butt {
    process: Process,
    port: String,
    _jack: Jack,
    _display: Display,
    _home: TempDir,
}

impl Butt {
    /// Starts butt; `format` is its name of a codec.
    fn start(server: &Server, format: &str) -> Self {
        let (jack, display) = (Jack::start(), Display::start());
        let home = tempfile::tempdir().unwrap();
        let addr = server.addr("http");
        let config = format!(
            "[main]\nserver = here\nicy = show\nnum_of_srv = 1\nnum_of_icy = 1\nsrv_ent = here\nicy_ent = show\n\
             [audio]\ndevice = default\nsamplerate = 48000\nbitrate = 128\nchannel = 2\ncodec = {format}\n\
             [here]\naddress = {}\nport = {}\npassword = {PUBLISH_KEY}\ntype = 1\ntls = 0\nmount = butt.{format}\n\
             usr = source\n[show]\npub = 0\ndescription = Tones\ngenre = Talk\nurl = http://radio.example/\n",
            addr.ip(),
            addr.port()
        );
        let file = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let config = file("buttrc", &config);
        // PortAudio fails without any device of ALSA; this one has neither inputs nor outputs, so JACK's are the default.
        let card = file("asoundrc", "pcm.none { type asym }\n");
        let port = free_address().port().to_string();
        let process = Tool::new("butt")
            .arg("-c")
            .arg(config)
            .args(["-p", &port])
            .env("HOME", home.path())
            .env("DISPLAY", &display.name)
            .env("ALSA_CONFIG_PATH", card)
            .env("JACK_DEFAULT_SERVER", &jack.name)
            .env("JACK_NO_START_SERVER", "1")
            .start();
        Self {
            process,
            port,
            _jack: jack,
            _display: display,
            _home: home,
        }
    }

    /// Sends a command to butt's remote control and returns the reply; empty when there is none.
    fn ask(&self, arguments: &[&str]) -> String {
        let answer = Tool::new("butt")
            .args(["-p", &self.port])
            .args(arguments)
            .finish(DEADLINE);
        String::from_utf8_lossy(&answer.stdout).into_owned()
    }

    fn connect(&mut self) {
        wait_until("butt to be in control", || {
            assert!(self.process.is_running(), "butt ended");
            self.ask(&["-S"]).contains("connected: 0")
        });
        self.ask(&["-s"]);
    }
}

fn butt_is_heard(format: &str) {
    let server = Server::start();
    let mut butt = Butt::start(&server, format);
    butt.connect();
    let stream = format!("butt.{format}");
    wait_for_stream(&server, &stream);
    // butt sends titles of Ogg Vorbis beside the stream, and with Opus in it.
    butt.ask(&["-u", TITLE]);
    wait_for_title(&server, &stream);
    let audio = decode(&server, &stream);
    let loudest = audio.iter().map(|sample| sample.unsigned_abs()).max();
    assert!(loudest < Some(16), "its input is silent: {loudest:?}");
    let facts = mount(&server, &stream);
    assert_eq!(facts["server_name"], "show", "{facts}");
    assert_eq!(facts["genre"], "Talk", "{facts}");
    assert!(butt.ask(&["-S"]).contains("connected: 1"));
}

#[test]
fn butt_sends_mp3() {
    butt_is_heard("mp3");
}

#[test]
fn butt_sends_ogg_vorbis() {
    butt_is_heard("ogg");
}

#[test]
fn butt_sends_ogg_opus() {
    butt_is_heard("opus");
}

/// Starts GStreamer's client of libshout.
fn shout2send(server: &Server, stream: &str, encoder: &[&str]) -> Process {
    let addr = server.addr("http");
    Tool::new("gst-launch-1.0")
        .args(["-q", "audiotestsrc", "is-live=true"])
        .arg(format!("freq={TONE_HZ}"))
        .args(["!", "audioconvert", "!"])
        .args(["audio/x-raw,rate=44100,channels=2", "!"])
        .args(["taginject", "tags=artist=Band,title=Song", "!"])
        .args(encoder)
        .args(["!", "shout2send", "streamname=Gst", "genre=Tones"])
        .arg(format!("ip={}", addr.ip()))
        .arg(format!("port={}", addr.port()))
        .arg(format!("password={PUBLISH_KEY}"))
        .arg(format!("mount=/{stream}"))
        .start()
}

#[test]
fn gstreamer_sends_mp3_and_vorbis() {
    let server = Server::start();
    let _mp3 = shout2send(
        &server,
        "gst.mp3",
        &["lamemp3enc", "target=bitrate", "bitrate=128", "cbr=true"],
    );
    let _ogg = shout2send(&server, "gst.ogg", &["vorbisenc", "!", "oggmux"]);
    for stream in ["gst.mp3", "gst.ogg"] {
        tone_is_heard(&server, stream);
        wait_for_title(&server, stream);
        assert_eq!(mount(&server, stream)["server_name"], "Gst", "{stream}");
    }
}

/// mpd has two outputs for one queue of songs.
#[test]
fn mpd_sends_mp3_and_vorbis() {
    let server = Server::start();
    let addr = server.addr("http");
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display();
    let music = folder.path().join("music");
    std::fs::create_dir(&music).unwrap();
    let song = ["-metadata", "artist=Band", "-metadata", "title=Song"];
    let tone = format!("sine=frequency={TONE_HZ}:sample_rate=44100:duration=120");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &tone, "-ac", "2"])
        .args(song)
        .arg(music.join("song.flac"))
        .run(DEADLINE);
    let control = free_address();
    let mut text = format!(
        "bind_to_address \"{}\"\nport \"{}\"\nmusic_directory \"{}\"\ndb_file \"{home}/db\"\n\
         log_file \"{home}/messages\"\n",
        control.ip(),
        control.port(),
        music.display()
    );
    for (stream, encoder) in [("mpd.mp3", "lame"), ("mpd.ogg", "vorbis")] {
        text += &format!(
            "audio_output {{\n type \"shout\"\n name \"{encoder}\"\n host \"{}\"\n port \"{}\"\n mount \"/{stream}\"\n \
             user \"source\"\n password \"{PUBLISH_KEY}\"\n encoder \"{encoder}\"\n bitrate \"128\"\n \
             format \"44100:16:2\"\n genre \"Tones\"\n}}\n",
            addr.ip(),
            addr.port()
        );
    }
    let config = folder.path().join("mpd.conf");
    std::fs::write(&config, text).unwrap();
    let _source = Tool::new("mpd").arg("--no-daemon").arg(config).start();
    let mut mpd = Mpd::connect(control);
    mpd.ask("update");
    wait_until("mpd to know the song", || {
        mpd.ask("listall").contains("file: song.flac")
    });
    mpd.ask("add song.flac");
    mpd.ask("play");
    for stream in ["mpd.mp3", "mpd.ogg"] {
        tone_is_heard(&server, stream);
        wait_for_title(&server, stream);
        assert_eq!(mount(&server, stream)["genre"], "Tones", "{stream}");
    }
}
