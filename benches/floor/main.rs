//! The least work that a server can do: the same bytes to every socket, at a given pace, and nothing else.
//!
//! `floor --listen 127.0.0.1:0 --bytes 480 --every 384 --threads 2 --group 500`
//!
//! Every `--every` milliseconds, each listener is sent `--bytes` bytes by one `send`, thread by thread, group after group,
//! spread across that time, as the server's workers do it. This costs what the kernel costs: `cargo xtask bench` divides the
//! server's figures by it. Sockets have the server's own options.
//!
//! `floor --tls --bytes 480 --every 384`
//!
//! TLS variant, in which each message is sealed for each listener: see [`tls`].
//!
//! `floor --srtp --frames 30 --packets 4.2 --packet 1080 --audio_frames 50 --audio 340`
//!
//! UDP variant, in which each packet is sealed for each listener: see [`srtp`].
//!
//! `floor --take --publishers 200 --rate 145 --packet 870 --seconds 10`
//!
//! The opposite direction: publishers' packets are taken and opened, and the cost is printed: see [`take`].

mod srtp;
mod take;
mod tls;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use net::tls::RecordLayer;
use rustix::net::{AddressFamily, SendFlags, SocketType, bind, listen, send, socket, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of connections that may wait to be accepted.
const BACKLOG: i32 = 4_096;
/// Number of new listeners that may wait to be taken by their thread.
const JOINERS_MAX: usize = 4_096;
/// Time limit for a request to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum length of a request in bytes; the load generator's is far shorter.
const HEAD_BYTES_MAX: usize = 4 << 10;
const ANSWER: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";

/// A socket, and the record layer that seals for it.
type Listener = (TcpStream, Option<Box<RecordLayer>>);

#[derive(Clone, Copy)]
struct Pace {
    /// Bytes per send.
    bytes: usize,
    /// Time between two sends to one listener.
    every: Duration,
    /// Number of listeners that are sent to without a pause between them.
    group: usize,
    /// Expected number of listeners per thread.
    expected: usize,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str, default: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        let given = at.and_then(|at| arguments.get(at + 1).cloned());
        given.unwrap_or_else(|| default.to_owned())
    };
    let number = |name: &str, default: &str| -> io::Result<f64> {
        let value = value(name, default);
        let number = value.parse().ok().filter(|number| *number > 0.0);
        number.ok_or_else(|| invalid(format!("{name} {value}")))
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = number("--threads", &cores.to_string())? as usize;
    let expected = (number("--listeners", "1000")? as usize).div_ceil(threads);
    let group = number("--group", "500")? as usize;
    let addr = value("--listen", "127.0.0.1:0");
    let addr: SocketAddr = addr.parse().map_err(|_| invalid(addr))?;
    raise_descriptor_limit();
    if arguments.iter().any(|argument| argument == "--take") {
        let pace = take::Pace {
            publishers: number("--publishers", "200")? as usize,
            packets: number("--rate", "145")?,
            packet_bytes: number("--packet", "870")? as usize,
            window: Duration::from_secs_f64(number("--seconds", "10")?),
        };
        return take::run(threads, pace);
    }
    if arguments.iter().any(|argument| argument == "--srtp") {
        let pace = srtp::Pace {
            frame_every: Duration::from_secs_f64(1.0 / number("--frames", "30")?),
            packets: number("--packets", "4.2")?,
            packet_bytes: number("--packet", "1080")? as usize,
            audio_every: Duration::from_secs_f64(1.0 / number("--sounds", "50")?),
            audio_bytes: number("--sound", "340")? as usize,
            group,
            expected,
        };
        return srtp::run(addr, threads, pace);
    }
    let pace = Pace {
        bytes: number("--bytes", "480")? as usize,
        every: Duration::from_secs_f64(number("--every", "384")? / 1e3),
        group,
        expected,
    };
    let door = socket(AddressFamily::of_address(addr), SocketType::STREAM, None)?;
    sockopt::set_socket_reuseaddr(&door, true)?;
    bind(&door, &addr)?;
    listen(&door, BACKLOG)?;
    let door = std::net::TcpListener::from(door);
    let tls = match arguments.iter().any(|argument| argument == "--tls") {
        true => Some(tls::Door::new()?),
        false => None,
    };
    let sends: Vec<SyncSender<Listener>> = (0..threads)
        .map(|thread| {
            let (give, joiners) = sync_channel(JOINERS_MAX);
            // Threads begin at different times, as their groups do.
            let phase = pace.every.mul_f64(thread as f64 / threads as f64);
            std::thread::spawn(move || carousel(pace, phase, &joiners));
            give
        })
        .collect();
    println!(
        "listening {} {}",
        if tls.is_some() { "https" } else { "http" },
        door.local_addr()?
    );
    println!("ready");
    for (number, socket) in door.incoming().enumerate() {
        // A client that disconnects before the response is not counted.
        let welcomed = socket.and_then(|socket| match &tls {
            None => Ok((welcome(socket)?, None)),
            Some(tls) => {
                let (socket, layer) = tls.welcome(socket, ANSWER)?;
                Ok((socket, Some(layer)))
            }
        });
        if let Ok(listener) = welcomed {
            let thread = &sends[number % threads];
            thread
                .send(listener)
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
    }
    Ok(())
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Waits for threads that either never end or have been asked to end.
fn finish(threads: Vec<std::thread::JoinHandle<io::Result<()>>>) -> io::Result<()> {
    for thread in threads {
        match thread.join() {
            Ok(ended) => ended?,
            Err(_) => return Err(io::Error::other("a thread panicked")),
        }
    }
    Ok(())
}

fn raise_descriptor_limit() {
    let granted = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: granted.maximum,
        maximum: granted.maximum,
    };
    // With fewer descriptors, it serves fewer listeners.
    setrlimit(Resource::Nofile, wanted).ok();
}

/// Reads the request, whatever it requests, and accepts it.
fn welcome(mut socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_read_timeout(Some(HEAD_TIMEOUT))?;
    let mut head = Vec::new();
    let mut buffer = [0; 1_024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = socket.read(&mut buffer)?;
        if length == 0 || head.len() > HEAD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&buffer[..length]);
    }
    net::tcp::prepare_listener(&socket)?;
    socket.write_all(ANSWER)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Serves one thread's listeners, in groups that are visited one after another across the pace's time.
fn carousel(pace: Pace, phase: Duration, joiners: &Receiver<Listener>) {
    let message = vec![0_u8; pace.bytes];
    let mut scratch = tls::Scratch::new(pace.bytes);
    let mut groups: Vec<Vec<Listener>> = Vec::new();
    groups.resize_with(pace.expected.div_ceil(pace.group).max(1), Vec::new);
    let step = pace.every.div_f64(groups.len() as f64);
    let mut due = Instant::now() + phase;
    let mut next_home = 0;
    for turn in 0_usize.. {
        let now = Instant::now();
        match due.checked_duration_since(now) {
            Some(pause) => std::thread::sleep(pause),
            // A whole round late: skip what was missed.
            None if now - due > pace.every => due = now,
            None => {}
        }
        due += step;
        for listener in joiners.try_iter() {
            let homes = groups.len();
            groups[next_home % homes].push(listener);
            next_home += 1;
        }
        let homes = groups.len();
        let group = &mut groups[turn % homes];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        // A full socket misses this message; a closed socket is removed.
        group.retain_mut(|(socket, layer)| match layer {
            Some(layer) => scratch.send(socket, layer, &message),
            None => {
                let sent = send(&*socket, &message, flags);
                matches!(sent, Ok(_) | Err(rustix::io::Errno::AGAIN))
            }
        });
    }
}

/// Address family of a socket address.
trait OfAddress {
    fn of_address(addr: SocketAddr) -> Self;
}

impl OfAddress for AddressFamily {
    fn of_address(addr: SocketAddr) -> Self {
        match addr {
            SocketAddr::V4(_) => Self::INET,
            SocketAddr::V6(_) => Self::INET6,
        }
    }
}
