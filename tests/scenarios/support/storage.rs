//! Object storage for scenarios, and servers that upload to it.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;
use testkit::{Process, Server, ServerBuilder, Tool, moto, wait_until};

use crate::support::DEADLINE;

pub(crate) const BUCKET: &str = "radio";

/// Who asks for objects: they are private.
pub(crate) const USER: &str = "AKIAEXAMPLE:not-checked-here";

/// The size of a part.
pub(crate) const PART_BYTES: usize = 8 << 20;

/// An S3 server.
pub(crate) struct Storage {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Storage {
    /// Starts one with the bucket. After `open` requests it wants to know who asks.
    pub(crate) fn start(address: SocketAddr, open: Option<u32>) -> Self {
        let mut command = Command::new(moto());
        command.args(["-m", "moto.server", "-H", &address.ip().to_string()]);
        command.args(["-p", &address.port().to_string()]);
        if let Some(open) = open {
            command.env("INITIAL_NO_AUTH_ACTION_COUNT", open.to_string());
        }
        let process = Process::start("moto", &mut command);
        let storage = Self { process, address };
        wait_until("the storage", DEADLINE, || {
            storage.process.stderr().contains("Running on")
        });
        storage.curl(&["-X", "PUT"], &format!("/{BUCKET}"));
        storage
    }

    pub(crate) fn curl(&self, arguments: &[&str], path: &str) -> Vec<u8> {
        let url = format!("http://{}{path}", self.address);
        let tool = Tool::new("curl").args(["-s", "-S", "-f"]).args(arguments);
        tool.arg(url).run(DEADLINE)
    }

    /// An object, if it is there.
    pub(crate) fn object(&self, key: &str) -> Option<Vec<u8>> {
        let answer = Command::new("curl")
            .args(["-s", "-f", "--aws-sigv4", "aws:amz:us-east-1:s3"])
            .args(["--user", USER])
            .arg(format!("http://{}/{BUCKET}/{key}", self.address))
            .output();
        let answer = answer.expect("curl is installed");
        answer.status.success().then_some(answer.stdout)
    }

    /// How often each part and each whole object was taken, by what was asked for.
    pub(crate) fn taken(&self) -> BTreeMap<String, u32> {
        let mut taken = BTreeMap::new();
        for line in self.process.stderr().lines() {
            let Some((_, request)) = line.split_once("\"PUT ") else {
                continue;
            };
            if let Some((target, "200 -")) = request.split_once(" HTTP/1.1\" ") {
                *taken.entry(target.to_owned()).or_default() += 1;
            }
        }
        taken.remove(&format!("/{BUCKET}"));
        taken
    }
}

/// The way to the storage. While it is cut, connections are closed; the storage itself goes on.
pub(crate) struct Way {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    is_cut: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Way {
    /// It is cut at first. Its threads end with the process.
    pub(crate) fn to(storage: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            is_cut: AtomicBool::new(true),
            sockets: Mutex::default(),
        });
        let way = Self {
            address,
            shared: Arc::clone(&shared),
        };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A connection that fails is one that was cut.
                shared.connect(client, storage).ok();
            }
        });
        way
    }

    pub(crate) fn mend(&self) {
        self.shared.is_cut.store(false, Ordering::SeqCst);
    }

    pub(crate) fn cut(&self) {
        let mut sockets = self.shared.sockets.lock().unwrap();
        self.shared.is_cut.store(true, Ordering::SeqCst);
        for socket in sockets.drain(..) {
            // One that has ended already needs none.
            socket.shutdown(Shutdown::Both).ok();
        }
    }
}

impl Shared {
    fn connect(&self, client: TcpStream, storage: SocketAddr) -> io::Result<()> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cut.load(Ordering::SeqCst) {
            return Ok(());
        }
        let server = TcpStream::connect(storage)?;
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            thread::spawn(move || {
                // However it ends, it ends.
                io::copy(&mut from, &mut to).ok();
                to.shutdown(Shutdown::Write).ok();
            });
        }
        sockets.extend([client, server]);
        Ok(())
    }
}

/// A file of credentials.
pub(crate) fn credentials(folder: &Path, id: &str, secret: &str) -> PathBuf {
    let path = folder.join("credentials");
    let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
    std::fs::write(&path, text).expect("written");
    path
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

pub(crate) fn server(
    root: &Path,
    storage: SocketAddr,
    credentials: &Path,
    keep_local: &str,
) -> ServerBuilder {
    Server::builder()
        .set("recording", "directory", &quoted(&root.join("recordings")))
        .set("recording", "min_free", "\"0B\"")
        .set("recording.upload", "bucket", &format!("{BUCKET:?}"))
        .set("recording.upload", "prefix", "\"archive/2026\"")
        .set(
            "recording.upload",
            "endpoint",
            &format!("\"http://{storage}\""),
        )
        .set("recording.upload", "credentials", &quoted(credentials))
        .set("recording.upload", "keep_local", &format!("{keep_local:?}"))
}

/// All recordings, as the operator sees them.
pub(crate) fn recordings(server: &Server) -> Vec<Value> {
    let mut all = Vec::new();
    let mut path = "recordings".to_owned();
    loop {
        let answer = server.api(&path);
        all.extend_from_slice(answer["recordings"].as_array().expect("a list"));
        match answer["cursor"].as_str() {
            Some(cursor) => path = format!("recordings?cursor={cursor}"),
            None => return all,
        }
    }
}

/// Waits until so many recordings are all in the storage.
pub(crate) fn uploaded(server: &Server, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} uploads"), DEADLINE, || {
        let all = recordings(server);
        all.len() == count && all.iter().all(|one| one["uploaded"] == true)
    });
    recordings(server)
}

/// The name of an object in the bucket.
pub(crate) fn key(recording: &Value) -> String {
    let location = recording["location"].as_str().expect("a location");
    let key = location.strip_prefix(&format!("s3://{BUCKET}/"));
    key.expect("in the bucket").to_owned()
}

/// Bytes that differ from file to file, and within one.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(bytes / 8).flatten().collect()
}

/// Recordings of an earlier run: their paths below the bucket's prefix, and what is in them.
pub(crate) fn left_over(root: &Path, sizes: &[usize]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for (number, bytes) in sizes.iter().enumerate() {
        let (hour, minute) = (10 + number / 60, number % 60);
        let name = format!("radio.mp3/2026-11-22/{hour:02}-{minute:02}-00Z-0.mp3");
        let path = root.join("recordings").join(&name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let media = noise(number as u64 + 1, *bytes);
        std::fs::write(&path, &media).expect("written");
        files.insert(format!("archive/2026/{name}"), media);
    }
    files
}
