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
        let help = "say what the files' addresses begin with, such as path = \"vod\"";
        let path = s.needed("path", help);
        let help = "say where the files are, such as directory = \"/srv/films\"";
        let directory = s.needed("directory", help);
        s.require("directory", directory != Some(None), "is empty");
        let key = s.path();
        Some(Self {
            path: path?,
            directory: directory??,
            key,
        })
    }
}
