//! The system calls, with their pointers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use rustix::io::Errno;

use super::SEGMENTS_MAX;
use super::address::Name;
use super::control::Control;

/// Nothing blocks, and a peer's hang-up raises no signal.
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

const NO_BYTES: libc::iovec = libc::iovec {
    iov_base: null_mut(),
    iov_len: 0,
};

const NO_MESSAGE: libc::mmsghdr = libc::mmsghdr {
    msg_hdr: libc::msghdr {
        msg_name: null_mut(),
        msg_namelen: 0,
        msg_iov: null_mut(),
        msg_iovlen: 0,
        msg_control: null_mut(),
        msg_controllen: 0,
        msg_flags: 0,
    },
    msg_len: 0,
};

/// Room for one datagram, and for the data that the kernel writes beside it.
pub(super) struct DatagramSlot<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) name: &'a mut [u8],
    pub(super) control: &'a mut [u8],
    pub(super) lens: &'a mut Lens,
}

/// Lengths of the filled parts of a [`DatagramSlot`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lens {
    pub(super) bytes: usize,
    pub(super) name: usize,
    pub(super) control: usize,
    /// Whether the datagram was longer than its room.
    pub(super) is_cut: bool,
}

/// Receives into slots, at most `N` of them, and returns the number that was filled.
pub(super) fn receive<'a, const N: usize>(
    socket: BorrowedFd<'_>,
    places: impl Iterator<Item = DatagramSlot<'a>>,
) -> Result<usize, Errno> {
    let mut vectors = [NO_BYTES; N];
    let mut messages = [NO_MESSAGE; N];
    let mut lens = [const { None }; N];
    let mut count = 0;
    let slots = vectors.iter_mut().zip(&mut messages).zip(&mut lens);
    for (((vector, message), lens), place) in slots.zip(places) {
        vector.iov_base = place.bytes.as_mut_ptr().cast();
        vector.iov_len = place.bytes.len();
        let header = &mut message.msg_hdr;
        header.msg_name = place.name.as_mut_ptr().cast();
        // Names are a few bytes long.
        header.msg_namelen = place.name.len() as libc::socklen_t;
        header.msg_iov = vector;
        header.msg_iovlen = 1;
        header.msg_control = place.control.as_mut_ptr().cast();
        header.msg_controllen = place.control.len();
        *lens = Some(place.lens);
        count += 1;
    }
    // SAFETY: the first `count` headers point to `vectors`, which lives as long, and to the places' slices,
    // which are borrowed exclusively for `'a` and have the lengths that the headers state; they do not
    // overlap. The kernel writes bytes only, and any bytes are valid there.
    let received = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count,
            FLAGS,
            null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| last())?;
    for (message, lens) in messages.iter().zip(lens).take(received) {
        let header = &message.msg_hdr;
        if let Some(lens) = lens {
            *lens = Lens {
                bytes: message.msg_len as usize,
                name: header.msg_namelen as usize,
                control: header.msg_controllen,
                is_cut: header.msg_flags & libc::MSG_TRUNC != 0,
            };
        }
    }
    Ok(received)
}

/// Sends bytes as one datagram, or as the datagrams that a control message makes the kernel cut from them.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    name: &Name,
    bytes: &[u8],
    control: &Control,
) -> Result<usize, Errno> {
    let mut vector = vector(bytes);
    let header = header(name, &mut vector, control);
    // SAFETY: the header points to the name, the vector and the control messages, which are borrowed for
    // longer than the call and have the lengths that it states, and the vector to the bytes. The kernel only
    // reads.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, FLAGS) };
    usize::try_from(sent).map_err(|_| last())
}

/// Sends bytes as datagrams of `segment` bytes, and returns how many were taken. More than [`SEGMENTS_MAX`]
/// are left for another call.
pub(super) fn send_each(
    socket: BorrowedFd<'_>,
    name: &Name,
    bytes: &[u8],
    segment: usize,
    control: &Control,
) -> Result<usize, Errno> {
    let mut vectors = [NO_BYTES; SEGMENTS_MAX];
    let mut messages = [NO_MESSAGE; SEGMENTS_MAX];
    let mut count = 0;
    let slots = vectors.iter_mut().zip(&mut messages);
    for ((place, message), datagram) in slots.zip(bytes.chunks(segment)) {
        *place = vector(datagram);
        message.msg_hdr = header(name, place, control);
        count += 1;
    }
    // SAFETY: as for `send`, of the first `count` headers; besides, the kernel writes the lengths next to
    // them, in `messages`.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, FLAGS) };
    usize::try_from(sent).map_err(|_| last())
}

/// Sets an option whose value is a number.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the value lives on the stack and has the stated length.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the size of a kernel buffer, past the system-wide limit if this process has the permission.
pub(super) fn enlarge_buffers(socket: BorrowedFd<'_>, bytes: usize) {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    for (forced, asked) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        if set_option(socket, libc::SOL_SOCKET, forced, value).is_err() {
            // The kernel grants as much as it likes and reports success.
            set_option(socket, libc::SOL_SOCKET, asked, value).ok();
        }
    }
}

/// Returns a vector over `bytes`. The kernel does not write through a vector that is sent from.
fn vector(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

fn header(name: &Name, vector: &mut libc::iovec, control: &Control) -> libc::msghdr {
    let (name, control) = (name.as_bytes(), control.as_bytes());
    libc::msghdr {
        msg_name: name.as_ptr().cast_mut().cast(),
        msg_namelen: name.len() as libc::socklen_t,
        msg_iov: vector,
        msg_iovlen: 1,
        msg_control: control.as_ptr().cast_mut().cast(),
        msg_controllen: control.len(),
        msg_flags: 0,
    }
}

/// Returns the error of the last system call.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
