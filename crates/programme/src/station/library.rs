//! Files that a station may play: those of a folder, or of a playlist.
//!
//! A playlist is text that others wrote. Whatever it names, no file outside of its folder is opened, through a link or
//! otherwise, unless the operator allows that ([`Catalogue::anywhere`]). Folders obey the same rule.
//!
//! [`scan`](crate::station::scan) calls this module on a thread that may wait for the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::station::playlist::{self, ENTRIES_MAX, Entry, Syntax};
use crate::station::track::Unfit;

/// Most levels of folders that are searched: artist, album, disc and some more. A loop of links ends here, too.
const DEPTH_MAX: usize = 8;

/// Most folders that are searched: one for each file that is played. Links may lead from each to all others.
const FOLDERS_MAX: usize = ENTRIES_MAX;

/// Extensions of tracks. Other files in a folder are not tracks: cover art, texts, playlists. A file with one of these
/// extensions that cannot be played is refused with a reason.
const EXTENSIONS: [&str; 14] = [
    "mp3", "opus", "ogg", "oga", "aac", "m4a", "mp2", "flac", "wav", "mp4", "m4v", "mov", "flv",
    "mkv",
];

/// Set of files that a station plays.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Catalogue {
    /// Location of the files.
    pub place: Place,
    /// Whether files may lie outside of the folder.
    pub anywhere: bool,
}

/// Location of a station's files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// Folder, with those below it, in the order of the paths.
    Folder(PathBuf),
    /// Playlist, in its own order.
    Playlist(PathBuf),
    /// Single file.
    File(PathBuf),
}

/// A file that may be played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Listed {
    /// Path without links.
    pub(crate) path: PathBuf,
    /// Name in the folder or the playlist.
    pub(crate) name: String,
    /// Title in the playlist.
    pub(crate) title: Option<String>,
}

/// A file that is not played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// Name in the folder or the playlist.
    pub name: String,
    /// Reason for the refusal.
    pub reason: String,
}

impl Refused {
    pub(crate) fn new(name: String, reason: &Unfit) -> Self {
        let reason = reason.to_string();
        Self { name, reason }
    }
}

/// Reason for which a station has no files. The operator can fix each of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// Folder or playlist that cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// Path of the folder or the playlist.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// Playlist with an extension that playlists do not have.
    #[error("{0}: a playlist is an .m3u, .m3u8, .pls or .xspf file")]
    Syntax(PathBuf),
    /// Playlist above the limit of length.
    #[error("{0}: a playlist has {max} bytes at most", max = playlist::FILE_BYTES_MAX)]
    TooLong(PathBuf),
}

impl Catalogue {
    /// Returns the path of the folder, the playlist or the file.
    pub(crate) fn path(&self) -> &Path {
        match &self.place {
            Place::Folder(path) | Place::Playlist(path) | Place::File(path) => path,
        }
    }

    /// Returns its files, and the refused entries that are not files.
    pub(crate) fn list(&self) -> Result<(Vec<Listed>, Vec<Refused>), ListError> {
        match &self.place {
            Place::Folder(folder) => {
                let root = canonical(folder)?;
                let names = names_below(&root, FOLDERS_MAX);
                let names = names.map_err(|source| unreadable(folder, source))?;
                let entries = names.into_iter().map(|location| Entry {
                    location,
                    title: None,
                });
                Ok(self.resolve(&root, entries))
            }
            Place::Playlist(file) => {
                let syntax = Syntax::of(file).ok_or_else(|| ListError::Syntax(file.clone()))?;
                let path = canonical(file)?;
                let metadata = fs::metadata(&path).map_err(|source| unreadable(file, source))?;
                if metadata.len() > playlist::FILE_BYTES_MAX {
                    return Err(ListError::TooLong(file.clone()));
                }
                let bytes = fs::read(&path).map_err(|source| unreadable(file, source))?;
                let root = path.parent().unwrap_or_else(|| Path::new("/"));
                Ok(self.resolve(root, syntax.parse(&bytes).into_iter()))
            }
            Place::File(file) => {
                let name = file.file_name().unwrap_or_default();
                let only = Listed {
                    path: canonical(file)?,
                    name: name.to_string_lossy().into_owned(),
                    title: None,
                };
                Ok((vec![only], Vec::new()))
            }
        }
    }

    fn resolve(
        &self,
        root: &Path,
        entries: impl Iterator<Item = Entry>,
    ) -> (Vec<Listed>, Vec<Refused>) {
        let (mut listed, mut refused) = (Vec::new(), Vec::new());
        for entry in entries {
            match self.file(root, &entry) {
                Ok(path) => listed.push(Listed {
                    path,
                    name: entry.location,
                    title: entry.title,
                }),
                Err(reason) => refused.push(Refused::new(entry.location, &reason)),
            }
        }
        (listed, refused)
    }

    /// Returns the file that an entry names.
    fn file(&self, root: &Path, entry: &Entry) -> Result<PathBuf, Unfit> {
        if entry.is_address() {
            return Err(Unfit::Address);
        }
        let path = match root.join(&entry.location).canonicalize() {
            // Playlists that were written on Windows have backslashes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => root
                .join(entry.location.replace('\\', "/"))
                .canonicalize()?,
            other => other?,
        };
        if !self.anywhere && !path.starts_with(root) {
            return Err(Unfit::Outside);
        }
        match fs::metadata(&path)?.is_file() {
            true => Ok(path),
            false => Err(Unfit::NoFile),
        }
    }
}

fn canonical(path: &Path) -> Result<PathBuf, ListError> {
    path.canonicalize()
        .map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: io::Error) -> ListError {
    let path = path.to_owned();
    ListError::Unreadable { path, source }
}

