//! The books of all who serve listeners: workers, tasks, and other threads.

use std::sync::Arc;

use base::Lock;

use crate::books::{Books, Plane};

/// See the module's description.
#[derive(Debug)]
pub(super) struct AllBooks {
    /// By worker.
    pub(super) workers: Vec<Arc<Books>>,
    /// Of listeners that tasks serve, and of those with a [`Guest`](crate::Guest) that no thread serves.
    pub(super) tasks: Arc<Books>,
    /// Of threads that serve listeners by themselves.
    others: Lock<Vec<Arc<Books>>>,
}

impl AllBooks {
    pub(super) fn new(workers: Vec<Arc<Books>>) -> Self {
        Self {
            workers,
            tasks: Arc::new(Books::new(Plane::Tasks, 0)),
            others: Lock::default(),
        }
    }

    /// Those of one more thread, which stay.
    pub(super) fn open(&self, plane: Plane) -> Arc<Books> {
        let mut all = self.others.lock();
        let number = all.iter().filter(|books| books.plane == plane).count();
        let books = Arc::new(Books::new(plane, number));
        all.push(Arc::clone(&books));
        books
    }

    /// The workers' in their order, those of tasks, and those that were opened.
    pub(super) fn list(&self) -> Vec<Arc<Books>> {
        let own = self.workers.iter().chain([&self.tasks]);
        own.chain(self.others.lock().iter())
            .map(Arc::clone)
            .collect()
    }

    /// Listeners now that are not at a worker.
    pub(super) fn listeners_elsewhere(&self) -> u64 {
        let others = self.others.lock();
        let others = others.iter().chain([&self.tasks]);
        others.map(|books| books.listeners_now()).sum()
    }
}
