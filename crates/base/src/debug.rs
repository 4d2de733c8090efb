//! The debug form of types that have parts without one.

/// Implements `Debug`: shows the name of a type and these of its fields. The others have no such form, say nothing, or are
/// secret.
///
/// ```
/// # use carillon_base as base;
/// struct Port {
///     number: u16,
///     tell: Box<dyn Fn()>,
/// }
///
/// base::debug!(Port { number });
///
/// let port = Port { number: 80, tell: Box::new(|| {}) };
/// (port.tell)();
/// assert_eq!(format!("{port:?}"), "Port { number: 80, .. }");
/// ```
#[macro_export]
macro_rules! debug {
    ($name:ident { $($field:ident),* }) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($name));
                $(shown.field(stringify!($field), &self.$field);)*
                shown.finish_non_exhaustive()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    struct Empty;

    crate::debug!(Empty {});

    #[test]
    fn a_type_has_its_name() {
        assert_eq!(format!("{Empty:?}"), "Empty { .. }");
    }
}