/// Returns the audio and video files below a folder, relative to it and in order. Hidden files and folders are skipped,
/// as are folders beyond `folders_max` and files beyond [`ENTRIES_MAX`].
fn names_below(root: &Path, mut folders_max: usize) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if path.is_dir() {
                if depth < DEPTH_MAX && folders_max > 0 {
                    folders_max -= 1;
                    folders.push((path, depth + 1));
                }
            } else if is_media(&path)
                && names.len() < ENTRIES_MAX
                && let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str)
            {
                names.push(name.to_owned());
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_media(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|found| EXTENSIONS.iter().any(|one| found.eq_ignore_ascii_case(one)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn place(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, b"x").expect("a file");
        }
        folder
    }

    /// Lists a place: the files taken, and those refused.
    fn listed(place: Place) -> (Vec<Listed>, Vec<Refused>) {
        let anywhere = false;
        let listed = Catalogue { place, anywhere }.list();
        listed.expect("it can be read")
    }

    fn names(listed: &[Listed]) -> Vec<&str> {
        listed.iter().map(|file| &file.name[..]).collect()
    }

    fn refusals(refused: &[Refused]) -> Vec<(&str, &str)> {
        let refused = refused.iter();
        let refused = refused.map(|file| (&file.name[..], &file.reason[..]));
        refused.collect()
    }

    #[test]
    fn a_folder_is_sorted_and_searched() {
        let files = "b.mp3 a/2.OPUS a/1.mp3 cover.jpg .x.mp3 .y/a.mp3";
        let folder = place(&files.split(' ').collect::<Vec<_>>());
        let (listed, refused) = listed(Place::Folder(folder.path().to_owned()));
        assert_eq!(names(&listed), ["a/1.mp3", "a/2.OPUS", "b.mp3"]);
        assert!(refused.is_empty());
    }

    #[test]
    fn links_that_lead_in_circles_are_followed_so_often() {
        let folder = place(&["a.mp3"]);
        for name in ["b", "c", "d", "e"] {
            symlink(".", folder.path().join(name)).expect("a link");
        }
        let names = names_below(folder.path(), 100).expect("it can be read");
        assert_eq!(names.len(), 101, "one of each folder");
    }

    #[test]
    fn a_file_alone_is_played_wherever_its_link_leads() {
        let folder = place(&["a/silence.mp3"]);
        let link = folder.path().join("link.mp3");
        symlink(folder.path().join("a/silence.mp3"), &link).expect("a link");
        let (listed, refused) = listed(Place::File(link));
        assert_eq!(names(&listed), ["link.mp3"]);
        assert!(refused.is_empty() && listed[0].path.ends_with("a/silence.mp3"));
        // It is told as a folder's error is.
        let place = Place::File(folder.path().join("none.mp3"));
        let anywhere = false;
        assert!(Catalogue { place, anywhere }.list().is_err());
    }

    #[test]
    fn nothing_outside_of_the_folder_is_played() {
        let folder = place(&["outside.mp3", "lists/in.mp3", "lists/sub/in.mp3"]);
        let lists = folder.path().join("lists");
        symlink(folder.path().join("outside.mp3"), lists.join("link.mp3")).expect("a link");
        let absolute = folder.path().join("outside.mp3");
        let inside = lists.join("in.mp3");
        let text = format!(
            "in.mp3\n../outside.mp3\nlink.mp3\n{}\n{}\nsub\\in.mp3\nsub/../in.mp3\nnone.mp3\nsub\n\
             http://host/a.mp3\n",
            absolute.display(),
            inside.display()
        );
        let file = lists.join("a.m3u8");
        fs::write(&file, text).expect("a playlist");
        let mut catalogue = Catalogue {
            place: Place::Playlist(file),
            anywhere: false,
        };
        let (listed, refused) = catalogue.list().expect("it can be read");
        let inside = inside.display().to_string();
        let absolute = absolute.display().to_string();
        let within = ["in.mp3", &inside, "sub\\in.mp3", "sub/../in.mp3"];
        assert_eq!(names(&listed), within);
        let outside = Unfit::Outside.to_string();
        let [name, reason] = [&refused[3].name, &refused[3].reason];
        let is_missing = name == "none.mp3" && reason.contains("No such file");
        assert!(is_missing, "{reason}");
        let (no_file, address) = (Unfit::NoFile.to_string(), Unfit::Address.to_string());
        let mut others = refusals(&refused);
        others.remove(3);
        let expected = [
            ("../outside.mp3", &outside),
            ("link.mp3", &outside),
            (&absolute, &outside),
            ("sub", &no_file),
            ("http://host/a.mp3", &address),
        ];
        assert_eq!(others, expected.map(|(name, reason)| (name, &reason[..])));
        catalogue.anywhere = true;
        let (listed, refused) = catalogue.list().expect("it can be read");
        assert_eq!((listed.len(), refused.len()), (7, 3));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let folder = place(&["a.txt"]);
        let list = |place| {
            let anywhere = false;
            let error = Catalogue { place, anywhere }.list();
            error.expect_err("there is no playlist").to_string()
        };
        let missing = folder.path().join("none");
        assert!(list(Place::Folder(missing.clone())).contains("No such file"));
        assert!(list(Place::Playlist(missing)).contains(".m3u"));
        let long = folder.path().join("long.pls");
        let file = fs::File::create(&long).expect("a file");
        file.set_len(playlist::FILE_BYTES_MAX + 1)
            .expect("a length");
        assert!(list(Place::Playlist(long)).contains("bytes at most"));
    }
}
