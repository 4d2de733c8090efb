//! What the server adds to the delay between a camera and a screen: a clock in the picture, read back where
//! it is shown.
//!
//! The clock is a number of milliseconds in black and white squares, with its complement below it: a picture
//! in which the two do not agree is not counted.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use testkit::{PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::browser::Browser;
use crate::session::{begin, figures, prepare};
use crate::support::{DEADLINE, wait_for_stream};

/// What the server may add. Where the machine is so busy that the control, the same pictures straight from
/// one connection to another, takes longer than this, the server may add as much again.
const ADDED_MS_MAX: f64 = 150.0;

const WIDTH: usize = 640;
const HEIGHT: usize = 360;
const FRAMES_PER_SECOND: u32 = 30;
/// A square's side, and squares in a row; a number has two rows.
const SIDE: usize = 40;
const ROW: usize = 16;

/// Pictures measured.
const SAMPLES: u64 = 120;

/// Draws the clock, and reads it from a video: `delays` are the ages of what is shown, in milliseconds.
const CLOCK: &str = r"
    const SIDE = 40, ROW = 16;
    window.draw_clock = context => {
        const now = Date.now() % 2 ** 32;
        for (let bit = 0; bit < 32; bit++) {
            const isOne = Math.floor(now / 2 ** bit) % 2 === 1;
            const x = bit % ROW * SIDE, y = Math.floor(bit / ROW) * SIDE;
            context.fillStyle = isOne ? 'white' : 'black';
            context.fillRect(x, y, SIDE, SIDE);
            context.fillStyle = isOne ? 'black' : 'white';
            context.fillRect(x, y + 2 * SIDE, SIDE, SIDE);
        }
    };
    window.read_clock = video => {
        const canvas = new OffscreenCanvas(ROW * SIDE, 4 * SIDE);
        const context = canvas.getContext('2d', {willReadFrequently: true});
        const delays = [];
        const look = () => {
            video.requestVideoFrameCallback(look);
            const now = Date.now() % 2 ** 32;
            context.drawImage(video, 0, 0);
            const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
            const at = (x, y) => pixels[4 * ((y + SIDE / 2) * canvas.width + x + SIDE / 2)] > 127;
            let then = 0;
            for (let bit = 0; bit < 32; bit++) {
                const x = bit % ROW * SIDE, y = Math.floor(bit / ROW) * SIDE;
                const isOne = at(x, y);
                if (isOne === at(x, y + 2 * SIDE)) return;
                if (isOne) then += 2 ** bit;
            }
            delays.push(now - then);
        };
        video.requestVideoFrameCallback(look);
        return delays;
    };
    window.show = media => {
        const video = document.createElement('video');
        video.muted = true;
        video.autoplay = true;
        video.srcObject = media;
        document.body.append(video);
        return video;
    };
";

/// A page that shows its clock over a direct connection between two of its own.
const STRAIGHT: &str = r"
    const canvas = document.createElement('canvas');
    canvas.width = 640;
    canvas.height = 360;
    document.body.append(canvas);
    const context = canvas.getContext('2d');
    setInterval(() => draw_clock(context), 1000 / 30);
    const media = canvas.captureStream(30);

    const one = new RTCPeerConnection(), other = new RTCPeerConnection();
    one.onicecandidate = event => other.addIceCandidate(event.candidate);
    other.onicecandidate = event => one.addIceCandidate(event.candidate);
    other.ontrack = event => {
        window.straight = read_clock(show(new MediaStream([event.track])));
    };
    media.getTracks().forEach(track => one.addTrack(track, media));
    await one.setLocalDescription(await one.createOffer());
    await other.setRemoteDescription(one.localDescription);
    await other.setLocalDescription(await other.createAnswer());
    await one.setRemoteDescription(other.localDescription);
    window.clock_media = media;
";

/// And publishes it.
const THERE: &str = r"
    await publish('/live/clock/whip', 'KEY', clock_media, 'video/h264');
    window.is_published = true;
";

