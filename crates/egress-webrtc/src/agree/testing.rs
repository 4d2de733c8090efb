//! Agreements for tests, made without an offer.

use std::time::Duration;

use container::rtp::PayloadFormat as Carried;
use media::Kind;
use webrtc::sdp::{Feedback, Fit, OfferedFormat};

use super::{Agreed, Agreement, codec_of};
use crate::testing::audio_track;

/// A track in this format under this payload type.
pub(crate) fn agreement(carries: Carried, payload_type: u8, rtx: Option<u8>) -> Agreement {
    Agreement {
        carries,
        format: OfferedFormat {
            payload_type,
            codec: codec_of(carries, &audio_track()),
            parameters: "".into(),
            feedback: Feedback::default(),
            rtx,
        },
        fit: Fit::Exact,
        parameters: None,
        packet_time: None,
    }
}

/// Limits the audio in one packet to `millis`.
pub(crate) fn limited(mut agreed: Agreed, millis: u64) -> Agreed {
    for agreement in agreed.sections.iter_mut().flatten() {
        agreement.packet_time = Some(Duration::from_millis(millis));
    }
    agreed
}

/// H.264 as 102, with repeated packets as 103 if they are wanted separately, and Opus as 111.
pub(crate) fn agreed(kinds: &[Kind], has_rtx: bool) -> Agreed {
    let each = kinds.iter().map(|kind| {
        Some(match kind {
            Kind::Audio => agreement(Carried::Opus, 111, None),
            Kind::Video => agreement(Carried::H264, 102, has_rtx.then_some(103)),
        })
    });
    Agreed {
        sections: each.collect(),
    }
}
