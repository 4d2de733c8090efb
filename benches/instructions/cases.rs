//! The cases that are counted. Each first does its work once uncounted, so that first-time effects are left out, and then
//! repeats it identically on every run.

use std::hint::black_box;
use std::io;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use container::flv::{self, Muxer, Opening, Selection, Tag};
use container::icy::{Block, Interleaver, Piece};
use fanout::Class;
use fanout::probe::{BellProbe, JoinProbe, VisitProbe};
use media::{Charset, Codec, Framing, Item, Kind, Sample, Span, Timestamp, Title, Track, TrackId};
use net::tls::testing::TestTls;
use net::{Backend, Epoll, Inbound, Slot, Uring};
use rtmp::chunk::{self, Header, Limits, Reader};
use rtmp::message;

/// An MP3 frame at 128 kb/s and 44.1 kHz.
const FRAME: [u8; 418] = [0x55; 418];

/// Length of a video frame at 1 Mb/s and 30 frames per second.
const PICTURE_BYTES: usize = 4_096;

/// Number of listeners of one lane.
const LISTENERS: usize = 500;

/// Number of listeners with sockets. It is lower because each takes two descriptors.
const SOCKETS: usize = 200;

/// Number of listeners behind TLS. It is lower still because each has a handshake.
const SECURE: usize = 32;

/// Maximum number of frames in an audio message.
const FRAMES: usize = 16;

/// Number of frames for which a log of the probe takes two pages, wherever the first frame is in a page.
const FRAMES_OF_TWO_PAGES: usize = 1_024;

const REPETITIONS: u64 = 10;

/// A case with its name, which says what one operation is.
type Case = (&'static str, fn(&mut Run) -> Result<(), String>);

pub(crate) const CASES: &[Case] = &[
    ("listener visited in step: sound", visit_audio),
    ("listener visited in step: pictures", visit_pictures),
    ("listener visited in step: behind TLS", visit_secure),
    ("listener visited, every fifth behind", visit_stragglers),
    ("listener visited in step: epoll", visit_epoll),
    ("listener visited in step: io_uring", visit_io_uring),
    ("listener joins", join),
    ("frame appended, two workers woken", append),
    ("picture packaged for RTMP", package_rtmp),
    ("picture packaged for FLV", package_flv),
    ("frame interleaved with titles", interleave),
    ("64 KiB of RTMP read", read_chunks),
];

/// Counter of operations; callgrind counts their instructions.
#[derive(Default)]
pub(crate) struct Run {
    operations: u64,
}

impl Run {
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Does the work and counts it as `operations`.
    fn count(&mut self, operations: u64, mut work: impl FnMut()) {
        counted(&mut work);
        self.operations += operations;
    }
}

/// Runs the work that callgrind counts: `xtask` knows this function by its name.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Code after the call keeps the call from being replaced by a jump.
    black_box(());
}

fn no_socket(error: io::Error) -> String {
    format!("no descriptor left: {error}")
}

fn visit_audio(run: &mut Run) -> Result<(), String> {
    let mut lane = VisitProbe::new(LISTENERS).map_err(no_socket)?;
    in_step(run, &mut lane, LISTENERS);
    Ok(())
}

/// Visits listeners with audio, sealed for each of them.
fn visit_secure(run: &mut Run) -> Result<(), String> {
    let mut lane = VisitProbe::new(SECURE).map_err(no_socket)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(no_socket)?;
    let tls = TestTls::new();
    let records = (0..SECURE).map(|_| {
        let (_, stream) = runtime.block_on(tls.connect());
        stream.into_parts().map(|(_, records)| records)
    });
    let records: Vec<_> = records.collect::<Result<_, _>>().map_err(no_socket)?;
    lane.secure(records);
    // The buffer for sealing grows with the first messages.
    append_message(&mut lane);
    lane.visit();
    in_step(run, &mut lane, SECURE);
    Ok(())
}

/// Visits listeners with messages of a tenth of a second: three video frames and four audio frames.
fn visit_pictures(run: &mut Run) -> Result<(), String> {
    let backend = fanout::probe::Bottomless::new().map_err(no_socket)?;
    let mut lane = VisitProbe::with(Class::Video, LISTENERS, Box::new(backend));
    for _ in 0..REPETITIONS {
        for unit in 0..7 {
            match unit % 2 {
                0 => lane.append(&FRAME),
                _ => lane.append(&[0x5A; PICTURE_BYTES]),
            }
        }
        visit(run, &mut lane, LISTENERS);
    }
    Ok(())
}

