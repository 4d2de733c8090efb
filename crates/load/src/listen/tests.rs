//! Listeners of a mount with synthetic audio.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::*;
use crate::clock;
use crate::plan::Work;
use crate::publish::synthetic::{Audio, SyntheticAudio};
use crate::quantity::Slow;
use crate::stamp::Stamp;
use crate::tally::Tally;

const LISTENERS: u64 = 10;

/// Sends frames on time, `at_most` of them, until the listener is gone.
fn serve(mut socket: &TcpStream, answer: &str, at_most: u64) {
    let lines = BufReader::new(socket).lines();
    let is_end = |line: &std::io::Result<String>| line.as_ref().is_ok_and(String::is_empty);
    lines.take_while(|line| !is_end(line)).for_each(drop);
    let audio = SyntheticAudio::new(Audio::Mp3, 128_000).expect("a rate");
    let mut bytes = answer.as_bytes().to_vec();
    for number in 0..at_most {
        audio.write_frame(Stamp::of(7, number, clock::wall()), &mut bytes);
        if socket.write_all(&bytes).is_err() {
            return;
        }
        bytes.clear();
        std::thread::sleep(Duration::from_nanos(audio.due(1)));
    }
}

/// Returns the tally of listeners of a server that sends this response and this many frames.
fn listened(listening: &Listening, answer: &'static str, at_most: u64) -> Tally {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let addr = listener.local_addr().expect("an address");
    // It ends with the test.
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let socket = socket.expect("a connection");
            std::thread::spawn(move || serve(&socket, answer, at_most));
        }
    });
    let url = format!("http://{addr}/radio.mp3");
    let work = Work::Listen(listening.clone());
    let plan = Plan {
        settle: Duration::from_millis(200),
        window: Duration::from_millis(1_500),
        ..Plan::alone(&url, LISTENERS, work)
    };
    plan.carried_out()
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n";

#[test]
fn all_kinds_of_listeners_are_counted() {
    let listening = Listening {
        stalled: 0.2,
        slow: Some(Slow {
            share: 0.1,
            bit_rate: 12_000,
        }),
        checked: 3,
        ..Listening::default()
    };
    let tally = listened(&listening, ANSWER, u64::MAX);
    let (members, reasons) = (tally.members, (&tally.failed, &tally.lost));
    assert_eq!(
        (members.joined, members.alive, members.stalled, members.slow),
        (LISTENERS, LISTENERS, 2, 1),
        "{reasons:?}"
    );
    assert_eq!((tally.checked, tally.rate.count()), (3, 7));
    let rate = tally.rate.percentile(50.0) as f64 / 128_000.0;
    assert!((0.7..1.2).contains(&rate), "{rate}");
    let findings = &tally.findings;
    assert!(findings.counts.frames > 3 * 30, "{findings:?}");
    assert_eq!((findings.counts.holes, findings.counts.damaged), (0, 0));
    assert!(findings.delay.count() > 0 && tally.waits.count() > 0);
}

#[test]
fn listeners_that_leave_are_replaced() {
    let listening = Listening {
        churn: Some(10.0),
        ..Listening::default()
    };
    let tally = listened(&listening, ANSWER, u64::MAX);
    let members = tally.members;
    assert!(members.churned >= 10, "{tally:?}");
    assert_eq!(members.begun, LISTENERS + members.churned);
    let failed = &tally.failed;
    assert_eq!(members.alive + failed.total(), LISTENERS, "{failed:?}");
}

#[test]
fn those_that_are_refused_or_dropped_say_why() {
    let refused = listened(&Listening::default(), "HTTP/1.1 503 Full\r\n\r\n", u64::MAX);
    let failed: Vec<_> = refused.failed.iter().collect();
    assert_eq!(failed, [("status 503", LISTENERS)]);
    let dropped = listened(&Listening::default(), ANSWER, 20);
    let lost: Vec<_> = dropped.lost.iter().collect();
    assert_eq!(lost, [("closed by the server", LISTENERS)]);
    assert_eq!(dropped.members.alive, 0);
}
