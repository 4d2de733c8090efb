//! HTTP server of a few files, on another origin than the server under test.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// Path of a file without a slash in front, its media type, and its contents.
pub(crate) type ServedFile = (&'static str, &'static str, Vec<u8>);

/// Server of files for as long as the test runs.
pub(crate) struct PageServer {
    addr: SocketAddr,
}

impl PageServer {
    pub(crate) fn start(files: Vec<ServedFile>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let files = Arc::new(files);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let files = Arc::clone(&files);
                // Each connection has a thread, because a browser opens connections that it has no request for yet.
                std::thread::spawn(move || {
                    // A browser that leaves in the middle is no fault of the page.
                    let _gone = answer(socket, &files);
                });
            }
        });
        Self { addr }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.addr)
    }
}

fn answer(mut socket: TcpStream, files: &[ServedFile]) -> std::io::Result<()> {
    let mut lines = BufReader::new(socket.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    // The rest of the head does not matter.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let name = path.trim_start_matches('/');
    let file = files.iter().find(|(own, ..)| *own == name);
    let (status, kind, body) = file.map_or(("404 Not Found", "text/plain", &[][..]), |file| {
        ("200 OK", file.1, &file.2[..])
    });
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body)
}
