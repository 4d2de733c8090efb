//! Decryption of RTP in place, with the receiver's guess of the index and a replay window per source.

use aws_lc_rs::aead::Aad;

use super::cipher::{CM_TAG_LEN, Cipher, GCM_TAG_LEN, RTP_LABELS, Session};
use super::index::guess;
use super::sources::Sources;
use super::{Error, Keys, MasterKey, Profile};
use crate::rtp;

/// Words of 64 packets: at least a second of a high-rate video, so that a late retransmission is still distinguished from a
/// replay.
const WINDOW_WORDS: usize = 16;

/// Opener of the RTP packets of one peer.
#[derive(Debug)]
pub struct Opener {
    pub(super) cipher: Cipher,
    pub(super) sources: Sources<WINDOW_WORDS>,
}

/// An opened packet: its end, and its position in its source's sequence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Opened {
    /// 48-bit index of the packet: its sequence number extended over wraps.
    pub index: u64,
    /// Bytes of the plain packet, header included, at the front of the buffer.
    pub len: usize,
}

impl Opener {
    /// Expands the keys for the peer's packets.
    pub fn new(keys: &Keys) -> Result<Self, Error> {
        Self::with_master(keys.profile, &keys.remote)
    }

    /// Expands the keys of one direction.
    pub fn with_master(profile: Profile, master: &MasterKey) -> Result<Self, Error> {
        Ok(Self {
            cipher: Cipher::new(profile, &Session::derive(master, RTP_LABELS)?)?,
            sources: Sources::default(),
        })
    }

    /// Authenticates and decrypts `packet` in place. After an error its content is unspecified.
    pub fn open(&mut self, packet: &mut [u8]) -> Result<Opened, Error> {
        let header = rtp::Header::parse(packet).ok_or(Error::NotRtp)?;
        let ssrc = header.ssrc.to_be_bytes();
        let (place, index) = self.sources.check(ssrc, |highest| match highest {
            Some(highest) => guess(highest, header.sequence),
            None => Some(header.sequence.into()),
        })?;
        let len = self.decrypt(ssrc, index, header.len, packet)?;
        self.sources.note(place, ssrc, index);
        Ok(Opened { index, len })
    }

    fn decrypt(
        &self,
        ssrc: [u8; 4],
        index: u64,
        header_len: usize,
        packet: &mut [u8],
    ) -> Result<usize, Error> {
        match &self.cipher {
            Cipher::Gcm(gcm) => {
                if packet.len() < header_len + GCM_TAG_LEN {
                    return Err(Error::Truncated);
                }
                let (header, sealed) = packet.split_at_mut(header_len);
                let text = gcm
                    .key
                    .open_in_place(gcm.nonce(ssrc, index), Aad::from(&*header), sealed)
                    .map_err(|_| Error::Forged)?;
                Ok(header_len + text.len())
            }
            Cipher::Cm(cm) => {
                let len = packet
                    .len()
                    .checked_sub(CM_TAG_LEN)
                    .ok_or(Error::Truncated)?;
                if len < header_len {
                    return Err(Error::Truncated);
                }
                let (plain, tag) = packet.split_at_mut(len);
                cm.check(plain, &((index >> 16) as u32).to_be_bytes(), tag)?;
                cm.apply(ssrc, index, &mut plain[header_len..])?;
                Ok(len)
            }
        }
    }
}
