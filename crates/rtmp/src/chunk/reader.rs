//! Reader that reassembles messages from chunks, however the sender and the network split them.

use bytes::BytesMut;

use super::{
    CHUNK_SIZE_INITIAL, CHUNK_SIZE_MAX, CHUNK_STREAMS_MAX, CHUNKS_PER_MESSAGE_MAX,
    COMMAND_MESSAGE_MAX, DATA_MESSAGE_MAX, EXTENDED, HEADER_BYTES_MAX, MEDIA_MESSAGE_MAX,
    PARTIAL_MESSAGES_MAX,
};
use crate::{
    Error,
    message::{Kind, Message},
};

/// Bytes of memory that messages share which arrive together: as much as a publisher of 1 Mb/s sends in an
/// eighth of a second. A message that is kept keeps the others. An allocator finds pieces of one size
/// fastest.
const SHARED_BYTES: usize = 16 << 10;

/// Bytes that have to have arrived before [`SHARED_BYTES`] are allocated: memory is held in proportion to the
/// bytes that a peer has sent.
const SHARED_FROM: usize = SHARED_BYTES / 4;

/// Limits on the memory that a peer may make the reader hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest media or data message that is kept, in bytes; longer ones are read and discarded.
    pub keep_max: u32,
    /// Sum of all unfinished messages, in bytes. Buffers are at most twice this.
    pub partial_bytes_max: usize,
    /// Bytes by which a buffer may be reserved ahead of those received, if at least as many more are waiting
    /// in the read buffer.
    pub reserve_max: usize,
}

impl Limits {
    /// Limits of a peer that may not publish yet: room for one large command, and for the codec configuration
    /// that some encoders send before they are accepted.
    pub const STRANGER: Self = Self {
        keep_max: 16 << 10,
        partial_bytes_max: 72 << 10,
        reserve_max: 0,
    };
    /// Limits of a player, of which there are thousands and which sends little: one command with a long
    /// address.
    pub const PLAYER: Self = Self {
        keep_max: 1 << 10,
        partial_bytes_max: 8 << 10,
        reserve_max: 0,
    };
    /// Limits of an accepted publisher: two of the largest messages.
    pub const PUBLISHER: Self = Self {
        keep_max: MEDIA_MESSAGE_MAX,
        partial_bytes_max: 2 * MEDIA_MESSAGE_MAX as usize,
        reserve_max: 64 << 10,
    };
}

/// Receiving end of a chunk stream.
///
/// Invariants: `partial` is the number of chunk streams with a message in progress, and `partial_bytes` the
/// payload they hold; a message's buffer never exceeds the largest of twice its received bytes,
/// [`Limits::reserve_max`], and the memory that messages share. The messages returned depend on the bytes
/// only, never on how they were split.
///
/// SetChunkSize and Abort are handled here, and nowhere else. After an error the stream is out of
/// step and must not be read further.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    chunk_size: u32,
    streams: Vec<ChunkStream>,
    /// Index in `streams` of the last chunk's stream.
    last: usize,
    partial: usize,
    partial_bytes: usize,
    /// Payload bytes still to come in the current chunk, which is one of `streams[last]`.
    body: Option<u32>,
    carry: Carry,
    /// Empty room for the next messages.
    shared: BytesMut,
}

/// Fields of the last header on a chunk stream, and the message in progress.
#[derive(Debug)]
struct ChunkStream {
    csid: u32,
    timestamp: u32,
    fields: Fields,
    message: Option<Partial>,
}

/// Fields of a header. A header that leaves one out repeats that of the header before.
#[derive(Clone, Copy, Debug)]
struct Fields {
    /// The time field as sent, extended or not: absolute in format 0, else a difference.
    time: u32,
    extended: bool,
    length: u32,
    kind: Kind,
    stream_id: u32,
}

impl Fields {
    /// Fields before the first header. Those that it leaves out in format 1 are zero: librtmp's pong arrives
    /// like that.
    const NONE: Self = Self {
        time: 0,
        extended: false,
        length: 0,
        kind: Kind::Other(0),
        stream_id: 0,
    };
}