fn in_step(run: &mut Run, lane: &mut VisitProbe, listeners: usize) {
    for _ in 0..REPETITIONS {
        append_message(lane);
        visit(run, lane, listeners);
    }
}

fn append_message(lane: &mut VisitProbe) {
    for _ in 0..FRAMES {
        lane.append(&FRAME);
    }
}

fn visit(run: &mut Run, lane: &mut VisitProbe, listeners: usize) {
    let mut sends = 0;
    run.count(listeners as u64, || sends = lane.visit());
    assert_eq!(sends, listeners as u64, "one send for each listener");
}

/// Visits listeners of which every fifth has missed between one and eight messages.
fn visit_stragglers(run: &mut Run) -> Result<(), String> {
    let mut lane = VisitProbe::new(LISTENERS).map_err(no_socket)?;
    for _ in 0..REPETITIONS {
        for missing in (1..=8).rev() {
            append_message(&mut lane);
            lane.pause(|listener| listener % 5 == 0 && listener / 5 % 8 + 1 >= missing);
            lane.visit();
        }
        lane.pause(|_| false);
        append_message(&mut lane);
        visit(run, &mut lane, LISTENERS);
    }
    Ok(())
}

fn visit_epoll(run: &mut Run) -> Result<(), String> {
    visit_sockets(run, Box::new(Epoll::new().map_err(no_socket)?))
}

fn visit_io_uring(run: &mut Run) -> Result<(), String> {
    Uring::probe().map_err(|why| why.to_string())?;
    let backend = Uring::new().map_err(|why| why.to_string())?;
    visit_sockets(run, Box::new(backend))
}

/// Visits listeners with sockets. The kernel's part is not counted, but the way into it is.
fn visit_sockets(run: &mut Run, mut backend: Box<dyn Backend>) -> Result<(), String> {
    let mut peers = Vec::new();
    for index in 0..SOCKETS as u32 {
        let (near, far) = UnixStream::pair().map_err(no_socket)?;
        let near = TcpStream::from(OwnedFd::from(near));
        let slot = Slot { index, reuse: 0 };
        let attached = backend.attach(slot, near, Inbound::Dropped);
        attached.map_err(no_socket)?;
        peers.push(far);
    }
    let mut lane = VisitProbe::with(Class::Audio, SOCKETS, backend);
    in_step(run, &mut lane, SOCKETS);
    Ok(())
}

fn join(run: &mut Run) -> Result<(), String> {
    let (socket, _peer) = UnixStream::pair().map_err(no_socket)?;
    let socket = TcpStream::from(OwnedFd::from(socket));
    let mut lane = JoinProbe::new(socket).map_err(no_socket)?;
    lane.join().map_err(no_socket)?;
    for _ in 0..100 {
        let mut sends = Ok(0);
        run.count(1, || sends = lane.join());
        assert!(sends.map_err(no_socket)? > 0, "the burst is sent at once");
    }
    Ok(())
}

fn append(run: &mut Run) -> Result<(), String> {
    let mut lane = BellProbe::new(2).map_err(no_socket)?;
    lane.append(&FRAME);
    for _ in 0..FRAMES_OF_TWO_PAGES {
        lane.sleep();
        run.count(1, || lane.append(black_box(&FRAME)));
    }
    Ok(())
}

/// A lane whose log discards its bytes at once.
#[derive(Default)]
struct Lane {
    bytes: Vec<u8>,
    write: Option<fn(&Tag<'_>, &mut Vec<u8>)>,
}

impl flv::TagSink for Lane {
    type Preamble = Arc<[u8]>;

    fn tag(&mut self, tag: &Tag<'_>) {
        if let Some(write) = self.write {
            write(tag, &mut self.bytes);
        }
    }

    fn preamble(&mut self, _: &Opening<'_>) -> Arc<[u8]> {
        Arc::default()
    }

