//! Track: one file, and the facts about it that are known before it is played.
//!
//! Only a file's beginning and end are read. A file that does not fit is refused with a reason, which the operator
//! sees; the station continues without it.
//!
//! [`scan`](crate::station::scan) and [`playout`](crate::station::playout) call this module.

mod adts;
mod film;
mod flv;
mod mp3;
mod mp4;
mod ogg;
mod reel;

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use container::id3::FileTag;
use container::mp4_file::index;
use files::{Reader, Syntax};
use media::codec::aac::AdtsHeader;
use media::{Codec, Span};

pub(crate) use self::adts::configuration;
pub(crate) use self::film::Film;
pub(crate) use self::reel::{Frame, Reel};

/// Bytes read at a file's beginning, and after its tags: enough for three of the longest frames, for the texts of a
/// tag, which stand before its cover art, and for the comments of Opus without cover art.
const HEAD_BYTES: usize = 128 * 1024;

/// Bytes read at a file's end: the longest Ogg page.
const TAIL_BYTES: usize = 66_000;

/// Bytes read at once while a file is played: four seconds at 128 kb/s.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;

/// Most tags in a row at the beginning of a file. Some programs add a second one.
const TAGS_MAX: usize = 4;

/// Format that all tracks of a station have in common, so that a decoder plays one after another without a break.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Format {
    /// Video codec: H.264 or HEVC; `None` for audio alone.
    pub picture: Option<Codec>,
    /// Audio codec: MP3, AAC or Opus; AAC if there is video.
    pub codec: Codec,
    /// Samples per second; for MP3 it implies the version of MPEG, too.
    pub rate: u32,
    /// Number of channels: one or two; for AAC up to eight.
    pub channels: u8,
    /// Gain with which Opus is to be played, in 1/256 dB: a player is given it once.
    pub gain: i16,
    /// Object type of AAC: 2 is AAC-LC. 5 and 29 are high-efficiency AAC, where the file says so. 0 for other codecs.
    pub object_type: u8,
}

/// Layout of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Layout {
    /// Frames or pages, one after another.
    Run,
    /// Samples, with an index.
    Mp4,
    /// Tags, one after another.
    Flv,
}

/// File that can be played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Track {
    /// Path without links.
    pub(crate) path: PathBuf,
    /// Name in the folder or the playlist.
    pub(crate) name: String,
    /// Title that listeners receive: the playlist's, else the file's, else the file's name.
    pub(crate) title: String,
    /// Format of its media.
    pub(crate) format: Format,
    /// Duration, as far as its beginning states it.
    pub(crate) length: Option<Span>,
    /// Byte at which its media begins.
    pub(crate) start: u64,
    /// Layout of its file.
    pub(crate) layout: Layout,
    /// Frames of silence that its encoder added.
    pub(crate) padding: Padding,
}

impl Track {
    /// Opens its file and the reader of its items. Waits for the disk.
    pub(crate) fn open(&self) -> io::Result<(File, Reader)> {
        let file = open(&self.path)?;
        let length = file.metadata()?.len();
        let mut reader = match self.layout {
            Layout::Run => self.run(length),
            Layout::Mp4 => mp4::reader(&file, length, self.format)?,
            Layout::Flv => Reader::flv(length),
        };
        reader.open(&file)?;
        Ok((file, reader))
    }

    /// Makes a reader of frames or pages.
    fn run(&self, length: u64) -> Reader {
        let syntax = match self.format.codec {
            Codec::Opus => return Reader::stream(files::Format::Ogg, length),
            Codec::Aac => Syntax::Adts,
            _ => Syntax::MpegAudio,
        };
        // It is only read from its beginning, so its duration does not matter.
        let frames = files::Format::Frames(syntax, self.start, Duration::ZERO);
        Reader::stream(frames, length)
    }
}

/// Numbers of frames that contain only the silence that an encoder adds before and after the audio.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Padding {
    pub(crate) before: usize,
    pub(crate) behind: usize,
}

/// Formats that a station plays, for reasons of refusal.
const PLAYED: &str = "MP3, AAC (.aac, .m4a), Opus in Ogg, and H.264 or HEVC with AAC in MP4 or FLV";

/// Result of the inspection of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Contents {
    pub(crate) format: Format,
    pub(crate) length: Option<Span>,
    pub(crate) title: Option<String>,
    pub(crate) start: u64,
    pub(crate) layout: Layout,
    pub(crate) padding: Padding,
}