#[derive(Debug)]
struct Partial {
    received: u32,
    chunks: u32,
    keep: bool,
    data: BytesMut,
}

/// Beginning of a chunk header whose rest has not arrived.
#[derive(Debug, Default)]
struct Carry {
    bytes: [u8; HEADER_BYTES_MAX],
    length: usize,
}

/// Length of a message header of each format.
const MESSAGE_HEADER_BYTES: [usize; 4] = [11, 7, 3, 0];

enum Step {
    /// The header, or the body, is incomplete.
    Starved,
    /// The number of bytes used, and the message that they completed, if any.
    Used(usize, Option<Message>),
}

struct ChunkHeader {
    /// Index in `streams`; its length for a chunk stream not seen before.
    index: usize,
    csid: u32,
    format: u8,
    fields: Fields,
    used: usize,
}

impl Reader {
    /// Creates a reader at the initial chunk size.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            chunk_size: CHUNK_SIZE_INITIAL,
            streams: Vec::new(),
            last: 0,
            partial: 0,
            partial_bytes: 0,
            body: None,
            carry: Carry::default(),
            shared: BytesMut::new(),
        }
    }

    /// Changes the limits for messages that begin from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Frees memory reserved for more chunk streams than the peer uses.
    pub fn shrink(&mut self) {
        self.streams.shrink_to_fit();
    }

    /// Returns the payload held for unfinished messages, in bytes.
    pub fn partial_bytes(&self) -> usize {
        self.partial_bytes
    }

    /// Takes bytes from the front of `input` until a message is complete. Returns `None` once `input` is used
    /// up.
    ///
    /// # Errors
    /// The peer breaks the protocol or a limit.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<Message>, Error> {
        loop {
            let message = if self.carry.length == 0 {
                match self.step(input, input.len())? {
                    Step::Used(used, message) => {
                        *input = &input[used..];
                        message
                    }
                    Step::Starved => {
                        self.carry.fill(input);
                        return Ok(None);
                    }
                }
            } else {
                // At most one header's bytes, and only where a read ended inside a header.
                let carried = self.carry.bytes;
                let waiting = self.carry.length + input.len();
                match self.step(&carried[..self.carry.length], waiting)? {
                    Step::Used(used, message) => {
                        self.carry.consume(used);
                        message
                    }
                    Step::Starved => {
                        let Some((byte, rest)) = input.split_at_checked(1) else {
                            return Ok(None);
                        };
                        self.carry.fill(&mut &byte[..]);
                        *input = rest;
                        None
                    }
                }
            };
            if let Some(message) = message
                && let Some(message) = self.obey(message)?
            {
                return Ok(Some(message));
            }
        }
    }

    /// Reads one chunk header, or one piece of a chunk's body. `waiting` is the number of bytes known to have
    /// arrived, `data` are the contiguous ones.
    fn step(&mut self, data: &[u8], waiting: usize) -> Result<Step, Error> {
        match self.body {
            Some(_) if data.is_empty() => Ok(Step::Starved),
            Some(left) => self.read_body(data, left, waiting),
            None => {
                let Some(header) = self.parse_header(data)? else {
                    return Ok(Step::Starved);
                };
                let used = header.used;
                let message = self.begin_chunk(header)?;
                Ok(Step::Used(used, message))
            }
        }
    }

    fn parse_header(&self, data: &[u8]) -> Result<Option<ChunkHeader>, Error> {
        let Some(&first) = data.first() else {
            return Ok(None);
        };
        let format = first >> 6;
        let (csid, basic) = match (first & 0x3f, data) {
            (0, [_, low, ..]) => (64 + u32::from(*low), 2),
            (1, [_, low, high, ..]) => (64 + u32::from(*low) + 256 * u32::from(*high), 3),
            (0 | 1, _) => return Ok(None),
            (csid, _) => (u32::from(csid), 1),
        };
        let index = self.find(csid);
        let stream = self.streams.get(index);
        match stream {
            None if format >= 2 => return Err(Error::UnknownChunkStream { csid, format }),
            None if self.streams.len() == CHUNK_STREAMS_MAX => {
                return Err(Error::TooManyChunkStreams);
            }
            Some(stream) if stream.message.is_some() && format != 3 => {
                return Err(Error::HeaderInsideMessage { csid });
            }
            _ => {}
        }

        let mut used = basic + MESSAGE_HEADER_BYTES[usize::from(format)];
        let Some(fields) = data.get(basic..used) else {
            return Ok(None);
        };
        let big_endian =
            |at: usize| u32::from_be_bytes([0, fields[at], fields[at + 1], fields[at + 2]]);
        let mut said = stream.map_or(Fields::NONE, |stream| stream.fields);
        if format <= 2 {
            said.time = big_endian(0);
            said.extended = said.time == EXTENDED;
        }
        if format <= 1 {
            said.length = big_endian(3);
            said.kind = Kind::from_wire(fields[6]);
        }
        if format == 0 {
            said.stream_id = u32::from_le_bytes([fields[7], fields[8], fields[9], fields[10]]);
        }
        if said.extended {
            let tail = &data[used..];
            if format == 3 {
                // Some senders repeat the extended time here, others do not: it is there if the
                // bytes match it. A first difference decides before all four bytes are in.
                let expected = said.time.to_be_bytes();
                let seen = tail.len().min(4);
                if tail[..seen] == expected[..seen] {
                    if seen < 4 {
                        return Ok(None);
                    }
                    used += 4;
                }
            } else {
                let Some(&time) = tail.first_chunk() else {
                    return Ok(None);
                };
                said.time = u32::from_be_bytes(time);
                used += 4;
            }
        }
        Ok(Some(ChunkHeader {
            index,
            csid,
            format,
            fields: said,
            used,
        }))
    }

    /// Returns the index of a chunk stream, or the number of all when it is new.
    fn find(&self, csid: u32) -> usize {
        match self.streams.get(self.last) {
            Some(stream) if stream.csid == csid => self.last,
            _ => self
                .streams
                .iter()
                .position(|s| s.csid == csid)
                .unwrap_or(self.streams.len()),
        }
    }

    /// Begins a chunk. Returns the message if it is empty, because it has no body to wait for.
    fn begin_chunk(&mut self, header: ChunkHeader) -> Result<Option<Message>, Error> {
        if header.index == self.streams.len() {
            self.streams.push(ChunkStream {
                csid: header.csid,
                timestamp: 0,
                fields: Fields::NONE,
                message: None,
            });
        }
        self.last = header.index;
        let stream = &mut self.streams[header.index];
        if stream.message.is_none() {
            // Without a header of its own a message takes the last difference again; after a full
            // header that is its absolute time (RTMP 1.0 §5.3.1.2.4).
            let fields = header.fields;
            stream.timestamp = match header.format {
                0 => fields.time,
                _ => stream.timestamp.wrapping_add(fields.time),
            };
            stream.fields = fields;
            stream.message = Some(Partial {
                received: 0,
                chunks: 0,
                keep: keeps(fields.kind, fields.length, &self.limits)?,
                data: BytesMut::new(),
            });
            self.partial += 1;
            if self.partial > PARTIAL_MESSAGES_MAX {
                return Err(Error::TooManyPartialMessages);
            }
        }
        let Some(message) = &mut stream.message else {
            return Ok(None);
        };
        message.chunks += 1;
        if message.chunks > CHUNKS_PER_MESSAGE_MAX {
            return Err(Error::TooManyChunks { csid: stream.csid });
        }
        let left = (stream.fields.length - message.received).min(self.chunk_size);
        if left == 0 {
            return Ok(self.finish());
        }
        self.body = Some(left);
        Ok(None)
    }

    fn read_body(&mut self, data: &[u8], left: u32, waiting: usize) -> Result<Step, Error> {
        let stream = &mut self.streams[self.last];
        let Some(message) = &mut stream.message else {
            self.body = None;
            return Ok(Step::Used(0, None));
        };
        let length = stream.fields.length as usize;
        let take = data.len().min(left as usize);
        let piece = &data[..take];
        message.received += take as u32;
        if message.keep {
            self.partial_bytes += take;
            if self.partial_bytes > self.limits.partial_bytes_max {
                return Err(Error::TooManyPartialBytes {
                    max: self.limits.partial_bytes_max,
                });
            }
            if message.data.capacity() - message.data.len() < take {
                let ahead = waiting.min(self.limits.reserve_max);
                if message.data.is_empty() && length <= ahead {
                    message.data = carve(&mut self.shared, length, ahead);
                } else {
                    let capacity = (message.data.len() + take)
                        .max(2 * message.data.len())
                        .max(ahead)
                        .min(length);
                    let mut larger = BytesMut::with_capacity(capacity);
                    larger.extend_from_slice(&message.data);
                    message.data = larger;
                }
            }
            message.data.extend_from_slice(piece);
        }
        let finished = message.received == stream.fields.length;
        self.body = (take < left as usize).then(|| left - take as u32);
        Ok(Step::Used(
            take,
            if finished { self.finish() } else { None },
        ))
    }

    /// Ends the message on the current chunk stream. Returns the message, unless it was only skipped.
    fn finish(&mut self) -> Option<Message> {
        let stream = &mut self.streams[self.last];
        let message = stream.message.take()?;
        self.partial -= 1;
        self.partial_bytes -= message.data.len();
        message.keep.then(|| Message {
            kind: stream.fields.kind,
            timestamp: stream.timestamp,
            stream_id: stream.fields.stream_id,
            payload: message.data.freeze(),
        })
    }

    /// Handles the messages about the chunk stream itself and passes on all others.
    fn obey(&mut self, message: Message) -> Result<Option<Message>, Error> {
        if !matches!(message.kind, Kind::SetChunkSize | Kind::Abort) {
            return Ok(Some(message));
        }
        let value = message.control_value()?;
        if message.kind == Kind::SetChunkSize {
            // The top bit must be zero (RTMP 1.0 §5.4.1); some set it.
            let size = value & 0x7fff_ffff;
            if size == 0 {
                return Err(Error::ChunkSizeZero);
            }
            self.chunk_size = size.min(CHUNK_SIZE_MAX);
        } else {
            self.abort(value);
        }
        Ok(None)
    }

    /// Forgets the unfinished message of a chunk stream (RTMP 1.0 §5.4.2).
    fn abort(&mut self, csid: u32) {
        let index = self.find(csid);
        if let Some(message) = self.streams.get_mut(index).and_then(|s| s.message.take()) {
            self.partial -= 1;
            self.partial_bytes -= message.data.len();
        }
    }
}

