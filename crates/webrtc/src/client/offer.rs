//! Writer of offers.

use std::fmt::{self, Write};

use crate::ice::Credentials;
use crate::sdp::{Direction, Fingerprint, MediaKind, write_format, write_numbers};

/// One format of a section.
#[derive(Clone, Copy, Debug)]
pub struct OfferedFormat<'a> {
    /// Payload type in RTP headers.
    pub payload_type: u8,
    /// Encoding as written in `rtpmap`.
    pub rtpmap: &'a str,
    /// Format parameters; empty if there are none.
    pub parameters: &'a str,
    /// Payload type of its retransmissions.
    pub rtx: Option<u8>,
}

/// One section. Sections are named by their index, starting at 0.
#[derive(Clone, Copy, Debug)]
pub struct OfferedMedia<'a> {
    /// Audio or video.
    pub kind: MediaKind,
    /// Direction of the media.
    pub direction: Direction,
    /// Formats, best first.
    pub formats: &'a [OfferedFormat<'a>],
    /// Source we send from, if we send.
    pub ssrc: Option<u32>,
}

/// Writes an offer of `media` by the client with these credentials and this certificate.
///
/// # Errors
/// None: a string accepts any text.
pub fn write_offer(
    ice: &Credentials,
    fingerprint: &Fingerprint,
    media: &[OfferedMedia<'_>],
) -> Result<String, fmt::Error> {
    let mut out = String::with_capacity(2_048);
    out.push_str("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE");
    for mid in 0..media.len() {
        write!(out, " {mid}")?;
    }
    out.push_str("\r\na=msid-semantic: WMS *\r\n");
    for (mid, section) in media.iter().enumerate() {
        let word = section.kind.word();
        write!(out, "m={word} 9 UDP/TLS/RTP/SAVPF")?;
        for format in section.formats {
            write_numbers(&mut out, format.payload_type, format.rtx)?;
        }
        let direction = section.direction.word();
        write!(
            out,
            "\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\na=ice-ufrag:{}\r\na=ice-pwd:{}\r\n\
             a=fingerprint:{fingerprint}\r\na=setup:actpass\r\na=mid:{mid}\r\na={direction}\r\n\
             a=rtcp-mux\r\na=rtcp-rsize\r\n",
            ice.ufrag(),
            ice.password(),
        )?;
        for format in section.formats {
            let feedback = ["nack", "nack pli", "ccm fir"].into_iter();
            let (number, rtx) = (format.payload_type, format.rtx);
            write_format(
                &mut out,
                number,
                rtx,
                format.rtpmap,
                format.parameters,
                feedback,
            )?;
        }
        if let Some(ssrc) = section.ssrc {
            write!(
                out,
                "a=msid:peer {word}\r\na=ssrc:{ssrc} cname:peer\r\na=ssrc:{ssrc} msid:peer {word}\r\n"
            )?;
        }
    }
    Ok(out)
}