/// Reason for which a file is not played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    /// Unreadable file.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Folder, pipe or device.
    #[error("it is no file")]
    NoFile,
    /// File outside of the station's folder.
    #[error("it lies outside of the folder; absolute_paths = true allows that")]
    Outside,
    /// Address.
    #[error("it is an address; a station plays files, and [[pull]] relays streams")]
    Address,
    /// File with other contents, or a damaged one.
    #[error("it is damaged, or something else than {PLAYED}")]
    Unknown,
    /// File whose contents cannot be passed on without decoding, or not yet.
    #[error("it is {0}; a station plays {PLAYED}")]
    Kind(&'static str),
    /// Ogg file with another codec.
    #[error("it is {} in Ogg; of Ogg only Opus is played", .0.label())]
    Codec(Codec),
    /// MP4 file with another codec.
    #[error("it has {} in MP4; a station plays {PLAYED}", .0.label())]
    InMp4(Codec),
    /// MP4 file without audio that can be passed on.
    #[error("it has no AAC audio")]
    NoAudio,
    /// FLV file without audio and video that can be passed on, or without a keyframe.
    #[error("it has no H.264 or HEVC with AAC, or no keyframe at its beginning")]
    NoFilm,
    /// MP4 file that cannot be parsed.
    #[error("it cannot be played: {0}")]
    Mp4(index::Error),
    /// Several streams in one packet, or a channel layout without a number: the decoder would have to be configured for
    /// it.
    #[error("it has more than two channels, or a layout of them that cannot be passed on")]
    Channels,
    /// File of another format, which a decoder could not continue with.
    #[error("it is {found}, and the station is {station}")]
    Format {
        /// Format of the file.
        found: Format,
        /// Format of most files of the station.
        station: Format,
    },
}

impl Format {
    /// Values of [`Format::object_type`] for AAC with spectral band replication, and for that with parametric stereo.
    pub(crate) const HE_AAC: u8 = 5;
    pub(crate) const HE_AAC_V2: u8 = 29;

    /// Makes the format of plain audio.
    const fn audio(codec: Codec, rate: u32, channels: u8) -> Self {
        Self {
            picture: None,
            codec,
            rate,
            channels,
            gain: 0,
            object_type: 0,
        }
    }
}

/// Formats it as `MP3, 44100 Hz, stereo`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = match self.object_type {
            0 => self.codec.label(),
            1 => "AAC Main",
            2 => "AAC-LC",
            3 => "AAC-SSR",
            Self::HE_AAC => "HE-AAC",
            Self::HE_AAC_V2 => "HE-AAC v2",
            _ => "AAC-LTP",
        };
        if let Some(picture) = self.picture {
            write!(f, "{} with ", picture.label())?;
        }
        write!(f, "{codec}, {} Hz, ", self.rate)?;
        match self.channels {
            1 => f.write_str("mono")?,
            2 => f.write_str("stereo")?,
            more => write!(f, "{more} channels")?,
        }
        if self.gain != 0 {
            write!(f, ", {:+.1} dB", f64::from(self.gain) / 256.0)?;
        }
        Ok(())
    }
}

/// Opens the file at a path without links, if it is there. A link that was placed in the path since then may lead
/// elsewhere, so the check is where the opened file is.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a named pipe would wait for its writer.
    let is_file = path.metadata()?.is_file();
    let file = File::open(path)?;
    let place = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    match is_file && place == path && file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is another file than before")),
    }
}

/// Inspects a file.
pub(crate) fn inspect(path: &Path) -> Result<Contents, Unfit> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let tail = read(&file, length.saturating_sub(TAIL_BYTES as u64), TAIL_BYTES)?;
    let mut tag_title = None;
    let mut start = 0;
    for _ in 0..=TAGS_MAX {
        let head = read(&file, start, HEAD_BYTES)?;
        match FileTag::at_front(&head) {
            Some(tag) => {
                tag_title = tag_title.or_else(|| tag.title());
                start += tag.bytes();
            }
            None if head.starts_with(b"OggS") => return ogg::inspect(&head, &tail),
            None if start == 0 && mp4::is_mp4(&head) => return mp4::inspect(&file, length),
            None if start == 0 && flv::is_flv(&head) => return flv::inspect(&file, length),
            None => {
                let left = length - start.min(length);
                let mut contents = match kind_of(&head) {
                    Some(kind) => return Err(Unfit::Kind(kind)),
                    None if AdtsHeader::parse(&head).is_some() => {
                        adts::inspect(&head, &tail, left)?
                    }
                    None => mp3::inspect(&head, &tail, left)?,
                };
                contents.start += start;
                contents.title = tag_title.or(contents.title);
                return Ok(contents);
            }
        }
    }
    Err(Unfit::Unknown)
}

/// Returns the name of a known format that is not played, for a file that begins like this.
fn kind_of(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'f', b'L', b'a', b'C', ..] => Some("FLAC"),
        [b'R', b'I', b'F', b'F', ..] => Some("WAV"),
        _ => None,
    }
}

/// Reads bytes of a file; fewer at its end.
fn read(file: &File, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    let mut filled = 0;
    while filled < bytes {
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(buffer)
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_opened_where_it_was_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        fs::create_dir(root.join("found")).expect("a folder");
        fs::write(root.join("found/a.mp3"), "sound").expect("a file");
        symlink("found", root.join("swapped")).expect("a link");
        symlink("a.mp3", root.join("found/b.mp3")).expect("a link");
        assert!(open(&root.join("found/a.mp3")).is_ok());
        for path in ["swapped/a.mp3", "found/b.mp3", "found", "found/none.mp3"] {
            assert!(open(&root.join(path)).is_err(), "{path}");
        }
    }
}
