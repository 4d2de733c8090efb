//! Access to attributes as `rtc-sdp` yields them.

use rtc_sdp::description::common::Attribute;

pub(super) fn has(attributes: &[Attribute], key: &str) -> bool {
    attributes.iter().any(|attribute| attribute.key == key)
}

pub(super) fn value<'a>(attributes: &'a [Attribute], key: &'a str) -> Option<&'a str> {
    values(attributes, key).next()
}

pub(super) fn values<'a>(
    attributes: &'a [Attribute],
    key: &'a str,
) -> impl Iterator<Item = &'a str> {
    attributes
        .iter()
        .filter(move |attribute| attribute.key == key)
        .filter_map(|attribute| attribute.value.as_deref())
}

/// Whether a byte may be part of SDP's `token` (RFC 8866 §9).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`{|}~".contains(&byte)
}
