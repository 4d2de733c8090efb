//! Bounded queue of lines, and the thread that writes them.
//!
//! A caller with a line never waits, neither for a pipe without a reader nor for a disk that is full or slow. Lines beyond the
//! bounds, and lines that cannot be written, are dropped and counted; their number is logged as soon as lines are written
//! again.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

use base::Lock;
use rustix::event::{PollFd, PollFlags, poll};

/// Most bytes that may wait, in lines of any length; an ordinary line has 250.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Queue of a log. Clones write to the same file; the thread ends after the last of them is dropped.
#[derive(Clone, Debug)]
pub struct LineSink(Arc<Handle>);

#[derive(Debug)]
struct Handle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: &'static str,
    lines_max: usize,
    /// Waiting lines. Nothing below panics while it holds the lock, so a panic's message can take it.
    queue: Lock<Queue>,
    /// Signal that the thread has work.
    filled: Condvar,
    /// Signal that the thread has finished some work.
    written: Condvar,
    /// File that lines are written to now.
    file: Lock<Arc<File>>,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    text: Vec<u8>,
    lines: usize,
    /// File for lines from now on.
    replacement: Option<File>,
    /// Number of lines ever accepted, and how many of them are written or dropped.
    taken: u64,
    done: u64,
    /// Time at which the present write began; `None` while idle.
    writing_since: Option<Instant>,
    is_over: bool,
}

