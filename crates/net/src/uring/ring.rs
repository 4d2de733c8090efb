//! One io_uring: its queues, its table of descriptors, and all the unsafe code of the back-end.
//!
//! The kernel reads memory that entries point to. Two kinds of entries exist: those that point nowhere
//! (watches, closings, receives into [lent](Ring::lend) buffers), which may wait in the queue, and those that
//! point to a caller's bytes, which never do: [`Ring::complete`] returns only when each of them has its
//! completion.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::io::Errno;

use super::buffers::Buffers;
use super::table::Table;
use super::token::Token;
use crate::backend::SendOutcome;

/// Most entries that may wait to be submitted; more are submitted at once. Twice a batch of sends, so that
/// watches that became due in between fit as well; 4 KiB, so that it stays in the first-level cache.
const ENTRIES: u32 = 64;

/// Sends submitted together.
const SENDS: usize = 32;

/// Number of completions that no pause ever reaches, so that only its time ends it. The kernel takes it for
/// the size of its queue if that is smaller.
const PAUSE_COMPLETIONS: u32 = 1 << 20;

/// Submissions in a row that may be refused for lack of memory before the ring is given up.
const REFUSALS_MAX: u32 = 10_000;

/// Way in which a ring learns of events.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    /// The kernel works only when the one thread that uses the ring requests it: the cheapest way, since
    /// Linux 6.1. Watching such a ring from outside does not work, so only the ring that the worker sleeps on
    /// may be like this.
    Deferred,
    /// The kernel works whenever that thread is in the kernel anyway.
    Cooperative,
}

/// Sizes of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Completions that the queue holds; further ones wait in the kernel.
    pub(super) completions: u32,
    /// Places in the table of descriptors.
    pub(super) table: u32,
}

/// Name of a socket in operations.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// Place in the ring's table.
    Direct(u32),
    /// Descriptor of the process, which the caller keeps open until the entry is submitted.
    Open(RawFd),
}

/// Completion of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) token: Token,
    /// Return value of the corresponding system call; an error is negative.
    pub(super) result: i32,
    /// Further flags of the kernel.
    pub(super) flags: u32,
}

/// One io_uring; queue operations, then [`submit`](Self::submit) or [`wait`](Self::wait) and take the
/// completions with [`take_seen`](Self::take_seen).
pub(super) struct Ring {
    ring: IoUring,
    /// Places of sockets; one that was [closed](Self::close) is vacated after [`Token::Vacated`].
    pub(super) table: Table,
    /// Whether the ring is enabled; a deferred ring belongs to the thread that enables it.
    is_enabled: bool,
    /// Whether the first ring is watching this one.
    pub(super) is_watched: bool,
    /// Completions that arrived while others were waited for.
    seen: Vec<Completion>,
    /// Error of an entry that could not be submitted; the ring is of no use afterwards.
    failure: Option<io::Error>,
    /// Flag for sleeps on sockets, which do not count as waiting for a disk.
    no_iowait: EnterFlags,
}

