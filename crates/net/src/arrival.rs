//! Arrival times of a connection's bytes, as reported by the kernel (`SO_TIMESTAMPNS`, socket(7)).
//!
//! A thread that serves many sockets reads some of them late. The server's responsibility ends when the bytes
//! are in the client's socket, and that moment is known here.
//!
//! Called by `load`, for the players that it measures.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::null_mut;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use crate::control::{self, array};
use crate::udp::sys;

/// Room for one message: seconds and nanoseconds.
const CONTROL_LEN: usize = control::space(2 * size_of::<i64>());

/// Makes the kernel record when bytes arrive at `socket`. The first such socket of a host switches this on,
/// which takes the kernel a moment.
pub fn note(socket: impl AsFd) -> io::Result<()> {
    sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Receives the available bytes, at most a buffer full, and returns the arrival time of the last one, if it
/// was [recorded](note).
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<(usize, Option<SystemTime>), Errno> {
    let mut messages = [0_u8; CONTROL_LEN];
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut header = libc::msghdr {
        msg_name: null_mut(),
        msg_namelen: 0,
        msg_iov: &raw mut vector,
        msg_iovlen: 1,
        msg_control: messages.as_mut_ptr().cast(),
        msg_controllen: messages.len(),
        msg_flags: 0,
    };
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the header points to the vector and the messages, which live as long as the call and have the
    // lengths that it states, and the vector to `buffer`, which is borrowed exclusively. The kernel writes
    // bytes only.
    let count = unsafe { libc::recvmsg(socket, &raw mut header, libc::MSG_DONTWAIT) };
    let count = usize::try_from(count).map_err(|_| sys::last())?;
    let reported = messages.get(..header.msg_controllen).and_then(time);
    Ok((count, reported))
}

/// Returns the time among control messages.
fn time(messages: &[u8]) -> Option<SystemTime> {
    let mut messages = control::read(messages);
    let (_, _, data) = messages
        .find(|(level, kind, _)| (*level, *kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS))?;
    let seconds = u64::try_from(i64::from_ne_bytes(array(data, 0)?)).ok()?;
    let nanos = u32::try_from(i64::from_ne_bytes(array(data, 8)?)).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    use super::*;

    /// Deadline for hangs.
    const DEADLINE: Duration = Duration::from_secs(60);

    #[test]
    fn bytes_have_arrived_when_they_were_sent_and_not_when_they_are_read() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let reader = TcpStream::connect(listener.local_addr().expect("bound")).expect("a peer");
        let (mut writer, _) = listener.accept().expect("a peer");
        let mut buffer = [0; 16];
        assert_eq!(receive(&reader, &mut buffer), Err(Errno::AGAIN));
        note(&reader).expect("a socket option");
        let began = Instant::now();
        let mut is_noted = false;
        while !is_noted {
            assert!(began.elapsed() < DEADLINE, "no time is told");
            writer.write_all(b"?").expect("room");
            reader.peek(&mut buffer).expect("a byte");
            is_noted = receive(&reader, &mut buffer).expect("a byte").1.is_some();
        }
        let before = SystemTime::now();
        writer.write_all(b"some bytes").expect("room");
        // Waits until all of them have arrived.
        while reader.peek(&mut buffer).expect("bytes") < 10 {}
        let after = SystemTime::now();
        // A later moment, which must not be the reported arrival time.
        while SystemTime::now() < after + Duration::from_millis(5) {}
        let (count, at) = receive(&reader, &mut buffer).expect("bytes");
        let at = at.expect("the time was noted");
        assert_eq!(&buffer[..count], b"some bytes");
        assert!(before <= at && at <= after, "{before:?} {at:?} {after:?}");
        drop(writer);
        assert_eq!(receive(&reader, &mut buffer), Ok((0, None)));
    }
}
