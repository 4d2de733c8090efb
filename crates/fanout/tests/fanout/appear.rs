//! Waiting for streams that are not present yet.

use std::pin::pin;
use std::task::{Context, Poll};

use crate::support::{Alarm, TestFanout, name};
use fanout::Settings;

#[test]
fn a_waiter_for_a_stream_is_woken_when_it_begins() {
    let setup = TestFanout::new(Settings::default());
    let name = name("radio");
    let (alarm, waker) = Alarm::with_waker();
    let mut cx = Context::from_waker(&waker);
    let mut appearance = pin!(setup.registry.appearance(&name));
    assert!(appearance.as_mut().poll(&mut cx).is_pending());

    let _other = setup.publish("other", 1).unwrap();
    assert!(appearance.as_mut().poll(&mut cx).is_pending());
    let before = alarm.count();
    let publisher = setup.publish("radio", 1).unwrap();
    assert!(alarm.count() > before, "it is woken");
    let Poll::Ready(stream) = appearance.as_mut().poll(&mut cx) else {
        panic!("it is there");
    };
    assert_eq!(stream.name(), &name);

    // A stream that has ended and is still in the books does not count as present.
    stream.end(fanout::events::EndReason::Operator);
    drop(publisher);
    let mut again = pin!(setup.registry.appearance(&name));
    assert!(again.as_mut().poll(&mut cx).is_pending());
    let _publisher = setup.publish("radio", 1).unwrap();
    assert!(again.as_mut().poll(&mut cx).is_ready());
}
