//! Opening RTP: in place, with the receiver's guess of the index and a replay window per source.

use aws_lc_rs::aead::Aad;

use super::cipher::{CM_TAG_LEN, CmSha1, GCM_TAG_LEN, Gcm, Purpose, Session};
use super::index::guess;
use super::window::Window;
use super::{Error, Keys, MasterKey, Profile};
use crate::rtp;

/// Sources one peer may use: sound, three sizes of picture and their retransmissions, twice over.
const SOURCES_MAX: usize = 16;

/// Words of 64 packets: a second and more of a fast video, so a packet that was asked for again
/// is still told from a repetition.
const WINDOW_WORDS: usize = 16;

/// Opens the RTP packets of one peer.
#[derive(Debug)]
pub struct Opener {
    kind: Kind,
    sources: Vec<Source>,
}

#[derive(Debug)]
enum Kind {
    Cm(Box<CmSha1>),
    Gcm(Box<Gcm>),
}

#[derive(Debug)]
struct Source {
    ssrc: [u8; 4],
    window: Window<WINDOW_WORDS>,
}

/// An opened packet: where it ends, and its place in its source's sequence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Opened {
    /// The packet's 48-bit index: its sequence number extended over wraps.
    pub index: u64,
    /// Bytes of the plain packet, header included, at the front of the buffer.
    pub len: usize,
}

impl Opener {
    /// Expands the keys of what the peer sends.
    pub fn new(keys: &Keys) -> Result<Self, Error> {
        Self::with_master(keys.profile, &keys.remote)
    }

    /// Expands the keys of one direction.
    pub fn with_master(profile: Profile, master: &MasterKey) -> Result<Self, Error> {
        Self::with_session(profile, &Session::derive(master, Purpose::Rtp)?)
    }

    pub(super) fn with_session(profile: Profile, session: &Session) -> Result<Self, Error> {
        let kind = match profile {
            Profile::Aes128CmSha1_80 => Kind::Cm(Box::new(CmSha1::new(session)?)),
            Profile::Aes128Gcm => Kind::Gcm(Box::new(Gcm::new(session)?)),
        };
        Ok(Self {
            kind,
            sources: Vec::new(),
        })
    }

    /// Authenticates and decrypts `packet` where it lies. After an error its content is unspecified.
    pub fn open(&mut self, packet: &mut [u8]) -> Result<Opened, Error> {
        let header = rtp::Header::parse(packet).ok_or(Error::NotRtp)?;
        let ssrc = header.ssrc.to_be_bytes();
        let known = self.sources.iter().position(|source| source.ssrc == ssrc);
        let index = match known {
            Some(at) => {
                let window = &self.sources[at].window;
                let index = guess(window.highest(), header.sequence).ok_or(Error::Replayed)?;
                if !window.is_new(index) {
                    return Err(Error::Replayed);
                }
                index
            }
            None if self.sources.len() >= SOURCES_MAX => return Err(Error::TooManySources),
            None => u64::from(header.sequence),
        };
        let len = self.decrypt(ssrc, index, header.len, packet)?;
        match known {
            Some(at) => self.sources[at].window.accept(index),
            None => self.sources.push(Source {
                ssrc,
                window: Window::starting_at(index),
            }),
        }
        Ok(Opened { index, len })
    }

    fn decrypt(
        &self,
        ssrc: [u8; 4],
        index: u64,
        header_len: usize,
        packet: &mut [u8],
    ) -> Result<usize, Error> {
        match &self.kind {
            Kind::Gcm(gcm) => {
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
            Kind::Cm(cm) => {
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
