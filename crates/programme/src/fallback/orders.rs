//! Orders of the operator while the server runs: fallbacks that differ from those of the configuration, and streams
//! whose listeners receive another stream although their publisher is present.

use std::collections::BTreeMap;

use base::Lock;
use media::StreamName;
use tokio::sync::watch;

/// Most streams with an order. Each may require a guard, which is a task.
const ORDERS_MAX: usize = 1_000;

/// Orders, by the stream that they concern. An order lasts until the stream ends, or if the configuration names the
/// stream, until the server does.
#[derive(Debug, Default)]
pub struct Orders {
    orders: Lock<BTreeMap<StreamName, Order>>,
    /// Notification of each change.
    news: watch::Sender<()>,
}

/// Order about one stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Order {
    /// Fallback instead of the configured one; the inner `None` means no fallback.
    pub fallback: Option<Option<StreamName>>,
    /// Stream that its listeners receive whether its publisher is present or not.
    pub moved: Option<StreamName>,
}

/// Reason for refusing an order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrderRefused {
    /// The other stream leads back to the stream itself.
    Circle,
    /// The limit of orders is reached.
    TooMany,
}

impl Orders {
    /// Returns the order about a stream.
    pub fn of(&self, name: &StreamName) -> Order {
        self.orders.lock().get(name).cloned().unwrap_or_default()
    }

    /// Sets a stream's fallback; `None` means no fallback. A move of its listeners ends. `of_config` returns the
    /// configured fallback.
    ///
    /// # Errors
    /// See [`OrderRefused`].
    pub fn fall_back(
        &self,
        name: &StreamName,
        fallback: Option<StreamName>,
        of_config: impl Fn(&StreamName) -> Option<StreamName>,
    ) -> Result<(), OrderRefused> {
        let order = Order {
            fallback: Some(fallback),
            moved: None,
        };
        self.set(name, order, &of_config)
    }

    /// Moves the listeners of a stream to another one. If the listeners of that one were moved here, they are moved
    /// back instead, and nothing else changes.
    ///
    /// # Errors
    /// See [`OrderRefused`].
    pub fn move_to(
        &self,
        name: &StreamName,
        destination: StreamName,
        of_config: impl Fn(&StreamName) -> Option<StreamName>,
    ) -> Result<(), OrderRefused> {
        if self.take_back(&destination, name) {
            return Ok(());
        }
        let order = Order {
            moved: Some(destination),
            ..self.of(name)
        };
        self.set(name, order, &of_config)
    }

    /// Ends the move of a stream's listeners to another; returns false if there is none.
    fn take_back(&self, name: &StreamName, from: &StreamName) -> bool {
        let mut orders = self.orders.lock();
        let order = orders.get_mut(name);
        let is_moved = order.is_some_and(|order| order.moved.take_if(|to| to == from).is_some());
        drop(orders);
        if is_moved {
            self.news.send_replace(());
        }
        is_moved
    }

    fn set(
        &self,
        name: &StreamName,
        order: Order,
        of_config: &dyn Fn(&StreamName) -> Option<StreamName>,
    ) -> Result<(), OrderRefused> {
        let mut orders = self.orders.lock();
        if orders.len() >= ORDERS_MAX && !orders.contains_key(name) {
            return Err(OrderRefused::TooMany);
        }
        let before = orders.insert(name.clone(), order);
        if leads_back(&orders, name, of_config) {
            match before {
                Some(before) => orders.insert(name.clone(), before),
                None => orders.remove(name),
            };
            return Err(OrderRefused::Circle);
        }
        drop(orders);
        self.news.send_replace(());
        Ok(())
    }

    /// Returns the names of the streams with orders.
    pub(crate) fn names(&self) -> Vec<StreamName> {
        self.orders.lock().keys().cloned().collect()
    }

    /// Removes the order about a stream that has ended.
    pub(crate) fn forget(&self, name: &StreamName) {
        self.orders.lock().remove(name);
    }

    /// Returns a receiver that changes with each order.
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }
}

/// Returns whether a stream leads back to itself by way of others, now or when a publisher is away.
fn leads_back(
    orders: &BTreeMap<StreamName, Order>,
    name: &StreamName,
    of_config: &dyn Fn(&StreamName) -> Option<StreamName>,
) -> bool {
    let next = |name: &StreamName| -> Vec<StreamName> {
        let order = orders.get(name).cloned().unwrap_or_default();
        let fallback = order.fallback.unwrap_or_else(|| of_config(name));
        fallback.into_iter().chain(order.moved).collect()
    };
    let mut seen = Vec::new();
    let mut ahead = next(name);
    // Each stream is visited once, and there are at most as many as rules and orders.
    while let Some(one) = ahead.pop() {
        if one == *name {
            return true;
        }
        if !seen.contains(&one) {
            ahead.extend(next(&one));
            seen.push(one);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    /// `a` falls back to `b` by the configuration.
    fn config(of: &StreamName) -> Option<StreamName> {
        (of.as_str() == "a").then(|| name("b"))
    }

    #[test]
    fn nothing_leads_back_to_itself() {
        let orders = Orders::default();
        let (a, b, c) = (name("a"), name("b"), name("c"));
        let refused = Err(OrderRefused::Circle);
        assert_eq!(orders.fall_back(&b, Some(a.clone()), config), refused);
        assert_eq!(orders.move_to(&b, a.clone(), config), refused);
        assert_eq!(orders.of(&b), Order::default());
        assert_eq!(orders.fall_back(&b, Some(c.clone()), config), Ok(()));
        assert_eq!(orders.fall_back(&c, Some(a.clone()), config), refused);
        // Without its fallback nothing is in the way.
        assert_eq!(orders.fall_back(&a, None, config), Ok(()));
        assert_eq!(orders.fall_back(&c, Some(a), config), Ok(()));
    }

    #[test]
    fn listeners_are_moved_back_the_way_they_came() {
        let orders = Orders::default();
        let (x, y) = (name("x"), name("y"));
        assert_eq!(orders.move_to(&x, y.clone(), config), Ok(()));
        assert_eq!(orders.of(&x).moved, Some(y.clone()));
        assert_eq!(orders.move_to(&y, x.clone(), config), Ok(()));
        assert_eq!((orders.of(&x).moved, orders.of(&y).moved), (None, None));
        assert_eq!(orders.move_to(&y, x.clone(), config), Ok(()));
        assert_eq!(orders.of(&y).moved, Some(x));
        assert_eq!(orders.fall_back(&y, None, config), Ok(()));
        assert_eq!(orders.of(&y).moved, None);
    }
}
