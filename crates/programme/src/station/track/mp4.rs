//! MP4 files: their contents, by their index, and their samples, a bounded amount at a time.

use std::fs::File;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use container::id3;
use container::mp4_file::index::{Cursor, Error, Index, Indexer, Placed, Purpose};
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::{Codec, Item, Sample, Timestamp};

use super::{Contents, Format, Layout, Padding, Unfit, read};

/// Bytes of samples that are read together, unless a few large ones exceed it, and the most samples: some seconds of
/// audio.
const PLAN_BYTES: u64 = 128 << 10;
const PLAN_SAMPLES: usize = 1_024;

/// Largest sample in bytes, as FLV limits it.
const SAMPLE_BYTES_MAX: u64 = container::flv::TAG_BODY_BYTES_MAX as u64;

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

/// Reads a file's index, which is bounded.
fn index(file: &File, length: u64) -> Result<Index, Unfit> {
    let mut indexer = Indexer::new(length, Purpose::Samples);
    loop {
        let Range { start, end } = indexer.wants();
        let bytes = read(file, start, (end - start) as usize)?;
        match indexer.take(&bytes) {
            Ok(None) => {}
            Ok(Some(index)) => return Ok(index),
            Err(Error::NoTrack) => return Err(Unfit::NoAudio),
            Err(error) => return Err(Unfit::Mp4(error)),
        }
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

/// Reader of a file's samples, in the order in which they are decoded.
#[derive(Debug)]
pub(crate) struct Mp4Reader {
    file: File,
    index: Index,
    cursor: Cursor,
    /// Whether the tracks were returned.
    has_reported: bool,
}

impl Mp4Reader {
    /// Opens a file that was inspected before.
    pub(crate) fn open(file: File, format: Format) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let index = index(&file, length).map_err(io::Error::other)?;
        if format_of(&index).ok() != Some(format) {
            return Err(io::Error::other("it has another format than before"));
        }
        Ok(Self {
            cursor: index.seek(Timestamp::ZERO),
            file,
            index,
            has_reported: false,
        })
    }

    /// Returns the next items: first the tracks, then samples; none at the end. It waits for the disk.
    pub(crate) fn next(&mut self) -> io::Result<Vec<Item>> {
        if !std::mem::replace(&mut self.has_reported, true) {
            let tracks = self.index.tracks().cloned();
            return Ok(tracks.map(Item::Track).collect());
        }
        let plan = self.plan()?;
        let mut ranges: Vec<_> = plan.iter().map(|placed| placed.range.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut windows: Vec<(u64, Bytes)> = Vec::new();
        let mut at = 0;
        while let Some(first) = ranges.get(at) {
            let mut window = first.clone();
            // Adjacent samples are read at once.
            while let Some(next) = ranges.get(at).filter(|next| next.start <= window.end) {
                window.end = window.end.max(next.end);
                at += 1;
            }
            let bytes = read(
                &self.file,
                window.start,
                (window.end - window.start) as usize,
            )?;
            windows.push((window.start, bytes.into()));
        }
        let items = plan.into_iter().map(|placed| {
            let number = windows.partition_point(|(start, _)| *start <= placed.range.start);
            let window = number.checked_sub(1).and_then(|last| windows.get(last));
            let data = window.and_then(|(start, bytes)| {
                let [begin, end] = [placed.range.start, placed.range.end].map(|at| at - start);
                let (begin, end) = (begin as usize, end as usize);
                (end <= bytes.len()).then(|| bytes.slice(begin..end))
            });
            Ok(Item::Sample(Sample {
                track: placed.track,
                dts: placed.dts,
                pts: placed.pts,
                duration: placed.duration,
                keyframe: placed.keyframe,
                data: data.ok_or(io::ErrorKind::UnexpectedEof)?,
                flv: None,
            }))
        });
        items.collect()
    }

    /// Chooses the samples to read next.
    fn plan(&mut self) -> io::Result<Vec<Placed>> {
        let (mut plan, mut bytes) = (Vec::new(), 0);
        while bytes < PLAN_BYTES && plan.len() < PLAN_SAMPLES {
            let Some(placed) = self.index.next(&mut self.cursor) else {
                break;
            };
            let length = placed.range.end - placed.range.start;
            if length > SAMPLE_BYTES_MAX {
                return Err(io::Error::other("a sample is too long"));
            }
            bytes += length;
            plan.push(placed);
        }
        Ok(plan)
    }
}
