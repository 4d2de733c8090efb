//! Station that plays the songs of a folder.

use std::path::Path;

use tempfile::TempDir;
use testkit::{Server, Tool};

use crate::support::DEADLINE;

/// Bytes of a second of the songs.
pub(crate) const SECOND_BYTES: usize = 16_000;

/// Makes an MP3 of 128 kb/s at 44.1 kHz with ID3 tags, of noise, so that frames use the bit reservoir.
pub(crate) fn song(folder: &Path, name: &str, seconds: f32, arguments: &[&str]) {
    let noise = format!("anoisesrc=color=pink:amplitude=0.3:duration={seconds}:sample_rate=44100");
    let title = format!("title=Song {name}");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &noise, "-ac", "2", "-b:a", "128k"])
        .args(["-metadata", &title, "-metadata", "artist=Band"])
        .args(arguments)
        .arg(folder.join(format!("{name}.mp3")))
        .run(DEADLINE);
}

/// Starts a server with a station of the files in a folder.
pub(crate) fn serve(folder: &TempDir, keys: &str) -> Server {
    let path = folder.path().display();
    let station = format!("[[station]]\nstream = \"radio.mp3\"\nfolder = \"{path}\"\n{keys}");
    Server::builder()
        .set("ingest", "takeover", "\"never\"")
        .toml(&station)
        .start()
}

pub(crate) fn station(server: &Server) -> serde_json::Value {
    server.api("stations")["stations"][0].clone()
}

pub(crate) fn plays(server: &Server, title: &str) -> bool {
    let station = station(server);
    station["state"] == "playing" && station["current"]["title"] == title
}