impl Ring {
    pub(super) fn new(mode: Mode, sizes: Sizes) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder
            .setup_cqsize(sizes.completions)
            .setup_submit_all()
            .dontfork();
        match mode {
            Mode::Deferred => builder
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_r_disabled(),
            Mode::Cooperative => builder.setup_coop_taskrun(),
        };
        let ring = builder.build(ENTRIES)?;
        if sizes.table > 0 {
            ring.submitter().register_files_sparse(sizes.table)?;
        }
        let no_iowait = match ring.params().is_feature_no_iowait() {
            true => EnterFlags::NO_IOWAIT,
            false => EnterFlags::empty(),
        };
        Ok(Self {
            ring,
            table: Table::new(sizes.table),
            is_enabled: mode == Mode::Cooperative,
            is_watched: false,
            seen: Vec::new(),
            failure: None,
            no_iowait,
        })
    }

    pub(super) fn inner(&self) -> &IoUring {
        &self.ring
    }

    /// Binds the ring to the calling thread.
    pub(super) fn enable(&mut self) -> io::Result<()> {
        if !self.is_enabled {
            self.ring.submitter().register_enable_rings()?;
            self.is_enabled = true;
        }
        Ok(())
    }

    /// Puts a socket into the table, which holds it open from then on. Returns `None` when the table is full.
    pub(super) fn install(&mut self, socket: &TcpStream) -> io::Result<Option<u32>> {
        let Some(place) = self.table.take() else {
            return Ok(None);
        };
        let files = [socket.as_raw_fd()];
        if let Err(error) = self.ring.submitter().register_files_update(place, &files) {
            self.table.vacate(place);
            return Err(error);
        }
        Ok(Some(place))
    }

    /// Closes a socket in the table; [`Token::Vacated`] follows.
    pub(super) fn close(&mut self, place: u32) {
        let entry = opcode::Close::new(Fixed(place)).build();
        self.push(entry, Token::Vacated(place));
    }

    /// Returns a descriptor of the process for a socket in the table. Needs Linux 6.8.
    pub(super) fn export(&mut self, place: u32) -> io::Result<OwnedFd> {
        let entry = opcode::FixedFdInstall::new(Fixed(place), 0).build();
        let fd = self.perform(entry);
        match fd {
            // SAFETY: the kernel has just made this descriptor for this process, and no other code knows it.
            0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    /// Waits once for one of the events in `mask`, or for the end of the connection.
    pub(super) fn watch(&mut self, target: Target, mask: u32, token: Token) {
        let entry = match target {
            Target::Direct(place) => opcode::PollAdd::new(Fixed(place), mask),
            Target::Open(fd) => opcode::PollAdd::new(Fd(fd), mask),
        };
        self.push(entry.build(), token);
    }

    /// Ends a watch. Its completion may still follow.
    pub(super) fn call_off(&mut self, watch: Token) {
        let entry = opcode::PollRemove::new(watch.pack())
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS);
        self.push(entry, Token::CalledOff);
    }

    /// Receives everything that a socket brings, until that is [cancelled](Self::cancel) or ends, into the
    /// buffers of a group that is [lent](Self::lend).
    pub(super) fn receive_all(&mut self, fd: RawFd, group: u16, token: Token) {
        self.push(opcode::RecvMulti::new(Fd(fd), group).build(), token);
    }

    /// Ends a continuing operation. Its last completion follows all the same.
    pub(super) fn cancel(&mut self, operation: Token) {
        let entry = opcode::AsyncCancel::new(operation.pack())
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS);
        self.push(entry, Token::CalledOff);
    }

    /// Lends the kernel buffers to receive into.
    pub(super) fn lend(&self, buffers: &Buffers) -> io::Result<()> {
        let (address, entries) = buffers.ring();
        let submitter = self.ring.submitter();
        // SAFETY: `buffers` states where its memory is, and keeps it until `call_in` has succeeded, or for
        // ever.
        unsafe { submitter.register_buf_ring_with_flags(address, entries, Buffers::GROUP, 0) }
    }

    /// Makes the kernel forget the buffers; afterwards it writes to them no more. Only the thread that uses
    /// the ring can do this.
    pub(super) fn call_in(&self) -> io::Result<()> {
        self.ring.submitter().unregister_buf_ring(Buffers::GROUP)
    }

    /// Sends each item's slices to its target, without waiting for room, and writes the outcome at
    /// the item's position, for which `outcomes` must have room.
    pub(super) fn send<'a>(
        &mut self,
        mut sends: impl Iterator<Item = (usize, Target, &'a [IoSlice<'a>])>,
        outcomes: &mut [SendOutcome],
    ) {
        loop {
            let mut headers = [const { MaybeUninit::uninit() }; SENDS];
            let mut count = 0;
            self.make_room(SENDS);
            // In this order, because `zip` takes from the left first.
            for (header, (position, target, slices)) in headers.iter_mut().zip(&mut sends) {
                let entry = send_entry(target, slices, header);
                if self.push(entry, Token::Job(position as u32)) {
                    count += 1;
                }
            }
            if count == 0 {
                return;
            }
            self.complete(count, |position, result| {
                outcomes[position as usize] = send_outcome(result);
            });
        }
    }

    /// Receives without waiting for bytes; returns the result of `recv`.
    pub(super) fn receive(&mut self, place: u32, buffer: &mut [u8]) -> i32 {
        let len = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let entry = opcode::Recv::new(Fixed(place), buffer.as_mut_ptr(), len)
            .flags(libc::MSG_DONTWAIT)
            .build();
        self.perform(entry)
    }

    fn perform(&mut self, entry: squeue::Entry) -> i32 {
        let mut outcome = -libc::EIO;
        if self.push(entry, Token::Job(0)) {
            self.complete(1, |_, result| outcome = result);
        }
        outcome
    }

    /// Submits the waiting entries, and returns when `count` [jobs](Token::Job) have completed.
    ///
    /// The memory that jobs point to is the caller's again afterwards. Jobs do not wait for peers, so the
    /// kernel is done with them when it has taken them in; that it is done is nevertheless not assumed but
    /// counted. When that cannot be determined, the process ends.
    fn complete(&mut self, mut count: usize, mut each: impl FnMut(u32, i32)) {
        let mut entered = self.ring.submit();
        let mut refusals = 0;
        loop {
            let Self { ring, seen, .. } = self;
            for completion in ring.completion() {
                let token = Token::unpack(completion.user_data());
                let (result, flags) = (completion.result(), completion.flags());
                match token {
                    Token::Job(position) => {
                        each(position, result);
                        count -= 1;
                    }
                    token => seen.push(Completion {
                        token,
                        result,
                        flags,
                    }),
                }
            }
            if count == 0 {
                return;
            }
            match entered.as_ref().map_err(Errno::from_io_error) {
                Ok(_) => refusals = 0,
                Err(Some(Errno::INTR)) => {}
                Err(Some(Errno::AGAIN | Errno::BUSY)) if refusals < REFUSALS_MAX => {
                    refusals += 1;
                    std::thread::yield_now();
                }
                Err(error) => {
                    // Continuing would free memory that the kernel may still send.
                    tracing::error!(?error, "the ring does not take or complete operations");
                    std::process::abort();
                }
            }
            // An entry that is not submitted yet cannot be waited for.
            let want = u32::from(self.ring.submission().is_empty());
            entered = self.enter(want, None);
        }
    }

    /// Whether entries wait to be submitted.
    pub(super) fn has_entries(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Submits the waiting entries, and records the completions.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        transient(self.ring.submit())?;
        self.note()
    }

    /// Submits the waiting entries, sleeps for the first completion or until `timeout` has passed, and
    /// records the completions. `None` sleeps until the first completion.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let want = u32::from(timeout != Some(Duration::ZERO));
        transient(self.enter(want, timeout))?;
        self.note()
    }

    /// Submits the waiting entries, sleeps for `pause`, then until there is a completion or `timeout` has
    /// passed, counted from the beginning. Records the completions.
    pub(super) fn pause(&mut self, pause: Duration, timeout: Option<Duration>) -> io::Result<()> {
        if pause.is_zero() {
            return self.wait(timeout);
        }
        if self.ring.params().is_feature_min_timeout() {
            // The kernel treats a pause as one only if it is part of a longer wait.
            let timeout = timeout.unwrap_or(Duration::MAX / 4).max(pause * 2);
            let micros = u32::try_from(pause.as_micros()).unwrap_or(u32::MAX);
            transient(self.enter_for(PAUSE_COMPLETIONS, Some(timeout), micros))?;
            return self.note();
        }
        let began = Instant::now();
        transient(self.ring.submit())?;
        std::thread::sleep(pause);
        self.wait(timeout.map(|timeout| timeout.saturating_sub(began.elapsed())))
    }

    /// Lets the kernel do its share without sleeping. Records the completions.
    pub(super) fn poll(&mut self) -> io::Result<()> {
        self.wait(Some(Duration::ZERO))
    }

    /// Records the completions, including those that did not fit into the queue.
    pub(super) fn note(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        loop {
            let Self { ring, seen, .. } = self;
            seen.extend(ring.completion().map(|completion| Completion {
                token: Token::unpack(completion.user_data()),
                result: completion.result(),
                flags: completion.flags(),
            }));
            if !self.ring.submission().cq_overflow() {
                return Ok(());
            }
            transient(self.enter(0, None))?;
        }
    }

    /// Returns the recorded completions; return the list with [`give_back`](Self::give_back).
    pub(super) fn take_seen(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.seen)
    }

    pub(super) fn has_seen(&self) -> bool {
        !self.seen.is_empty()
    }

    /// Takes back the list, to keep its allocation.
    pub(super) fn give_back(&mut self, mut seen: Vec<Completion>) {
        seen.clear();
        if self.seen.is_empty() {
            self.seen = seen;
        }
    }

    /// Queues an entry; if it points to memory, [`complete`](Self::complete) must follow. Returns `false`
    /// when the ring is of no more use.
    fn push(&mut self, entry: squeue::Entry, token: Token) -> bool {
        self.make_room(1);
        let entry = entry.user_data(token.pack());
        // SAFETY: memory that the entry points to, if any, stays unchanged until the kernel is done with it:
        // of the callers, `send` and `perform` are the only ones whose entries point anywhere, and both hold
        // on to that memory until `complete` has counted the completions. Lent buffers for receiving are
        // `lend`'s responsibility.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            let full = || io::ErrorKind::StorageFull.into();
            self.failure.get_or_insert_with(full);
        }
        pushed.is_ok()
    }

    /// Makes room for at least `count` more entries, if the kernel takes earlier ones.
    fn make_room(&mut self, count: usize) {
        for _ in 0..REFUSALS_MAX {
            let queue = self.ring.submission();
            let has_room = queue.capacity() - queue.len() >= count;
            drop(queue);
            if has_room {
                return;
            }
            if let Err(error) = transient(self.ring.submit()) {
                self.failure.get_or_insert(error);
                return;
            }
        }
    }

    /// Submits the waiting entries and lets the kernel do its share; sleeps for `want` completions.
    fn enter(&mut self, want: u32, timeout: Option<Duration>) -> io::Result<usize> {
        self.enter_for(want, timeout, 0)
    }

    /// Like [`enter`](Self::enter); after `micros` microseconds, unless that is 0, one completion is enough.
    fn enter_for(
        &mut self,
        want: u32,
        timeout: Option<Duration>,
        micros: u32,
    ) -> io::Result<usize> {
        let timeout = timeout.map(Timespec::from);
        let arguments = match &timeout {
            Some(timeout) => SubmitArgs::new().timespec(timeout),
            None => SubmitArgs::new(),
        };
        let arguments = arguments.min_wait_usec(micros);
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG | self.no_iowait;
        let entries = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        // SAFETY: with EXT_ARG the argument is the structure that `SubmitArgs` is, and the timeout that it
        // points to lives until after the call.
        unsafe { submitter.enter(entries, want, flags.bits(), Some(&arguments)) }
    }
}

