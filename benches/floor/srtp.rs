//! The least work that a WebRTC server can do: every frame's packets sealed for each listener (AES-128-GCM, as in
//! `webrtc::srtp`) and passed to the kernel by one `sendmsg` with `UDP_SEGMENT`, and every audio packet by one more.
//!
//! Every sender of a datagram to the port becomes a listener. There is no session: keys are made up, and later datagrams are
//! not read.

use std::collections::HashSet;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use socket2::{Domain, MsgHdr, SockAddr, SockRef, Socket, Type};
use webrtc::srtp::{MasterKey, Profile, RTP_OVERHEAD_MAX, Sealer};

/// Length of an RTP header in bytes.
const HEADER_BYTES: usize = 12;
/// Datagrams per send: as many of the longest packets as the kernel takes (`UDP_MAX_SEGMENTS` is 64).
const SEGMENTS_MAX: usize = 48;
/// Length of the longest packet in bytes.
const PACKET_BYTES_MAX: usize = 1_300;
/// Send buffer in bytes, enough for what all listeners are sent at once.
const SEND_BUFFER: usize = 4 << 20;
/// Payload types that the load generator's viewers expect for audio and for video.
const AUDIO_TYPE: u8 = 111;
const PICTURE_TYPE: u8 = 102;

#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) frame_every: Duration,
    /// Packets per frame, on average.
    pub(crate) packets: f64,
    /// Length on the wire in bytes, header and tag included.
    pub(crate) packet_bytes: usize,
    pub(crate) audio_every: Duration,
    pub(crate) audio_bytes: usize,
    /// Number of listeners that are sent to without a pause between them.
    pub(crate) group: usize,
    /// Expected number of listeners per thread.
    pub(crate) expected: usize,
}

struct Listener {
    addr: SockAddr,
    sealer: Sealer,
}

/// One of the two tracks, and its progress through the groups.
struct Carousel {
    every: Duration,
    due: Instant,
    turn: usize,
    payload_type: u8,
    packet_bytes: usize,
    packets: f64,
}

/// Serves forever.
pub(crate) fn run(addr: SocketAddr, threads: usize, pace: Pace) -> io::Result<()> {
    let longest = pace.packet_bytes.max(pace.audio_bytes);
    let shortest = pace.packet_bytes.min(pace.audio_bytes);
    if longest > PACKET_BYTES_MAX || shortest < HEADER_BYTES + RTP_OVERHEAD_MAX {
        return Err(super::invalid("packets have 28 to 1300 bytes".to_owned()));
    }
    let first = open(addr)?;
    let addr = first.local_addr()?;
    let mut sockets = vec![first];
    for _ in 1..threads {
        sockets.push(open(addr)?);
    }
    println!("listening srtp {addr}");
    println!("ready");
    let threads: Vec<_> = sockets
        .into_iter()
        .map(|socket| std::thread::spawn(move || serve(&socket, pace)))
        .collect();
    super::finish(threads)
}

