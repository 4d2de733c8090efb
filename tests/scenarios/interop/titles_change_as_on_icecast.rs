//! Players report as many titles as with icecast2, of the same source and the same changes.
//!
//! Many take every metadata block for a new title: they run a program, wake their clients, or fetch a cover. Each runs here
//! against both servers at once, and its reports are counted.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use testkit::http::{Listener, deinterleave};
use testkit::{
    Clip, Icecast, PUBLISH_KEY, Process, Server, Tool, free_address, icy_clients, require,
};

use crate::support::encoders::Mpd;
use crate::support::titles::update;
use crate::support::{DEADLINE, wait_for_stream, wait_until};

const MOUNT: &str = "/radio.mp3";

/// Burst that a new listener receives, in intervals, and a few more intervals that come with time.
const SETTLED_INTERVALS: usize = 5 + 4;

/// A server with a source on [`MOUNT`].
struct Station {
    addr: SocketAddr,
    password: &'static str,
    _source: Process,
}

impl Station {
    fn new(addr: SocketAddr, password: &'static str) -> Self {
        let source = Tool::ffmpeg()
            .args(["-re", "-stream_loop", "-1", "-i"])
            .arg(Clip::Mp3.seconds(30))
            .args(["-map_metadata", "-1", "-c", "copy"])
            .args(["-content_type", "audio/mpeg", "-f", "mp3"])
            .arg(format!("icecast://source:{password}@{addr}{MOUNT}"))
            .start();
        Self {
            addr,
            password,
            _source: source,
        }
    }

    fn url(&self) -> String {
        format!("http://{}{MOUNT}", self.addr)
    }

    fn set_title(&self, title: &str) {
        let query = format!("song={title}");
        wait_until("a title to be taken", || {
            update(self.addr, self.password, &query) == 200
        });
    }

    /// Lets a few intervals pass; returns the titles in them.
    fn settle(&self) -> Vec<String> {
        let mut listener = Listener::get_icy(self.addr, MOUNT);
        let interval = listener.header("icy-metaint").unwrap().parse().unwrap();
        let body = listener.read_bytes(SETTLED_INTERVALS * (interval + 1), DEADLINE);
        let (_, blocks) = deinterleave(body, interval);
        let texts = blocks.into_iter().map(|(_, text)| text);
        texts.filter(|text| !text.is_empty()).collect()
    }
}

/// A player program that writes a line for each title.
struct Player {
    name: &'static str,
    process: Process,
    /// File with the lines; `None` for a program that writes them to its output.
    log: Option<PathBuf>,
    _folder: Option<tempfile::TempDir>,
    /// Number of reports from the start of the player.
    begun: usize,
}

impl Player {
    /// Starts every kind of player, listening to `url`.
    fn all(url: &str) -> Vec<Self> {
        vec![
            Self::script("icy", "icy_titles.js", url),
            Self::script("icecast-metadata-js", "icecast_metadata_titles.mjs", url),
            Self::gstreamer(url),
            Self::mpd(url),
            Self::cmus(url),
        ]
    }

    fn printing(name: &'static str, program: Tool) -> Self {
        Self {
            name,
            process: program.start(),
            log: None,
            _folder: None,
            begun: 0,
        }
    }

    /// Starts a player with `folder` to itself, and the file `log` in it.
    fn logging(name: &'static str, program: Tool, folder: tempfile::TempDir) -> Self {
        let log = folder.path().join("log");
        File::create(&log).unwrap();
        Self {
            log: Some(log),
            _folder: Some(folder),
            ..Self::printing(name, program)
        }
    }

    fn script(name: &'static str, file: &str, url: &str) -> Self {
        let program = Tool::new("node").arg(crate::support::script(file));
        Self::printing(name, program.arg(icy_clients()).arg(url))
    }

    fn gstreamer(url: &str) -> Self {
        let program = Tool::new("gst-launch-1.0")
            .args(["-t", "souphttpsrc", "iradio-mode=true"])
            .arg(format!("location={url}"))
            .args(["!", "icydemux", "!", "fakesink"]);
        Self::printing("GStreamer", program)
    }

