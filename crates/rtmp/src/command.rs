//! Commands: reading the peer's, and writing those of this side.

use std::borrow::Cow;

use bytes::BytesMut;

use crate::amf0::{self, Decoder, Encoder, Value};

/// A command. Fields that a client omits have a neutral value.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) transaction: f64,
    pub(crate) object: Value<'a>,
    arguments: Vec<Value<'a>>,
}

/// Most arguments that are read; no command of interest has more than four.
const ARGUMENTS_MAX: usize = 8;

impl<'a> Command<'a> {
    /// Reads a command. A command that does not begin with a name has an empty name.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, amf0::Error> {
        let mut decoder = Decoder::new(bytes);
        let name = decoder.value()?.and_then(|v| v.text()).unwrap_or_default();
        let transaction = decoder
            .value()?
            .and_then(|v| v.number())
            .unwrap_or_default();
        let object = decoder.value()?.unwrap_or(Value::Null);
        let mut arguments = Vec::new();
        while arguments.len() < ARGUMENTS_MAX
            && let Some(argument) = decoder.value()?
        {
            arguments.push(argument);
        }
        Ok(Self {
            name,
            transaction,
            object,
            arguments,
        })
    }

    /// Returns an argument, if it exists.
    pub(crate) fn argument(&self, index: usize) -> Option<&Value<'a>> {
        self.arguments.get(index)
    }

    /// Returns the text of an argument; empty if it does not exist.
    pub(crate) fn text(&self, index: usize) -> Cow<'a, str> {
        self.arguments
            .get(index)
            .and_then(Value::text)
            .unwrap_or_default()
    }

    /// Returns an argument that names a message stream.
    pub(crate) fn stream_id(&self, index: usize) -> Option<u32> {
        let number = self.arguments.get(index)?.number()?;
        // Saturates; an id of that size is unknown anyway.
        (number >= 0.0).then_some(number as u32)
    }
}

/// Begins a command with name and transaction; the command object and arguments follow.
pub(crate) fn encode<'a>(output: &'a mut BytesMut, name: &str, transaction: f64) -> Encoder<'a> {
    let mut encoder = Encoder::new(output);
    encoder.string(name).number(transaction);
    encoder
}

/// Writes the information object of a status.
pub(crate) fn information(encoder: &mut Encoder<'_>, level: &str, code: &str, description: &str) {
    encoder.object();
    encoder.key("level").string(level);
    encoder.key("code").string(code);
    encoder.key("description").string(description);
    encoder.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_neutral() {
        let mut full = BytesMut::new();
        encode(&mut full, "publish", 4.0)
            .null()
            .string("show")
            .string("live");
        let names: Vec<_> = [0, 10, 19, 20, 27]
            .iter()
            .map(|&cut| {
                let command = Command::decode(&full[..cut]).unwrap();
                (command.name.into_owned(), command.transaction)
            })
            .collect();
        assert_eq!(names[0], (String::new(), 0.0));
        assert_eq!(names[1], ("publish".into(), 0.0));
        assert_eq!(names[2], ("publish".into(), 4.0));
        let command = Command::decode(&full[..20]).unwrap();
        assert_eq!(command.text(0), "");
        assert_eq!(command.stream_id(0), None);
        assert_eq!(Command::decode(&full).unwrap().text(1), "live");
    }

    #[test]
    fn stream_ids_are_whole_and_not_negative() {
        for (number, id) in [
            (1.0, Some(1)),
            (-1.0, None),
            (f64::NAN, None),
            (1e300, Some(u32::MAX)),
        ] {
            let mut bytes = BytesMut::new();
            encode(&mut bytes, "deleteStream", 0.0)
                .null()
                .number(number);
            assert_eq!(Command::decode(&bytes).unwrap().stream_id(0), id);
        }
    }
}
