//! A scan: which files of a catalogue are tracks of one format.
//!
//! Most files decide which format the station has; of formats with as many files the first one's. What does not fit is
//! refused with a reason.

use std::collections::HashMap;

use crate::library::{Catalogue, ListError, Listed, Refused};
use crate::track::{Format, Track, Unfit, inspect};

/// Refused files that are kept with their reasons: more than a person reads. The number of all is known.
const REFUSED_KEPT: usize = 100;

/// What a catalogue holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Library {
    /// What can be played, in the catalogue's order; all of one format.
    pub(crate) tracks: Vec<Track>,
    /// What is not played, and why: the first hundred.
    pub(crate) refused: Vec<Refused>,
    /// How many are not played.
    pub(crate) refused_count: usize,
}

impl Library {
    /// The format of all tracks; `None` without tracks.
    pub(crate) fn format(&self) -> Option<Format> {
        self.tracks.first().map(|track| track.format)
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
/// When the folder or the playlist cannot be read.
pub(crate) fn scan(catalogue: &Catalogue) -> Result<Library, ListError> {
    let (listed, refused) = catalogue.list()?;
    let mut library = Library::default();
    refused.into_iter().for_each(|one| library.refuse(one));
    let mut found = Vec::new();
    for file in listed {
        match inspect(&file.path) {
            Ok(contents) => found.push(Track {
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
                padding: contents.padding,
            }),
            Err(reason) => library.refuse(Refused {
                name: file.name,
                reason: reason.to_string(),
            }),
        }
    }
    let Some(station) = most_common(&found) else {
        return Ok(library);
    };
    for track in found {
        if track.format == station {
            library.tracks.push(track);
            continue;
        }
        let found = track.format;
        library.refuse(Refused {
            name: track.name,
            reason: Unfit::Format { found, station }.to_string(),
        });
    }
    Ok(library)
}

fn most_common(tracks: &[Track]) -> Option<Format> {
    let mut counts: HashMap<Format, usize> = HashMap::new();
    for track in tracks {
        *counts.entry(track.format).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let mut formats = tracks.iter().map(|track| track.format);
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
        let library = scan(&catalogue).expect("it can be read");
        let titles: Vec<_> = library
            .tracks
            .iter()
            .map(|track| &track.title[..])
            .collect();
        assert_eq!(titles, ["One", "3 some song"]);
        assert_eq!(library.tracks[0].start, tag.len() as u64);
        let reasons: Vec<_> = library
            .refused
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
        assert_eq!(library.refused_count, 5);
    }
}
