//! ICY: any title makes a block in its format, and any audio is returned unchanged.

#![no_main]

use std::num::NonZeroUsize;

use arbitrary::Arbitrary;
use container::icy::{self, Block, Deinterleaver, Interleaver, Piece};
use libfuzzer_sys::fuzz_target;
use media::{Charset, Title};

#[derive(Arbitrary, Debug)]
struct Input {
    text: String,
    url: String,
    metaint: NonZeroUsize,
    cut: u8,
    frames: Vec<Vec<u8>>,
    noise: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let title = Title {
        text: input.text,
        url: input.url,
    };
    let block = Block::new(&title, Charset::UTF_8);
    let bytes = block.bytes();
    assert_eq!(bytes.len(), 1 + 16 * usize::from(bytes[0]));
    assert!(bytes.len() <= icy::BLOCK_BYTES_MAX);
    let title = icy::title_of(bytes).expect("every block has a title");
    assert!(!title.contains(char::is_control));

    let metaint = NonZeroUsize::new(input.metaint.get() % 64 + 1).expect("at least one");
    let mut interleaver = Interleaver::new(metaint);
    let mut wire = Vec::new();
    for frame in &input.frames {
        interleaver.push(frame, &block, |piece| match piece {
            Piece::Audio(bytes) | Piece::Block(bytes) => wire.extend_from_slice(bytes),
        });
    }
    let mut deinterleaver = Deinterleaver::new(metaint);
    let mut audio = Vec::new();
    for part in wire.chunks(usize::from(input.cut) + 1) {
        deinterleaver.push(part, |piece| match piece {
            Piece::Audio(bytes) => audio.extend_from_slice(bytes),
            Piece::Block(bytes) => assert_eq!(bytes, block.bytes()),
        });
    }
    assert_eq!(audio, input.frames.concat());

    // A reader accepts any stream at all.
    let mut seen = 0;
    Deinterleaver::new(metaint).push(&input.noise, |piece| match piece {
        Piece::Audio(bytes) | Piece::Block(bytes) => seen += bytes.len(),
    });
    assert!(seen <= input.noise.len());
});
