//! The stamp of a synthetic frame, from which its receiver can determine what happened to the frame.
//!
//! ```text
//! ┌──────┬──────────┬──────────────────┬──────────────────┬────────┬────────────────┐
//! │ crln │ source 8 │    number 16     │ nanoseconds 16   │ size 6 │ filling …      │
//! └──────┴──────────┴──────────────────┴──────────────────┴────────┴────────────────┘
//! ```
//!
//! All of it is lower-case text, with numbers in hexadecimal: no byte can be mistaken for the sync word of a frame, and a dump
//! is readable. `number` counts the frames of one track from 0, `nanoseconds` is the wall clock when the frame was handed to
//! the socket, `size` counts from the `c` to the end. The filling follows from number and position, so that a byte that changed
//! or moved on the way is detected.

const MAGIC: &[u8] = b"crln";
/// Number of bytes before the filling.
pub(crate) const STAMP_BYTES: usize = 4 + 8 + 16 + 16 + 6;
/// Maximum length of the headers before a stamp: an MP3 or ADTS header, a NAL unit's length, type and first byte.
const OFFSET_MAX: usize = 16;

/// Description that a frame carries of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Mark of the source; differs between publishers and between runs.
    pub(crate) source: u32,
    /// Number of the frame within its track.
    pub(crate) number: u64,
    /// Wall clock at which the frame was sent.
    pub(crate) sent: u64,
}

/// Flaws of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The frame has no stamp: no synthetic source made it.
    Unstamped,
    /// The frame has a stamp, but differs from what was sent.
    Damaged,
}

impl Stamp {
    /// Appends stamp and filling, `size` bytes in total; never less than [`STAMP_BYTES`].
    pub(crate) fn write(&self, size: usize, out: &mut Vec<u8>) {
        let size = size.clamp(STAMP_BYTES, 0xFF_FFFF);
        let Self {
            source,
            number,
            sent,
        } = self;
        out.extend_from_slice(MAGIC);
        let text = format!("{source:08x}{number:016x}{sent:016x}{size:06x}");
        out.extend_from_slice(text.as_bytes());
        out.extend((STAMP_BYTES..size).map(|place| filling(*number, place)));
    }

    /// Reads the frame that `sample` holds behind its headers.
    pub(crate) fn read(sample: &[u8]) -> Result<Self, Flaw> {
        let searched = &sample[..sample.len().min(OFFSET_MAX + MAGIC.len())];
        let offset = searched
            .windows(MAGIC.len())
            .position(|window| window == MAGIC)
            .ok_or(Flaw::Unstamped)?;
        let frame = &sample[offset..];
        let number = |from, length| hexadecimal(frame.get(from..from + length)?);
        let stamp = || {
            let stamp = Self {
                source: number(4, 8)? as u32,
                number: number(12, 16)?,
                sent: number(28, 16)?,
            };
            let is_whole = number(44, 6)? == frame.len() as u64
                && (STAMP_BYTES..frame.len())
                    .all(|place| frame[place] == filling(stamp.number, place));
            is_whole.then_some(stamp)
        };
        stamp().ok_or(Flaw::Damaged)
    }
}

fn filling(number: u64, place: usize) -> u8 {
    // 23 letters, a prime, so that neither frames nor bytes repeat in step with powers of two.
    b'a' + ((number.wrapping_add(place as u64)) % 23) as u8
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Stamp {
        pub(crate) const fn of(source: u32, number: u64, sent: u64) -> Self {
            Self {
                source,
                number,
                sent,
            }
        }
    }

    const STAMP: Stamp = Stamp::of(0xDEAD_BEEF, 77, 1_700_000_000_123_456_789);

    fn frame(header: &[u8], size: usize) -> Vec<u8> {
        let mut frame = header.to_vec();
        STAMP.write(size, &mut frame);
        frame
    }

    #[test]
    fn a_frame_is_read_back_behind_its_header() {
        for header in [&[][..], &[0xFF, 0xFB, 0x90, 0x00], &[0; 7]] {
            let frame = frame(header, 417);
            assert_eq!(frame.len(), header.len() + 417);
            assert_eq!(Stamp::read(&frame), Ok(STAMP));
        }
    }

    #[test]
    fn what_has_no_stamp_is_not_damaged() {
        assert_eq!(Stamp::read(&[7; 400]), Err(Flaw::Unstamped));
        assert_eq!(Stamp::read(b""), Err(Flaw::Unstamped));
    }

    proptest! {
        #[test]
        fn no_change_is_overlooked(place in 4_usize..300, byte: u8) {
            let mut frame = frame(&[], 300);
            // Source, number and time may change and the stamp remain valid, though a different one.
            prop_assume!(!frame[place].eq_ignore_ascii_case(&byte));
            frame[place] = byte;
            prop_assert_ne!(Stamp::read(&frame), Ok(STAMP));
        }

        #[test]
        fn a_cut_frame_is_damaged(length in 4_usize..300) {
            prop_assert_eq!(Stamp::read(&frame(&[], 300)[..length]), Err(Flaw::Damaged));
        }
    }
}
