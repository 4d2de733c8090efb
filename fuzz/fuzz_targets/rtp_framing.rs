//! Datagrams on a byte stream: any segmentation gives the same datagrams and the same end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use webrtc::framing::{Deframer, FrameTooLong};

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, bytes.len().max(1));
    for piece in [1, 7] {
        assert_eq!(whole, read(bytes, piece));
    }
    let kept: usize = whole.0.iter().map(|datagram| datagram.len() + 2).sum();
    assert!(kept <= bytes.len());
});

fn read(bytes: &[u8], piece: usize) -> (Vec<Vec<u8>>, Option<FrameTooLong>) {
    let mut deframer = Deframer::default();
    let mut found = Vec::new();
    let mut bytes = bytes.to_vec();
    for piece in bytes.chunks_mut(piece) {
        let pushed = deframer.push(piece, |datagram| found.push(datagram.to_vec()));
        if let Err(error) = pushed {
            return (found, Some(error));
        }
    }
    (found, None)
}
