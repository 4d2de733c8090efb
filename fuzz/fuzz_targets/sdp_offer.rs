//! Offers and fragments: accepted input is bounded, and the answer to it can be read back with as many sections, whatever was
//! echoed.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use rtc_sdp::description::session::SessionDescription;
use webrtc::ice::{Credentials, RANDOM_LEN};
use webrtc::sdp::{Answer, Fragment, Offer, Section};

fuzz_target!(|text: &str| {
    drop(Fragment::parse(text));
    let Ok(offer) = Offer::parse(text) else {
        return;
    };
    let ice = Credentials::generate(&[3; RANDOM_LEN]);
    for receives in [false, true] {
        let sections: Vec<_> = offer
            .media
            .iter()
            .map(|media| match media.formats.first() {
                None => Section::Rejected,
                Some(format) if receives => Section::Receives {
                    format,
                    parameters: None,
                    more: &media.formats[1..],
                    extensions: &media.extensions,
                    layers: &media.layers,
                },
                Some(format) => Section::Sends {
                    format,
                    parameters: None,
                    ssrc: 1,
                    rtx_ssrc: Some(2),
                },
            })
            .collect();
        let answer = Answer {
            offer: &offer,
            sections: &sections,
            session_id: 1,
            ice: &ice,
            fingerprint: &offer.fingerprint,
            candidates: &[],
            stream: "s",
            cname: "c",
        };
        let text = answer.to_string();
        assert!(text.split("\r\n").all(|line| !line.contains(['\r', '\n'])));
        let back = SessionDescription::unmarshal(&mut Cursor::new(text.as_bytes())).unwrap();
        assert_eq!(back.media_descriptions.len(), offer.media.len());
    }
});
