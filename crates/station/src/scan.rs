//! A scan: which files of a station's catalogues are tracks of one format.
//!
//! Most files of all catalogues decide which format the station has; of formats with as many files the first one's. What
//! does not fit is refused with a reason.

use std::collections::HashMap;

use crate::library::{Catalogue, ListError, Listed, Refused};
use crate::track::{Format, Track, Unfit, inspect};

/// Refused files that are kept with their reasons: more than a person reads. The number of all is known.
const REFUSED_KEPT: usize = 100;

/// What a station's catalogues hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Library {
    /// What can be played of each catalogue, in its order; all of one format.
    pub(crate) lists: Vec<Vec<Track>>,
    /// What is not played, and why: the first hundred.
    pub(crate) refused: Vec<Refused>,
    /// How many are not played.
    pub(crate) refused_count: usize,
}

impl Library {
    /// The format of all tracks; `None` without tracks.
    pub(crate) fn format(&self) -> Option<Format> {
        let first = self.lists.iter().flatten().next();
        first.map(|track| track.format)
    }

    /// How many tracks there are.
    pub(crate) fn tracks(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }

    /// The track that a file is, unless it is refused.
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

    /// Notes a file that is not played.
    pub(crate) fn refuse(&mut self, refused: Refused) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_KEPT {
            self.refused.push(refused);
        }
    }
}

/// Looks into every file. It waits for the disk.
///
/// # Errors
/// When the folder or the playlist of the first catalogue cannot be read. Of another that is shown as a file that is not
/// played, and the station goes on without it.
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

/// The file's name without folders and extension.
fn stem(file: &Listed) -> String {
    let stem = file.path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::library::Place;
    use crate::track::testing::{frame, opus_file};

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
        write(
            "6.mp3",
            &[&[0xFF, 0xFB, 0x94, 0x64][..], &[0; 380]]
                .concat()
                .repeat(4),
        );
        write("7.mp3", b"");
        let catalogue = Catalogue {
            place: Place::Folder(folder.path().to_owned()),
            anywhere: false,
        };
        let missing = Catalogue {
            place: Place::Folder(folder.path().join("none")),
            anywhere: false,
        };
        assert!(scan(std::slice::from_ref(&missing)).is_err());
        let library = scan(&[catalogue, missing]).expect("the first can be read");
        let titles: Vec<_> = library
            .lists
            .iter()
            .flatten()
            .map(|track| &track.title[..])
            .collect();
        assert_eq!(titles, ["One", "3 some song"]);
        assert_eq!(library.lists[0][0].start, tag.len() as u64);
        let (missing, refused): (Vec<_>, Vec<_>) = library
            .refused
            .iter()
            .partition(|one| one.name.ends_with("/none"));
        assert!(missing[0].reason.contains("No such file"), "{missing:?}");
        let reasons: Vec<_> = refused
            .iter()
            .map(|one| format!("{}: {}", one.name, one.reason))
            .collect();
        let station = "and the station is MP3, 44100 Hz, stereo";
        let unknown = Unfit::Unknown.to_string();
        assert_eq!(
            reasons,
            [
                format!("4.mp3: {unknown}"),
                format!("7.mp3: {unknown}"),
                format!("1 loud.opus: it is Opus, 48000 Hz, stereo, {station}"),
                format!("5.ogg: it is Opus, 48000 Hz, mono, {station}"),
                format!("6.mp3: it is MP3, 48000 Hz, stereo, {station}"),
            ]
        );
        assert_eq!(library.refused_count, 6);
    }
}
