//! AMF0 encoder: values to bytes.

use bytes::{BufMut, BytesMut};

use super::{Properties, Value, marker};

/// Encoder that appends values to a buffer.
///
/// Commands are written with the methods, which chain and need no [`Value`].
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
        self.bytes(text.as_bytes())
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

    /// Writes the name of the member whose value follows.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.short(name.as_bytes())
    }

    /// Closes an object or associative array.
    pub fn end(&mut self) -> &mut Self {
        self.output.put_slice(&[0, 0, marker::OBJECT_END]);
        self
    }

    /// Writes any value.
    pub fn value(&mut self, value: &Value<'_>) -> &mut Self {
        match value {
            Value::Number(number) => self.number(*number),
            Value::Boolean(value) => self.boolean(*value),
            Value::String(text) => self.bytes(text),
            Value::Object(properties) => self.object().members(properties),
            Value::Null => self.null(),
            Value::Undefined => self.undefined(),
            Value::Reference(number) => {
                self.output.put_u8(marker::REFERENCE);
                self.output.put_u16(*number);
                self
            }
            Value::EcmaArray(properties) => {
                self.ecma_array(properties.len() as u32).members(properties)
            }
            Value::StrictArray(items) => {
                self.strict_array(items.len() as u32);
                for item in items {
                    self.value(item);
                }
                self
            }
            Value::Date { milliseconds, zone } => {
                self.output.put_u8(marker::DATE);
                self.output.put_f64(*milliseconds);
                self.output.put_i16(*zone);
                self
            }
            Value::Unsupported => {
                self.output.put_u8(marker::UNSUPPORTED);
                self
            }
            Value::Xml(text) => {
                self.output.put_u8(marker::XML);
                self.long(text)
            }
            Value::TypedObject { class, properties } => {
                self.output.put_u8(marker::TYPED_OBJECT);
                self.short(class).members(properties)
            }
            Value::Amf3(bytes) => {
                self.output.put_u8(marker::AMF3);
                self.output.put_slice(bytes);
                self
            }
        }
    }

    fn members(&mut self, properties: &Properties<'_>) -> &mut Self {
        for (key, value) in properties {
            self.short(key).value(value);
        }
        self.end()
    }

    fn bytes(&mut self, text: &[u8]) -> &mut Self {
        if text.len() > usize::from(u16::MAX) {
            self.output.put_u8(marker::LONG_STRING);
            self.long(text)
        } else {
            self.output.put_u8(marker::STRING);
            self.short(text)
        }
    }

    /// Writes a name or string without marker; cut at the 65,535 bytes that its length field can express.
    fn short(&mut self, text: &[u8]) -> &mut Self {
        let text = &text[..text.len().min(usize::from(u16::MAX))];
        self.output.put_u16(text.len() as u16);
        self.output.put_slice(text);
        self
    }

    fn long(&mut self, text: &[u8]) -> &mut Self {
        self.output.put_u32(text.len() as u32);
        self.output.put_slice(text);
        self
    }
}
