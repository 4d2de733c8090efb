//! AMF0 that the server writes itself: the values of its data messages, and a file's metadata.

use media::Span;

pub(super) const NUMBER: u8 = 0;
const STRING: u8 = 2;
pub(super) const OBJECT: u8 = 3;
pub(super) const OBJECT_END: [u8; 3] = [0, 0, 9];
const LONG_STRING: u8 = 12;

/// AMF0 values under construction.
#[derive(Debug, Default)]
pub(super) struct Amf(pub(super) Vec<u8>);

impl Amf {
    pub(super) fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.0.push(OBJECT);
        members(self);
        self.0.extend_from_slice(&OBJECT_END);
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.key(key.as_bytes());
        self.string(value);
    }

    pub(super) fn seconds(&mut self, key: &str, span: Span) {
        self.key(key.as_bytes());
        self.number(span.seconds());
    }

    /// Writes a key. Keys are literals in the program, or were read with a two-byte length.
    pub(super) fn key(&mut self, key: &[u8]) {
        self.0.extend_from_slice(&(key.len() as u16).to_be_bytes());
        self.0.extend_from_slice(key);
    }

    pub(super) fn number(&mut self, value: f64) {
        self.0.push(NUMBER);
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    pub(super) fn string(&mut self, text: &str) {
        match u16::try_from(text.len()) {
            Ok(length) => {
                self.0.push(STRING);
                self.0.extend_from_slice(&length.to_be_bytes());
            }
            Err(_) => {
                self.0.push(LONG_STRING);
                // An event has some kilobytes, so its length fits.
                self.0.extend_from_slice(&(text.len() as u32).to_be_bytes());
            }
        }
        self.0.extend_from_slice(text.as_bytes());
    }
}
