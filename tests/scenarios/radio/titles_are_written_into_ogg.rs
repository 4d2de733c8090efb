//! Titles that are set beside an Ogg stream are written into it as icecast2 does: each is another link of the chain, in which
//! nothing is lost, and players of Ogg show them. With joined links instead, browsers play on, and receive the titles beside
//! the stream.

use std::net::SocketAddr;
use std::path::Path;

use testkit::http::Listener;
use testkit::{Icecast, PUBLISH_KEY, Process, Server, Tool};

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::mount::{AUDIO, whole_units};
use crate::support::session::Driven;
use crate::support::titles::{facts, update_mount};
use crate::support::tones;
use crate::support::{DEADLINE, wait_for_stream, wait_until};

const TONE_HZ: f64 = 440.0;

/// Bytes that are read of a stream after the last change: some seconds of either codec.
const MORE_BYTES: usize = 20_000;

/// Publishes a tone, which is encoded in real time.
fn publish(url: &str, codec: &[&str]) -> Process {
    let tone = format!("sine=frequency={TONE_HZ}:sample_rate=48000");
    Tool::ffmpeg()
        .args(["-re", "-f", "lavfi", "-i", &tone, "-ac", "2", "-c:a"])
        .args(codec)
        .args(["-page_duration", "200000", "-f", "ogg"])
        .args(["-content_type", "application/ogg"])
        .arg(url)
        .start()
}

const VORBIS: &[&str] = &["libvorbis", "-b:a", "96k"];
const OPUS: &[&str] = &["libopus", "-b:a", "96k"];

fn set_title(addr: SocketAddr, password: &str, mount: &str, query: &str) {
    wait_until("a title to be taken", || {
        update_mount(addr, password, mount, query) == 200
    });
}

