//! `max_samples` sets the number of samples in one send, and thus the number of sends.

use std::time::Duration;

use testkit::{Server, combining};

const LISTENERS: usize = 2_000;
const SPAN: Duration = Duration::from_secs(6);

#[test]
fn four_times_the_samples_are_a_quarter_of_the_sends() {
    let measure = |max_samples| combining(Server::builder(), max_samples, LISTENERS, SPAN);
    let (four, sixteen) = (measure(4), measure(16));
    let samples = sixteen.samples_per_message() / four.samples_per_message();
    let sends = four.sends_per_second() / sixteen.sends_per_second();
    assert!(
        (3.2..5.0).contains(&samples),
        "{samples}: {four:?} {sixteen:?}"
    );
    assert!((3.2..5.0).contains(&sends), "{sends}: {four:?} {sixteen:?}");
}
