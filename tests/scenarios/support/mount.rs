//! Mounts of three kinds with a fallback, and their listeners.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::http::Listener;
use testkit::{PUBLISH_KEY, Process, Server, Tool};

use crate::support::{DEADLINE, decodes_quietly, file, wait_for_stream};

/// Length in seconds of files that last longer than a scenario.
pub(crate) const SECONDS: u32 = 120;

/// Fewest bytes in a second of audio, whatever the format.
pub(crate) const SECOND_BYTES: usize = 12_000;

/// Kind of stream: an extension (which is also ffmpeg's name of it as an input), the format of ffmpeg's output, the media type,
/// and the encoding.
pub(crate) struct Kind {
    pub(crate) extension: &'static str,
    format: &'static str,
    media_type: &'static str,
    codec: &'static str,
    /// Options of a publisher's muxer.
    muxer: &'static str,
}

pub(crate) const AUDIO: [Kind; 3] = [
    Kind {
        extension: "mp3",
        format: "mp3",
        media_type: "audio/mpeg",
        // The encoder uses the bit reservoir for noise.
        codec: "-c:a libmp3lame -b:a 128k -write_xing 0 -id3v2_version 0",
        muxer: "",
    },
    Kind {
        extension: "aac",
        format: "adts",
        media_type: "audio/aac",
        codec: "-c:a aac -b:a 128k",
        muxer: "",
    },
    Kind {
        extension: "ogg",
        format: "ogg",
        media_type: "application/ogg",
        codec: "-c:a libvorbis -b:a 128k",
        // Pages are a fifth of a second: by default they have a second, which listeners would wait for in any case.
        muxer: "-page_duration 200000",
    },
];

pub(crate) const OPUS: Kind = Kind {
    extension: "opus",
    format: "ogg",
    media_type: "application/ogg",
    codec: "-c:a libopus -b:a 96k -page_duration 200000",
    muxer: "-page_duration 200000",
};

pub(crate) fn mp3() -> Kind {
    let [mp3, ..] = AUDIO;
    mp3
}

impl Kind {
    /// Makes this many seconds of noise; each seed gives a different file.
    pub(crate) fn make(&self, folder: &TempDir, seed: u32, seconds: u32) -> PathBuf {
        let noise = format!("anoisesrc=seed={seed}:amplitude=0.3:duration={seconds}:r=44100");
        self.encode(folder, &seed.to_string(), &noise)
    }

    /// Encodes the output of a source of ffmpeg's to a file of this name.
    pub(crate) fn encode(&self, folder: &TempDir, name: &str, source: &str) -> PathBuf {
        let path = folder.path().join(format!("{name}.{}", self.extension));
        Tool::ffmpeg()
            .args(["-f", "lavfi", "-i", source, "-ac", "2"])
            .args(self.codec.split(' '))
            .args(["-f", self.format])
            .arg(&path)
            .run(DEADLINE);
        path
    }

    pub(crate) fn publish(&self, server: &Server, path: &Path, stream: &str) -> Process {
        self.publish_to(&server.icecast_url(stream, PUBLISH_KEY), path)
    }

    /// Publishes a file over and over, until it is stopped.
    pub(crate) fn publish_to(&self, url: &str, path: &Path) -> Process {
        Tool::ffmpeg()
            .args(["-stream_loop", "-1", "-re", "-i"])
            .arg(path)
            .args(["-c", "copy", "-content_type", self.media_type])
            .args(self.muxer.split_whitespace())
            .args(["-f", self.format, url])
            .start()
    }
}

