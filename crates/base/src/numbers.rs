//! Numbers that one thread counts without sharing, and publishes now and then for others.

use std::marker::PhantomData;

use crate::Counter;

/// A set of named numbers, declared by [`numbers!`](crate::numbers!).
pub trait Numbers: Copy + Default {
    /// Passes every number to `show`, always in the same order.
    fn each(&mut self, show: &mut impl FnMut(&mut u64));

    /// Adds another set, number by number.
    fn merge(&mut self, other: Self);
}

impl Numbers for u64 {
    fn each(&mut self, show: &mut impl FnMut(&mut Self)) {
        show(self);
    }

    fn merge(&mut self, other: Self) {
        *self += other;
    }
}

/// Declares a struct of [`Numbers`]: each field is a `u64`, or again such a struct.
#[macro_export]
macro_rules! numbers {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$of_field:meta])* pub $field:ident: $kind:ty,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
        $visibility struct $name {
            $($(#[$of_field])* pub $field: $kind,)+
        }

        impl $crate::Numbers for $name {
            fn each(&mut self, show: &mut impl FnMut(&mut u64)) {
                $($crate::Numbers::each(&mut self.$field, show);)+
            }

            fn merge(&mut self, other: Self) {
                $($crate::Numbers::merge(&mut self.$field, other.$field);)+
            }
        }
    };
}

/// Numbers of one thread as it published them last, for any thread.
#[derive(Debug)]
pub struct Published<N> {
    cells: Box<[Counter]>,
    numbers: PhantomData<fn() -> N>,
}

impl<N: Numbers> Default for Published<N> {
    fn default() -> Self {
        let mut cells = Vec::new();
        N::default().each(&mut |_| cells.push(Counter::default()));
        Self {
            cells: cells.into(),
            numbers: PhantomData,
        }
    }
}

impl<N: Numbers> Published<N> {
    /// Replaces the published numbers. A reader at the same moment may see some numbers of both sets.
    pub fn publish(&self, mut numbers: N) {
        let mut cells = self.cells.iter();
        numbers.each(&mut |number| {
            if let Some(cell) = cells.next() {
                cell.set(*number);
            }
        });
    }

    /// Returns the published numbers.
    pub fn value(&self) -> N {
        let (mut numbers, mut cells) = (N::default(), self.cells.iter());
        numbers.each(&mut |number| *number = cells.next().map_or(0, Counter::value));
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::numbers! {
        struct Inner {
            pub one: u64,
            pub two: u64,
        }
    }

    crate::numbers! {
        struct Outer {
            pub inner: Inner,
            pub three: u64,
        }
    }

    #[test]
    fn what_is_published_is_read_and_summed() {
        let (mut one, mut next) = (Outer::default(), 1..);
        one.each(&mut |number| *number = next.next().unwrap_or(0));
        assert_eq!((one.inner.one, one.inner.two, one.three), (1, 2, 3));
        let published = Published::default();
        assert_eq!(published.value(), Outer::default());
        published.publish(one);
        let mut sum = published.value();
        assert_eq!(sum, one);
        sum.merge(one);
        assert_eq!((sum.inner.one, sum.inner.two, sum.three), (2, 4, 6));
    }
}
