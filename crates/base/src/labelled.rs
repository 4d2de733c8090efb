//! A counter for each case of an enum, with the labels that metrics use for the cases.

use std::fmt::Debug;
use std::ops::Index;

use crate::Counter;

/// An enum without fields whose cases have a label each; declared by [`labels!`](crate::labels!).
pub trait Label: Copy + 'static {
    /// A counter for each case, in the order of their indices.
    type Counters: AsRef<[Counter]> + Debug + Default;

    /// Labels, in the order of the indices.
    const LABELS: &'static [&'static str];

    /// Returns the index of the case among all.
    fn index(self) -> usize;
}

/// Declares an enum without fields: its cases, and for each the label in metrics and the API. The enum has `ALL`, every
/// case in the order of their indices, and `label`; and it is a [`Label`].
///
/// ```
/// # use carillon_base as base;
/// base::labels! {
///     /// Outcome of a request.
///     pub enum Outcome {
///         /// The client has the answer.
///         Answered = "answered",
///         /// The client left first.
///         GivenUp = "given_up",
///     }
/// }
///
/// assert_eq!(Outcome::ALL.map(Outcome::label), ["answered", "given_up"]);
/// ```
#[macro_export]
macro_rules! labels {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$of_case:meta])* $case:ident = $label:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        $visibility enum $name {
            $($(#[$of_case])* $case,)+
        }

        impl $name {
            /// Every case, in the order of their indices.
            $visibility const ALL: [Self; [$($label),+].len()] = [$(Self::$case),+];

            /// Returns its label in metrics and the API.
            $visibility const fn label(self) -> &'static str {
                match self {
                    $(Self::$case => $label,)+
                }
            }
        }

        impl $crate::Label for $name {
            type Counters = [$crate::Counter; Self::ALL.len()];

            const LABELS: &'static [&'static str] = &[$($label),+];

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

/// A counter for each case of `E`. Nothing is ordered by these counters.
#[derive(Debug)]
pub struct Labelled<E: Label>(E::Counters);

impl<E: Label> Default for Labelled<E> {
    fn default() -> Self {
        Self(E::Counters::default())
    }
}

/// Returns the counter of one case.
impl<E: Label> Index<E> for Labelled<E> {
    type Output = Counter;

    #[inline]
    fn index(&self, case: E) -> &Counter {
        &self.0.as_ref()[case.index()]
    }
}

impl<E: Label> Labelled<E> {
    /// Adds one.
    #[inline]
    pub fn count(&self, case: E) {
        self[case].add(1);
    }

    /// Returns the current value of one case.
    pub fn value(&self, case: E) -> u64 {
        self[case].value()
    }

    /// Returns the label of each case with its current value, in the order of the indices.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let values = self.0.as_ref().iter().map(Counter::value);
        E::LABELS.iter().copied().zip(values)
    }

    /// Returns the current values, in the order of the indices.
    pub fn all(&self) -> Vec<u64> {
        self.0.as_ref().iter().map(Counter::value).collect()
    }

    /// Returns the sum of all current values.
    pub fn sum(&self) -> u64 {
        self.0.as_ref().iter().map(Counter::value).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::labels! {
        /// A case.
        enum Case {
            /// The first.
            First = "first",
            /// The second.
            Second = "second_one",
        }
    }

    #[test]
    fn each_case_is_counted_under_its_word() {
        let counts = Labelled::default();
        counts.count(Case::Second);
        counts[Case::Second].add(2);
        assert_eq!((counts.value(Case::First), counts.sum()), (0, 3));
        let values: Vec<_> = counts.values().collect();
        assert_eq!(values, [("first", 0), ("second_one", 3)]);
        assert_eq!(counts.all(), [0, 3]);
        assert_eq!(Case::ALL.map(Case::label), ["first", "second_one"]);
    }
}
