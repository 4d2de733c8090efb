//! AMF0 encoder: commands and metadata to bytes.

use bytes::{BufMut, BytesMut};

use super::marker;

/// Encoder that appends values to a buffer, by methods that chain.
#[derive(Debug)]
pub struct Encoder<'a> {
    output: &'a mut BytesMut,
}

impl<'a> Encoder<'a> {
    /// Creates an encoder that appends to `output`.
    pub fn new(output: &'a mut BytesMut) -> Self {
        Self { output }
    }

    /// Writes a number.
    pub fn number(&mut self, number: f64) -> &mut Self {
        self.output.put_u8(marker::NUMBER);
        self.output.put_f64(number);
        self
    }

    /// Writes a truth value.
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.output.put_slice(&[marker::BOOLEAN, u8::from(value)]);
        self
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) -> &mut Self {
        if text.len() <= usize::from(u16::MAX) {
            self.output.put_u8(marker::STRING);
            return self.key(text);
        }
        self.output.put_u8(marker::LONG_STRING);
        self.output.put_u32(text.len() as u32);
        self.output.put_slice(text.as_bytes());
        self
    }

    /// Writes null.
    pub fn null(&mut self) -> &mut Self {
        self.output.put_u8(marker::NULL);
        self
    }

    /// Writes undefined.
    pub fn undefined(&mut self) -> &mut Self {
        self.output.put_u8(marker::UNDEFINED);
        self
    }

    /// Opens an object: a [`key`](Self::key) and a value for each member, then [`end`](Self::end).
    pub fn object(&mut self) -> &mut Self {
        self.output.put_u8(marker::OBJECT);
        self
    }

    /// Opens an associative array that announces `count` members; continue as for an object.
    pub fn ecma_array(&mut self, count: u32) -> &mut Self {
        self.output.put_u8(marker::ECMA_ARRAY);
        self.output.put_u32(count);
        self
    }

    /// Opens a list of exactly `count` values.
    pub fn strict_array(&mut self, count: u32) -> &mut Self {
        self.output.put_u8(marker::STRICT_ARRAY);
        self.output.put_u32(count);
        self
    }

    /// Writes the name of the member whose value follows; cut at the 65,535 bytes that its length field can
    /// express.
    pub fn key(&mut self, name: &str) -> &mut Self {
        let name = &name.as_bytes()[..name.len().min(usize::from(u16::MAX))];
        self.output.put_u16(name.len() as u16);
        self.output.put_slice(name);
        self
    }

    /// Closes an object or associative array.
    pub fn end(&mut self) -> &mut Self {
        self.output.put_slice(&[0, 0, marker::OBJECT_END]);
        self
    }
}
