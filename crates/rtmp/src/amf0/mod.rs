//! AMF0, the encoding of commands and metadata (Adobe, "Action Message Format — AMF 0", 2007).
//!
//! Values borrow from the message and keep their order. Decoding is bounded in depth and in number of values,
//! counts are checked against the rest of the message, and strings are not required to be UTF-8, because
//! device firmware sends other encodings.

mod decode;
mod encode;

pub use decode::{DEPTH_MAX, Decoder, Error, VALUES_MAX};
pub use encode::Encoder;

use std::borrow::Cow;

/// Members of an object, in the order sent.
pub type Properties<'a> = Vec<(&'a [u8], Value<'a>)>;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Number(f64),
    /// A truth value.
    Boolean(bool),
    /// A string, short or long.
    String(&'a [u8]),
    /// An anonymous object.
    Object(Properties<'a>),
    /// Null.
    Null,
    /// Undefined.
    Undefined,
    /// A repetition of the object with this number; left unresolved.
    Reference(u16),
    /// An associative array. Its announced count is only a hint and not kept.
    EcmaArray(Properties<'a>),
    /// A list.
    StrictArray(Vec<Self>),
    /// A point in time.
    Date {
        /// Milliseconds since 1970.
        milliseconds: f64,
        /// Time zone; reserved, zero.
        zone: i16,
    },
    /// A value that the sender could not express.
    Unsupported,
    /// An XML document.
    Xml(&'a [u8]),
    /// An object of a named class.
    TypedObject {
        /// Name of the class.
        class: &'a [u8],
        /// Members of the object.
        properties: Properties<'a>,
    },
    /// A switch to AMF3: all the remaining bytes.
    Amf3(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the text of a string, with anything that is not UTF-8 replaced.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::String(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }

    /// Returns the number, if the value is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the members of any kind of object.
    pub fn properties(&self) -> Option<&Properties<'a>> {
        match self {
            Self::Object(properties)
            | Self::EcmaArray(properties)
            | Self::TypedObject { properties, .. } => Some(properties),
            _ => None,
        }
    }

    /// Returns the member with this name, compared without regard to case: encoders write both `tcUrl` and
    /// `tcurl`.
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties()?
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }
}

/// Type markers (AMF0 §2.1).
mod marker {
    pub(super) const NUMBER: u8 = 0x00;
    pub(super) const BOOLEAN: u8 = 0x01;
    pub(super) const STRING: u8 = 0x02;
    pub(super) const OBJECT: u8 = 0x03;
    pub(super) const NULL: u8 = 0x05;
    pub(super) const UNDEFINED: u8 = 0x06;
    pub(super) const REFERENCE: u8 = 0x07;
    pub(super) const ECMA_ARRAY: u8 = 0x08;
    pub(super) const OBJECT_END: u8 = 0x09;
    pub(super) const STRICT_ARRAY: u8 = 0x0a;
    pub(super) const DATE: u8 = 0x0b;
    pub(super) const LONG_STRING: u8 = 0x0c;
    pub(super) const UNSUPPORTED: u8 = 0x0d;
    pub(super) const XML: u8 = 0x0f;
    pub(super) const TYPED_OBJECT: u8 = 0x10;
    pub(super) const AMF3: u8 = 0x11;
}

#[cfg(test)]
mod tests;
