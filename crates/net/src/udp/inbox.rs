//! Inbox of datagrams, a batch at a time.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::address::{self, NAME_LEN};
use super::control::{self, CONTROL_LEN};
use super::sys::{self, DatagramSlot, Lens};

/// Most datagrams taken in one call: enough to make the call cheap, few enough that their buffers stay in the
/// cache.
pub const BATCH: usize = 32;

/// Room for a datagram, in bytes: more than an Ethernet frame carries.
const DATAGRAM_LEN_MAX: usize = 2_048;

/// Reused room for a batch.
#[derive(Debug)]
pub struct Inbox {
    bytes: Box<[u8]>,
    names: Box<[u8]>,
    controls: Box<[u8]>,
    lens: [Lens; BATCH],
    /// Number of slots that the last call filled.
    count: usize,
    cut: u64,
}

/// A received datagram. Its bytes may be changed, because they are decrypted in place.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Local address that the datagram was sent to, if the socket is bound to all of them.
    pub to: Option<IpAddr>,
    /// Content of the datagram.
    pub bytes: &'a mut [u8],
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            bytes: vec![0; BATCH * DATAGRAM_LEN_MAX].into(),
            names: vec![0; BATCH * NAME_LEN].into(),
            controls: vec![0; BATCH * CONTROL_LEN].into(),
            lens: [Lens::default(); BATCH],
            count: 0,
            cut: 0,
        }
    }
}

impl Inbox {
    pub(super) fn fill(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.count = 0;
        let places = self
            .bytes
            .chunks_exact_mut(DATAGRAM_LEN_MAX)
            .zip(self.names.chunks_exact_mut(NAME_LEN))
            .zip(self.controls.chunks_exact_mut(CONTROL_LEN))
            .zip(&mut self.lens)
            .map(|(((bytes, name), control), lens)| DatagramSlot {
                bytes,
                name,
                control,
                lens,
            });
        match sys::receive::<BATCH>(socket, places) {
            Ok(count) => self.count = count,
            Err(Errno::NOMEM | Errno::NOBUFS) => return Err(Errno::NOMEM.into()),
            // Nothing has arrived; or the network reports the failure of an earlier send, and has now done
            // so.
            Err(_) => {}
        }
        let lens = &self.lens[..self.count];
        self.cut += lens.iter().filter(|lens| lens.is_cut).count() as u64;
        Ok(self.count)
    }

    /// Returns the datagrams of the last call, without those longer than any that fits the path.
    pub fn datagrams(&mut self) -> impl Iterator<Item = Datagram<'_>> {
        self.bytes
            .chunks_exact_mut(DATAGRAM_LEN_MAX)
            .zip(self.names.chunks_exact(NAME_LEN))
            .zip(self.controls.chunks_exact(CONTROL_LEN))
            .zip(&self.lens)
            .take(self.count)
            .filter(|(_, lens)| !lens.is_cut)
            .filter_map(|(((bytes, name), control), lens)| {
                Some(Datagram {
                    from: address::decode(name.get(..lens.name)?)?,
                    to: control::local(control.get(..lens.control)?),
                    bytes: bytes.get_mut(..lens.bytes)?,
                })
            })
    }

    /// Returns the number of datagrams so far that were too long.
    pub fn cut(&self) -> u64 {
        self.cut
    }
}