/// Returns the artist and the title of each link, as `ogginfo` lists them, where there is a title.
fn songs(path: &Path) -> Vec<(String, String)> {
    let said = Tool::new("ogginfo").arg(path).finish(DEADLINE);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let links = said.split("New logical stream").skip(1);
    let song = |link: &str| {
        let field = |name: &str| {
            let mut lines = link.lines().filter_map(|line| line.strip_prefix('\t'));
            lines.find_map(|line| {
                let (key, value) = line.split_once('=')?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        (field("artist").unwrap_or_default(), field("title"))
    };
    let songs = links.map(song);
    songs
        .filter_map(|(artist, title)| Some((artist, title?)))
        .collect()
}

/// Asserts that players decode a recording without a complaint, as a tone without a gap.
fn assert_plays(what: &str, path: &Path) {
    let audio = Tool::ffmpeg()
        // ffmpeg reads from the beginning to the end: if it looked at the end for the length, it might complain of the link
        // there.
        .args(["-xerror", "-seekable", "0", "-i"])
        .arg(path)
        // Packets repeated for newly joined decoders have no time of their own; the writer of bare samples would complain.
        .args(["-af", "asetpts=N/SR/TB"])
        .args(tones::RAW)
        .arg("-")
        .run(DEADLINE);
    tones::assert_pitch(what, &tones::samples(&audio), TONE_HZ);
    let shows = |program: &str, arguments: &[&str]| {
        let reported = Tool::new(program)
            .args(arguments)
            .arg(path)
            .finish(DEADLINE);
        let said = String::from_utf8_lossy(&reported.stdout).into_owned() + &reported.stderr;
        let first = said.find("Title: One");
        // For Opus, ffmpeg adds up the titles of a chain, even where its encoder has begun the links: `One;Two`.
        let second = said.find(if what == "Vorbis" {
            "Title: Two"
        } else {
            ";Two"
        });
        assert!(
            first.is_some() && first < second,
            "{what}: {program}: {said}"
        );
        assert!(said.contains("Artist: Band"), "{what}: {program}: {said}");
        for complaint in ["Warning", "Error", "error", "Invalid", "hole"] {
            assert!(!said.contains(complaint), "{what}: {program}: {said}");
        }
    };
    // Debian's ogg123 plays no Opus.
    if what == "Vorbis" {
        let wav = path.with_extension("wav");
        let wav = wav.to_str().unwrap();
        shows("ogg123", &["--device", "wav", "--file", wav]);
    }
    shows(
        "mpv",
        &["--no-config", "--no-video", "--ao=null", "--untimed"],
    );
}

#[test]
fn each_title_is_a_link_that_players_show() {
    let folder = tempfile::tempdir().unwrap();
    let (server, icecast) = (Server::start(), Icecast::start(32));
    let ours = server.addr("http");
    let stations = [
        ("radio.ogg", ours, PUBLISH_KEY, VORBIS),
        ("radio.opus", ours, PUBLISH_KEY, OPUS),
        ("radio.ogg", icecast.addr(), Icecast::PASSWORD, VORBIS),
    ];
    let [_, _, kind] = AUDIO;
    let heard = stations.map(|(stream, addr, password, codec)| {
        let _source = publish(
            &format!("icecast://source:{password}@{addr}/{stream}"),
            codec,
        );
        wait_until("the mount", || facts(addr, stream).is_object());
        let mount = format!("/{stream}");
        let mut listener = Listener::get(addr, &mount);
        listener.read_bytes(1, DEADLINE);
        for (query, title) in [
            ("song=One", "title=One"),
            ("artist=Band&title=Two", "title=Two"),
        ] {
            set_title(addr, password, &mount, query);
            let has_come = listener.read_until(DEADLINE, |body| {
                let lower = body.to_ascii_lowercase();
                let title = title.to_ascii_lowercase();
                lower
                    .windows(title.len())
                    .any(|part| part == title.as_bytes())
            });
            assert!(has_come, "{addr}/{stream}: {title}");
            listener.read_bytes(listener.body().len() + MORE_BYTES, DEADLINE);
        }
        let reported = facts(addr, stream);
        let path = folder.path().join(format!("{}.{stream}", addr.port()));
        std::fs::write(&path, whole_units(&kind, listener.body())).unwrap();
        (path, reported)
    });
    let expected = [("", "One"), ("Band", "Two")];
    let expected = expected.map(|(artist, title)| (artist.to_owned(), title.to_owned()));
    for (path, reported) in &heard {
        assert_eq!(songs(path), expected, "{}", path.display());
        let reported = [&reported["artist"], &reported["title"]];
        assert_eq!(reported, ["Band", "Two"], "{}", path.display());
    }
    for (what, (path, _)) in ["Vorbis", "Opus"].iter().zip(&heard) {
        assert_plays(what, path);
    }
}

/// Browser that counts the media that the elements of the two streams have decoded: above zero as long as they play.
trait Decodes: Driven {
    /// Returns the figures of the two elements.
    fn decoded(&self) -> [u64; 2];
}

const ELEMENTS: &str = "document.querySelectorAll('audio.heard')";

impl Decodes for Browser {
    fn decoded(&self) -> [u64; 2] {
        let reported = Driven::run(
            self,
            &format!("return [...{ELEMENTS}].map(audio => audio.webkitAudioDecodedByteCount);"),
        );
        [0, 1].map(|index| reported[index].as_u64().unwrap_or(0))
    }
}

impl Decodes for Firefox {
    fn decoded(&self) -> [u64; 2] {
        [0, 1].map(|index| self.decoded_by(&format!("{ELEMENTS}[{index}]")))
    }
}

/// Configuration that joins the links of the first stream, and not those of the second.
const JOINED: &str = "[[stream]]\nmatch = \"joined.ogg\"\nunchain = true\n";
const STREAMS: [&str; 2] = ["joined.ogg", "raw.ogg"];

/// Returns whether an element has ended or failed. Where there is no sound card, Firefox has an error from the start.
fn has_stopped(browser: &impl Driven, index: usize) -> bool {
    let script = format!(
        "const a = {ELEMENTS}[{index}]; \
         return a.ended || (a.error !== null && !a.error.message.includes('OnMediaSinkAudioError'));"
    );
    browser.run(&script) == true
}

/// Returns the playback position of a stream, in seconds.
fn position(browser: &impl Driven, index: usize) -> f64 {
    let script = format!("return {ELEMENTS}[{index}].currentTime;");
    browser.run(&script).as_f64().unwrap_or(0.0)
}

/// Waits until a browser has decoded and played some more seconds of both streams; `second` is its figure for one second.
fn continues(what: &str, browser: &impl Decodes, second: u64) {
    const SECONDS: u32 = 5;
    let more = second * u64::from(SECONDS);
    let wanted = browser.decoded().map(|decoded| decoded + more);
    let until = [0, 1].map(|index| position(browser, index) + f64::from(SECONDS));
    for (index, stream) in STREAMS.iter().enumerate() {
        wait_until(&format!("{what} to go on with {stream}"), || {
            assert!(!has_stopped(browser, index), "{what} stopped {stream}");
            browser.decoded()[index] >= wanted[index] && position(browser, index) >= until[index]
        });
    }
}

/// Opens the two streams in the page, and waits until both play.
fn listen(browser: &impl Decodes, server: &Server) {
    browser.go(&server.http_url("/_/style.css"));
    browser.run(&format!(
        "for (const name of {STREAMS:?}) {{ const audio = new Audio('/' + name); \
         audio.className = 'heard'; document.documentElement.append(audio); audio.play(); }} \
         window.told = []; \
         new EventSource('/joined.ogg/titles').onmessage = event => \
         window.told.push(JSON.parse(event.data).title); return null;"
    ));
    wait_until("both to be heard", || {
        browser.decoded().iter().all(|decoded| *decoded > 0)
    });
}

/// Least growth of a browser's figure per second of audio.
const CHROMIUM_SECOND: u64 = 2_000;
const FIREFOX_SECOND: u64 = 10;

fn browsers_continue(codec: &'static [&'static str]) {
    let server = Server::builder().toml(JOINED).start();
    let addr = server.addr("http");
    let _sources = STREAMS.map(|stream| {
        let source = publish(&server.icecast_url(stream, PUBLISH_KEY), codec);
        wait_for_stream(&server, stream);
        source
    });
    let (chromium, firefox) = (Browser::open(), Firefox::open());
    listen(&chromium, &server);
    listen(&firefox, &server);
    let mut joined = Listener::get(addr, "/joined.ogg");
    let mut titles = Listener::get(addr, "/joined.ogg/titles");
    assert_eq!(titles.header("content-type"), Some("text/event-stream"));
    for title in ["One", "Two"] {
        for stream in STREAMS {
            set_title(
                addr,
                PUBLISH_KEY,
                &format!("/{stream}"),
                &format!("song={title}"),
            );
        }
        let event = format!("\"title\":\"{title}\",\"url\":null}}\n\n");
        let is_reported = titles.read_until(DEADLINE, |body| {
            String::from_utf8_lossy(body).contains(&event)
        });
        assert!(is_reported, "{title}");
        wait_until("the other's title", || {
            facts(addr, "raw.ogg")["title"] == title
        });
        continues("Chromium", &chromium, CHROMIUM_SECOND);
        continues("Firefox", &firefox, FIREFOX_SECOND);
    }
    for (what, reported) in [
        ("Chromium", Driven::run(&chromium, "return window.told;")),
        ("Firefox", firefox.run("return window.told;")),
    ] {
        let reported = reported.to_string();
        assert!(reported.ends_with("\"One\",\"Two\"]"), "{what}: {reported}");
    }
    // The page shows the titles, too.
    Driven::go(&chromium, &server.http_url("/joined.ogg/"));
    wait_until("the title on the page", || {
        Driven::run(
            &chromium,
            "return document.getElementById('title').textContent;",
        ) == "Two"
    });

    // The body is one stream, from the first byte on, in which nothing is missing.
    joined.read_bytes(joined.body().len() + MORE_BYTES, DEADLINE);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("joined.ogg");
    let [_, _, kind] = AUDIO;
    std::fs::write(&path, whole_units(&kind, joined.body())).unwrap();
    let said = Tool::new("ogginfo").arg(&path).finish(DEADLINE);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.matches("New logical stream").count(), 1, "{said}");
    let audio = Tool::ffmpeg()
        .args(["-xerror", "-i"])
        .arg(&path)
        // Packets repeated for newly joined decoders have no time of their own; the writer of bare samples would complain.
        .args(["-af", "asetpts=N/SR/TB"])
        .args(tones::RAW)
        .arg("-")
        .run(DEADLINE);
    tones::assert_pitch("the joined stream", &tones::samples(&audio), TONE_HZ);
}

#[test]
fn browsers_play_on_over_links_of_opus_that_are_joined() {
    browsers_continue(OPUS);
}

#[test]
fn browsers_play_on_over_links_of_vorbis_that_are_joined() {
    browsers_continue(VORBIS);
}
