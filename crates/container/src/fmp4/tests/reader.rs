//! A reader of fragmented MP4 that shares nothing with the writer. It knows what ffmpeg writes, too.

use bytes::Bytes;
use media::{
    Codec, Framing, Item, Kind, Sample, Span, TICKS_PER_SECOND, Timestamp, Track, TrackId,
};

/// A whole file, or a run of a log.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) moovs: Vec<Moov>,
    pub(super) fragments: Vec<Moof>,
}

#[derive(Debug, Default)]
pub(super) struct Moov {
    pub(super) brands: Vec<[u8; 4]>,
    pub(super) tracks: Vec<Trak>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Trak {
    pub(super) id: u32,
    pub(super) handler: [u8; 4],
    pub(super) timescale: u32,
    /// Dimensions in `tkhd`, then in the sample entry.
    pub(super) sizes: [(u16, u16); 2],
    pub(super) entry: [u8; 4],
    pub(super) channels: u16,
    pub(super) rate: u16,
    /// The codec's box in the sample entry, and its content.
    pub(super) record: ([u8; 4], Vec<u8>),
    trex: Defaults,
}

#[derive(Clone, Copy, Debug, Default)]
struct Defaults {
    duration: u32,
    size: u32,
    flags: u32,
}

#[derive(Debug)]
pub(super) struct Moof {
    pub(super) number: u32,
    /// Number of segments before it.
    pub(super) moov: usize,
    pub(super) trafs: Vec<Traf>,
}

#[derive(Debug)]
pub(super) struct Traf {
    pub(super) track: u32,
    pub(super) at: u64,
    pub(super) rows: Vec<Row>,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: u64,
    pub(super) duration: u32,
    pub(super) composition: i64,
    pub(super) is_sync: bool,
    pub(super) data: Vec<u8>,
}

impl Moof {
    pub(super) fn rows(&self, track: u32) -> &[Row] {
        let traf = self.trafs.iter().find(|traf| traf.track == track);
        traf.map_or(&[], |traf| &traf.rows)
    }
}

impl Traf {
    pub(super) fn end(&self) -> u64 {
        let last = self.rows.last();
        last.map_or(self.at, |row| row.at + u64::from(row.duration))
    }
}

impl File {
    /// Reads all of `data`.
    pub(super) fn parse(data: &[u8]) -> Self {
        let mut file = Self::default();
        let mut brands = Vec::new();
        let mut at = 0;
        for (kind, content) in boxes(data) {
            match &kind {
                b"ftyp" => brands = content[8..].as_chunks().0.to_vec(),
                b"moov" => {
                    let mut moov = Moov::parse(content);
                    moov.brands = std::mem::take(&mut brands);
                    file.moovs.push(moov);
                }
                b"moof" => {
                    let moov = file.moovs.last().expect("a moov comes first");
                    let next = &data[at + 8 + content.len()..];
                    assert_eq!(&next[4..8], b"mdat");
                    let mdat = u32_at(next, 0) as usize;
                    let whole = &data[at..at + 8 + content.len() + mdat];
                    let fragment = Moof::parse(content, whole, moov, file.moovs.len());
                    file.fragments.push(fragment);
                }
                b"mdat" | b"emsg" | b"mfra" | b"free" | b"sidx" | b"styp" => {}
                other => panic!("a box {:?}", String::from_utf8_lossy(other)),
            }
            at += 8 + content.len();
        }
        file
    }

    /// All samples of a track, in order.
    pub(super) fn rows(&self, track: u32) -> impl Iterator<Item = &Row> {
        self.fragments.iter().flat_map(move |it| it.rows(track))
    }

    pub(super) fn trak(&self, handler: &[u8; 4]) -> Option<&Trak> {
        let moov = self.moovs.last()?;
        moov.tracks.iter().find(|trak| trak.handler == *handler)
    }

