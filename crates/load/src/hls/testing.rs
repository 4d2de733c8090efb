//! An HLS server for the tests: a live stream of synthetic audio whose parts follow from the clock.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock;
use crate::stamp::Stamp;

const PART_TIME: Duration = Duration::from_millis(100);
const PARTS_PER_SEGMENT: u64 = 5;
/// Parts that there are when the server starts.
const PARTS_BEFORE: u64 = 100;
const FRAMES_PER_PART: u64 = 4;
const SOURCE: u32 = 77;
/// Segments of half a second that are listed: eight seconds.
const SEGMENTS: u64 = 16;
/// Number of the last segments that deltas list, and of those that are listed with their parts.
const SEGMENTS_KEPT: u64 = 12;
const SEGMENTS_WITH_PARTS: u64 = 10;

/// Behaviour of the server towards its players.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manners {
    /// Bodies are chunked, and connections end with each answer.
    pub(super) closes: bool,
    /// Connections end, without an answer, when a second request comes.
    pub(super) hangs_up: bool,
    /// Blocking reloads are answered at once.
    pub(super) rushes: bool,
    /// One in this many parts is refused.
    pub(super) loses: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) addr: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Content of the server at any time.
#[derive(Clone, Copy, Debug)]
struct Stream {
    manners: Manners,
    began: Instant,
    /// Wall clock.
    began_at: u64,
}

impl Server {
    pub(super) fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let addr = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let stream = Stream {
            manners,
            began: Instant::now(),
            began_at: clock::wall(),
        };
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let socket = socket.expect("a connection");
                // It ends when the player hangs up.
                std::thread::spawn(move || stream.converse(&socket));
            }
        });
        Self { addr, stop, thread }
    }

    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        TcpStream::connect(self.addr).expect("it listens");
        self.thread.join().expect("no panic");
    }
}

impl Stream {
    fn converse(&self, socket: &TcpStream) {
        let mut lines = BufReader::new(socket).lines();
        while let Some(Ok(line)) = lines.next() {
            // The rest of the head.
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let target = line.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match self.answer(target) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", b"it is not here".to_vec()),
            };
            let head = if self.manners.closes {
                "Transfer-Encoding: chunked\r\nConnection: close".to_owned()
            } else {
                format!("Content-Length: {}", body.len())
            };
            let mut words = format!("HTTP/1.1 {status}\r\n{head}\r\n\r\n").into_bytes();
            if self.manners.closes {
                for chunk in body.chunks(100) {
                    words.extend(format!("{:x}\r\n", chunk.len()).bytes());
                    words.extend_from_slice(chunk);
                    words.extend_from_slice(b"\r\n");
                }
                words.extend_from_slice(b"0\r\n\r\n");
            } else {
                words.extend_from_slice(&body);
            }
            let mut socket = socket;
            if socket.write_all(&words).is_err() || self.manners.closes {
                return;
            }
            if self.manners.hangs_up {
                lines.next();
                return;
            }
        }
    }

    fn answer(&self, target: &str) -> Option<Vec<u8>> {
        let path = target.strip_prefix("/show/")?;
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let number = |start, end| -> Option<u64> {
            let name: &str = path.strip_prefix("hls/")?;
            name.strip_prefix(start)?.strip_suffix(end)?.parse().ok()
        };
        match path {
            "index.m3u8" => {
                let variant = "#EXT-X-STREAM-INF:BANDWIDTH=100000\nhls/live.m3u8\n";
                Some(format!("#EXTM3U\n{variant}").into_bytes())
            }
            "hls/live.m3u8" => Some(self.playlist(query).into_bytes()),
            "hls/init.mp4" => Some(map()),
            _ => match (number("p", ".mp4"), number("s", ".mp4")) {
                (Some(part), _) => self.part(part),
                (_, Some(segment)) => {
                    let parts = segment * PARTS_PER_SEGMENT..(segment + 1) * PARTS_PER_SEGMENT;
                    Some(parts.flat_map(|part| self.media(part)).collect())
                }
                _ => None,
            },
        }
    }

    /// Parts that are complete.
    fn count(&self) -> u64 {
        PARTS_BEFORE + (self.began.elapsed().as_millis() / PART_TIME.as_millis()) as u64
    }

    fn wait_for(&self, part: u64) {
        let after = PART_TIME * (part + 1).saturating_sub(PARTS_BEFORE) as u32;
        std::thread::sleep(after.saturating_sub(self.began.elapsed()));
    }

    fn part(&self, part: u64) -> Option<Vec<u8>> {
        let is_lost = self
            .manners
            .loses
            .is_some_and(|each| part.is_multiple_of(each));
        // The next one is hinted.
        if is_lost || part > self.count() {
            return None;
        }
        self.wait_for(part);
        Some(self.media(part))
    }

    fn media(&self, part: u64) -> Vec<u8> {
        let frames = part * FRAMES_PER_PART..(part + 1) * FRAMES_PER_PART;
        let after = clock::nanoseconds(PART_TIME) * (part + 1);
        let before = clock::nanoseconds(PART_TIME) * PARTS_BEFORE;
        fragment(SOURCE, frames, self.began_at + after - before)
    }

    fn playlist(&self, query: &str) -> String {
        let number = |name| {
            let mut values = query.split('&').filter_map(|one| one.strip_prefix(name));
            values.next().and_then(|value| value.parse::<u64>().ok())
        };
        if let (Some(segment), Some(part), false) = (
            number("_HLS_msn="),
            number("_HLS_part="),
            self.manners.rushes,
        ) {
            self.wait_for(segment * PARTS_PER_SEGMENT + part);
        }
        let count = self.count();
        let (complete, left) = (count / PARTS_PER_SEGMENT, count % PARTS_PER_SEGMENT);
        let first = complete - SEGMENTS;
        let skipped = if query.contains("_HLS_skip=YES") {
            SEGMENTS - SEGMENTS_KEPT
        } else {
            0
        };
        let mut text = format!(
            "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:1\n#EXT-X-PART-INF:PART-TARGET=0.1\n\
             #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.3,HOLD-BACK=3,CAN-SKIP-UNTIL=6\n\
             #EXT-X-MEDIA-SEQUENCE:{first}\n"
        );
        text += &match skipped {
            0 => "#EXT-X-MAP:URI=\"init.mp4\"\n".to_owned(),
            _ => format!("#EXT-X-SKIP:SKIPPED-SEGMENTS={skipped}\n"),
        };
        for segment in first + skipped..complete {
            if segment + SEGMENTS_WITH_PARTS >= complete {
                text += &list(segment, PARTS_PER_SEGMENT);
            }
            text += &format!("#EXTINF:0.5,\ns{segment}.mp4\n");
        }
        text += &list(complete, left);
        text + &format!("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p{count}.mp4\"\n")
    }
}