/// Opens one thread's socket; the kernel spreads listeners over all threads' sockets.
fn open(addr: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, None)?;
    socket.set_reuse_port(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(&addr.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn serve(socket: &UdpSocket, pace: Pace) -> io::Result<()> {
    let homes = pace.expected.div_ceil(pace.group).max(1);
    let mut groups: Vec<Vec<Listener>> = Vec::new();
    groups.resize_with(homes, Vec::new);
    let mut known = HashSet::new();
    let now = Instant::now();
    let picture = Carousel {
        every: pace.frame_every,
        due: now,
        turn: 0,
        payload_type: PICTURE_TYPE,
        packet_bytes: pace.packet_bytes,
        packets: pace.packets,
    };
    let audio = Carousel {
        every: pace.audio_every,
        payload_type: AUDIO_TYPE,
        packet_bytes: pace.audio_bytes,
        packets: 1.0,
        ..picture
    };
    let mut tracks = [picture, audio];
    let mut out = vec![0; SEGMENTS_MAX * PACKET_BYTES_MAX];
    loop {
        let next = usize::from(tracks[1].due < tracks[0].due);
        let track = &mut tracks[next];
        std::thread::sleep(track.due.saturating_duration_since(Instant::now()));
        welcome(socket, &mut known, &mut groups)?;
        track.visit(&groups[track.turn % homes], homes, socket, &mut out)?;
        track.turn += 1;
        track.due += track.every.div_f64(homes as f64);
        // A whole round late: skip what was missed.
        let now = Instant::now();
        if now.saturating_duration_since(track.due) > track.every {
            track.due = now;
        }
    }
}

/// Adds new senders of datagrams as listeners.
fn welcome(
    socket: &UdpSocket,
    known: &mut HashSet<SocketAddr>,
    groups: &mut [Vec<Listener>],
) -> io::Result<()> {
    let mut buffer = [0; 64];
    while let Ok((_, from)) = socket.recv_from(&mut buffer) {
        if known.insert(from) {
            // No two listeners share keys, nor the key material that the processor caches.
            let number = (known.len() as u128) << 16 | u128::from(from.port());
            let salt = [7; 12];
            let master = MasterKey::new(Profile::Aes128Gcm, &number.to_be_bytes(), &salt);
            let sealer = master.and_then(|key| Sealer::with_master(Profile::Aes128Gcm, &key));
            let homes = groups.len();
            groups[known.len() % homes].push(Listener {
                addr: from.into(),
                sealer: sealer.map_err(io::Error::other)?,
            });
        }
    }
    Ok(())
}

impl Carousel {
    /// Sends a group the packets of its current frame.
    fn visit(
        &self,
        group: &[Listener],
        homes: usize,
        socket: &UdpSocket,
        out: &mut [u8],
    ) -> io::Result<()> {
        let frame = (self.turn / homes) as f64;
        let first = (frame * self.packets) as u64;
        let after = ((frame + 1.0) * self.packets) as u64;
        let payload = [0x5a; PACKET_BYTES_MAX];
        let payload = &payload[..self.packet_bytes - HEADER_BYTES - RTP_OVERHEAD_MAX];
        let control = segments_of(self.packet_bytes as u16);
        for listener in group {
            let mut sequence = first;
            while sequence < after {
                let last = after.min(sequence + SEGMENTS_MAX as u64);
                let mut length = 0;
                for number in sequence..last {
                    let header = self.header(number, frame as u32, number + 1 == after);
                    length += listener
                        .sealer
                        .seal(number, &header, payload, &mut out[length..])
                        .map_err(io::Error::other)?;
                }
                let bytes = [IoSlice::new(&out[..length])];
                let message = MsgHdr::new().with_addr(&listener.addr).with_buffers(&bytes);
                let message = if last - sequence > 1 {
                    message.with_control(&control)
                } else {
                    message
                };
                // A full socket misses this frame.
                match SockRef::from(socket).sendmsg(&message, 0) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                }
                sequence = last;
            }
        }
        Ok(())
    }

    fn header(&self, sequence: u64, timestamp: u32, is_last: bool) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[0] = 0x80;
        header[1] = self.payload_type | u8::from(is_last) << 7;
        header[2..4].copy_from_slice(&(sequence as u16).to_be_bytes());
        header[4..8].copy_from_slice(&timestamp.to_be_bytes());
        // The SSRC.
        header[8..].copy_from_slice(&[0, 0, 0, self.payload_type]);
        header
    }
}

/// Returns the control message that makes the kernel cut a send into datagrams of `bytes` bytes: a `cmsghdr` of a 64-bit Linux
/// (length, level, type) and a `u16`, padded.
fn segments_of(bytes: u16) -> [u8; 24] {
    const LENGTH: u64 = 18;
    const SOL_UDP: u32 = 17;
    const UDP_SEGMENT: u32 = 103;
    let mut control = [0; 24];
    control[..8].copy_from_slice(&LENGTH.to_ne_bytes());
    control[8..12].copy_from_slice(&SOL_UDP.to_ne_bytes());
    control[12..16].copy_from_slice(&UDP_SEGMENT.to_ne_bytes());
    control[16..18].copy_from_slice(&bytes.to_ne_bytes());
    control
}
