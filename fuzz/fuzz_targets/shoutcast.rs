//! The login of a SHOUTcast source: any segmentation gives the same line, and headers that follow make a head with its
//! credentials.

#![no_main]

use http1::{Body, ShoutcastLine, ShoutcastLogin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let whole = ShoutcastLogin::read(bytes);
    let decided = (0..=bytes.len())
        .map(|end| ShoutcastLogin::read(&bytes[..end]))
        .find(|answer| *answer != Ok(ShoutcastLine::NeedMore));
    assert_eq!(decided.unwrap_or(Ok(ShoutcastLine::NeedMore)), whole);
    let Ok(ShoutcastLine::Login(login, used)) = whole else {
        return;
    };
    assert_eq!(bytes[used - 1], b'\n');
    let mut reader = login.headers("/stream");
    if let Ok(Some((head, _))) = reader.push(&bytes[used..]) {
        assert_eq!((head.method(), head.path().as_ref()), ("SOURCE", "/stream"));
        assert!(matches!(
            head.body(),
            Body::UntilClose | Body::Length(_) | Body::Chunked
        ));
        let basic = head.basic_auth().expect("the login's");
        assert_eq!(basic.password.reveal(), login.password().reveal());
    }
});
