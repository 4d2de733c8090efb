//! The PROXY header: any segmentation gives the same result, which depends on nothing behind the header.

#![no_main]

use libfuzzer_sys::fuzz_target;
use net::proxy_protocol::{BYTES_MAX, Header, read};

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes);
    let decided = (0..=bytes.len())
        .map(|end| read(&bytes[..end]))
        .find(|answer| *answer != Ok(Header::NeedMore));
    assert_eq!(decided.unwrap_or(Ok(Header::NeedMore)), whole);
    match whole {
        Ok(Header::NeedMore) => assert!(bytes.len() < BYTES_MAX),
        Ok(Header::Complete { bytes: used, .. }) => {
            assert!(used <= BYTES_MAX);
            assert_eq!(read(&bytes[..used]), whole);
            assert_eq!(read(&bytes[..used - 1]), Ok(Header::NeedMore));
        }
        Err(_) => {}
    }
});
