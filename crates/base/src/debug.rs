//! `Debug` for types some of whose parts do not implement it.

/// Implements `Debug`: writes the name of a type and these of its fields, or other expressions. The remaining fields do
/// not implement `Debug`, have nothing of interest, or are secret.
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
        $crate::debug!($name as it { $($field: it.$field),* });
    };
    ($name:ident as $it:ident { $($field:ident: $value:expr),* }) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                #[allow(unused_variables, reason = "many types tell only their name")]
                let $it = self;
                let mut shown = f.debug_struct(stringify!($name));
                $(shown.field(stringify!($field), &$value);)*
                shown.finish_non_exhaustive()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    struct Empty;

    crate::debug!(Empty {});

    struct Queue(Vec<u8>);

    crate::debug!(Queue as it { length: it.0.len() });

    #[test]
    fn a_type_has_its_name_and_what_it_tells() {
        assert_eq!(format!("{Empty:?}"), "Empty { .. }");
        let queue = Queue(vec![7; 3]);
        assert_eq!(format!("{queue:?}"), "Queue { length: 3, .. }");
    }
}
