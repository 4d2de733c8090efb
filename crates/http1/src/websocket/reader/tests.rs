use proptest::prelude::*;

use super::*;

const KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
const LIMIT: u64 = 70_000;

/// Events that were read, independent of how the input was cut.
#[derive(Debug, Default, Eq, PartialEq)]
struct Heard {
    data: Vec<u8>,
    pings: Vec<Vec<u8>>,
    pongs: usize,
    closed: Option<Option<u16>>,
    broken: Option<Violation>,
}

fn hear(peer: Peer, bytes: &[u8], piece: usize) -> Heard {
    let mut reader = FrameReader::new(peer, LIMIT);
    let mut heard = Heard::default();
    for piece in bytes.chunks(piece.max(1)) {
        let mut input = piece;
        loop {
            match reader.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Event::Data(data))) => heard.data.extend_from_slice(data),
                Ok(Some(Event::Ping(payload))) => heard.pings.push(payload.as_bytes().to_vec()),
                Ok(Some(Event::Pong)) => heard.pongs += 1,
                Ok(Some(Event::Close(code))) => {
                    heard.closed = Some(code);
                    return heard;
                }
                Err(violation) => {
                    heard.broken = Some(violation);
                    return heard;
                }
            }
        }
        assert!(input.is_empty(), "all was taken");
    }
    heard
}

fn client_frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut masked = payload.to_vec();
    mask(&mut masked, KEY, 0);
    let head = FrameHead::client(opcode, payload.len(), KEY);
    [head.as_bytes(), &masked].concat()
}

fn server_frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    [FrameHead::server(opcode, payload.len()).as_bytes(), payload].concat()
}

#[test]
fn a_clients_frames_are_read_however_they_are_cut() {
    let bytes = [
        client_frame(Opcode::Text, b"hello"),
        client_frame(Opcode::Ping, b"are you there"),
        client_frame(Opcode::Binary, &[7; 300]),
        client_frame(Opcode::Pong, b""),
        client_frame(Opcode::Close, b"\x03\xE9bye"),
        client_frame(Opcode::Ping, b"is not read"),
    ]
    .concat();
    let whole = hear(Peer::Client, &bytes, bytes.len());
    assert_eq!(whole.pings, [b"are you there"]);
    assert_eq!((whole.pongs, whole.closed), (1, Some(Some(1001))));
    assert_eq!(whole.data.len(), 305);
    for piece in 1..20 {
        assert_eq!(hear(Peer::Client, &bytes, piece), whole);
    }
}

#[test]
fn a_servers_data_is_given_as_it_was_sent() {
    for length in [1, 125, 126, 65_535, 65_536, LIMIT as usize] {
        let payload: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let bytes = server_frame(Opcode::Binary, &payload);
        for piece in [1, 1_000, bytes.len()] {
            assert_eq!(hear(Peer::Server, &bytes, piece).data, payload, "{length}");
        }
    }
}

#[test]
fn a_message_in_pieces_may_have_control_frames_in_between() {
    let mut first = server_frame(Opcode::Binary, b"one ");
    first[0] &= !FIN;
    let bytes = [
        first,
        server_frame(Opcode::Ping, b"x"),
        server_frame(Opcode::Continuation, b"two"),
        server_frame(Opcode::Close, b""),
    ]
    .concat();
    let heard = hear(Peer::Server, &bytes, 3);
    assert_eq!((&heard.data[..], heard.pings.len()), (&b"one two"[..], 1));
    assert_eq!((heard.closed, heard.broken), (Some(None), None));
}

#[test]
fn violations_have_their_close_code() {
    let long_ping = [0x89, 0x80 | 126, 0, 126];
    let ping_in_pieces = [0x09, 0x80];
    let too_long = [&[0x82, 0x80 | 127][..], &(LIMIT + 1).to_be_bytes(), &KEY].concat();
    let in_too_many_bytes = [&[0x82, 0x80 | 126, 0, 125][..], &KEY].concat();
    let highest_bit = [&[0x82, 0x80 | 127][..], &u64::MAX.to_be_bytes(), &KEY].concat();
    let reserved = [0xC2, 0x80];
    let mut begun = client_frame(Opcode::Text, b"x");
    begun[0] &= !FIN;
    let begun_twice = [begun.clone(), client_frame(Opcode::Text, b"x")].concat();
    let unmasked = server_frame(Opcode::Text, b"x");
    let not_begun = client_frame(Opcode::Continuation, b"x");
    let [cut_code, no_code] = [&b"x"[..], &[3, 237]].map(|code| client_frame(Opcode::Close, code));
    for (bytes, expected) in [
        (&unmasked[..], Violation::Masking),
        (&reserved, Violation::ReservedBits),
        (&[0x83, 0x80], Violation::UnknownOpcode),
        (&long_ping, Violation::ControlFrame),
        (&ping_in_pieces, Violation::ControlFrame),
        (&not_begun, Violation::Fragmentation),
        (&begun_twice, Violation::Fragmentation),
        (&in_too_many_bytes, Violation::Length),
        (&highest_bit, Violation::Length),
        (&cut_code, Violation::ClosePayload),
        (&no_code, Violation::ClosePayload),
        (&too_long, Violation::TooLarge),
    ] {
        for piece in [1, bytes.len()] {
            let heard = hear(Peer::Client, bytes, piece);
            assert_eq!(heard.broken, Some(expected), "{bytes:02x?}");
        }
        let is_long = expected == Violation::TooLarge;
        let code = if is_long { 1009 } else { 1002 };
        assert_eq!(expected.code().number(), code, "{expected}");
    }
    let masked = client_frame(Opcode::Text, b"x");
    let heard = hear(Peer::Server, &masked, 1);
    assert_eq!(heard.broken, Some(Violation::Masking));
}

#[test]
fn pieces_of_a_message_count_together() {
    let mut piece = client_frame(Opcode::Binary, &[0; 40_000]);
    piece[0] &= !FIN;
    let rest = client_frame(Opcode::Continuation, &[0; 40_000]);
    let heard = hear(Peer::Client, &[piece, rest].concat(), 4_096);
    assert_eq!(heard.data.len(), 40_000);
    assert_eq!(heard.broken, Some(Violation::TooLarge));
}

proptest! {
    #[test]
    fn any_bytes_are_read_alike_however_they_are_cut(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        piece in 1_usize..50,
        is_client in any::<bool>(),
    ) {
        let peer = if is_client { Peer::Client } else { Peer::Server };
        prop_assert_eq!(hear(peer, &bytes, piece), hear(peer, &bytes, bytes.len()));
    }
}