const WATCH: &str = "await watch('/live/clock/whep', null); window.relayed = read_clock(video);";

/// The middle of the last delays that a page read.
fn middle(browser: &Browser, name: &str) -> f64 {
    let mut read = Vec::new();
    wait_until("enough pictures", DEADLINE, || {
        assert!(figures(browser).is_object());
        let delays = browser.run(&format!("return window.{name} ?? [];"));
        let delays = delays.as_array().unwrap();
        // The first ones are from before the connections had settled.
        read = delays
            .iter()
            .skip(60)
            .filter_map(|delay| delay.as_f64())
            .collect();
        read.len() as u64 >= SAMPLES
    });
    read.sort_by(f64::total_cmp);
    read[read.len() / 2]
}

#[test]
fn from_whip_to_whep() {
    let server = Server::start();
    let browser = Browser::open();
    prepare(&browser, &server);
    browser.run(CLOCK);
    begin(
        &browser,
        &format!("{STRAIGHT}{}", THERE.replace("KEY", PUBLISH_KEY)),
    );
    wait_for_stream(&server, "live/clock");
    begin(&browser, WATCH);
    let (relayed, straight) = (middle(&browser, "relayed"), middle(&browser, "straight"));
    println!("WHIP to WHEP: {relayed} ms; straight: {straight} ms");
    assert!(
        relayed - straight < ADDED_MS_MAX.max(straight),
        "{relayed} ms through the server, {straight} ms without it"
    );
}

/// The whole path, encoder and decoder included, which run on the same machine.
#[test]
fn from_rtmp_to_whep() {
    let server = Server::start();
    let _encoder = encode_clock(&server.rtmp_url("live/clock", PUBLISH_KEY));
    wait_for_stream(&server, "live/clock");
    let browser = Browser::open();
    prepare(&browser, &server);
    browser.run(CLOCK);
    begin(&browser, &format!("{STRAIGHT}{WATCH}"));
    let (relayed, straight) = (middle(&browser, "relayed"), middle(&browser, "straight"));
    println!("RTMP to WHEP: {relayed} ms with encoder and decoder; straight: {straight} ms");
    assert!(
        relayed < ADDED_MS_MAX.max(2.0 * straight),
        "{relayed} ms through the server, {straight} ms from encoder to decoder without it"
    );
}

/// ffmpeg, publishing pictures that it gets from this process, as OBS does with a low delay.
fn encode_clock(url: &str) -> Process {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let from: SocketAddr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let Ok((mut encoder, _)) = listener.accept() else {
            return;
        };
        let begin = Instant::now();
        for frame in 0.. {
            let due = begin + Duration::from_secs(1) * frame / FRAMES_PER_SECOND;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if encoder.write_all(&picture()).is_err() {
                return;
            }
        }
    });
    Tool::ffmpeg()
        .args(["-fflags", "nobuffer", "-probesize", "32", "-f", "rawvideo"])
        .args(["-pixel_format", "yuv420p", "-video_size"])
        .arg(format!("{WIDTH}x{HEIGHT}"))
        .args(["-framerate", &FRAMES_PER_SECOND.to_string()])
        .args(["-i", &format!("tcp://{from}")])
        .args([
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
            "-tune",
            "zerolatency",
        ])
        .args([
            "-g",
            "60",
            "-b:v",
            "1M",
            "-flush_packets",
            "1",
            "-f",
            "flv",
            url,
        ])
        .start()
}

/// A picture with the time in it, in Y, U and V.
fn picture() -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = now.as_millis() as u32;
    let mut picture = vec![128; WIDTH * HEIGHT * 3 / 2];
    for bit in 0..32 {
        let is_one = now >> bit & 1 == 1;
        let (x, y) = (bit % ROW * SIDE, bit / ROW * SIDE);
        for (y, is_white) in [(y, is_one), (y + 2 * SIDE, !is_one)] {
            let shade = if is_white { 235 } else { 16 };
            for line in y..y + SIDE {
                picture[line * WIDTH + x..][..SIDE].fill(shade);
            }
        }
    }
    picture
}