    /// The stream that this is a file of: its tracks, and its samples in the order of their times.
    pub(super) fn items(&self) -> Vec<Item> {
        let moov = self.moovs.last().expect("a moov");
        let mut samples = Vec::new();
        for trak in &moov.tracks {
            samples.extend(self.rows(trak.id).map(|row| trak.sample(row)));
        }
        samples.sort_by_key(|sample| sample.dts);
        let tracks = moov.tracks.iter().map(Trak::track);
        let mut items: Vec<Item> = tracks.map(|track| Item::Track(track.into())).collect();
        items.extend(samples.into_iter().map(Item::Sample));
        items
    }
}

impl Moov {
    fn parse(content: &[u8]) -> Self {
        let mut moov = Self::default();
        for (kind, content) in boxes(content) {
            match &kind {
                b"trak" => moov.tracks.push(Trak::parse(content)),
                b"mvex" => {
                    for (_, trex) in boxes(content).filter(|(kind, _)| kind == b"trex") {
                        let id = u32_at(trex, 4);
                        let track = moov.tracks.iter_mut().find(|track| track.id == id);
                        track.expect("a track of every trex").trex = Defaults {
                            duration: u32_at(trex, 12),
                            size: u32_at(trex, 16),
                            flags: u32_at(trex, 20),
                        };
                    }
                }
                _ => {}
            }
        }
        moov
    }
}

impl Trak {
    fn parse(trak: &[u8]) -> Self {
        let tkhd = find(trak, b"tkhd");
        assert_eq!(tkhd[0], 0, "32-bit times");
        let mdhd = find(find(trak, b"mdia"), b"mdhd");
        let media = find(trak, b"mdia");
        let entries = &find(find(find(media, b"minf"), b"stbl"), b"stsd")[8..];
        let (entry, content) = boxes(entries).next().expect("a sample entry");
        let handler = find(media, b"hdlr")[8..12].try_into().expect("four bytes");
        let mut track = Self {
            id: u32_at(tkhd, 12),
            handler,
            timescale: u32_at(mdhd, 12),
            entry,
            ..Self::default()
        };
        let behind = if &handler == b"vide" {
            let side = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
            track.sizes = [
                (side(&tkhd[76..]), side(&tkhd[80..])),
                (side(&content[24..]), side(&content[26..])),
            ];
            &content[78..]
        } else {
            track.channels = u16::from_be_bytes([content[16], content[17]]);
            track.rate = u16::from_be_bytes([content[24], content[25]]);
            &content[28..]
        };
        let (kind, record) = boxes(behind).next().expect("the codec's box");
        track.record = (kind, record.to_vec());
        track
    }

    /// The codec, and its configuration as the vocabulary has it.
    fn coding(&self) -> (Codec, Vec<u8>) {
        let record = &self.record.1;
        let codec = match &self.entry {
            b"avc1" => Codec::H264,
            b"hvc1" => Codec::Hevc,
            b"av01" => Codec::Av1,
            b"vp09" => Codec::Vp9,
            b"ac-3" => Codec::Ac3,
            b"ec-3" => Codec::Eac3,
            b"fLaC" => return (Codec::Flac, record[8..].to_vec()),
            b"Opus" => {
                let mut head = [b"OpusHead\x01", &record[1..2]].concat();
                for field in [2..4, 4..8, 8..10] {
                    head.extend(record[field].iter().rev());
                }
                head.push(record[10]);
                return (Codec::Opus, head);
            }
            b"mp4a" => match descriptor(&record[4..], 5) {
                Some(config) => return (Codec::Aac, config),
                None => return (Codec::Mp3, Vec::new()),
            },
            other => panic!("a {:?}", String::from_utf8_lossy(other)),
        };
        (codec, record.clone())
    }

    fn track(&self) -> Track {
        let (codec, config) = self.coding();
        let kind = self.kind();
        Track {
            config: config.into(),
            sample_rate: self.rate.into(),
            channels: self.channels as u8,
            ..Track::new(TrackId::first(kind), kind, codec, Framing::Bare)
        }
    }

    fn kind(&self) -> Kind {
        match &self.handler {
            b"vide" => Kind::Video,
            _ => Kind::Audio,
        }
    }