/// Duplicates the descriptor of a standard stream. Using the duplicate needs none of the standard library's locks, which
/// another thread may hold for ever.
pub fn duplicate(stream: impl AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

impl LineSink {
    /// Starts the thread that writes to `output`. At most `lines_max` lines may wait.
    ///
    /// # Errors
    /// Fails when the thread cannot be started.
    pub fn open(name: &'static str, output: File, lines_max: usize) -> io::Result<Self> {
        let output = Arc::new(output);
        let shared = Arc::new(Shared {
            name,
            lines_max,
            queue: Lock::default(),
            filled: Condvar::new(),
            written: Condvar::new(),
            file: Lock::new(Arc::clone(&output)),
            lost: AtomicU64::new(0),
        });
        let handle = Handle(Arc::clone(&shared));
        std::thread::Builder::new()
            .name(format!("log-{name}"))
            .spawn(move || shared.write_all(output))?;
        Ok(Self(Arc::new(handle)))
    }

    /// Queues one line, which ends with a newline, if there is room; otherwise counts it as lost.
    pub fn push(&self, line: &[u8]) {
        let shared = &self.0.0;
        let mut queue = shared.queue.lock();
        let has_room = queue.lines < shared.lines_max && queue.text.len() + line.len() <= BYTES_MAX;
        if !has_room {
            drop(queue);
            shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        queue.text.extend_from_slice(line);
        queue.lines += 1;
        queue.taken += 1;
        drop(queue);
        shared.filled.notify_one();
    }

    /// Writes later lines to another file.
    pub fn replace(&self, output: File) {
        self.0.0.queue.lock().replacement = Some(output);
        self.0.0.filled.notify_one();
    }

    /// Returns the file that lines are written to now.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.0.0.file.lock())
    }

    /// Waits until all accepted lines are written or dropped, but no longer than `patience`, and not at all if the thread has
    /// already been stuck for that time. Returns whether they are written or dropped.
    pub fn flush(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        let shared = &self.0.0;
        let mut queue = shared.queue.lock();
        let all = queue.taken;
        while queue.done < all {
            let since = queue.writing_since.map_or(begun, |since| since.min(begun));
            let Some(left) = patience.checked_sub(since.elapsed()) else {
                return false;
            };
            let waited = shared.written.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Returns the number of dropped lines: the queue was full, or they could not be written.
    pub fn lines_lost(&self) -> u64 {
        self.0.0.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.queue.lock().is_over = true;
        self.0.filled.notify_one();
    }
}

/// Next step of the thread.
enum Work {
    Replace(File),
    Write(Vec<u8>, usize),
    End,
}

impl Shared {
    fn next(&self) -> Work {
        let mut queue = self.queue.lock();
        loop {
            if let Some(output) = queue.replacement.take() {
                return Work::Replace(output);
            }
            if queue.lines > 0 {
                queue.writing_since = Some(Instant::now());
                let lines = mem::take(&mut queue.lines);
                return Work::Write(mem::take(&mut queue.text), lines);
            }
            if queue.is_over {
                return Work::End;
            }
            queue = self
                .filled
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write_all(&self, output: Arc<File>) {
        let mut output = Output {
            file: output,
            is_torn: false,
        };
        let (mut reported, mut is_broken) = (0, false);
        loop {
            match self.next() {
                Work::End => return,
                Work::Replace(file) => {
                    let file = Arc::new(file);
                    *self.file.lock() = Arc::clone(&file);
                    output = Output {
                        file,
                        is_torn: false,
                    };
                }
                Work::Write(text, lines) => {
                    let result = output.write(&text);
                    if let Err(failed) = &result {
                        self.lost.fetch_add(failed.lines_lost, Ordering::Relaxed);
                    }
                    {
                        let mut queue = self.queue.lock();
                        queue.done += lines as u64;
                        queue.writing_since = None;
                    }
                    self.written.notify_all();
                    self.tell(result, &mut reported, &mut is_broken);
                }
            }
        }
    }

    /// Logs the number of lost lines, as warnings, because an error would wait for this thread.
    fn tell(&self, result: Result<(), Failed>, reported: &mut u64, is_broken: &mut bool) {
        let name = self.name;
        match result {
            Ok(()) => {
                let lost = self.lost.load(Ordering::Relaxed);
                let unreported = lost - mem::replace(reported, lost);
                if unreported > 0 {
                    tracing::warn!(
                        log = name,
                        lines = unreported,
                        "lines of a log are lost: it was not written for a while, or not fast enough"
                    );
                }
                *is_broken = false;
            }
            Err(failed) => {
                if !mem::replace(is_broken, true) {
                    tracing::warn!(log = name, error = %failed.error, "a log cannot be written");
                }
            }
        }
    }
}

/// Output file, or a standard stream.
#[derive(Debug)]
struct Output {
    file: Arc<File>,
    /// Whether the last line written is incomplete.
    is_torn: bool,
}

/// Failure of a write, with the number of lines lost.
#[derive(Debug)]
struct Failed {
    error: io::Error,
    lines_lost: u64,
}

impl Output {
    fn write(&mut self, text: &[u8]) -> Result<(), Failed> {
        let mut rest = text;
        let result = self.write_rest(&mut rest);
        result.map_err(|error| {
            if rest.len() < text.len() {
                self.is_torn = text[text.len() - rest.len() - 1] != b'\n';
            }
            let lines_lost = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
            Failed { error, lines_lost }
        })
    }

    fn write_rest(&mut self, rest: &mut &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.write_some(b"\n")?;
            self.is_torn = false;
        }
        while !rest.is_empty() {
            let written = self.write_some(rest)?;
            *rest = &rest[written..];
        }
        Ok(())
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match (&*self.file).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Another process that shares the standard stream may have made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&*self.file, PollFlags::OUT)], None)?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn pipe() -> (File, File) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let file = |end: OwnedFd| File::from(end);
        (file(reader.into()), file(writer.into()))
    }

    #[test]
    fn callers_do_not_wait_for_a_pipe_that_is_not_read() {
        let (mut reader, writer) = pipe();
        let sink = LineSink::open("test", writer, usize::MAX).expect("a sink");
        let line = [&[b'x'; 1_023][..], b"\n"].concat();
        let pushed = BYTES_MAX / line.len() * 3;
        for _ in 0..pushed {
            sink.push(&line);
        }
        assert!(!sink.flush(Duration::from_millis(1)));
        let lost = sink.lines_lost();
        assert!(lost > 0);
        // Accepted lines are written as soon as the pipe is read.
        let kept = pushed as u64 - lost;
        let mut read = vec![0; line.len() * kept as usize];
        reader.read_exact(&mut read).expect("all of it");
        assert!(read.chunks(line.len()).all(|one| one == line));
        assert!(sink.flush(PATIENCE));
        assert_eq!(sink.lines_lost(), lost);
    }

    #[test]
    fn lines_for_a_full_disk_are_counted() {
        let full = File::options().write(true).open("/dev/full");
        let sink = LineSink::open("test", full.expect("there is one"), 1_000).expect("a sink");
        for _ in 0..100 {
            sink.push(b"a line\n");
        }
        assert!(sink.flush(PATIENCE), "done with, if not written");
        assert_eq!(sink.lines_lost(), 100);
    }

    #[test]
    fn another_file_takes_what_comes_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let open = || {
            let opened = File::options().append(true).create(true).open(&path);
            opened.expect("a file")
        };
        let sink = LineSink::open("test", open(), 10).expect("a sink");
        sink.push(b"one\n");
        assert!(sink.flush(PATIENCE));
        let moved = folder.path().join("log.1");
        std::fs::rename(&path, &moved).expect("moved");
        sink.push(b"two\n");
        assert!(sink.flush(PATIENCE));
        sink.replace(open());
        sink.push(b"three\n");
        assert!(sink.flush(PATIENCE));
        let read = |path| std::fs::read_to_string(path).expect("a file");
        assert_eq!(read(&moved), "one\ntwo\n");
        assert_eq!(read(&path), "three\n");
    }

    #[test]
    fn a_torn_line_is_lost_and_spoils_no_other() {
        let (mut reader, writer) = pipe();
        let mut output = Output {
            file: Arc::new(writer),
            is_torn: true,
        };
        output.write(b"whole\n").expect("written");
        drop(output);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("text");
        assert_eq!(read, "\nwhole\n");
    }
}
