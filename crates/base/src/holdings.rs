//! Account of the bytes that a server holds for its peers, by kind of buffer, with each address's share of
//! the buffers whose size a peer determines.
//!
//! A charge is a value whose drop returns it: [`Held`] for a buffer of known size, or inside a
//! [`Bytes`](Held::over), where the last piece to be dropped returns the charge.
//!
//! Shares divide the remaining room: an address may have a quarter of the bytes that others leave, and the
//! addresses of one owner (their site) a half. So the account never becomes full, however many take from it:
//! the share of the next one becomes smaller, and is never zero. The first address may have a quarter of all.
//!
//! Callers: `egress-hls` (playlists, pieces of files, request threads), `web` (requests, replies), `net::rtmp`
//! and `net::tls` (connections), `vod` (files, indexes), `auth` (questions).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use crate::shares::{network, site};
use crate::{Labelled, Lock};

/// Divisors of the bytes that others leave: the share of an address, and that of the addresses of one site.
const ADDRESS_PART: usize = 4;
const SITE_PART: usize = 2;

crate::labels! {
    /// Kind of a buffer.
    pub enum Kind {
        /// HTTP requests: their heads, and over HTTP/1 their bodies.
        Requests = "requests",
        /// Data in transit on connections: TLS records, incomplete RTMP messages, and read buffers.
        Connections = "connections",
        /// Replies made for one client, until its socket has taken them.
        Answers = "answers",
        /// HLS playlists that all viewers share, in each coding.
        Playlists = "playlists",
        /// File data read for one client, and data derived from it.
        Files = "files",
        /// Indexes of recently played films and recordings.
        Indexes = "indexes",
        /// Questions to a hook: those that are posted, and those whose end is to be reported.
        Questions = "questions",
        /// Unread requests of the request threads, and their state of requests.
        Threads = "threads",
    }
}

/// Account of held bytes: [`take`](Self::take) charges a peer's share, [`note`](Self::note) only counts.
#[derive(Debug)]
pub struct Holdings {
    bytes_max: usize,
    bytes: Labelled<Kind>,
    shared: Lock<Shared>,
}

/// Bytes that count against shares.
#[derive(Debug, Default)]
struct Shared {
    all: usize,
    addresses: HashMap<IpAddr, usize>,
    sites: HashMap<IpAddr, usize>,
}

impl Holdings {
    /// Creates an empty account. All shares together stay below `bytes_max`.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            bytes: Labelled::default(),
            shared: Lock::default(),
        })
    }

    /// Charges bytes for a peer at `address`; `None` if that exceeds its share.
    pub fn take(self: &Arc<Self>, kind: Kind, address: IpAddr, bytes: usize) -> Option<Held> {
        let network = network(address);
        self.shared.lock().take(network, bytes, self.bytes_max)?;
        Some(self.held(kind, Some(network), bytes))
    }

    /// Counts bytes that are bounded elsewhere.
    pub fn note(self: &Arc<Self>, kind: Kind, bytes: usize) -> Held {
        self.held(kind, None, bytes)
    }

    /// Returns the current bytes of a kind.
    pub fn bytes(&self, kind: Kind) -> usize {
        self.bytes.value(kind) as usize
    }

    fn held(self: &Arc<Self>, kind: Kind, owner: Option<IpAddr>, bytes: usize) -> Held {
        self.bytes[kind].add(bytes as u64);
        Held {
            account: Arc::clone(self),
            kind,
            owner,
            bytes,
        }
    }
}

impl Shared {
    fn take(&mut self, network: IpAddr, bytes: usize, bytes_max: usize) -> Option<()> {
        let site = site(network);
        let of = |map: &HashMap<IpAddr, usize>, key| map.get(&key).copied().unwrap_or_default();
        let (own, owners) = (of(&self.addresses, network), of(&self.sites, site));
        // Bytes that all others leave.
        let left = |own: usize| bytes_max.saturating_sub(self.all - own);
        let fits = own.saturating_add(bytes) <= left(own) / ADDRESS_PART
            && owners.saturating_add(bytes) <= left(owners) / SITE_PART;
        if !fits {
            return None;
        }
        self.all += bytes;
        *self.addresses.entry(network).or_default() += bytes;
        *self.sites.entry(site).or_default() += bytes;
        Some(())
    }

    fn give_back(&mut self, network: IpAddr, bytes: usize) {
        self.all -= bytes;
        reduce(&mut self.addresses, network, bytes);
        reduce(&mut self.sites, site(network), bytes);
    }
}

/// Subtracts bytes from a sum. Keys without bytes are removed, so a map is no larger than the set it counts.
fn reduce(map: &mut HashMap<IpAddr, usize>, key: IpAddr, bytes: usize) {
    if let Some(sum) = map.get_mut(&key) {
        *sum -= bytes;
        if *sum == 0 {
            map.remove(&key);
        }
    }
}

