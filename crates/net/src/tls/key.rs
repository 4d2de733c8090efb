//! Key of one direction: seals and opens single records.
//!
//! | | additional data | nonce | payload |
//! |---|---|---|---|
//! | TLS 1.3 (RFC 8446 §5.2) | the header | IV ⊕ sequence | sealed(bytes, type), tag |
//! | TLS 1.2, GCM (RFC 5288 §3) | sequence, type, version, length | salt, 8 explicit bytes | explicit bytes, sealed(bytes), tag |
//! | TLS 1.2, ChaCha20 (RFC 7905 §2) | the same | IV ⊕ sequence | sealed(bytes), tag |

use std::fmt;

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

use super::alert::Error;
use super::{HEADER_LEN, PLAIN_BYTES_MAX, TAG_LEN, content};

/// Bytes of the nonce that TLS 1.2 sends with each GCM record.
const EXPLICIT_LEN: usize = 8;

/// Most records that AES-GCM may seal under one key. RFC 8446 §5.5 allows 2^24.5; rustls keeps to this
/// number.
const GCM_RECORDS_MAX: u64 = 1 << 24;

/// Format of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Tls13,
    Tls12Gcm,
    Tls12ChaCha,
}

impl Form {
    /// Returns the number of bytes between the header and the ciphertext.
    const fn prefix_len(self) -> usize {
        match self {
            Self::Tls12Gcm => EXPLICIT_LEN,
            Self::Tls13 | Self::Tls12ChaCha => 0,
        }
    }

    /// Returns the number of bytes that are sealed after the plaintext.
    const fn suffix_len(self) -> usize {
        match self {
            Self::Tls13 => 1,
            Self::Tls12Gcm | Self::Tls12ChaCha => 0,
        }
    }
}

/// Key of one direction, with its IV; [`seal`](Self::seal) and [`open`](Self::open) take the sequence number.
pub(super) struct RecordKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    form: Form,
    /// Most records that the key may seal.
    pub(super) records_max: u64,
}

impl RecordKey {
    /// Most bytes that a record adds to its plaintext.
    pub(super) const OVERHEAD_MAX: usize = HEADER_LEN + EXPLICIT_LEN + TAG_LEN;

    pub(super) fn new(
        secrets: &ConnectionTrafficSecrets,
        version: ProtocolVersion,
    ) -> Result<Self, Error> {
        let (algorithm, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(Error::Internal),
        };
        let is_gcm = algorithm != &CHACHA20_POLY1305;
        let form = match (version, is_gcm) {
            (ProtocolVersion::TLSv1_3, _) => Form::Tls13,
            (_, true) => Form::Tls12Gcm,
            (_, false) => Form::Tls12ChaCha,
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| Error::Internal)?;
        Ok(Self {
            key: LessSafeKey::new(key),
            iv: iv.as_ref().try_into().map_err(|_| Error::Internal)?,
            form,
            records_max: if is_gcm { GCM_RECORDS_MAX } else { u64::MAX },
        })
    }

    /// Returns the number of bytes that a record adds to its plaintext.
    pub(super) const fn overhead(&self) -> usize {
        HEADER_LEN + self.form.prefix_len() + self.form.suffix_len() + TAG_LEN
    }

    fn nonce(&self, sequence: u64) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        for (byte, of_sequence) in nonce[NONCE_LEN - 8..]
            .iter_mut()
            .zip(sequence.to_be_bytes())
        {
            *byte ^= of_sequence;
        }
        nonce
    }

    /// Seals `plain` as one record of type `kind` into `record`, whose length must be exactly that of the
    /// result.
    pub(super) fn seal(
        &self,
        sequence: u64,
        kind: u8,
        plain: &[u8],
        record: &mut [u8],
    ) -> Result<(), Error> {
        debug_assert!(plain.len() <= PLAIN_BYTES_MAX);
        debug_assert_eq!(record.len(), plain.len() + self.overhead());
        let nonce = self.nonce(sequence);
        let payload_len = (record.len() - HEADER_LEN) as u16;
        let (header, payload) = record.split_at_mut(HEADER_LEN);
        let (prefix, sealed) = payload.split_at_mut(self.form.prefix_len());
        let (ciphertext, tail) = sealed.split_at_mut(plain.len());
        let outer_kind = match self.form {
            Form::Tls13 => content::DATA,
            Form::Tls12Gcm | Form::Tls12ChaCha => kind,
        };
        let [high, low] = payload_len.to_be_bytes();
        header.copy_from_slice(&[outer_kind, 3, 3, high, low]);
        prefix.copy_from_slice(&nonce[NONCE_LEN - prefix.len()..]);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = match self.form {
            Form::Tls13 => {
                let aad = Aad::from(&*header);
                self.key
                    .seal_out_of_place_scatter(nonce, aad, plain, ciphertext, &[kind], tail)
            }
            Form::Tls12Gcm | Form::Tls12ChaCha => {
                let aad = Aad::from(tls12_aad(sequence, kind, plain.len()));
                self.key
                    .seal_out_of_place_scatter(nonce, aad, plain, ciphertext, &[], tail)
            }
        };
        sealed.map_err(|_| Error::Internal)
    }

    /// Opens a record in place. Returns its type, and its plaintext, a part of `payload`.
    pub(super) fn open<'a>(
        &self,
        sequence: u64,
        header: [u8; HEADER_LEN],
        payload: &'a mut [u8],
    ) -> Result<(u8, &'a [u8]), Error> {
        let prefix_len = self.form.prefix_len();
        let Some(plain_len) = payload.len().checked_sub(prefix_len + TAG_LEN) else {
            return Err(Error::BadRecordMac);
        };
        let mut nonce = self.nonce(sequence);
        let (prefix, sealed) = payload.split_at_mut(prefix_len);
        nonce[NONCE_LEN - prefix.len()..].copy_from_slice(prefix);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let outer_kind = header[0];
        let plain = match self.form {
            Form::Tls13 if outer_kind != content::DATA => return Err(Error::UnexpectedMessage),
            Form::Tls13 => self.key.open_in_place(nonce, Aad::from(header), sealed),
            Form::Tls12Gcm | Form::Tls12ChaCha => {
                let aad = Aad::from(tls12_aad(sequence, outer_kind, plain_len));
                self.key.open_in_place(nonce, aad, sealed)
            }
        };
        let plain = plain.map_err(|_| Error::BadRecordMac)?;
        let (kind, plain) = match self.form {
            Form::Tls13 => {
                // Zeros pad the record after its type.
                let last = plain.iter().rposition(|&byte| byte != 0);
                let Some(last) = last else {
                    return Err(Error::UnexpectedMessage);
                };
                (plain[last], &plain[..last])
            }
            Form::Tls12Gcm | Form::Tls12ChaCha => (outer_kind, &plain[..]),
        };
        match plain.len() <= PLAIN_BYTES_MAX {
            true => Ok((kind, plain)),
            false => Err(Error::RecordOverflow),
        }
    }
}

/// Returns the additional data of RFC 5246 §6.2.3.3.
fn tls12_aad(sequence: u64, kind: u8, plain_len: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    let [high, low] = (plain_len as u16).to_be_bytes();
    aad[8..].copy_from_slice(&[kind, 3, 3, high, low]);
    aad
}

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordKey({:?})", self.form)
    }
}
