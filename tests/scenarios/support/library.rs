//! Folder of films, a server that plays them on demand, and players that have films over RTMP.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use testkit::framemd5::{self, Frame};
use testkit::{Clip, Server, Tool};

use crate::support::{DEADLINE, play_url, quoted, remux};

/// Length of the film in seconds: some segments.
pub(crate) const SECONDS: u32 = 20;

/// A plain file, and a file of fragments with the same film.
pub(crate) const FILM: &str = "vod/film.mp4";
pub(crate) const FRAGMENTED: &str = "vod/sub folder/cut.mp4";

/// Metric of the bytes read from disk.
pub(crate) const BYTES: &str = "carillon_file_bytes_total";

/// Folder of films, below one with a file that must not be served.
pub(crate) struct Library {
    pub(crate) outer: TempDir,
}

impl Library {
    pub(crate) fn make() -> Self {
        let library = Self {
            outer: tempfile::tempdir().unwrap(),
        };
        let folder = library.folder();
        fs::create_dir_all(folder.join("sub folder")).unwrap();
        let clip = Clip::FlvBframes.seconds(SECONDS);
        for (name, flags) in [
            ("film.mp4", "-faststart"),
            (
                "sub folder/cut.mp4",
                "+frag_keyframe+empty_moov+default_base_moof",
            ),
        ] {
            let options = format!("-movflags {flags}");
            remux(Tool::ffmpeg(), &clip, &options, &folder.join(name));
        }
        library
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.outer.path().join("films")
    }

    pub(crate) fn file(&self, stream: &str) -> PathBuf {
        self.folder().join(stream.strip_prefix("vod/").unwrap())
    }

    pub(crate) fn serve(&self) -> Server {
        let folder = quoted(&self.folder());
        let files = format!("[[files]]\npath = \"vod\"\ndirectory = {folder}");
        Server::builder().toml(&files).start()
    }
}

/// Configures ffmpeg with a buffer of a minute, so that the server sends a film at once.
pub(crate) fn hasty(ffmpeg: Tool) -> Tool {
    ffmpeg.args(["-rtmp_buffer", "60000"])
}

/// Records a film by rtmpdump with these options; the film must come to an end.
pub(crate) fn rtmpdump(server: &Server, name: &str, options: &[&str]) -> Vec<Frame> {
    let file = tempfile::NamedTempFile::with_suffix(".flv").unwrap();
    let finished = Tool::new("rtmpdump")
        .args(["--rtmp", &play_url(server, "live")])
        .args(["--playpath", name, "--flv"])
        .arg(file.path())
        .args(options)
        .finish(DEADLINE);
    // rtmpdump calls a film that ends a frame early incomplete; one that breaks off is neither.
    let has_ended = ["Download complete", "Download may be incomplete"];
    let has_ended = has_ended.map(|text| finished.stderr.contains(text));
    assert!(has_ended.contains(&true), "{}", finished.stderr);
    framemd5::packets(file.path())
}