    fn sample(&self, row: &Row) -> Sample {
        let tick = TICKS_PER_SECOND / i64::from(self.timescale);
        let dts = Timestamp::from_ticks(row.at as i64 * tick);
        let data = Bytes::copy_from_slice(&row.data);
        Sample {
            pts: dts + Span::from_ticks(row.composition * tick),
            keyframe: row.is_sync,
            ..Sample::frame(TrackId::first(self.kind()), dts, Span::ZERO, data)
        }
    }
}

impl Moof {
    /// Reads a fragment, whose boxes are `whole`, and demands that its samples lie side by side in `mdat`
    /// and fill it.
    fn parse(content: &[u8], whole: &[u8], moov: &Moov, moovs: usize) -> Self {
        let mut data_at = 8 + content.len() + 8;
        let mut trafs = Vec::new();
        for (_, traf) in boxes(content).filter(|(kind, _)| kind == b"traf") {
            trafs.push(Traf::parse(traf, whole, moov, &mut data_at));
        }
        assert_eq!(data_at, whole.len(), "all of mdat is told of");
        assert!(!trafs.is_empty());
        Self {
            number: u32_at(find(content, b"mfhd"), 4),
            moov: moovs,
            trafs,
        }
    }
}

impl Traf {
    fn parse(traf: &[u8], whole: &[u8], moov: &Moov, data_at: &mut usize) -> Self {
        let tfhd = find(traf, b"tfhd");
        let flags = u32_at(tfhd, 0) & 0xFF_FFFF;
        // Positions count from the moof.
        assert_eq!(flags & 0x02_0001, 0x02_0000);
        let track = u32_at(tfhd, 4);
        let trak = moov.tracks.iter().find(|trak| trak.id == track);
        let mut defaults = trak.expect("a track of every traf").trex;
        let mut fields = words(&tfhd[8..]);
        assert_eq!(flags & 2, 0, "the one sample description");
        for (flag, field) in [
            (0x08, &mut defaults.duration),
            (0x10, &mut defaults.size),
            (0x20, &mut defaults.flags),
        ] {
            if flags & flag != 0 {
                *field = fields.next().expect("a field of every flag");
            }
        }
        let tfdt = find(traf, b"tfdt");
        assert_eq!(tfdt[0], 1, "64-bit times");
        let mut at = u64::from_be_bytes(tfdt[4..12].try_into().expect("eight bytes"));
        let begin = at;
        let mut rows = Vec::new();
        for (_, trun) in boxes(traf).filter(|(kind, _)| kind == b"trun") {
            let columns = u32_at(trun, 0) & 0xFF_FFFF;
            let is_signed = trun[0] == 1;
            let mut fields = words(&trun[8..]);
            let mut field = |flag: u32, default: u32| {
                if columns & flag == 0 {
                    return default;
                }
                fields.next().expect("a field of every flag")
            };
            assert_eq!(field(1, 0) as usize, *data_at, "samples lie side by side");
            let first_flags = field(4, defaults.flags);
            for index in 0..u32_at(trun, 4) {
                let duration = field(0x100, defaults.duration);
                let size = field(0x200, defaults.size) as usize;
                let others = defaults.flags;
                let flags = field(0x400, if index == 0 { first_flags } else { others });
                let composition = field(0x800, 0);
                assert!(is_signed || composition < 1 << 31);
                rows.push(Row {
                    at,
                    duration,
                    composition: i64::from(composition as i32),
                    is_sync: flags & 0x1_0000 == 0,
                    data: whole[*data_at..*data_at + size].to_vec(),
                });
                at += u64::from(duration);
                *data_at += size;
            }
        }
        let has_table = boxes(traf).any(|(kind, _)| kind == *b"trun");
        assert_eq!(has_table, !rows.is_empty());
        Self {
            track,
            at: begin,
            rows,
        }
    }
}

/// The boxes in `data`, which has nothing beside them.
fn boxes(mut data: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let size = u32_at(data, 0) as usize;
        let (whole, rest) = data.split_at(size);
        data = rest;
        Some((whole[4..8].try_into().expect("four bytes"), &whole[8..]))
    })
}

/// The content of the first such box.
fn find<'a>(data: &'a [u8], kind: &[u8; 4]) -> &'a [u8] {
    let found = boxes(data).find(|(found, _)| found == kind);
    let name = String::from_utf8_lossy(kind);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

/// The content of the first descriptor with `tag`, however deep.
pub(super) fn descriptor(mut data: &[u8], tag: u8) -> Option<Vec<u8>> {
    while let Some((found, mut rest)) = data.split_first() {
        let mut length = 0;
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            length = length << 7 | usize::from(byte & 0x7F);
            if byte & 0x80 == 0 {
                break;
            }
        }
        let content = &rest[..length];
        if *found == tag {
            return Some(content.to_vec());
        }
        data = match found {
            3 => &content[3..],
            4 => &content[13..],
            _ => &rest[length..],
        };
    }
    None
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(data[at..at + 4].try_into().expect("four bytes"))
}

fn words(data: &[u8]) -> impl Iterator<Item = u32> {
    let words = data.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_be_bytes(*word))
}
