//! Sealing of RTP: one shared plaintext, one buffer per listener.

use aws_lc_rs::aead::Aad;

use super::cipher::{Cipher, RTP_LABELS, Session};
use super::{Error, Keys, MasterKey, Profile};
use crate::rtp;

/// Sealer of RTP packets for one peer. It has no state except the keys, so a packet may be sealed again.
#[derive(Debug)]
pub struct Sealer(pub(super) Cipher);

impl Sealer {
    /// Expands the keys for our packets.
    pub fn new(keys: &Keys) -> Result<Self, Error> {
        Self::with_master(keys.profile, &keys.local)
    }

    /// Expands the keys of one direction.
    pub fn with_master(profile: Profile, master: &MasterKey) -> Result<Self, Error> {
        Cipher::new(profile, &Session::derive(master, RTP_LABELS)?).map(Self)
    }

    /// Returns the bytes that sealing adds.
    pub fn overhead(&self) -> usize {
        self.0.tag_len()
    }

    /// Writes the sealed packet to the front of `out` and returns its length: `header.len() + payload.len() + self.overhead()`.
    ///
    /// `index` is the packet's 48-bit index as this peer counts ([`Rollover`](super::Rollover)); its last 16 bits are the
    /// sequence number in the header. `header` is the whole RTP header, contributing sources and extension included. With one
    /// key, the same index and source must never be used for two different packets.
    pub fn seal(
        &self,
        index: u64,
        header: &[u8],
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let ssrc = rtp::ssrc(header).ok_or(Error::NotRtp)?;
        let plain = header.len() + payload.len();
        let sealed = plain + self.overhead();
        let out = out.get_mut(..sealed).ok_or(Error::NoRoom)?;
        let (head, rest) = out.split_at_mut(header.len());
        head.copy_from_slice(header);
        match &self.0 {
            Cipher::Gcm(gcm) => {
                let (text, tag) = rest.split_at_mut(payload.len());
                let nonce = gcm.nonce(ssrc, index);
                gcm.key
                    .seal_out_of_place_scatter(nonce, Aad::from(header), payload, text, &[], tag)
                    .map_err(|_| Error::Crypto)?;
            }
            Cipher::Cm(cm) => {
                let text = &mut rest[..payload.len()];
                text.copy_from_slice(payload);
                cm.apply(ssrc, index, text)?;
                // The rollover counter is authenticated after the packet; for that purpose it is written to the tag's bytes.
                let roc = ((index >> 16) as u32).to_be_bytes();
                out[plain..plain + 4].copy_from_slice(&roc);
                let tag = cm.tag(&out[..plain + 4]);
                out[plain..].copy_from_slice(&tag);
            }
        }
        Ok(sealed)
    }
}