/// Treats errors that only mean "not now" as success.
fn transient(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Ok(_) => Ok(()),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
            _ => Err(error),
        },
    }
}

#[allow(
    trivial_numeric_casts,
    reason = "the type of `msg_iovlen` depends on the C library"
)]
fn send_entry(
    target: Target,
    slices: &[IoSlice<'_>],
    header: &mut MaybeUninit<libc::msghdr>,
) -> squeue::Entry {
    // The kernel must not keep the operation until there is room: its bytes are only lent.
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    if let [only] = slices {
        let len = u32::try_from(only.len()).unwrap_or(u32::MAX);
        return match target {
            Target::Direct(place) => opcode::Send::new(Fixed(place), only.as_ptr(), len),
            Target::Open(fd) => opcode::Send::new(Fd(fd), only.as_ptr(), len),
        }
        .flags(flags)
        .build();
    }
    // SAFETY: a header of zeroes is a valid one: null pointers of length zero.
    let header = header.write(unsafe { std::mem::zeroed() });
    // `IoSlice` is promised to be laid out as `iovec` is.
    header.msg_iov = slices.as_ptr().cast_mut().cast();
    header.msg_iovlen = slices.len() as _;
    match target {
        Target::Direct(place) => opcode::SendMsg::new(Fixed(place), header),
        Target::Open(fd) => opcode::SendMsg::new(Fd(fd), header),
    }
    .flags(flags as u32)
    .build()
}

fn send_outcome(result: i32) -> SendOutcome {
    if let Ok(count) = usize::try_from(result) {
        return SendOutcome::Sent(count);
    }
    match Errno::from_raw_os_error(-result) {
        // A signal that interrupts a non-blocking send leaves the socket as it was.
        Errno::AGAIN | Errno::INTR | Errno::NOBUFS => SendOutcome::Blocked,
        _ => SendOutcome::Closed,
    }
}
