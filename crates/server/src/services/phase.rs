//! The end of a relay, step by step, and the tasks that end in each.

use std::array;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Run;

/// How far a relay's end has come.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Phase {
    /// No connection is accepted any more.
    Closed,
    /// The listeners have left, or had the time to.
    Drained,
    /// Links to other servers end, before the streams: a pull would take the end of its stream for a failure.
    Unlinked,
    /// Every stream has ended, and connections have been told.
    Ended,
    /// Recordings are closed, and the last listeners have left: what is to be told of all that has happened.
    Told,
}

impl Phase {
    const ALL: [Self; 5] = [
        Self::Closed,
        Self::Drained,
        Self::Unlinked,
        Self::Ended,
        Self::Told,
    ];
}

/// The present phase, as services see it; none while the relay serves.
#[derive(Clone, Debug)]
pub(crate) struct Shown(watch::Receiver<Option<Phase>>);

impl Shown {
    /// Waits until the end has come so far.
    pub(crate) async fn reached(&mut self, phase: Phase) {
        // An error means that the relay is gone without an end.
        self.0.wait_for(|now| *now >= Some(phase)).await.ok();
    }

    /// Runs until the end has come so far; what is under way is cut off.
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
    /// By the phase in which they end.
    tasks: [JoinSet<()>; Phase::ALL.len()],
}

impl Phases {
    /// Without tasks, and serving.
    pub(crate) fn new() -> Self {
        Self {
            now: watch::Sender::new(None),
            tasks: array::from_fn(|_| JoinSet::new()),
        }
    }

    /// What shows the present phase.
    pub(crate) fn shown(&self) -> Shown {
        Shown(self.now.subscribe())
    }

    /// Begins a task, which ends by itself in `until`.
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
