//! Scan: finds the files of a station's catalogues that are tracks of one format.
//!
//! The format that most files of all catalogues have becomes the station's; if several formats have as many files, that
//! of the first one does. Files that do not fit are refused with a reason.

use std::collections::HashMap;

use crate::station::library::{Catalogue, ListError, Listed, Refused};
use crate::station::track::{Format, Track, Unfit, inspect};

/// Most refused files that are kept with their reasons: more than a person reads. All of them are counted.
const REFUSED_KEPT: usize = 100;

/// Result of a scan.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Library {
    /// Playable tracks of each catalogue, in its order; all have one format.
    pub(crate) lists: Vec<Vec<Track>>,
    /// Files that are not played, with reasons: the first hundred.
    pub(crate) refused: Vec<Refused>,
    /// Number of files that are not played.
    pub(crate) refused_count: usize,
}

impl Library {
    /// Returns the format of all tracks; `None` if there are none.
    pub(crate) fn format(&self) -> Option<Format> {
        let first = self.lists.iter().flatten().next();
        first.map(|track| track.format)
    }

    /// Returns the number of tracks.
    pub(crate) fn tracks(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }

    /// Examines a file and returns it as a track, unless it is refused.
    fn look_into(&mut self, file: Listed) -> Option<Track> {
        match inspect(&file.path) {
            Ok(contents) => Some(Track {
                title: file
                    .title
                    .clone()
                    .or(contents.title)
                    .unwrap_or_else(|| stem(&file)),
                path: file.path,
                name: file.name,
                format: contents.format,
                length: contents.length,
                start: contents.start,
                layout: contents.layout,
                padding: contents.padding,
            }),
            Err(reason) => {
                self.refuse(Refused::new(file.name, &reason));
                None
            }
        }
    }

    /// Records a file that is not played.
    pub(crate) fn refuse(&mut self, refused: Refused) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_KEPT {
            self.refused.push(refused);
        }
    }
}

/// Examines every file. It waits for the disk.
///
/// # Errors
/// If the folder or the playlist of the first catalogue cannot be read. A failure of another catalogue is listed as a
/// file that is not played, and the station continues without it.
pub(crate) fn scan(catalogues: &[Catalogue]) -> Result<Library, ListError> {
    let mut library = Library::default();
    let mut found = Vec::with_capacity(catalogues.len());
    for (number, catalogue) in catalogues.iter().enumerate() {
        let (listed, refused) = match catalogue.list() {
            Ok(all) => all,
            Err(error) if number == 0 => return Err(error),
            Err(error) => {
                let refused = Refused {
                    name: catalogue.path().display().to_string(),
                    reason: error.to_string(),
                };
                (Vec::new(), vec![refused])
            }
        };
        refused.into_iter().for_each(|one| library.refuse(one));
        let looked = listed
            .into_iter()
            .filter_map(|file| library.look_into(file));
        found.push(looked.collect::<Vec<_>>());
    }
    let Some(station) = most_common(&found) else {
        return Ok(library);
    };
    for tracks in found {
        let (fit, unfit): (Vec<_>, Vec<_>) = tracks
            .into_iter()
            .partition(|track| track.format == station);
        library.lists.push(fit);
        for track in unfit {
            let found = track.format;
            let reason = Unfit::Format { found, station };
            library.refuse(Refused::new(track.name, &reason));
        }
    }
    Ok(library)
}

fn most_common(lists: &[Vec<Track>]) -> Option<Format> {
    let mut counts: HashMap<Format, usize> = HashMap::new();
    for track in lists.iter().flatten() {
        *counts.entry(track.format).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let mut formats = lists.iter().flatten().map(|track| track.format);
    formats.find(|format| counts.get(format) == Some(&most))
}

/// Returns the file's name without folders and extension.
fn stem(file: &Listed) -> String {
    let stem = file.path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::station::library::Place;
    use crate::station::track::testing::{frame, opus_file};

    #[test]
    fn most_files_decide_and_the_others_are_refused_with_reasons() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            fs::write(folder.path().join(name), bytes).expect("a file");
        };
        let mp3: Vec<u8> = (0..9).flat_map(|at| frame(at, true)).collect();
        let tag = b"ID3\x04\0\0\0\0\0\x0ETIT2\0\0\0\x04\0\0\x03One";
        write("1 loud.opus", &opus_file(2, 9, None, 0));
        write("2.mp3", &[&tag[..], &mp3].concat());
        write("3 some song.mp3", &mp3);
        write("4.mp3", b"not a song");
        write("5.ogg", &opus_file(1, 9, None, 0));
        let other = [&[0xFF, 0xFB, 0x94, 0x64][..], &[0; 380]].concat();
        write("6.mp3", &other.repeat(4));
        write("7.mp3", b"");
        let listed = |folder| Catalogue {
            place: Place::Folder(folder),
            anywhere: false,
        };
        let catalogue = listed(folder.path().to_owned());
        let missing = listed(folder.path().join("none"));
        assert!(scan(std::slice::from_ref(&missing)).is_err());
        let library = scan(&[catalogue, missing]).expect("the first can be read");
        let tracks = library.lists.iter().flatten();
        let titles: Vec<_> = tracks.map(|track| &track.title[..]).collect();
        assert_eq!(titles, ["One", "3 some song"]);
        assert_eq!(library.lists[0][0].start, tag.len() as u64);
        let refused = library.refused.iter();
        let (missing, refused): (Vec<_>, Vec<_>) =
            refused.partition(|one| one.name.ends_with("/none"));
        assert!(missing[0].reason.contains("No such file"), "{missing:?}");
        let reasons = refused.iter();
        let reasons = reasons.map(|one| format!("{}: {}", one.name, one.reason));
        let station = "and the station is MP3, 44100 Hz, stereo";
        let unknown = Unfit::Unknown.to_string();
        let expected = [
            format!("4.mp3: {unknown}"),
            format!("7.mp3: {unknown}"),
            format!("1 loud.opus: it is Opus, 48000 Hz, stereo, {station}"),
            format!("5.ogg: it is Opus, 48000 Hz, mono, {station}"),
            format!("6.mp3: it is MP3, 48000 Hz, stereo, {station}"),
        ];
        assert_eq!(reasons.collect::<Vec<_>>(), expected);
        assert_eq!(library.refused_count, 6);
    }
}
