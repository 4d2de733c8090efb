//! AMF0 decoder: bytes to values.

use super::{Properties, Value, marker};

/// Deepest nesting of values. Metadata nests three deep; the limit keeps a hostile message from exhausting
/// the stack.
pub const DEPTH_MAX: u32 = 16;
/// Most values that one decoder returns, nested ones included. A `connect` has about twenty.
pub const VALUES_MAX: u32 = 1024;

/// Reason why bytes are not AMF0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value extends past the end of the message.
    #[error("AMF0 value cut short")]
    Truncated,
    /// No value begins with this byte.
    #[error("AMF0 marker {0:#04x}")]
    UnknownMarker(u8),
    /// An array announces more items than there are bytes left.
    #[error("AMF0 array of {0} items in a shorter message")]
    CountBeyondEnd(u32),
    /// Values nest more than [`DEPTH_MAX`] deep.
    #[error("AMF0 nested more than {DEPTH_MAX} deep")]
    TooDeep,
    /// There are more than [`VALUES_MAX`] values.
    #[error("more than {VALUES_MAX} AMF0 values")]
    TooManyValues,
}

/// Decoder that reads one value after another.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    values: u32,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            values: 0,
        }
    }

    /// Returns the bytes that are not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the next value, or `None` at the end.
    ///
    /// # Errors
    /// After an error the rest cannot be decoded.
    pub fn value(&mut self) -> Result<Option<Value<'a>>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.nested(1).map(Some)
    }

    fn nested(&mut self, depth: u32) -> Result<Value<'a>, Error> {
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(Error::TooManyValues);
        }
        let [marker] = self.array()?;
        Ok(match marker {
            marker::NUMBER => Value::Number(f64::from_be_bytes(self.array()?)),
            marker::BOOLEAN => {
                let [flag] = self.array()?;
                Value::Boolean(flag != 0)
            }
            marker::STRING => Value::String(self.string()?),
            marker::LONG_STRING => Value::String(self.long_string()?),
            marker::OBJECT => Value::Object(self.members(depth)?),
            marker::ECMA_ARRAY => {
                let [_, _, _, _] = self.array()?;
                Value::EcmaArray(self.members(depth)?)
            }
            marker::STRICT_ARRAY => Value::StrictArray(self.items(depth)?),
            marker::TYPED_OBJECT => Value::TypedObject {
                class: self.string()?,
                properties: self.members(depth)?,
            },
            marker::NULL => Value::Null,
            marker::UNDEFINED => Value::Undefined,
            marker::UNSUPPORTED => Value::Unsupported,
            marker::REFERENCE => Value::Reference(u16::from_be_bytes(self.array()?)),
            marker::DATE => Value::Date {
                milliseconds: f64::from_be_bytes(self.array()?),
                zone: i16::from_be_bytes(self.array()?),
            },
            marker::XML => Value::Xml(self.long_string()?),
            marker::AMF3 => Value::Amf3(std::mem::take(&mut self.rest)),
            other => return Err(Error::UnknownMarker(other)),
        })
    }

    fn members(&mut self, depth: u32) -> Result<Properties<'a>, Error> {
        let mut members = Properties::new();
        loop {
            let key = self.string()?;
            if key.is_empty() && self.rest.first() == Some(&marker::OBJECT_END) {
                self.rest = &self.rest[1..];
                return Ok(members);
            }
            members.push((key, self.nested(depth + 1)?));
        }
    }

    fn items(&mut self, depth: u32) -> Result<Vec<Value<'a>>, Error> {
        let count = u32::from_be_bytes(self.array()?);
        // Each item takes at least one byte.
        if count as usize > self.rest.len() {
            return Err(Error::CountBeyondEnd(count));
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(self.nested(depth + 1)?);
        }
        Ok(items)
    }

    fn string(&mut self) -> Result<&'a [u8], Error> {
        let length = u16::from_be_bytes(self.array()?);
        self.bytes(usize::from(length))
    }

    fn long_string(&mut self) -> Result<&'a [u8], Error> {
        let length = u32::from_be_bytes(self.array()?);
        self.bytes(length as usize)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}
