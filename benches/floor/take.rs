//! The least work that a WebRTC server can do for publishers: every packet is taken from the kernel by `recvmmsg`, a batch
//! every two milliseconds as the server's workers rest, and opened (AES-128-GCM, as in `webrtc::srtp`). The contents of a
//! packet are ignored.
//!
//! Publishers are threads of this process with a socket each; only the takers' processor time is reported. There is no session:
//! keys are made up.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use net::{cpu, udp};
use webrtc::srtp::{MasterKey, Opener, Profile, RTP_OVERHEAD_MAX, Sealer};

/// Length of an RTP header in bytes.
const HEADER_BYTES: usize = 12;
/// Interval between two polls of a socket.
const REST: Duration = Duration::from_millis(2);
/// Video frames per second; the packets of each leave together.
const PICTURES: u32 = 25;
/// Time before the measurement.
const SETTLE: Duration = Duration::from_secs(2);
/// Number of publishing threads.
const PUBLISHING_THREADS: usize = 2;
const PACKET_BYTES_MAX: usize = 1_300;
const KEY_SALT: [u8; 12] = [7; 12];

#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) publishers: usize,
    /// Packets per publisher and second.
    pub(crate) packets: f64,
    /// Length on the wire in bytes, header and tag included.
    pub(crate) packet_bytes: usize,
    pub(crate) window: Duration,
}

/// State shared by all threads.
#[derive(Default)]
struct Stage {
    is_over: AtomicBool,
    taken: AtomicU64,
    /// Processor time of the takers, in nanoseconds.
    spent: AtomicU64,
}

/// Measures, and prints the takers' processor time as a share of one core, and the packets taken per second.
pub(crate) fn run(threads: usize, pace: Pace) -> io::Result<()> {
    if !(HEADER_BYTES + RTP_OVERHEAD_MAX..=PACKET_BYTES_MAX).contains(&pace.packet_bytes) {
        return Err(super::invalid("packets have 28 to 1300 bytes".to_owned()));
    }
    let first = udp::Socket::bind_shared((std::net::Ipv4Addr::LOCALHOST, 0).into())?;
    let addr = first.address();
    let mut sockets = vec![first];
    for _ in 1..threads {
        sockets.push(udp::Socket::bind_shared(addr)?);
    }
    let stage = Arc::new(Stage::default());
    let mut all = Vec::new();
    for socket in sockets {
        let stage = Arc::clone(&stage);
        all.push(thread::spawn(move || take(&socket, &stage)));
    }
    for number in 0..PUBLISHING_THREADS {
        let stage = Arc::clone(&stage);
        all.push(thread::spawn(move || publish(addr, number, pace, &stage)));
    }
    thread::sleep(SETTLE);
    let read = || [&stage.spent, &stage.taken].map(|count| count.load(Ordering::Relaxed) as f64);
    let (began, [spent, taken]) = (Instant::now(), read());
    thread::sleep(pace.window);
    let ([spent_by, taken_by], seconds) = (read(), began.elapsed().as_secs_f64());
    stage.is_over.store(true, Ordering::Relaxed);
    println!(
        "{{\"cpu\":{},\"packets\":{}}}",
        (spent_by - spent) / 1e9 / seconds,
        (taken_by - taken) / seconds
    );
    super::finish(all)
}

/// Derives a key. No two publishers share keys, nor the key material that the processor caches.
fn master(port: u16) -> io::Result<MasterKey> {
    let key = u128::from(port).to_be_bytes();
    MasterKey::new(Profile::Aes128Gcm, &key, &KEY_SALT).map_err(io::Error::other)
}

fn take(socket: &udp::Socket, stage: &Stage) -> io::Result<()> {
    let mut inbox = udp::Inbox::default();
    let mut openers = HashMap::new();
    let mut spent = cpu::thread_time();
    while !stage.is_over.load(Ordering::Relaxed) {
        thread::sleep(REST);
        let mut taken = 0;
        while socket.receive(&mut inbox)? > 0 {
            for datagram in inbox.datagrams() {
                let opener = match openers.entry(datagram.from) {
                    std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::hash_map::Entry::Vacant(place) => {
                        let master = master(datagram.from.port())?;
                        let opener = Opener::with_master(Profile::Aes128Gcm, &master);
                        place.insert(opener.map_err(io::Error::other)?)
                    }
                };
                opener.open(datagram.bytes).map_err(io::Error::other)?;
                taken += 1;
            }
        }
        let now = cpu::thread_time();
        let nanos = (now - spent).as_nanos() as u64;
        stage.spent.fetch_add(nanos, Ordering::Relaxed);
        stage.taken.fetch_add(taken, Ordering::Relaxed);
        spent = now;
    }
    Ok(())
}

/// Runs one thread's share of the publishers, whose frames are spread evenly over the duration of a frame.
fn publish(to: SocketAddr, number: usize, pace: Pace, stage: &Stage) -> io::Result<()> {
    let mut publishers = Vec::new();
    for _ in (number..pace.publishers).step_by(PUBLISHING_THREADS) {
        let socket = UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(to)?;
        let master = master(socket.local_addr()?.port())?;
        let sealer = Sealer::with_master(Profile::Aes128Gcm, &master).map_err(io::Error::other)?;
        publishers.push((socket, sealer));
    }
    let payload = [0x5a; PACKET_BYTES_MAX];
    let payload = &payload[..pace.packet_bytes - HEADER_BYTES - RTP_OVERHEAD_MAX];
    let mut out = [0; PACKET_BYTES_MAX];
    let step = (Duration::from_secs(1) / PICTURES).div_f64(publishers.len().max(1) as f64);
    let began = Instant::now();
    for turn in 0_u32.. {
        if stage.is_over.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep((began + step * turn).saturating_duration_since(Instant::now()));
        let count = publishers.len();
        let picture = turn as usize / count.max(1);
        let Some((socket, sealer)) = publishers.get_mut(turn as usize % count.max(1)) else {
            break;
        };
        let each = pace.packets / f64::from(PICTURES);
        let (first, after) = (picture as f64 * each, (picture + 1) as f64 * each);
        for packet in first as u64..after as u64 {
            let mut header = [0; HEADER_BYTES];
            header[0] = 0x80;
            header[2..4].copy_from_slice(&(packet as u16).to_be_bytes());
            let sealed = sealer.seal(packet, &header, payload, &mut out);
            let sealed = sealed.map_err(io::Error::other)?;
            // A packet that does not fit is missing from the count.
            socket.send(&out[..sealed]).ok();
        }
    }
    Ok(())
}
