//! Sealing and opening of RTCP: the index is explicit, and the first eight octets stay readable.

use aws_lc_rs::aead::Aad;

use super::cipher::{Cipher, GCM_TAG_LEN, RTCP_LABELS, Session};
use super::sources::Sources;
use super::{Error, Keys};

/// Length of the part of an RTCP packet that is never encrypted: its first header and source.
const HEADER_LEN: usize = 8;

/// Length of the word with the encryption flag and the index.
const TRAILER_LEN: usize = 4;

/// Flag in the trailer that marks an encrypted packet.
const ENCRYPTED: u32 = 1 << 31;

/// Last index that one key may protect (RFC 3711 §3.4).
const INDEX_MAX: u32 = ENCRYPTED - 1;

/// Sealer of RTCP packets for one peer.
#[derive(Debug)]
pub struct RtcpSealer {
    pub(super) cipher: Cipher,
    /// Index of the next packet: one count for all sources, so that no index is used twice.
    pub(super) next: u32,
}

impl RtcpSealer {
    /// Expands the keys for our packets.
    pub fn new(keys: &Keys) -> Result<Self, Error> {
        let session = Session::derive(&keys.local, RTCP_LABELS)?;
        Ok(Self {
            cipher: Cipher::new(keys.profile, &session)?,
            next: 1,
        })
    }

    /// Writes the sealed compound packet to the front of `out` and returns its length.
    pub fn seal(&mut self, packet: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let ssrc = ssrc(packet)?;
        let index = self.next;
        if index > INDEX_MAX {
            return Err(Error::KeyExhausted);
        }
        let trailer = (ENCRYPTED | index).to_be_bytes();
        let sealed = packet.len() + self.cipher.tag_len() + TRAILER_LEN;
        let out = out.get_mut(..sealed).ok_or(Error::NoRoom)?;
        let (header, payload) = packet.split_at(HEADER_LEN);
        match &self.cipher {
            Cipher::Gcm(gcm) => {
                let (head, rest) = out.split_at_mut(HEADER_LEN);
                head.copy_from_slice(header);
                let (text, rest) = rest.split_at_mut(payload.len());
                let (tag, end) = rest.split_at_mut(GCM_TAG_LEN);
                end.copy_from_slice(&trailer);
                let (nonce, aad) = (gcm.nonce(ssrc, index.into()), associated(header, trailer));
                gcm.key
                    .seal_out_of_place_scatter(nonce, aad, payload, text, &[], tag)
                    .map_err(|_| Error::Crypto)?;
            }
            Cipher::Cm(cm) => {
                let (head, tag) = out.split_at_mut(packet.len() + TRAILER_LEN);
                head[..packet.len()].copy_from_slice(packet);
                cm.apply(ssrc, index.into(), &mut head[HEADER_LEN..packet.len()])?;
                head[packet.len()..].copy_from_slice(&trailer);
                tag.copy_from_slice(&cm.tag(head));
            }
        }
        self.next += 1;
        Ok(sealed)
    }
}

/// Opener of the RTCP packets of one peer.
#[derive(Debug)]
pub struct RtcpOpener {
    pub(super) cipher: Cipher,
    pub(super) sources: Sources<1>,
}

impl RtcpOpener {
    /// Expands the keys for the peer's packets.
    pub fn new(keys: &Keys) -> Result<Self, Error> {
        let session = Session::derive(&keys.remote, RTCP_LABELS)?;
        Ok(Self {
            cipher: Cipher::new(keys.profile, &session)?,
            sources: Sources::default(),
        })
    }

    /// Authenticates and decrypts `packet` in place, and returns the length of the plain compound packet at its front. After an
    /// error its content is unspecified.
    pub fn open(&mut self, packet: &mut [u8]) -> Result<usize, Error> {
        let ssrc = ssrc(packet)?;
        let len = packet
            .len()
            .checked_sub(self.cipher.tag_len() + TRAILER_LEN)
            .filter(|len| *len >= HEADER_LEN)
            .ok_or(Error::Truncated)?;
        let trailer_at = match self.cipher {
            Cipher::Gcm(_) => packet.len() - TRAILER_LEN,
            Cipher::Cm(_) => len,
        };
        let mut trailer = [0; TRAILER_LEN];
        trailer.copy_from_slice(&packet[trailer_at..trailer_at + TRAILER_LEN]);
        let word = u32::from_be_bytes(trailer);
        if word & ENCRYPTED == 0 {
            return Err(Error::Unencrypted);
        }
        let index = u64::from(word & INDEX_MAX);
        let (place, _) = self.sources.check(ssrc, |_| Some(index))?;
        self.decrypt(ssrc, index, trailer, len, packet)?;
        self.sources.note(place, ssrc, index);
        Ok(len)
    }

    fn decrypt(
        &self,
        ssrc: [u8; 4],
        index: u64,
        trailer: [u8; TRAILER_LEN],
        len: usize,
        packet: &mut [u8],
    ) -> Result<(), Error> {
        match &self.cipher {
            Cipher::Gcm(gcm) => {
                let (header, rest) = packet.split_at_mut(HEADER_LEN);
                let sealed = &mut rest[..len - HEADER_LEN + GCM_TAG_LEN];
                let aad = associated(header, trailer);
                gcm.key
                    .open_in_place(gcm.nonce(ssrc, index), aad, sealed)
                    .map(|_| ())
                    .map_err(|_| Error::Forged)
            }
            Cipher::Cm(cm) => {
                let (head, tag) = packet.split_at_mut(len + TRAILER_LEN);
                cm.check(head, &[], tag)?;
                cm.apply(ssrc, index, &mut head[HEADER_LEN..len])
            }
        }
    }
}

/// Returns the data that GCM authenticates in addition to the encrypted part (RFC 7714 §9.2).
fn associated(header: &[u8], trailer: [u8; TRAILER_LEN]) -> Aad<[u8; HEADER_LEN + TRAILER_LEN]> {
    let mut bytes = [0; HEADER_LEN + TRAILER_LEN];
    bytes[..HEADER_LEN].copy_from_slice(&header[..HEADER_LEN]);
    bytes[HEADER_LEN..].copy_from_slice(&trailer);
    Aad::from(bytes)
}

fn ssrc(packet: &[u8]) -> Result<[u8; 4], Error> {
    let header = packet.first_chunk::<HEADER_LEN>();
    let [first, _, _, _, ssrc @ ..] = header.ok_or(Error::Truncated)?;
    if first >> 6 != 2 {
        return Err(Error::NotRtp);
    }
    Ok(*ssrc)
}
