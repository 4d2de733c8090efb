//! The process's reaction to signals: SIGTERM and SIGINT shut it down in order, SIGHUP reloads files that may have changed,
//! SIGUSR1 and SIGUSR2 are ignored. None ends the process at once.

use std::io;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::reload::Reload;

/// The signals, caught but not yet handled.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: [(&'static str, Signal); 2],
}

/// A server's reactions to its signals. Once dropped, signals do nothing.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Resolves with the first signal that ends the process.
    pub(crate) shutdown: oneshot::Receiver<()>,
    /// Resolves with the second such signal.
    pub(crate) hurry: oneshot::Receiver<()>,
    _tasks: JoinSet<()>,
}

impl Signals {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: [
                ("SIGUSR1", signal(SignalKind::user_defined1())?),
                ("SIGUSR2", signal(SignalKind::user_defined2())?),
            ],
        })
    }

    /// Handles the signals. Each has its own task, so none waits for another.
    pub(crate) fn watch(self, reload: Reload) -> Watch {
        let mut tasks = JoinSet::new();
        tasks.spawn(read_again(self.hang_up, Arc::new(reload)));
        for (name, signal) in self.user {
            tasks.spawn(ignore(name, signal));
        }
        let (shut, shutdown) = oneshot::channel();
        let (hurried, hurry) = oneshot::channel();
        tasks.spawn(end(self.terminate, self.interrupt, shut, hurried));
        Watch {
            shutdown,
            hurry,
            _tasks: tasks,
        }
    }
}

/// Begins the drain with the first signal, and ends the drain with the second.
async fn end(
    mut terminate: Signal,
    mut interrupt: Signal,
    shut: oneshot::Sender<()>,
    hurried: oneshot::Sender<()>,
) {
    let mut next = async || {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    };
    let signal = next().await;
    tracing::info!(signal, "shutting down; a second signal ends it at once");
    // The receivers live until the end.
    shut.send(()).ok();
    next().await;
    hurried.send(()).ok();
}

/// Reloads on a separate thread, because files may be slow. Signals that arrive meanwhile count as one.
async fn read_again(mut hang_up: Signal, reload: Arc<Reload>) {
    while hang_up.recv().await.is_some() {
        let reload = Arc::clone(&reload);
        if tokio::task::spawn_blocking(move || reload.run())
            .await
            .is_err()
        {
            tracing::error!("reading again after SIGHUP has failed");
        }
    }
}

async fn ignore(name: &'static str, mut signal: Signal) {
    while signal.recv().await.is_some() {
        tracing::info!(
            signal = name,
            "ignored; SIGHUP opens the logs anew and reads the certificate and the file of keys again, SIGTERM ends the server"
        );
    }
}
