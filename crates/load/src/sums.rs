//! Counts that add up over the members of a process, and over the processes of a load.

use crate::histogram::Histogram;

/// Addition of counts.
pub(crate) trait Sum {
    /// Adds the counts of another.
    fn add(&mut self, other: Self);
}

/// Defines a struct all of whose fields [add up](Sum).
macro_rules! sums {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $type,)*
        }

        impl $crate::sums::Sum for $name {
            fn add(&mut self, other: Self) {
                $($crate::sums::Sum::add(&mut self.$field, other.$field);)*
            }
        }
    };
}

pub(crate) use sums;

impl Sum for u64 {
    fn add(&mut self, other: Self) {
        *self += other;
    }
}

impl Sum for Histogram {
    fn add(&mut self, other: Self) {
        self.merge(&other);
    }
}

impl<T> Sum for Vec<T> {
    fn add(&mut self, other: Self) {
        self.extend(other);
    }
}
