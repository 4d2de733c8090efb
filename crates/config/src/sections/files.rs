//! `[[files]]`: folders whose files are played on demand.

use std::path::PathBuf;

use media::StreamName;

use crate::read::Section;

/// One `[[files]]`: a folder, and the address of its files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilesRule {
    /// Start of the addresses of its files. No two folders have the same path.
    pub path: StreamName,
    /// Folder of the files.
    pub directory: PathBuf,
    /// Key of the rule in reports: `files.0`, `files.1`, ….
    pub(crate) key: String,
}

impl FilesRule {
    /// Reads one rule; `None` if its path or its folder is missing.
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
