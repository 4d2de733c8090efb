//! A folder of films, and a server that plays them on demand.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use testkit::{Clip, Server, Tool};

use crate::support::DEADLINE;

/// Seconds of the film: some segments.
pub(crate) const SECONDS: u32 = 20;

/// A plain file, and the same as one of fragments.
pub(crate) const FILM: &str = "vod/film.mp4";
pub(crate) const FRAGMENTED: &str = "vod/sub folder/cut.mp4";

/// Bytes that were read from disk.
pub(crate) const BYTES: &str = "carillon_file_bytes_total";

/// A folder of films, below one with something that is not for everybody.
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
            let _ = Tool::ffmpeg()
                .args(["-y", "-i"])
                .arg(&clip)
                .args(["-c", "copy", "-movflags", flags])
                .arg(folder.join(name))
                .run(DEADLINE);
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
        let folder = self.folder().display().to_string();
        Server::builder()
            .toml(&format!(
                "[[files]]\npath = \"vod\"\ndirectory = {folder:?}"
            ))
            .start()
    }
}
