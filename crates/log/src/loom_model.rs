//! Loom models: every interleaving of one writer and one reader.

use std::sync::Arc;
use std::time::Instant;

use loom::thread;
use media::{Span, Timestamp};

use crate::{Account, Bell, Entry, Limits, View, Writer};

/// Creates a writer whose pages have three bytes and two units after a first one of a byte, so that a few units turn
/// several pages.
fn writer() -> Writer {
    let limits = Limits {
        page_bytes: 3,
        page_units: 2,
        pages_max: 3,
        time_max: Span::from_millis(1_000),
        bytes_min: 0,
        bytes_time_max: Span::ZERO,
        lean_max: Span::from_millis(1_000),
        join_max: Span::from_millis(1_000),
    };
    Writer::new(limits, Account::unlimited()).unwrap()
}

fn write(writer: &mut Writer, unit: &[u8]) {
    writer.put(unit);
    writer.end_unit(Timestamp::ZERO, Instant::now(), Entry::None);
    writer.commit();
}

fn read(view: &View) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = view.start();
    while at < view.end() {
        let chunk = view.chunk(at, usize::MAX);
        at += chunk.len() as u64;
        bytes.extend_from_slice(&chunk);
    }
    bytes
}

#[test]
fn loom_a_reader_sees_whole_units_and_only_committed_bytes() {
    loom::model(|| {
        let mut writer = writer();
        let mut view = View::new(Arc::clone(writer.shared()));
        let reader = thread::spawn(move || {
            for _ in 0..2 {
                view.refresh();
                let bytes = read(&view);
                let whole = b"abcdefg";
                assert_eq!(view.start(), 0, "that many pages are kept");
                assert!(matches!(bytes.len(), 0 | 2 | 5), "whole units: {bytes:?}");
                assert_eq!(bytes, whole[..bytes.len()]);
                assert_eq!(
                    view.units_back().count(),
                    [0, 1, 2][bytes.len().div_ceil(3)]
                );
            }
        });
        write(&mut writer, b"ab");
        write(&mut writer, b"cde");
        reader.join().unwrap();
    });
}

#[test]
fn loom_a_reader_that_slept_through_the_retention_begins_anew() {
    loom::model(|| {
        let mut writer = writer();
        let mut view = View::new(Arc::clone(writer.shared()));
        write(&mut writer, b"abc");
        write(&mut writer, b"def");
        let reader = thread::spawn(move || {
            view.refresh();
            let bytes = read(&view);
            let from = view.start() as usize;
            assert_eq!(bytes, b"abcdefghi"[from..from + bytes.len()]);
            assert!(view.end() >= 6);
        });
        write(&mut writer, b"ghi");
        reader.join().unwrap();
    });
}

#[test]
fn loom_pages_given_up_for_others_leave_the_rest_readable() {
    loom::model(|| {
        let mut writer = writer();
        write(&mut writer, b"abc");
        write(&mut writer, b"def");
        write(&mut writer, b"g");
        let shared = Arc::clone(writer.shared());
        let other = thread::spawn(move || {
            shared.give_up();
            let view = View::new(shared);
            let bytes = read(&view);
            let from = view.start() as usize;
            assert_eq!(bytes, b"abcdefghij"[from..from + bytes.len()]);
            assert!(view.end() >= 7);
        });
        write(&mut writer, b"hij");
        other.join().unwrap();
    });
}

#[test]
fn loom_no_wake_up_is_lost() {
    loom::model(|| {
        let mut writer = writer();
        let mut view = View::new(Arc::clone(writer.shared()));
        let bell = loom::sync::Arc::new(Bell::default());
        let worker = {
            let bell = loom::sync::Arc::clone(&bell);
            thread::spawn(move || {
                bell.arm(7);
                view.refresh();
                view.end() > 0
            })
        };
        write(&mut writer, b"a");
        let rung = bell.ring();
        let seen = worker.join().unwrap();
        assert!(
            seen || rung == Some(7),
            "the worker would sleep on a log with news"
        );
        assert_eq!(
            bell.ring().is_some(),
            rung.is_none(),
            "one ring for one arming"
        );
    });
}
