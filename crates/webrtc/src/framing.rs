//! Datagrams on a byte stream, each preceded by a length of two octets (RFC 4571, used by ICE over TCP, RFC 6544 §10.1).

use thiserror::Error;

/// Bytes of a length field.
pub const HEADER_LEN: usize = 2;

/// Largest datagram that a peer may send, in bytes: twice what fits an Ethernet frame.
const FRAME_LEN_MAX: usize = 3_000;

/// Error of a peer that announced a datagram longer than any that fits the path; holds its length in bytes.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a frame of {0} bytes is longer than any datagram")]
pub struct FrameTooLong(pub usize);

/// Returns the octets that precede a datagram; `None` if it is longer than a length field can express.
pub fn header(len: usize) -> Option<[u8; HEADER_LEN]> {
    u16::try_from(len).ok().map(u16::to_be_bytes)
}

/// Splitter of a byte stream into datagrams; it keeps at most one incomplete datagram.
#[derive(Debug, Default)]
pub struct Deframer {
    /// Start of an incomplete frame, its length included.
    partial: Vec<u8>,
}

impl Deframer {
    /// Takes bytes that were read and calls `each` with every complete datagram, mutable because it is decrypted in place.
    /// After an error the connection is unusable.
    pub fn push(
        &mut self,
        bytes: &mut [u8],
        mut each: impl FnMut(&mut [u8]),
    ) -> Result<(), FrameTooLong> {
        let mut rest = bytes;
        while !self.partial.is_empty() && !rest.is_empty() {
            let end = wanted(&self.partial)?.unwrap_or(HEADER_LEN);
            let missing = (end - self.partial.len()).min(rest.len());
            let (now, later) = rest.split_at_mut(missing);
            self.partial.extend_from_slice(now);
            rest = later;
            if wanted(&self.partial)?.is_some_and(|len| self.partial.len() >= len) {
                each(&mut self.partial[HEADER_LEN..]);
                self.partial.clear();
            }
        }
        while let Some(len) = wanted(rest)? {
            if rest.len() < len {
                break;
            }
            let (frame, later) = rest.split_at_mut(len);
            each(&mut frame[HEADER_LEN..]);
            rest = later;
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }
}

/// Returns the length of the frame that begins here, its header included; `None` if the header is incomplete.
fn wanted(bytes: &[u8]) -> Result<Option<usize>, FrameTooLong> {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
        return Ok(None);
    };
    let len = usize::from(u16::from_be_bytes(*header));
    if len > FRAME_LEN_MAX {
        return Err(FrameTooLong(len));
    }
    Ok(Some(HEADER_LEN + len))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_segmentation_gives_the_same_datagrams(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
            cut in 1usize..60,
        ) {
            let mut stream = Vec::new();
            for datagram in &datagrams {
                stream.extend(header(datagram.len()).expect("short"));
                stream.extend(datagram);
            }
            let mut deframer = Deframer::default();
            let mut found = Vec::new();
            for piece in stream.chunks_mut(cut) {
                deframer.push(piece, |datagram| found.push(datagram.to_vec())).expect("short");
            }
            prop_assert_eq!(found, datagrams);
            prop_assert!(deframer.partial.is_empty());
        }
    }

    #[test]
    fn a_long_frame_is_refused_before_it_is_kept() {
        let mut deframer = Deframer::default();
        let error = deframer.push(&mut [0xff, 0xff, 0, 0], |_| ());
        assert_eq!(error, Err(FrameTooLong(65_535)));
        let mut deframer = Deframer::default();
        assert_eq!(deframer.push(&mut [0xff], |_| ()), Ok(()));
        let error = deframer.push(&mut [0xff], |_| ());
        assert_eq!(error, Err(FrameTooLong(65_535)));
        assert_eq!(header(65_536), None);
    }
}
