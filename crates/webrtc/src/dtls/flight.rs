//! A server's long flight, from its hello to its end, assembled before the handshake continues.
//!
//! Some servers send each message as a separate datagram. A part of the flight stops the library's timer, so that lost parts
//! would never be retransmitted; a repetition of the flight stops it as well. The library therefore receives the whole flight
//! at once, and only once.
//!
//! Bounds: messages, bytes of all messages, and bytes of the datagrams that carry them.

use std::collections::BTreeMap;

use super::Error;
use super::fragment::FragmentHeader;
use super::guard::{SERVER_HELLO, records};

/// `handshake_type` of the last message.
const SERVER_HELLO_DONE: u8 = 14;

/// Largest number of messages in a flight; a server sends five.
const MESSAGES_MAX: usize = 8;

/// Largest size of all messages, in bytes. A certificate chain is the longest, and peers have one certificate.
const MESSAGES_LEN_MAX: usize = 16 * 1024;

/// Largest size of the datagrams, in bytes, headers and repetitions included.
const DATAGRAMS_LEN_MAX: usize = 2 * MESSAGES_LEN_MAX;

/// Reassembler of one flight.
#[derive(Debug, Default)]
pub(super) struct FlightReader {
    /// Messages by their numbers.
    messages: BTreeMap<u16, Message>,
    /// Records that carried the messages, in order of arrival.
    records: Vec<u8>,
}

#[derive(Debug)]
struct Message {
    kind: u8,
    /// Flags of the bytes that have arrived.
    arrived: Vec<bool>,
    missing: usize,
}

impl FlightReader {
    /// Takes a datagram of handshake messages. Yields the records of the whole flight once all of it has arrived.
    pub(super) fn push(&mut self, datagram: &[u8]) -> Result<Option<&[u8]>, Error> {
        if self.records.len() + datagram.len() > DATAGRAMS_LEN_MAX {
            return Err(Error::Flood);
        }
        for record in records(datagram) {
            self.messages(record.body)?;
        }
        self.records.extend_from_slice(datagram);
        Ok(self.is_whole().then_some(&self.records[..]))
    }

    fn messages(&mut self, mut rest: &[u8]) -> Result<(), Error> {
        while !rest.is_empty() {
            let (header, after) = FragmentHeader::split(rest).ok_or(Error::Flood)?;
            (_, rest) = after.split_at_checked(header.len).ok_or(Error::Flood)?;
            self.fragment(header)?;
        }
        Ok(())
    }

    fn fragment(&mut self, header: FragmentHeader) -> Result<(), Error> {
        let FragmentHeader {
            kind,
            sequence,
            message_len: len,
            ..
        } = header;
        let range = header.offset..header.offset + header.len;
        if range.end > len {
            return Err(Error::Flood);
        }
        if !self.messages.contains_key(&sequence) {
            let held: usize = self.messages.values().map(|one| one.arrived.len()).sum();
            if self.messages.len() == MESSAGES_MAX || held + len > MESSAGES_LEN_MAX {
                return Err(Error::Flood);
            }
        }
        let message = self.messages.entry(sequence).or_insert_with(|| Message {
            kind,
            arrived: vec![false; len],
            missing: len,
        });
        if message.kind != kind || message.arrived.len() != len {
            return Err(Error::Flood);
        }
        for arrived in &mut message.arrived[range] {
            message.missing -= usize::from(!*arrived);
            *arrived = true;
        }
        Ok(())
    }

    /// Whether every message from the hello to the last one is complete.
    fn is_whole(&self) -> bool {
        let of = |kind: u8| {
            let mut messages = self.messages.iter();
            messages.find_map(|(sequence, one)| (one.kind == kind).then_some(*sequence))
        };
        let (Some(first), Some(last)) = (of(SERVER_HELLO), of(SERVER_HELLO_DONE)) else {
            return false;
        };
        first < last
            && (first..=last).all(|sequence| {
                let message = self.messages.get(&sequence);
                message.is_some_and(|message| message.missing == 0)
            })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::fragment::HEADER_LEN;
    use super::super::guard::HANDSHAKE;
    use super::*;

    /// A record with one fragment of a message.
    pub(crate) fn record(kind: u8, sequence: u16, len: u32, offset: u32, body: &[u8]) -> Vec<u8> {
        let mut record = vec![HANDSHAKE, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0];
        record.extend(((HEADER_LEN + body.len()) as u16).to_be_bytes());
        record.push(kind);
        record.extend(&len.to_be_bytes()[1..]);
        record.extend(sequence.to_be_bytes());
        record.extend(&offset.to_be_bytes()[1..]);
        record.extend(&(body.len() as u32).to_be_bytes()[1..]);
        record.extend(body);
        record
    }

    fn whole(kind: u8, sequence: u16, len: u32) -> Vec<u8> {
        record(kind, sequence, len, 0, &vec![7; len as usize])
    }

    #[test]
    fn a_flight_is_whole_in_whatever_order_its_datagrams_come() {
        let mut parts = [
            whole(SERVER_HELLO, 1, 80),
            [
                record(11, 2, 900, 0, &[7; 500]),
                record(11, 2, 900, 500, &[7; 400]),
            ]
            .concat(),
            whole(12, 3, 120),
            whole(SERVER_HELLO_DONE, 4, 0),
        ];
        for turn in 0..4 {
            parts.rotate_left(turn);
            let mut flight = FlightReader::default();
            for part in &parts[..3] {
                assert_eq!(flight.push(part), Ok(None));
                assert_eq!(flight.push(part), Ok(None), "it came twice");
            }
            let records = flight.push(&parts[3]).expect("fits").expect("whole");
            let is_there = |part: &Vec<u8>| records.windows(part.len()).any(|it| it == part);
            assert!(parts.iter().all(is_there));
        }
    }

    #[test]
    fn what_is_kept_of_a_flight_is_bounded() {
        let mut flight = FlightReader::default();
        assert_eq!(flight.push(&whole(11, 2, 9)), Ok(None));
        // Another message under the same number, or of another length.
        assert_eq!(flight.push(&whole(12, 2, 9)), Err(Error::Flood));
        assert_eq!(flight.push(&whole(11, 2, 8)), Err(Error::Flood));
        assert_eq!(
            flight.push(&record(11, 3, 5, 4, &[7; 2])),
            Err(Error::Flood)
        );
        let long = record(11, 3, 16 * 1024, 0, &[7; 9]);
        assert_eq!(flight.push(&long), Err(Error::Flood));
        let taken = (0..100).filter(|number| flight.push(&whole(11, *number, 1)).is_ok());
        assert!(taken.count() < MESSAGES_MAX);
        let mut flight = FlightReader::default();
        let taken = (0..1_000).filter(|_| flight.push(&whole(11, 2, 900)).is_ok());
        assert!(taken.count() * 900 < DATAGRAMS_LEN_MAX);
    }
}
