use bytes::BytesMut;
use proptest::prelude::*;
use rml_rtmp::{
    chunk_io::{ChunkDeserializer, ChunkSerializer},
    messages::MessagePayload,
    time::RtmpTimestamp,
};

use super::*;
use crate::{
    Error,
    message::{Kind, Message},
};

fn reader() -> Reader {
    Reader::new(Limits::PUBLISHER)
}

fn read_all(reader: &mut Reader, mut input: &[u8]) -> Result<Vec<Message>, Error> {
    let mut messages = Vec::new();
    while let Some(message) = reader.read(&mut input)? {
        messages.push(message);
    }
    assert!(input.is_empty());
    Ok(messages)
}

/// All messages before the first error, and the error.
fn collect<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Message>, Option<Error>) {
    let mut reader = reader();
    let mut messages = Vec::new();
    for mut input in pieces {
        loop {
            match reader.read(&mut input) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
        assert!(input.is_empty());
    }
    (messages, None)
}

/// Reads `bytes` whole, byte by byte, and in pieces of 7; all must agree.
#[track_caller]
fn read(bytes: &[u8]) -> Result<Vec<Message>, Error> {
    let whole = collect([bytes]);
    for size in [1, 7] {
        assert_eq!(collect(bytes.chunks(size)), whole, "in pieces of {size}");
    }
    match whole {
        (messages, None) => Ok(messages),
        (_, Some(error)) => Err(error),
    }
}

fn be24(value: u32) -> [u8; 3] {
    let [_, a, b, c] = value.to_be_bytes();
    [a, b, c]
}

/// A chunk header in format 0 or 1.
fn head(format: u8, csid: u8, time: u32, length: u32, kind: u8) -> Vec<u8> {
    let mut out = vec![format << 6 | csid];
    out.extend(be24(time.min(0xff_ffff)));
    out.extend(be24(length));
    out.push(kind);
    if format == 0 {
        out.extend(1_u32.to_le_bytes());
    }
    if time >= 0xff_ffff {
        out.extend(time.to_be_bytes());
    }
    out
}

/// A header of a message on stream 1.
fn of(csid: u32, timestamp: u32, kind: Kind) -> Header {
    Header {
        csid,
        timestamp,
        kind,
        stream_id: 1,
    }
}

fn times(messages: &[Message]) -> Vec<u32> {
    messages.iter().map(|m| m.timestamp).collect()
}

fn set_chunk_size(size: u32) -> Vec<u8> {
    [head(0, 2, 0, 4, 1), size.to_be_bytes().to_vec()].concat()
}

#[test]
fn headers_without_fields_repeat_the_last() {
    let bytes = [
        head(0, 4, 1_000, 2, 8),
        b"aa".to_vec(),
        head(1, 4, 20, 3, 8),
        b"bbb".to_vec(),
        vec![2 << 6 | 4, 0, 0, 23],
        b"ccc".to_vec(),
        vec![3 << 6 | 4],
        b"ddd".to_vec(),
        head(0, 4, 500, 1, 9),
        b"e".to_vec(),
        // After a full header the difference is its absolute time.
        vec![3 << 6 | 4],
        b"f".to_vec(),
    ]
    .concat();
    let got = read(&bytes).unwrap();
    assert_eq!(times(&got), [1_000, 1_020, 1_043, 1_066, 500, 1_000]);
    assert_eq!(got[3].payload, b"ddd"[..]);
    assert!(got.iter().all(|m| m.stream_id == 1));
}

#[test]
fn interleaved_messages_do_not_mix() {
    let audio: Vec<u8> = (0..200).collect();
    let video: Vec<u8> = (0..300_u32).map(|n| (n * 7) as u8).collect();
    let bytes = [
        head(0, 6, 40, 300, 9),
        video[..128].to_vec(),
        head(0, 4, 41, 200, 8),
        audio[..128].to_vec(),
        vec![3 << 6 | 6],
        video[128..256].to_vec(),
        head(0, 2, 0, 4, 3),
        vec![0, 0, 0, 1],
        vec![3 << 6 | 4],
        audio[128..].to_vec(),
        vec![3 << 6 | 6],
        video[256..].to_vec(),
    ]
    .concat();
    let got = read(&bytes).unwrap();
    let kinds: Vec<_> = got.iter().map(|m| m.kind).collect();
    assert_eq!(kinds, [Kind::Acknowledgement, Kind::Audio, Kind::Video]);
    assert_eq!(got[1].payload, audio);
    assert_eq!(got[2].payload, video);
}

#[test]
fn chunk_size_changes_inside_another_message() {
    let video = vec![5; 1_000];
    let bytes = [
        head(0, 6, 0, 1_000, 9),
        video[..128].to_vec(),
        // The top bit does not count.
        set_chunk_size(0x8000_1000),
        vec![3 << 6 | 6],
        video[128..].to_vec(),
    ]
    .concat();
    assert_eq!(read(&bytes).unwrap()[0].payload, video);
}

#[test]
fn one_byte_chunks_carry_a_message() {
    let payload: Vec<u8> = (0..=255).collect();
    let mut bytes = set_chunk_size(1);
    bytes.extend(head(0, 4, 9, 256, 8));
    bytes.push(0);
    for byte in 1..=255 {
        bytes.extend([3 << 6 | 4, byte]);
    }
    assert_eq!(read(&bytes).unwrap()[0].payload, payload);
}

#[test]
fn work_per_message_is_bounded() {
    let mut bytes = set_chunk_size(1);
    bytes.extend(head(0, 4, 9, CHUNKS_PER_MESSAGE_MAX + 1, 8));
    bytes.push(0);
    bytes.extend([3 << 6 | 4, 0].repeat(CHUNKS_PER_MESSAGE_MAX as usize));
    let got = read_all(&mut reader(), &bytes);
    assert_eq!(got, Err(Error::TooManyChunks { csid: 4 }));
}

#[test]
fn abort_forgets_one_message() {
    let bytes = [
        head(0, 6, 0, 200, 9),
        vec![1; 128],
        head(0, 4, 0, 200, 8),
        vec![2; 128],
        head(0, 2, 0, 4, 2),
        vec![0, 0, 0, 6],
        // Chunk stream 6 starts over, 4 continues.
        head(0, 6, 0, 3, 9),
        b"new".to_vec(),
        vec![3 << 6 | 4],
        vec![2; 72],
    ]
    .concat();
    let got = read(&bytes).unwrap();
    assert_eq!(got[0].payload, b"new"[..]);
    assert_eq!(got[1].payload, vec![2; 200]);
}

#[test]
fn a_first_header_may_be_format_1_but_no_shorter() {
    let pong = [head(1, 2, 7, 6, 4), vec![0, 7, 0, 0, 0, 1]].concat();
    let got = read(&pong).unwrap();
    assert_eq!((got[0].stream_id, got[0].timestamp), (0, 7));
    // Shorter ones are refused as well: see `what_breaks_the_format_is_refused`.
}

#[test]
fn empty_messages_are_messages() {
    let bytes = [
        head(0, 4, 5, 0, 8),
        vec![3 << 6 | 4],
        head(1, 4, 1, 2, 8),
        b"xy".to_vec(),
    ]
    .concat();
    let got = read(&bytes).unwrap();
    assert_eq!(times(&got), [5, 10, 11]);
    assert!(got[0].payload.is_empty());
}

#[test]
fn extended_time_repeated_or_not() {
    for time in [0xff_ffff, 0x0100_0000, 1 << 31, u32::MAX] {
        for repeated in [true, false] {
            let mut bytes = head(0, 6, time, 300, 9);
            for (n, length) in [128, 128, 44].into_iter().enumerate() {
                if n > 0 {
                    bytes.push(3 << 6 | 6);
                    if repeated {
                        bytes.extend(time.to_be_bytes());
                    }
                }
                bytes.extend(vec![0x10 + n as u8; length]);
            }
            bytes.extend(head(0, 4, 1, 1, 8));
            bytes.push(0);
            let got = read(&bytes).unwrap();
            assert_eq!(got[0].timestamp, time);
            assert_eq!(got[0].payload.len(), 300);
            assert_eq!(
                got[0].payload[128..],
                [vec![0x11; 128], vec![0x12; 44]].concat()
            );
            assert_eq!(got.len(), 2);
        }
    }
}

#[test]
fn payload_that_half_resembles_the_time_is_payload() {
    let time = 0x0102_0304_u32;
    let tail = [1, 2, 3, 5];
    let mut bytes = head(0, 6, time, 132, 9);
    bytes.extend(vec![0; 128]);
    bytes.push(3 << 6 | 6);
    bytes.extend(tail);
    let got = read(&bytes).unwrap();
    assert_eq!(got[0].payload[128..], tail);
}

#[test]
fn an_omitted_extended_time_delays_no_short_tail() {
    let mut bytes = head(0, 6, 0x0102_0304, 129, 9);
    bytes.extend(vec![0; 128]);
    bytes.extend([3 << 6 | 6, 0x77]);
    assert_eq!(read(&bytes).unwrap().len(), 1);
}

#[test]
fn extended_differences_and_the_wrap() {
    let bytes = [
        head(0, 4, u32::MAX - 5, 1, 8),
        b"a".to_vec(),
        head(1, 4, 10, 1, 8),
        b"b".to_vec(),
        head(1, 4, 0x0200_0000, 1, 8),
        b"c".to_vec(),
        // A new message without header repeats the extended difference.
        vec![3 << 6 | 4, 2, 0, 0, 0],
        b"d".to_vec(),
    ]
    .concat();
    let got = read(&bytes).unwrap();
    assert_eq!(times(&got), [u32::MAX - 5, 4, 0x0200_0004, 0x0400_0004]);
}

#[test]
fn lengths_are_checked_when_announced() {
    for (kind, max) in [
        (9, MEDIA_MESSAGE_MAX),
        (18, DATA_MESSAGE_MAX),
        (20, COMMAND_MESSAGE_MAX),
    ] {
        assert!(read(&head(0, 4, 0, max, kind)).is_ok());
        let got = read(&head(0, 4, 0, max + 1, kind));
        let kind = Kind::from_wire(kind);
        let length = max + 1;
        assert_eq!(got, Err(Error::MessageTooLong { kind, length, max }));
    }
    assert!(read(&head(0, 4, 0, 0xff_ffff, 9)).is_err());
}

#[test]
fn an_announcement_reserves_nothing() {
    let mut reader = Reader::new(Limits::STRANGER);
    read_all(&mut reader, &set_chunk_size(1)).unwrap();
    for csid in 3..3 + PARTIAL_MESSAGES_MAX as u8 {
        let bytes = [head(0, csid, 0, 16_000, 9), vec![1]].concat();
        assert_eq!(read_all(&mut reader, &bytes), Ok(vec![]));
    }
    assert_eq!(reader.partial_bytes(), PARTIAL_MESSAGES_MAX);
    let got = read_all(&mut reader, &head(0, 60, 0, 16_000, 9));
    assert_eq!(got, Err(Error::TooManyPartialMessages));
}

#[test]
fn messages_that_arrive_together_share_memory() {
    let message = |byte| [head(0, 4, 0, 100, 8), vec![byte; 100]].concat();
    let bytes: Vec<u8> = (0..5).flat_map(message).collect();
    let got = read(&bytes).unwrap();
    assert_eq!(got.len(), 5);
    let (bytes_alone, mut reader) = (message(9), reader());
    let all = [bytes, bytes_alone].concat();
    let got = read_all(&mut reader, &all).unwrap();
    let addresses: Vec<_> = got.iter().map(|it| it.payload.as_ptr() as usize).collect();
    let ends = got.iter().map(|it| it.payload.as_ptr_range().end as usize);
    let beside = ends.zip(&addresses[1..]).filter(|(end, next)| end == *next);
    assert_eq!(beside.count(), 5);
    // One that does not fit twice into what has arrived has memory of its own.
    let large = [head(0, 4, 0, 60, 8), vec![1; 60], head(0, 4, 0, 20_000, 9)].concat();
    assert_eq!(read_all(&mut reader, &large).unwrap().len(), 1);
}

#[test]
fn chunk_streams_are_counted() {
    let mut bytes = BytesMut::new();
    for csid in 2..65_002 {
        write(&of(csid, 0, Kind::Audio), b"x", 128, &mut bytes);
    }
    let mut input = &bytes[..];
    let mut reader = reader();
    for _ in 0..CHUNK_STREAMS_MAX {
        assert!(reader.read(&mut input).unwrap().is_some());
    }
    assert_eq!(reader.read(&mut input), Err(Error::TooManyChunkStreams));
}

#[test]
fn a_stranger_holds_little() {
    let mut reader = Reader::new(Limits::STRANGER);
    // A large keyframe is read past.
    let mut bytes = BytesMut::new();
    let header = of(6, 0, Kind::Video);
    write(&header, &vec![1; 500_000], 128, &mut bytes);
    write(&header, b"small", 128, &mut bytes);
    for piece in bytes.chunks(1_000) {
        let got = read_all(&mut reader, piece).unwrap();
        assert!(got.iter().all(|m| m.payload == b"small"[..]));
        assert!(reader.partial_bytes() < 16);
    }
    // Two large commands at once are one too many.
    let mut bytes = set_chunk_size(40_000);
    for csid in [3, 4] {
        bytes.extend(head(0, csid, 0, 60_000, 20));
        bytes.extend(vec![0; 40_000]);
    }
    let got = read_all(&mut reader, &bytes);
    assert_eq!(got, Err(Error::TooManyPartialBytes { max: 72 << 10 }));
}

#[test]
fn what_breaks_the_format_is_refused() {
    let inside = [head(0, 6, 0, 200, 9), vec![1; 128], head(1, 6, 0, 300, 9)].concat();
    let short = |kind| [head(0, 2, 0, 3, kind), vec![0; 3]].concat();
    let too_short = |kind| Error::ShortControlMessage { kind, length: 3 };
    let unknown = |format| Error::UnknownChunkStream { csid: 5, format };
    let within = Error::HeaderInsideMessage { csid: 6 };
    for (name, bytes, error) in [
        ("chunks of no size", set_chunk_size(0), Error::ChunkSizeZero),
        ("a header inside", inside, within),
        ("a short size", short(1), too_short(Kind::from_wire(1))),
        ("a short abort", short(2), too_short(Kind::from_wire(2))),
        ("format 2 first", vec![2 << 6 | 5, 0, 0, 0], unknown(2)),
        ("format 3 first", vec![3 << 6 | 5, 0, 0, 0], unknown(3)),
    ] {
        assert_eq!(read(&bytes), Err(error), "{name}");
    }
}

/// A message to send, and how a compressing sender may write it.
#[derive(Debug, Clone)]
struct Sent {
    csid: u32,
    timestamp: u32,
    payload: Vec<u8>,
}

fn any_messages() -> impl Strategy<Value = Vec<Sent>> {
    let time = prop_oneof![
        0..100_u32,
        0xff_fff0..0x0100_0010_u32,
        0x7fff_fff0..0x8000_0010_u32,
        any::<u32>()
    ];
    let csid = prop_oneof![2..8_u32, 60..70_u32, 319..321_u32, Just(65_599)];
    let message = (csid, time, prop::collection::vec(any::<u8>(), 0..600)).prop_map(
        |(csid, timestamp, payload)| Sent {
            csid,
            timestamp,
            payload,
        },
    );
    prop::collection::vec(message, 0..12)
}

fn encode(messages: &[Sent], chunk_size: u32) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    bytes.extend(set_chunk_size(chunk_size));
    for sent in messages {
        let header = of(sent.csid, sent.timestamp, Kind::Video);
        write(&header, &sent.payload, chunk_size, &mut bytes);
    }
    bytes.to_vec()
}