/// Returns memory for a message of which `waiting` bytes have arrived: shared with those that follow it, if
/// they fit.
fn carve(shared: &mut BytesMut, length: usize, waiting: usize) -> BytesMut {
    if shared.capacity() < length {
        let room = match waiting {
            SHARED_FROM.. => SHARED_BYTES,
            _ => waiting,
        };
        if room < 2 * length {
            return BytesMut::with_capacity(length);
        }
        *shared = BytesMut::with_capacity(room);
    }
    let rest = shared.split_off(length);
    std::mem::replace(shared, rest)
}

/// Whether a message is kept, rather than read and discarded.
fn keeps(kind: Kind, length: u32, limits: &Limits) -> Result<bool, Error> {
    let (max, keep_max) = match kind {
        Kind::Audio | Kind::Video | Kind::Aggregate => (MEDIA_MESSAGE_MAX, limits.keep_max),
        Kind::DataAmf0 | Kind::DataAmf3 => (DATA_MESSAGE_MAX, limits.keep_max),
        _ => (COMMAND_MESSAGE_MAX, COMMAND_MESSAGE_MAX),
    };
    if length > max {
        return Err(Error::MessageTooLong { kind, length, max });
    }
    Ok(length <= keep_max)
}

impl Carry {
    /// Moves all of `input` in; it is never more than the beginning of a header.
    fn fill(&mut self, input: &mut &[u8]) {
        let end = self.length + input.len();
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(input);
            self.length = end;
            *input = &[];
        }
    }

    fn consume(&mut self, used: usize) {
        self.bytes.copy_within(used..self.length, 0);
        self.length -= used;
    }
}
