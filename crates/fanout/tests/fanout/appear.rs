//! Waiting for streams that are not there yet.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::support::TestFanout;
use fanout::Settings;
use media::StreamName;

#[derive(Default)]
struct Alarm(AtomicBool);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_waiter_for_a_stream_is_woken_when_it_begins() {
    let setup = TestFanout::new(Settings::default());
    let name = StreamName::parse("radio").unwrap();
    let alarm = Arc::new(Alarm::default());
    let waker = Waker::from(Arc::clone(&alarm));
    let mut cx = Context::from_waker(&waker);
    let mut appearance = pin!(setup.registry.appearance(&name));
    assert!(appearance.as_mut().poll(&mut cx).is_pending());

    let _other = setup.publish("other", 1).unwrap();
    assert!(appearance.as_mut().poll(&mut cx).is_pending());
    alarm.0.store(false, Ordering::SeqCst);
    let publisher = setup.publish("radio", 1).unwrap();
    assert!(alarm.0.load(Ordering::SeqCst), "it is woken");
    let Poll::Ready(stream) = appearance.as_mut().poll(&mut cx) else {
        panic!("it is there");
    };
    assert_eq!(stream.name(), &name);

    // A stream that has ended and is still in the books is not there.
    stream.end(fanout::events::EndReason::Operator);
    drop(publisher);
    let mut again = pin!(setup.registry.appearance(&name));
    assert!(again.as_mut().poll(&mut cx).is_pending());
    let _publisher = setup.publish("radio", 1).unwrap();
    assert!(again.as_mut().poll(&mut cx).is_ready());
}