/// Returns the length of the frame or page that a body begins with; `None` when it does not begin with one.
fn unit_bytes(kind: &Kind, body: &[u8]) -> Option<usize> {
    match (kind.format, body) {
        ("mp3", [0xFF, 0xFB, flags, ..]) => Some(417 + usize::from(flags >> 1 & 1)),
        ("adts", [0xFF, 0xF1, _, a, b, c, ..]) => {
            Some(usize::from(a & 3) << 11 | usize::from(*b) << 3 | usize::from(c >> 5))
        }
        ("ogg", [b'O', b'g', b'g', b'S', ..]) => {
            let table = body.get(27..27 + usize::from(body[26]))?;
            let bytes: usize = table.iter().map(|lace| usize::from(*lace)).sum();
            Some(27 + table.len() + bytes)
        }
        _ => None,
    }
}

/// Returns a body up to the end of its last whole unit; asserts that no unit before is cut.
pub(crate) fn whole_units<'a>(kind: &Kind, body: &'a [u8]) -> &'a [u8] {
    const HEAD_BYTES_MAX: usize = 27 + 255;
    let mut at = 0;
    while body.len() - at > HEAD_BYTES_MAX {
        let length = unit_bytes(kind, &body[at..]);
        let length = length.unwrap_or_else(|| panic!("{}: cut at byte {at}", kind.format));
        if at + length > body.len() {
            break;
        }
        at += length;
    }
    &body[..at]
}

/// Returns whether the newest part of a body is from a file. Ogg has a header every few kilobytes, which is the muxer's own, so
/// several places are compared.
pub(crate) fn is_of(body: &[u8], file: &[u8]) -> bool {
    const PLACE: usize = 64;
    let tail = &body[body.len().saturating_sub(2_000)..];
    let mut places = tail.chunks_exact(PLACE).rev().take(8);
    places.any(|place| file.windows(PLACE).any(|part| part == place))
}

/// A stream, its listener, and the media of its publisher and its fallback.
pub(crate) struct Mount {
    pub(crate) kind: Kind,
    pub(crate) stream: String,
    pub(crate) files: [PathBuf; 2],
    audio: [Vec<u8>; 2],
    pub(crate) studio: Process,
    _backup: Process,
    pub(crate) listener: Listener,
}

impl Mount {
    pub(crate) fn begin(kind: Kind, files: [PathBuf; 2], server: &Server) -> Self {
        let stream = format!("radio.{}", kind.extension);
        let backup = format!("backup.{}", kind.extension);
        let audio = files.each_ref().map(|path| std::fs::read(path).unwrap());
        let second = kind.publish(server, &files[1], &backup);
        wait_for_stream(server, &backup);
        let studio = kind.publish(server, &files[0], &stream);
        wait_for_stream(server, &stream);
        let listener = server.listen(&format!("/{stream}"));
        assert_eq!(listener.status(), 200);
        Self {
            kind,
            stream,
            files,
            audio,
            studio,
            _backup: second,
            listener,
        }
    }

    /// Reads another second.
    pub(crate) fn more(&mut self) {
        let had = self.listener.body().len();
        self.listener.read_bytes(had + SECOND_BYTES, DEADLINE);
    }

    /// Reads until the listener receives the studio (0) or the fallback (1).
    pub(crate) fn hears(&mut self, which: usize) {
        let Self {
            listener, audio, ..
        } = self;
        let has_come = listener.read_until(DEADLINE, |body| is_of(body, &audio[which]));
        assert!(has_come, "{}: {which} is heard", self.stream);
    }
}

pub(crate) fn rules() -> String {
    let rule = |kind: &Kind| {
        let extension = kind.extension;
        format!(
            "[[stream]]\nmatch = \"radio.{extension}\"\nfallback = \"backup.{extension}\"\nburst = \"30s\"\n"
        )
    };
    AUDIO.iter().map(rule).collect()
}

/// Decodes everything that a listener received, and asserts that there is no complaint.
pub(crate) fn assert_decodes(mount: &Mount) {
    let heard = file(whole_units(&mount.kind, mount.listener.body()));
    // ffmpeg reads as from a listener's socket: for the length it would look at the end, where Ogg has another stream.
    let options = ["-seekable", "0", "-f", mount.kind.extension];
    decodes_quietly(&mount.stream, heard.path(), &options);
}