    fn end_unit(&mut self, _: Timestamp, join: Option<Arc<[u8]>>) {
        black_box(join);
    }
}

fn package_rtmp(run: &mut Run) -> Result<(), String> {
    package(run, |tag, log| {
        let header = Header {
            csid: 6,
            timestamp: tag.at.millis() as u32,
            kind: message::Kind::Video,
            stream_id: 1,
        };
        chunk::write_parts(
            &header,
            &tag.parts(),
            chunk::CHUNK_SIZE_SHARED,
            &mut |bytes| log.extend_from_slice(bytes),
        );
    });
    Ok(())
}

fn package_flv(run: &mut Run) -> Result<(), String> {
    package(run, |tag, log| {
        tag.write(&mut |bytes| log.extend_from_slice(bytes));
    });
    Ok(())
}

fn package(run: &mut Run, write: fn(&Tag<'_>, &mut Vec<u8>)) {
    let track = Track {
        id: TrackId::VIDEO,
        kind: Kind::Video,
        codec: Codec::H264,
        framing: Framing::Bare,
        config: Bytes::from_static(&[1, 0x64, 0, 0x1F]),
        sample_rate: 0,
        channels: 0,
        flv: None,
    };
    let at = Timestamp::from_millis(1_000_000);
    let picture = |keyframe| {
        Item::Sample(Sample {
            track: TrackId::VIDEO,
            dts: at,
            pts: at,
            duration: Span::ZERO,
            keyframe,
            data: vec![0x5A; PICTURE_BYTES].into(),
            flv: None,
        })
    };
    let mut lane = Lane {
        bytes: Vec::with_capacity(4 * PICTURE_BYTES),
        write: Some(write),
    };
    let mut muxer = Muxer::new(Selection::ALL);
    for item in [Item::Track(Arc::new(track)), picture(true)] {
        muxer.push(&item, &mut lane);
    }
    let picture = picture(false);
    for _ in 0..1_000 {
        lane.bytes.clear();
        run.count(1, || muxer.push(black_box(&picture), &mut lane));
        assert!(lane.bytes.len() > PICTURE_BYTES);
    }
}

fn interleave(run: &mut Run) -> Result<(), String> {
    let metaint = NonZeroUsize::new(16_000).ok_or("sixteen thousand is zero")?;
    let title = Title {
        text: "Some Band - Some Song".to_owned(),
        url: String::new(),
    };
    let block = Block::new(&title, Charset::UTF_8);
    let mut interleaver = Interleaver::new(metaint);
    let mut log = Vec::with_capacity(8 * FRAME.len());
    for _ in 0..1_000 {
        log.clear();
        run.count(1, || {
            interleaver.push(black_box(&FRAME), &block, |piece| match piece {
                Piece::Audio(bytes) | Piece::Block(bytes) => log.extend_from_slice(bytes),
            });
        });
        assert!(log.len() >= FRAME.len());
    }
    Ok(())
}

/// Reads half a second of 1 Mb/s, in chunks of 4,096 bytes as written by OBS and recent versions of ffmpeg.
fn read_chunks(run: &mut Run) -> Result<(), String> {
    const READ_BYTES: usize = 64 << 10;
    let payload = [0x5A; PICTURE_BYTES];
    let mut bytes = BytesMut::new();
    let chunk_size = Header {
        csid: 2,
        timestamp: 0,
        kind: message::Kind::SetChunkSize,
        stream_id: 0,
    };
    chunk::write(&chunk_size, &4_096_u32.to_be_bytes(), 128, &mut bytes);
    let mut timestamp = 0;
    let mut messages = 0;
    while bytes.len() < READ_BYTES {
        let (kind, csid, length) = match messages % 2 {
            0 => (message::Kind::Video, 6, PICTURE_BYTES),
            _ => (message::Kind::Audio, 4, FRAME.len()),
        };
        let header = Header {
            csid,
            timestamp,
            kind,
            stream_id: 1,
        };
        chunk::write(&header, &payload[..length], 4_096, &mut bytes);
        timestamp += 17;
        messages += 1;
    }
    for _ in 0..REPETITIONS {
        let mut reader = Reader::new(Limits::PUBLISHER);
        let mut count = 0;
        run.count(1, || {
            let mut read = &bytes[..];
            while let Ok(Some(message)) = reader.read(&mut read) {
                black_box(&message);
                count += 1;
            }
        });
        assert_eq!(count, messages);
    }
    Ok(())
}
