//! Sources as the door hands them over, one script each.

mod answers;
mod bodies;
mod contents;
mod questions;
mod titles;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fanout::{Phase, PublishRefused, Takeover};
use http1::{HeadLimits, HeadReader};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::Rejection;
use crate::testing::{
    DEFECT, FLOODER, FRAME_BYTES, KEY, LATE_KEY, LOST_KEY, Log, OTHER_KEY, PEER, TestGate, begins,
    ended, ends, gated, has, hear, left, listen, listen_with_times, mp3, stream, test_context,
    until, wait_for,
};

/// A connection that is served.
type Task = JoinHandle<Result<(), Error>>;

/// AAC-LC of 44.1 kHz in stereo, 200 bytes a frame.
fn adts(frames: usize) -> Vec<u8> {
    let mut frame = [0x21; 200];
    frame[..7].copy_from_slice(&[0xff, 0xf1, 0x50, 0x80, 0x19, 0x1f, 0xfc]);
    frame.repeat(frames)
}

fn stream_now(context: &Context, name: &str) -> fanout::Info {
    let name = StreamName::parse(name).expect("a name");
    let stream = context.registry.stream(&name).expect("the stream");
    stream.info()
}

fn basic(key: &str) -> String {
    format!(
        "Authorization: Basic {}\r\n",
        BASE64_STANDARD.encode(format!("source:{key}"))
    )
}

/// A head: its first line, perhaps with others, and the key.
fn keyed(lines: &str, key: &str) -> String {
    format!("{lines}\r\n{}\r\n", basic(key))
}

fn parse(text: &[u8]) -> (Head, Bytes) {
    let mut reader = HeadReader::new(HeadLimits::default());
    let (head, used) = reader.push(text).expect("a head").expect("a whole head");
    (head, Bytes::copy_from_slice(&text[used..]))
}

/// A source as it is after the door has read `request`.
fn source(context: &Arc<Context>, request: impl AsRef<[u8]>) -> (DuplexStream, Task) {
    let (head, early) = parse(request.as_ref());
    let (ours, theirs) = duplex(64 * 1024);
    let context = Arc::clone(context);
    let task = tokio::spawn(async move {
        let name = crate::name(&head.path(), |_| false);
        serve(&context, theirs, name, head, early, PEER, || {}).await
    });
    (ours, task)
}

/// The source of `/a` in the old way, and its stream.
async fn source_of_a(context: &Arc<Context>) -> (DuplexStream, Task, Arc<fanout::Stream>) {
    let (source, task) = source(context, keyed("SOURCE /a HTTP/1.0", KEY));
    (source, task, stream(context, "a").await)
}

async fn send(source: &mut DuplexStream, bytes: &[u8]) {
    source.write_all(bytes).await.expect("it is read");
}

async fn answer_of(mut source: DuplexStream) -> String {
    let mut answer = String::new();
    let read = source.read_to_string(&mut answer).await;
    read.expect("a duplex does not fail, and answers are text");
    answer
}

async fn refused(context: &Arc<Context>, request: String) -> (String, Error) {
    let (source, task) = source(context, request);
    (answer_of(source).await, ended(task).await)
}

async fn next_answer(source: &mut DuplexStream, length: usize) -> String {
    let mut answer = vec![0; length];
    source.read_exact(&mut answer).await.expect("an answer");
    String::from_utf8(answer).expect("answers are text")
}

fn source_without_type(context: &Arc<Context>) -> (DuplexStream, Task) {
    source(context, keyed("SOURCE /b HTTP/1.0", KEY))
}

fn ask(context: &Context, request: &str) -> String {
    let (head, form) = parse(request.as_bytes());
    let dialect = match &*head.path() {
        "/admin.cgi" => Dialect::Shoutcast,
        "/admin/metadata.xsl" => Dialect::IcecastPage,
        _ => Dialect::Icecast,
    };
    let mut update = Box::pin(update_metadata(context, dialect, &head, &form, PEER));
    let answer = net::wait::at_once(&mut update).expect("at once");
    String::from_utf8(answer).expect("answers are text")
}
