//! An authority that answers when the test releases it, and a hook.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use auth::{Authority, Grant, Verdict};
use fanout::gate::{Action, Credential, Denied, Identity, Request, Terms};
use fanout::testing::Latch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Every client may listen, and publish with the key. Questions about streams below `late/` are answered when the test releases
/// them.
#[derive(Debug)]
pub(crate) struct Late {
    key: &'static str,
    latch: Latch,
}

impl Late {
    pub(crate) fn new(key: &'static str) -> Self {
        Self {
            key,
            latch: Latch::default(),
        }
    }

    /// Releases the late answers.
    pub(crate) fn open(&self) {
        self.latch.open();
    }

    /// Number of pending questions.
    pub(crate) fn waiting(&self) -> usize {
        self.latch.waiting()
    }

    fn judge(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        if action == Action::Play {
            return Ok(Grant::to_all());
        }
        let secret = request.secret().ok_or(Denied::Missing)?;
        if secret != self.key {
            return Err(Denied::Wrong);
        }
        let identity = request.user.and_then(Identity::new);
        let terms = Terms {
            until: None,
            identity,
        };
        Ok(Grant {
            credential: Some(Credential(7)),
            terms,
            ..Grant::to_all()
        })
    }
}

impl Authority for Late {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(async move {
            if request.stream.as_str().starts_with("late/") {
                self.latch.wait().await;
            }
            self.judge(action, request)
        })
    }
}

/// A hook that permits what is asked with a password: its port, and how often it was asked.
pub(crate) async fn permissive_hook(password: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut text = Vec::new();
            while !text.ends_with(b"}") {
                let count = socket.read_buf(&mut text).await.expect("read");
                assert!(count > 0, "cut off");
            }
            counted.fetch_add(1, Ordering::Relaxed);
            let status = match String::from_utf8_lossy(&text).contains(password) {
                true => "200 OK",
                false => "403 No",
            };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            socket.write_all(answer.as_bytes()).await.expect("written");
        }
    });
    (port, asked)
}