/// The first `count` parts of a segment.
fn list(segment: u64, count: u64) -> String {
    let line = |index| {
        let flag = if index == 0 { ",INDEPENDENT=YES" } else { "" };
        let part = segment * PARTS_PER_SEGMENT + index;
        format!("#EXT-X-PART:DURATION=0.1,URI=\"p{part}.mp4\"{flag}\n")
    };
    (0..count).map(line).collect()
}

/// Returns an initialization segment with an audio track.
pub(super) fn map() -> Vec<u8> {
    // Flags and two times, then the track's number or its clock; flags and a reserved word, then the kind.
    let header = boxed(b"tkhd", &[&[0; 12], &[0, 0, 0, 1]]);
    let clock = boxed(b"mdhd", &[&[0; 12], &48_000_u32.to_be_bytes()]);
    let handler = boxed(b"hdlr", &[&[0; 8], b"soun"]);
    let table = boxed(b"stbl", &[&boxed(b"stsd", &[&[0; 8]])]);
    let media = boxed(b"mdia", &[&clock, &handler, &boxed(b"minf", &[&table])]);
    let track = boxed(b"trak", &[&header, &media]);
    [boxed(b"ftyp", &[b"iso6"]), boxed(b"moov", &[&track])].concat()
}

/// A fragment with frames of `source`, sent at `sent`.
pub(super) fn fragment(source: u32, numbers: Range<u64>, sent: u64) -> Vec<u8> {
    let frames: Vec<Vec<u8>> = numbers
        .map(|number| {
            let mut frame = Vec::new();
            Stamp::of(source, number, sent).write(150, &mut frame);
            frame
        })
        .collect();
    let sizes: Vec<u8> = frames
        .iter()
        .flat_map(|frame| (frame.len() as u32).to_be_bytes())
        .collect();
    let count = (frames.len() as u32).to_be_bytes();
    let moof = |data_at: u32| {
        let header = boxed(b"tfhd", &[&[0, 2, 0, 0], &[0, 0, 0, 1]]);
        let time = boxed(b"tfdt", &[&[0; 8]]);
        let columns = [0, 0, 2, 1];
        let run = boxed(b"trun", &[&columns, &count, &data_at.to_be_bytes(), &sizes]);
        boxed(b"moof", &[&boxed(b"traf", &[&header, &time, &run])])
    };
    let data_at = moof(0).len() as u32 + 8;
    [moof(data_at), boxed(b"mdat", &[&frames.concat()])].concat()
}

fn boxed(name: &[u8; 4], content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let size = (content.len() as u32 + 8).to_be_bytes();
    [&size[..], name, &content].concat()
}
