//! A growing copy of a live stream in a folder, for file servers.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Watch;
use super::playlist::{MediaPlaylist, resolve};
use crate::{DEADLINE, http, wait_until};

/// Interval between a failed request for the playlist and the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that copies each part, segment and initialization section to the folder, and then the playlist that lists it, until
/// it is dropped. Files get their names once they are complete. Nothing is deleted: a folder holds a few minutes of media.
#[derive(Debug)]
pub struct Mirror {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Copier {
    addr: SocketAddr,
    folder: PathBuf,
    /// Path of the media playlist.
    playlist: String,
    copied: HashSet<String>,
}

impl Mirror {
    /// Copies the stream with the multivariant playlist at `path`; returns once everything listed has been copied.
    ///
    /// # Panics
    /// Panics if there is no such stream, or the folder cannot be written.
    #[must_use]
    pub fn start(addr: SocketAddr, path: &str, folder: &Path) -> Self {
        let mut copier = Copier {
            addr,
            folder: folder.to_owned(),
            playlist: Watch::start(addr, path).finish().playlist,
            copied: HashSet::new(),
        };
        copier.fetch(path);
        let first = copier.playlist.clone();
        let mut newest = None;
        wait_until("a first playlist to copy", DEADLINE, || {
            newest = copier.copy(&first);
            newest.is_some()
        });
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let path = match &newest {
                    Some((segment, part)) => {
                        format!("{first}?_HLS_msn={segment}&_HLS_part={part}")
                    }
                    None => first.clone(),
                };
                newest = copier.copy(&path);
                if newest.is_none() {
                    std::thread::sleep(RETRY_INTERVAL);
                }
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A copy that failed is missed where it is served.
            thread.join().ok();
        }
    }
}

impl Copier {
    /// Copies the resources that the playlist at `path` lists, and then the playlist. Returns the next part.
    fn copy(&mut self, path: &str) -> Option<(u64, u64)> {
        let answer = http::get(self.addr, path, DEADLINE);
        let text = answer.text();
        let playlist = MediaPlaylist::parse(&text).ok()?;
        let segments = playlist.segments.iter();
        let listed = segments.flat_map(|segment| {
            let map = segment.map.iter().map(|map| &map.uri);
            let parts = segment.parts.iter().map(|part| &part.uri);
            map.chain(parts)
                .chain(segment.file.iter().map(|file| &file.uri))
        });
        let listed: Vec<_> = listed.map(|uri| resolve(&self.playlist, uri)).collect();
        for path in listed {
            if !self.copied.contains(&path) && self.fetch(&path) {
                self.copied.insert(path);
            }
        }
        self.write(&self.playlist, text.as_bytes());
        Some(playlist.next_part())
    }

    fn fetch(&self, path: &str) -> bool {
        let answer = http::get(self.addr, path, DEADLINE);
        let is_there = answer.status == 200;
        if is_there {
            self.write(path, &answer.body);
        }
        is_there
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let file = self.folder.join(path.trim_start_matches('/'));
        let draft = file.with_extension("draft");
        let written = std::fs::create_dir_all(file.parent().unwrap_or(&self.folder))
            .and_then(|()| std::fs::write(&draft, bytes))
            .and_then(|()| std::fs::rename(&draft, &file));
        written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
