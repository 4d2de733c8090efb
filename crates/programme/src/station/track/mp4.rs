//! Inspection of an MP4 file by its index.

use std::fs::File;
use std::io;
use std::sync::Arc;

use container::id3;
use container::mp4_file::index::{Error, Index, Purpose};
use files::{Reader, blocking};
use media::Codec;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};

use super::{Contents, Format, Layout, Padding, Unfit};

/// Samples before the audio that decoders need: a frame of AAC carries only one half of its output.
const LEAD_IN: usize = 1;

/// Returns whether a file that begins like this is MP4.
pub(super) fn is_mp4(head: &[u8]) -> bool {
    head.get(4..8) == Some(b"ftyp")
}

/// Inspects a file.
pub(super) fn inspect(file: &File, length: u64) -> Result<Contents, Unfit> {
    let index = index(file, length)?;
    let format = format_of(&index)?;
    let (before, behind) = index.unheard();
    let tags = index.tags();
    Ok(Contents {
        format,
        length: Some(index.length()),
        title: id3::joined(tags.artist.clone(), tags.title.clone()),
        start: 0,
        layout: Layout::Mp4,
        padding: Padding {
            before: before.saturating_sub(LEAD_IN),
            behind,
        },
    })
}

/// Makes a reader of a file that was inspected before.
pub(super) fn reader(file: &File, length: u64, format: Format) -> io::Result<Reader> {
    let index = index(file, length).map_err(io::Error::other)?;
    if format_of(&index).ok() != Some(format) {
        return Err(io::Error::other("it has another format than before"));
    }
    Ok(Reader::mp4(Arc::new(index))?)
}

/// Reads a file's index, which is bounded.
fn index(file: &File, length: u64) -> Result<Index, Unfit> {
    match blocking::index(file, length, Purpose::Samples)? {
        Err(Error::NoTrack) => Err(Unfit::NoAudio),
        found => found.map_err(Unfit::Mp4),
    }
}

/// Returns the format of a file's media.
fn format_of(index: &Index) -> Result<Format, Unfit> {
    let (mut picture, mut audio) = (None, None);
    for track in index.tracks() {
        match track.codec {
            Codec::H264 | Codec::Hevc => picture = Some(track.codec),
            Codec::Aac => audio = Some(track),
            other => return Err(Unfit::InMp4(other)),
        }
    }
    let audio = audio.ok_or(Unfit::NoAudio)?;
    Ok(Format {
        picture,
        ..format_of_config(&audio.config)?
    })
}

/// Returns the format of AAC with this configuration.
pub(super) fn format_of_config(config: &[u8]) -> Result<Format, Unfit> {
    let config = AudioSpecificConfig::parse(config).ok_or(Unfit::Unknown)?;
    // A configuration that ADTS headers cannot express could not reach listeners of ADTS.
    let header = AdtsHeader::for_config(&config).ok_or(Unfit::Channels)?;
    Ok(Format {
        object_type: match config.extension {
            None => config.object_type,
            Some(extension) if extension.parametric_stereo => Format::HE_AAC_V2,
            Some(_) => Format::HE_AAC,
        },
        ..Format::audio(Codec::Aac, config.sample_rate, header.channels())
    })
}
