//! `[[files]]`: folders whose files are played on demand.

use std::path::PathBuf;

use media::StreamName;

use crate::read::Section;

/// One `[[files]]`: a folder, and the address of its files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilesRule {
    /// What the addresses of its files begin with. No two folders have one path.
    pub path: StreamName,
    /// Where they are.
    pub directory: PathBuf,
    /// `files.0`, `files.1`, …, for problems with it.
    pub(crate) key: String,
}

impl FilesRule {
    /// Reads one; `None` when it does not say which folder has which path.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut path = None;
        let mut directory = None::<Option<PathBuf>>;
        s.set_some("path", &mut path);
        s.set_some("directory", &mut directory);
        if path.is_none() {
            let help = "say what the files' addresses begin with, such as path = \"vod\"";
            s.missing("path", help);
        }
        if directory.is_none() {
            let help = "say where the files are, such as directory = \"/srv/films\"";
            s.missing("directory", help);
        }
        s.require("directory", directory != Some(None), "is empty");
        let key = s.path();
        Some(Self {
            path: path?,
            directory: directory??,
            key,
        })
    }
}