    fn mpd(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let addr = free_address();
        let home = folder.path().display();
        let text = format!(
            "bind_to_address \"{}\"\nport \"{}\"\ndb_file \"{home}/db\"\n\
             music_directory \"{home}\"\nlog_file \"{home}/messages\"\n\
             audio_output {{\n  type \"null\"\n  name \"none\"\n}}\n",
            addr.ip(),
            addr.port()
        );
        let config = folder.path().join("mpd.conf");
        std::fs::write(&config, text).unwrap();
        let program = Tool::new("mpd").arg("--no-daemon").arg(config);
        let player = Self::logging("mpd", program, folder);
        let mut mpd = Mpd::connect(addr);
        mpd.ask(&format!("add {url}"));
        mpd.ask("play");
        mpd.wait_on();
        let mut log = File::create(player.log.as_ref().unwrap()).unwrap();
        // The thread ends with its connection.
        thread::spawn(move || {
            while mpd.try_ask("idle player").is_ok() {
                let song = mpd.try_ask("currentsong").unwrap_or_default();
                let title = song.lines().find_map(|line| line.strip_prefix("Title: "));
                writeln!(log, "title {}", title.unwrap_or_default()).unwrap();
            }
        });
        player
    }

    fn cmus(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_owned();
        let file = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
        let reported = home.join("told");
        let log = home.join("log");
        file(
            "told",
            &format!("#!/bin/sh\necho \"$@\" >> {}\n", log.display()),
        );
        make_executable(&reported);
        let settings = format!(
            "set mpris=false\nset output_plugin=alsa\nset status_display_program={}\n",
            reported.display()
        );
        file("rc", &settings);
        file(
            ".asoundrc",
            "pcm.!default { type null }\nctl.!default { type null }\n",
        );
        let socket = home.join("socket");
        require("cmus");
        // cmus needs a terminal to run.
        let line = format!(
            "stty rows 24 cols 80; exec cmus --listen {}",
            socket.display()
        );
        let program = Tool::new("script")
            .args(["-qfc", &line, "/dev/null"])
            .env("HOME", &home)
            .env("CMUS_HOME", &home)
            .env("TERM", "xterm");
        let player = Self::logging("cmus", program, folder);
        let play = format!("player-play {url}");
        // While cmus makes its folder, cmus-remote would make it too, and one of them fails.
        wait_until("cmus to listen", || socket.exists());
        wait_until("cmus to play", || {
            let mut remote = Command::new("cmus-remote");
            remote.arg("--server").arg(&socket).args(["-C", &play]);
            remote.env("CMUS_HOME", &home);
            remote.output().unwrap().status.success()
        });
        player
    }

    /// Returns the titles that the player has reported, in order.
    fn reports(&self) -> Vec<String> {
        let text = match &self.log {
            Some(log) => std::fs::read(log).unwrap(),
            None => self.process.stdout(),
        };
        let text = String::from_utf8_lossy(&text);
        let titles = text
            .lines()
            .filter_map(|line| Some(line.split_once("title")?.1));
        titles
            .map(|title| title.trim_matches([':', ' ']).to_owned())
            .filter(|title| !title.is_empty())
            .collect()
    }

    fn wait_for(&self, title: &str) {
        wait_until(&format!("{} to tell {title}", self.name), || {
            self.reports().last().is_some_and(|last| last == title)
        });
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn players_report_as_many_titles() {
    let (server, icecast) = (Server::start(), Icecast::start(32));
    let stations = [
        Station::new(server.addr("http"), PUBLISH_KEY),
        Station::new(icecast.addr(), Icecast::PASSWORD),
    ];
    wait_for_stream(&server, "radio.mp3");
    let each = |act: &dyn Fn(&Station)| stations.iter().for_each(act);
    each(&|station| station.set_title("One"));
    each(&|station| {
        wait_until("the title in the stream", || {
            station.settle() == ["StreamTitle='One';"]
        });
    });
    let mut audiences = stations
        .each_ref()
        .map(|station| Player::all(&station.url()));
    audiences
        .iter()
        .flatten()
        .for_each(|player| player.wait_for("One"));
    each(&|station| {
        station.settle();
    });
    for player in audiences.iter_mut().flatten() {
        // Some players report a title more than once while they start; icecast2 is no different.
        player.begun = player.reports().len();
    }
    for title in ["Two", "Three"] {
        each(&|station| station.set_title(title));
        audiences
            .iter()
            .flatten()
            .for_each(|player| player.wait_for(title));
        each(&|station| {
            station.settle();
        });
    }
    let [ours, theirs] = audiences.each_ref().map(|audience| {
        let reported = |player: &Player| {
            let since = player.reports().split_off(player.begun).into_iter();
            // On a busy machine a player is still starting.
            let since = since.skip_while(|title| title == "One");
            (player.name, since.collect::<Vec<_>>())
        };
        audience.iter().map(reported).collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
    for (name, reports) in ours {
        assert_eq!(reports, ["Two", "Three"], "{name}");
    }
}