fn assert_same(got: &[Message], sent: &[Sent]) {
    assert_eq!(got.len(), sent.len());
    for (got, sent) in got.iter().zip(sent) {
        assert_eq!(got.timestamp, sent.timestamp);
        assert_eq!(got.payload, sent.payload);
    }
}

proptest! {
    #[test]
    fn written_messages_are_read(messages in any_messages(), chunk_size in 1..700_u32) {
        assert_same(&read(&encode(&messages, chunk_size)).unwrap(), &messages);
    }

    #[test]
    fn noise_is_read_alike_however_split(
        prefix in any_messages(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let bytes = [encode(&prefix, 128), noise].concat();
        let whole = collect([&bytes[..]]);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(collect(pieces), whole);
    }

    /// An independent reader understands what we write, at the sizes we send with.
    #[test]
    fn an_independent_reader_agrees(
        messages in any_messages(),
        chunk_size in prop::sample::select(&[128_u32, 4_096, 65_536][..]),
    ) {
        let messages: Vec<_> = messages
            .into_iter()
            .map(|sent| Sent { csid: sent.csid % 60 + 3, ..sent })
            .filter(|sent| !sent.payload.is_empty())
            .collect();
        let bytes = encode(&messages, chunk_size);
        let mut peer = ChunkDeserializer::new();
        let mut input = &bytes[..];
        let mut got = Vec::new();
        while let Some(message) = peer.get_next_message(input).unwrap() {
            if message.type_id == 1 {
                peer.set_max_chunk_size(chunk_size as usize).unwrap();
            } else {
                got.push((message.timestamp.value, message.data.to_vec()));
            }
            input = &[];
        }
        let sent: Vec<_> = messages.into_iter().map(|s| (s.timestamp, s.payload)).collect();
        prop_assert_eq!(got, sent);
    }

    /// An independent writer, which compresses headers, is understood.
    #[test]
    fn an_independent_writer_is_understood(
        steps in prop::collection::vec((0..50_u32, prop::bool::ANY, 1..400_usize), 1..20),
        chunk_size in prop_oneof![1..300_u32, Just(4_096), Just(65_536)],
    ) {
        let mut peer = ChunkSerializer::new();
        let mut bytes = peer.set_max_chunk_size(chunk_size, RtmpTimestamp::new(0)).unwrap().bytes;
        let mut timestamp = 1_000;
        let mut sent = Vec::new();
        for (step, audio, length) in steps {
            timestamp += step;
            let payload = MessagePayload {
                timestamp: RtmpTimestamp::new(timestamp),
                type_id: if audio { 8 } else { 9 },
                message_stream_id: 1,
                data: vec![step as u8; length].into(),
            };
            bytes.extend(peer.serialize(&payload, false, false).unwrap().bytes);
            sent.push((payload.type_id, timestamp, payload.data.to_vec()));
        }
        let got = read(&bytes).unwrap();
        let got: Vec<_> = got
            .into_iter()
            .map(|m| (m.kind.to_wire(), m.timestamp, m.payload.to_vec()))
            .collect();
        prop_assert_eq!(got, sent);
    }
}
