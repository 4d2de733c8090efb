//! HEVC, AV1, VP9 and Opus arrive by Enhanced RTMP and leave over RTMP and HTTP-FLV unchanged; late joiners begin at a
//! keyframe.

use testkit::Clip;

use crate::support::enhanced::relayed;

#[test]
fn hevc() {
    relayed(Clip::FlvHevc, &[]);
}

#[test]
fn av1() {
    relayed(Clip::FlvAv1, &[]);
}

#[test]
fn vp9() {
    relayed(Clip::FlvVp9, &[]);
}

#[test]
fn opus() {
    relayed(Clip::FlvOpus, &[]);
}
