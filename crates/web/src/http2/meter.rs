//! Rate limit on the frames that a client sends in addition to requests and bodies.
//!
//! A frame of nine bytes costs the server a wake-up, and a SETTINGS or PING frame costs a reply: at some ten megabytes a
//! second, a client that gets no other replies occupies a core.

use std::time::{Duration, Instant};

/// Length in bytes of the connection preface (RFC 9113 §3.4).
const PREFACE_BYTES: usize = 24;

/// Length in bytes of a frame header: length, type, flags and stream.
const HEADER_BYTES: usize = 9;

/// Frame types (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

/// Rate of SETTINGS and PING, which are answered: a client sends some SETTINGS as it begins, and one PING for each reply whose
/// time it measures.
const ANSWERED: Rate = Rate {
    at_once: 200,
    every: Duration::from_millis(50),
};

/// Rate of all other frames without contents: a client that takes 100 MB/s opens windows 3,000 times a second.
const SILENT: Rate = Rate {
    at_once: 20_000,
    every: Duration::from_micros(250),
};

/// Rate that allows a burst of `at_once`, and one more per `every`.
#[derive(Clone, Copy, Debug)]
struct Rate {
    at_once: u32,
    every: Duration,
}

/// Remaining allowance of a rate, kept as the time at which it will be full again; each use moves that time forward.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    rate: Rate,
    whole_at: Option<Instant>,
}

impl Allowance {
    const fn new(rate: Rate) -> Self {
        Self {
            rate,
            whole_at: None,
        }
    }

    /// Takes one use; returns false if nothing is left.
    fn take(&mut self, now: Instant) -> bool {
        let whole = self.whole_at.map_or(now, |whole| whole.max(now)) + self.rate.every;
        self.whole_at = Some(whole);
        whole - now <= self.rate.every * self.rate.at_once
    }
}

/// Error: a client sends too many frames besides its requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("too many frames that carry neither a request nor a body")]
pub struct TooMuchTalk;

/// Counter of the frames in a client's bytes. All bytes go through [`take`](Self::take) in order, in pieces of any length;
/// input that is not HTTP/2 is for others to refuse.
#[derive(Debug)]
pub struct FrameMeter {
    preface_left: usize,
    header: [u8; HEADER_BYTES],
    header_len: usize,
    payload_left: usize,
    answered: Allowance,
    silent: Allowance,
}

impl Default for FrameMeter {
    fn default() -> Self {
        Self {
            preface_left: PREFACE_BYTES,
            header: [0; HEADER_BYTES],
            header_len: 0,
            payload_left: 0,
            answered: Allowance::new(ANSWERED),
            silent: Allowance::new(SILENT),
        }
    }
}

impl FrameMeter {
    /// Takes the bytes that arrived at `now`.
    ///
    /// # Errors
    /// If they contain a frame too many: the connection must end.
    pub fn take(&mut self, mut bytes: &[u8], now: Instant) -> Result<(), TooMuchTalk> {
        skip(&mut bytes, &mut self.preface_left);
        loop {
            skip(&mut bytes, &mut self.payload_left);
            let count = bytes.len().min(HEADER_BYTES - self.header_len);
            if count == 0 {
                return Ok(());
            }
            self.header[self.header_len..self.header_len + count].copy_from_slice(&bytes[..count]);
            self.header_len += count;
            bytes = &bytes[count..];
            if self.header_len == HEADER_BYTES {
                self.header_len = 0;
                self.count(now)?;
            }
        }
    }

    /// Counts the frame whose header is complete.
    fn count(&mut self, now: Instant) -> Result<(), TooMuchTalk> {
        let [high, middle, low, kind, ..] = self.header;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        self.payload_left = length;
        let is_granted = match kind {
            // h2 itself bounds the number of streams, their headers, and the number of frames without any.
            HEADERS | CONTINUATION => true,
            DATA if length > 0 => true,
            SETTINGS | PING => self.answered.take(now),
            _ => self.silent.take(now),
        };
        is_granted.then_some(()).ok_or(TooMuchTalk)
    }
}

/// Drops bytes, up to the number left.
fn skip(bytes: &mut &[u8], left: &mut usize) {
    let count = bytes.len().min(*left);
    *bytes = &bytes[count..];
    *left -= count;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, 0, 0, 0, 0, 0];
        frame.extend_from_slice(payload);
        frame
    }

    fn begun() -> FrameMeter {
        let mut meter = FrameMeter::default();
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        meter.take(preface, Instant::now()).expect("the preface");
        meter
    }

    #[test]
    fn talk_has_a_rate() {
        for (kind, rate) in [(PING, ANSWERED), (SETTINGS, ANSWERED), (8, SILENT)] {
            let (mut meter, now) = (begun(), Instant::now());
            let ping = frame(kind, &[0; 8]);
            let granted = (0..100_000).take_while(|_| meter.take(&ping, now).is_ok());
            assert_eq!(granted.count(), rate.at_once as usize);
            let mut meter = begun();
            let steady = (0..100_000).all(|at| meter.take(&ping, now + rate.every * at).is_ok());
            assert!(steady, "{kind}");
        }
    }

    #[test]
    fn requests_and_bodies_are_no_talk() {
        let (mut meter, now) = (begun(), Instant::now());
        for _ in 0..50_000 {
            meter
                .take(&frame(HEADERS, &[0; 30]), now)
                .expect("a request");
            meter.take(&frame(DATA, &[0; 30]), now).expect("a body");
        }
    }

    #[test]
    fn payloads_are_not_read_as_frames_however_they_come() {
        let now = Instant::now();
        let pings = frame(PING, &[0; 8]).repeat(1_000);
        let mut all = frame(DATA, &pings);
        all.extend(frame(PING, &[0; 8]).repeat(ANSWERED.at_once as usize));
        for piece in [1, 7, 4_096] {
            let mut meter = begun();
            for piece in all.chunks(piece) {
                meter.take(piece, now).expect("within the rate");
            }
            assert_eq!(meter.take(&frame(PING, &[0; 8]), now), Err(TooMuchTalk));
        }
    }
}
