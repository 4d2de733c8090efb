//! Events on PIDs of their own: timed ID3, and splice information.
//!
//! Each is declared in the program map from its first event on, because players list declared streams.
//!
//! Sources: "Timed Metadata for HTTP Live Streaming" (Apple) §2 for ID3; ANSI/SCTE 35 §8 for splice information.

use media::EventContent;

use super::packet::Pid;
use super::tables::Entry;

/// PIDs below those of tracks, and used by no table.
const ID3_PID: Pid = Pid(0x40);
const SPLICE_PID: Pid = Pid(0x41);

/// Stream types: metadata in PES packets (ISO/IEC 13818-1 table 2-34), and splice information (SCTE 35 §8.1).
const TYPE_METADATA: u8 = 0x15;
const TYPE_SPLICE: u8 = 0x86;

/// `metadata_pointer_descriptor`, which belongs to the program: ID3 is the format of application and metadata, and
/// service 0 is in program 1.
const METADATA_POINTER: &[u8] = b"\x25\x0F\xFF\xFFID3 \xFFID3 \x00\x1F\x00\x01";

/// `metadata_descriptor`, which belongs to the stream: the same, without a decoder's configuration.
const METADATA: &[u8] = b"\x26\x0D\xFF\xFFID3 \xFFID3 \x00\x0F";

/// Registration of a program with splice information (SCTE 35 §8.1).
const SPLICES_REGISTERED: &[u8] = b"\x05\x04CUEI";

/// Form in which an event is carried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Carriage {
    /// A tag in a PES packet.
    Id3,
    /// A section.
    Splice,
}

impl Carriage {
    pub(super) const fn of(content: &EventContent) -> Self {
        match content {
            EventContent::Cue(_) => Self::Splice,
            EventContent::Id3(_) | EventContent::Caption(_) => Self::Id3,
        }
    }

    pub(super) const fn pid(self) -> Pid {
        match self {
            Self::Id3 => ID3_PID,
            Self::Splice => SPLICE_PID,
        }
    }

    fn entry(self) -> Entry {
        let (stream_type, descriptors): (u8, &[u8]) = match self {
            Self::Id3 => (TYPE_METADATA, METADATA),
            Self::Splice => (TYPE_SPLICE, &[]),
        };
        Entry {
            stream_type,
            pid: self.pid(),
            descriptors: descriptors.to_vec(),
        }
    }

    const fn of_program(self) -> &'static [u8] {
        match self {
            Self::Id3 => METADATA_POINTER,
            Self::Splice => SPLICES_REGISTERED,
        }
    }
}

/// Declared kinds of event.
#[derive(Debug, Default)]
pub(super) struct EventStreams(Vec<Carriage>);

impl EventStreams {
    /// Declares a kind; returns false if it is declared already.
    pub(super) fn declare(&mut self, carriage: Carriage) -> bool {
        let is_new = !self.0.contains(&carriage);
        if is_new {
            self.0.push(carriage);
        }
        is_new
    }

    /// Returns the entries of the event streams in the program map.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.0.iter().map(|carriage| carriage.entry())
    }

    /// Returns the program's descriptors.
    pub(super) fn descriptors(&self) -> Vec<u8> {
        let descriptors = self.0.iter().map(|carriage| carriage.of_program());
        descriptors.collect::<Vec<_>>().concat()
    }
}
