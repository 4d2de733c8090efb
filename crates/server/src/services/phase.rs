//! Step-by-step shutdown of a relay, and the tasks that end in each step.

use std::array;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Run;

/// Progress of a relay's shutdown.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Phase {
    /// No more connections are accepted.
    Closed,
    /// The listeners have left, or have had the time to.
    Drained,
    /// Links to other servers end before the streams: a pull would mistake the end of its stream for a failure.
    Unlinked,
    /// Every stream has ended, and connections have been notified.
    Ended,
    /// Recordings are closed and the last listeners have left: every event that can be reported has happened.
    Reported,
}

impl Phase {
    const ALL: [Self; 5] = [
        Self::Closed,
        Self::Drained,
        Self::Unlinked,
        Self::Ended,
        Self::Reported,
    ];
}

/// The current phase as services see it; `None` while the relay serves.
#[derive(Clone, Debug)]
pub(crate) struct Shown(watch::Receiver<Option<Phase>>);

impl Shown {
    /// Waits until the shutdown has reached a phase.
    pub(crate) async fn reached(&mut self, phase: Phase) {
        // An error means that the relay is gone without an orderly end.
        self.0.wait_for(|now| *now >= Some(phase)).await.ok();
    }

    /// Runs until the shutdown has reached a phase; work in progress is cut off.
    pub(crate) async fn cut(mut self, phase: Phase, running: impl Future<Output = ()>) {
        tokio::select! {
            () = running => {}
            () = self.reached(phase) => {}
        }
    }
}

/// The tasks of all services.
pub(crate) struct Phases {
    now: watch::Sender<Option<Phase>>,
    /// Tasks by the phase in which they end.
    tasks: [JoinSet<()>; Phase::ALL.len()],
}

impl Phases {
    /// Creates the state of a serving relay, without tasks.
    pub(crate) fn new() -> Self {
        Self {
            now: watch::Sender::new(None),
            tasks: array::from_fn(|_| JoinSet::new()),
        }
    }

    /// Returns a view of the current phase.
    pub(crate) fn shown(&self) -> Shown {
        Shown(self.now.subscribe())
    }

    /// Starts a task, which ends by itself in `until`.
    pub(crate) fn spawn(&mut self, until: Phase, task: Run) {
        self.tasks[until as usize].spawn(task);
    }

    /// Enters the next phase, and waits for the tasks that end in it.
    pub(crate) async fn enter(&mut self, phase: Phase) {
        self.now.send_replace(Some(phase));
        while let Some(ended) = self.tasks[phase as usize].join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a service did not end in order");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn tasks_end_in_their_phases() {
        let mut phases = Phases::new();
        let ended = Arc::new(Mutex::new(Vec::new()));
        for phase in Phase::ALL {
            let (mut shown, ended) = (phases.shown(), Arc::clone(&ended));
            let task = async move {
                shown.reached(phase).await;
                ended.lock().expect("no panic").push(phase);
            };
            phases.spawn(phase, Box::pin(task));
        }
        for (count, phase) in Phase::ALL.into_iter().enumerate() {
            phases.enter(phase).await;
            assert_eq!(*ended.lock().expect("no panic"), Phase::ALL[..=count]);
        }
    }

    #[tokio::test]
    async fn what_never_ends_is_cut_off() {
        let mut phases = Phases::new();
        let forever = phases.shown().cut(Phase::Drained, std::future::pending());
        phases.spawn(Phase::Drained, Box::pin(forever));
        phases.enter(Phase::Closed).await;
        assert_eq!(phases.tasks[Phase::Drained as usize].len(), 1);
        phases.enter(Phase::Drained).await;
        assert!(phases.tasks.iter().all(JoinSet::is_empty));
    }
}
