//! Heads: any segmentation gives the same head, consumed bytes add up, and no accessor panics.

#![no_main]

use http1::{Error, Head, HeadReader, Sniff, sniff};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, bytes.len().max(1));
    for piece in [1, 7] {
        assert_eq!(shown(&whole), shown(&read(bytes, piece)));
    }
    if let Ok(Some((head, consumed))) = whole {
        assert!(consumed <= bytes.len());
        assert_eq!(bytes[consumed - 1], b'\n');
        visit(&head);
    }
    let mut kind = Sniff::NeedMore;
    for end in 0..=bytes.len().min(64) {
        let next = sniff(&bytes[..end]);
        assert!(kind == Sniff::NeedMore || kind == next);
        kind = next;
    }
});

fn read(bytes: &[u8], piece: usize) -> Result<Option<(Head, usize)>, Error> {
    let mut reader = HeadReader::default();
    let mut before = 0;
    for piece in bytes.chunks(piece) {
        if let Some((head, consumed)) = reader.push(piece)? {
            return Ok(Some((head, before + consumed)));
        }
        before += piece.len();
    }
    Ok(None)
}

fn shown(outcome: &Result<Option<(Head, usize)>, Error>) -> String {
    format!("{outcome:?}")
}

fn visit(head: &Head) {
    let path = head.path();
    assert!(path == "*" || path.starts_with('/'));
    assert!(head.origin_form().len() <= head.target().len());
    if head.conforms().is_ok() {
        assert!(head.header_values("host").count() <= 1);
        assert!(!head.target().contains(&b' '));
    }
    for (name, value) in head.headers() {
        assert!(!name.is_empty() && !name.contains(['\r', '\n', '\0', ' ']));
        assert!(!value.contains(['\r', '\n', '\0']));
        assert!(head.header(name).is_some());
    }
    for (name, _) in head.query().pairs() {
        let _ = head.query().bytes(&name);
    }
    let _ = (head.basic_auth(), head.bearer_token(), head.byte_range());
    let _ = (
        head.keeps_alive(),
        head.expects_continue(),
        head.wants_icy(),
    );
    assert!(head.ice_headers().count() <= head.headers().count());
}
