//! WHEP player built on `whepsrc` or `whepclientsrc` of gst-plugins-rs with their default settings: `whep-elements ELEMENT URL
//! BUFFERS KIND…`. It plays a stream until enough buffers of each kind are decoded, and prints the counts as one line of JSON.
//! Debian packages neither element.

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use gst::prelude::*;

/// Number of decoded buffers by kind.
type Counts = Arc<Mutex<BTreeMap<String, u64>>>;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let mut next = || arguments.next().expect("ELEMENT URL BUFFERS KIND…");
    let (element, url, buffers) = (next(), next(), next());
    let buffers: u64 = buffers.parse().expect("a number of buffers");
    let kinds: Vec<_> = arguments.collect();
    gst::init().expect("GStreamer");
    gstwebrtchttp::plugin_register_static().expect("whepsrc");
    gstrswebrtc::plugin_register_static().expect("whepclientsrc");

    let source = source(&element, &url);
    let pipeline = gst::Pipeline::new();
    pipeline.add(&source).expect("an empty pipeline");
    let counts = Counts::default();
    let (weak, counted) = (pipeline.downgrade(), Arc::clone(&counts));
    source.connect_pad_added(move |_, pad| {
        if let Some(pipeline) = weak.upgrade() {
            decode(&pipeline, pad, &counted);
        }
    });
    pipeline
        .set_state(gst::State::Playing)
        .expect("a pipeline that plays");
    let is_played = wait(&pipeline, || {
        let counts = counts.lock().expect("counts");
        let mut kinds = kinds.iter();
        kinds.all(|kind| counts.get(kind).is_some_and(|&count| count >= buffers))
    });
    println!("{:?}", counts.lock().expect("counts"));
    pipeline
        .set_state(gst::State::Null)
        .expect("a pipeline that ends");
    match is_played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn source(element: &str, url: &str) -> gst::Element {
    let source = gst::ElementFactory::make(element).build().expect(element);
    match source.find_property("signaller") {
        Some(_) => {
            let signaller: gst::glib::Object = source.property("signaller");
            signaller.set_property("whep-endpoint", url);
        }
        None => source.set_property("whep-endpoint", url),
    }
    source
}

/// Decodes a pad's media, whether it arrives as RTP or already decoded, and counts the buffers.
fn decode(pipeline: &gst::Pipeline, pad: &gst::Pad, counts: &Counts) {
    let decoder = gst::ElementFactory::make("decodebin")
        .build()
        .expect("decodebin");
    pipeline.add(&decoder).expect("a decoder of its own");
    let (weak, counts) = (pipeline.downgrade(), Arc::clone(counts));
    decoder.connect_pad_added(move |_, pad| {
        let Some(pipeline) = weak.upgrade() else {
            return;
        };
        let end = gst::ElementFactory::make("fakesink")
            .build()
            .expect("fakesink");
        pipeline.add(&end).expect("an end of its own");
        end.sync_state_with_parent().expect("an end that plays");
        let caps = pad.current_caps().or_else(|| pad.allowed_caps());
        let kind = caps.and_then(|caps| {
            let (kind, _) = caps.structure(0)?.name().split_once('/')?;
            Some(kind.to_owned())
        });
        let (kind, counts) = (kind.unwrap_or_default(), Arc::clone(&counts));
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
            *counts
                .lock()
                .expect("counts")
                .entry(kind.clone())
                .or_default() += 1;
            gst::PadProbeReturn::Ok
        });
        pad.link(&end.static_pad("sink").expect("a sink"))
            .expect("a link");
    });
    decoder
        .sync_state_with_parent()
        .expect("a decoder that plays");
    let sink = decoder.static_pad("sink").expect("a sink");
    pad.link(&sink).expect("a link");
}

/// Waits until the condition holds; the error is that of an element.
fn wait(pipeline: &gst::Pipeline, is_so: impl Fn() -> bool) -> Result<(), String> {
    let bus = pipeline.bus().expect("a pipeline's bus");
    while !is_so() {
        let look = gst::ClockTime::from_mseconds(50);
        let kinds = [gst::MessageType::Error, gst::MessageType::Eos];
        let Some(message) = bus.timed_pop_filtered(look, &kinds) else {
            continue;
        };
        return Err(match message.view() {
            gst::MessageView::Error(error) => format!("{}: {:?}", error.error(), error.debug()),
            _ => "it ended".to_owned(),
        });
    }
    Ok(())
}
