//! The books of all threads that serve listeners: workers, tasks, and others.

use std::sync::Arc;

use base::Lock;

use crate::books::{Books, Plane};

/// All sets of books.
#[derive(Debug)]
pub(super) struct AllBooks {
    /// Books of the workers, in order.
    pub(super) workers: Vec<Arc<Books>>,
    /// Books of listeners that tasks serve, and of those with a [`Guest`](crate::Guest) that no thread serves.
    pub(super) tasks: Arc<Books>,
    /// Books of threads that serve listeners by themselves.
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

    /// Opens the books of one more thread; they stay open.
    pub(super) fn open(&self, plane: Plane) -> Arc<Books> {
        let mut all = self.others.lock();
        let number = all.iter().filter(|books| books.plane == plane).count();
        let books = Arc::new(Books::new(plane, number));
        all.push(Arc::clone(&books));
        books
    }

    /// Returns all books: the workers' in order, the tasks', and those opened for other threads.
    pub(super) fn list(&self) -> Vec<Arc<Books>> {
        let own = self.workers.iter().chain([&self.tasks]);
        own.chain(self.others.lock().iter())
            .map(Arc::clone)
            .collect()
    }

    /// Returns the number of current listeners that are not at a worker.
    pub(super) fn listeners_elsewhere(&self) -> u64 {
        let others = self.others.lock();
        let others = others.iter().chain([&self.tasks]);
        others.map(|books| books.listeners_now()).sum()
    }
}