/// A charge, for as long as the value lives.
#[derive(Debug)]
pub struct Held {
    account: Arc<Holdings>,
    kind: Kind,
    /// Address whose share the charge counts against.
    owner: Option<IpAddr>,
    bytes: usize,
}

impl Held {
    /// Returns the bytes of the charge.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the number of bytes. Not for a charge that counts against a share.
    pub fn set(&mut self, bytes: usize) {
        debug_assert!(self.owner.is_none(), "a share is not exceeded");
        let count = &self.account.bytes[self.kind];
        // All threads share the count, and most often nothing has changed.
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => count.add(more as u64),
            None => count.sub((self.bytes - bytes) as u64),
        }
        self.bytes = bytes;
    }

    /// Splits off a part of the charge, at most all of it.
    #[must_use]
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            account: Arc::clone(&self.account),
            kind: self.kind,
            owner: self.owner,
            bytes,
        }
    }

    /// Returns `bytes` with the charge attached; dropping their last piece returns it.
    pub fn over(self, bytes: Bytes) -> Bytes {
        struct Owner {
            bytes: Bytes,
            _held: Held,
        }
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &self.bytes
            }
        }
        Bytes::from_owner(Owner { bytes, _held: self })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.bytes[self.kind].sub(self.bytes as u64);
        if let Some(owner) = self.owner {
            self.account.shared.lock().give_back(owner, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1_024;

    fn host(network: u8, host: u8) -> IpAddr {
        IpAddr::from([192, 0, network, host])
    }

    /// Takes a byte at a time until refused.
    fn fill(account: &Arc<Holdings>, address: IpAddr) -> Vec<Held> {
        std::iter::from_fn(|| account.take(Kind::Answers, address, 1)).collect()
    }

    #[test]
    fn each_kind_is_counted_until_its_last_piece_is_gone() {
        for kind in Kind::ALL {
            let account = Holdings::new(MAX);
            let held = account.take(kind, host(1, 1), 100).expect("a share");
            let mut bytes = held.over(Bytes::from(vec![7; 100]));
            let piece = bytes.split_to(10);
            drop(bytes);
            let mut noted = account.note(kind, 5);
            noted.set(50);
            let sums = Kind::ALL.map(|other| account.bytes(other));
            let expected = Kind::ALL.map(|other| if other == kind { 150 } else { 0 });
            assert_eq!(sums, expected, "a piece keeps all of what it is of");
            assert_eq!(&piece[..], [7; 10]);
            drop((piece, noted));
            assert_eq!(account.bytes(kind), 0);
            assert!(
                account.shared.lock().addresses.is_empty()
                    && account.shared.lock().sites.is_empty()
            );
        }
    }

    #[test]
    fn a_part_of_a_charge_is_returned_by_itself() {
        let account = Holdings::new(MAX);
        let mut whole = account
            .take(Kind::Answers, host(1, 1), 100)
            .expect("a share");
        let part = whole.split(30);
        assert_eq!((whole.bytes(), part.bytes()), (70, 30));
        drop(whole);
        assert_eq!(account.bytes(Kind::Answers), 30);
        drop(part);
        assert_eq!(account.shared.lock().all, 0);
    }

    #[test]
    fn an_address_takes_a_quarter_of_what_others_leave() {
        let account = Holdings::new(MAX);
        let first = fill(&account, host(1, 1));
        assert_eq!(first.len(), MAX / 4);
        let second = fill(&account, host(2, 1));
        assert_eq!(second.len(), (MAX - MAX / 4) / 4);
        drop(first);
        assert!(account.take(Kind::Answers, host(1, 1), MAX / 8).is_some());
        drop(second);
    }

    #[test]
    fn the_addresses_of_one_site_leave_a_half_to_others() {
        let account = Holdings::new(MAX);
        let flood: Vec<_> = (0..=255)
            .flat_map(|at| fill(&account, host(1, at)))
            .collect();
        assert!(flood.len() <= MAX / 2, "{}", flood.len());
        assert!(account.take(Kind::Answers, host(2, 1), MAX / 8).is_some());
        let v6 = |text: &str| text.parse::<IpAddr>().expect("an address");
        let network = fill(&account, v6("2001:db8::1"));
        let is_so = account.take(Kind::Answers, v6("2001:db8::2"), 1).is_none();
        assert!(is_so, "one /64");
        drop(network);
    }

    #[test]
    fn however_many_take_it_does_not_get_full() {
        let account = Holdings::new(1 << 16);
        let sites = (0..20).map(|network| fill(&account, host(network, 1)));
        let sites: Vec<_> = sites.collect();
        assert!(account.bytes(Kind::Answers) < 1 << 16);
        assert!(!sites[19].is_empty());
    }
}
