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
use testkit::{Process, Server, ServerBuilder, Tool, moto};

use crate::support::recorded::recording_into;
use crate::support::{DEADLINE, metric, quoted, wait_until};

pub(crate) const BUCKET: &str = "radio";

/// Credentials for requests of objects, which are private.
pub(crate) const USER: &str = "AKIAEXAMPLE:not-checked-here";

/// Size of a part in bytes.
pub(crate) const PART_BYTES: usize = 8 << 20;

/// An S3 server.
pub(crate) struct Storage {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Storage {
    /// Starts a storage with the bucket. After `open` requests it requires credentials.
    pub(crate) fn start(address: SocketAddr, open: Option<u32>) -> Self {
        let mut command = Command::new(moto());
        command.args(["-m", "moto.server", "-H", &address.ip().to_string()]);
        command.args(["-p", &address.port().to_string()]);
        if let Some(open) = open {
            command.env("INITIAL_NO_AUTH_ACTION_COUNT", open.to_string());
        }
        let process = Process::start("moto", &mut command);
        let storage = Self { process, address };
        wait_until("the storage", || {
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

    /// Returns an object, if it is there.
    pub(crate) fn object(&self, key: &str) -> Option<Vec<u8>> {
        let answer = Command::new("curl")
            .args(["-s", "-f", "--aws-sigv4", "aws:amz:us-east-1:s3"])
            .args(["--user", USER])
            .arg(format!("http://{}/{BUCKET}/{key}", self.address))
            .output();
        let answer = answer.expect("curl is installed");
        answer.status.success().then_some(answer.stdout)
    }

    /// Counts how often each part and each whole object was accepted, by request target.
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

/// Proxy to the storage. While it is cut, connections are closed; the storage itself continues.
pub(crate) struct Way {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    is_cut: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Way {
    /// Starts a proxy, which is cut at first. Its threads end with the process.
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
            // A connection that has already ended needs no shutdown.
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
                // The copy may end with an error or without one.
                io::copy(&mut from, &mut to).ok();
                to.shutdown(Shutdown::Write).ok();
            });
        }
        sockets.extend([client, server]);
        Ok(())
    }
}

/// Writes a file of credentials.
pub(crate) fn credentials(folder: &Path, id: &str, secret: &str) -> PathBuf {
    let path = folder.join("credentials");
    let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
    std::fs::write(&path, text).expect("written");
    path
}

/// Writes a file of credentials for a storage that does not check them.
pub(crate) fn unchecked(folder: &Path) -> PathBuf {
    credentials(folder, "AKIAEXAMPLE", "not-checked-here")
}

pub(crate) fn server(
    root: &Path,
    storage: SocketAddr,
    credentials: &Path,
    keep_local: &str,
) -> ServerBuilder {
    recording_into(&root.join("recordings"))
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

/// Returns all recordings, as the operator sees them.
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

/// Waits until this many recordings are all in the storage.
pub(crate) fn uploaded(server: &Server, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} uploads"), || {
        let all = recordings(server);
        all.len() == count && all.iter().all(|one| one["uploaded"] == true)
    });
    recordings(server)
}

/// Returns the name of a recording's object in the bucket.
pub(crate) fn key(recording: &Value) -> String {
    let location = recording["location"].as_str().expect("a location");
    let key = location.strip_prefix(&format!("s3://{BUCKET}/"));
    key.expect("in the bucket").to_owned()
}

/// Makes bytes that differ from file to file, and within one.
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

/// Makes recordings of an earlier run; returns their paths below the bucket's prefix, and their contents.
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

/// Waits until the storage has all recordings, and no file is left.
pub(crate) fn wait_for_no_file(server: &Server) {
    wait_until("the files to go", || {
        recordings(server).iter().all(|it| it["path"].is_null())
    });
}

/// Waits until a recording's object is gone.
pub(crate) fn wait_for_no_object(storage: &Storage, recording: &Value) {
    testkit::wait_until("the object to go", 2 * DEADLINE, || {
        storage.object(&key(recording)).is_none()
    });
}

/// Returns the number of uploads with this result.
pub(crate) fn uploads(server: &Server, result: &str) -> f64 {
    metric(
        server,
        "carillon_uploads_total",
        &format!("result={result}"),
    )
}

/// Waits until this many bytes wait to be uploaded.
pub(crate) fn wait_for_backlog(server: &Server, bytes: usize) {
    wait_until(&format!("a backlog of {bytes} bytes"), || {
        server.metrics().get("carillon_upload_backlog_bytes") == Some(bytes as f64)
    });
}

/// Asserts that the storage has recordings as their files were.
pub(crate) fn assert_stored(
    storage: &Storage,
    recordings: &[Value],
    files: &BTreeMap<String, Vec<u8>>,
) {
    for recording in recordings {
        let key = key(recording);
        let object = storage.object(&key).expect("it is there");
        assert!(object == files[&key], "{key} differs");
    }
}

/// Counts how often each file, or a part of it, was sent again, which is only where its arrival could not be persisted; returns
/// the number of files.
pub(crate) fn assert_sent_once(storage: &Storage) -> usize {
    let mut repeated = BTreeMap::<String, u32>::new();
    for (target, count) in storage.taken() {
        let file = target.split('?').next().expect("a path").to_owned();
        *repeated.entry(file).or_default() += count - 1;
    }
    assert!(repeated.values().all(|count| *count <= 1), "{repeated:?}");
    repeated.len()
}
