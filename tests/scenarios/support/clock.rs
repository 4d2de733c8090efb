//! Clock in the video, and the script that reads it back where the video is shown.
//!
//! The clock is a number of milliseconds in black and white squares, with its complement below it: a frame in which the two do
//! not agree is not counted.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use testkit::{Process, Tool};

const WIDTH: usize = 640;
const HEIGHT: usize = 360;
const FRAMES_PER_SECOND: u32 = 30;
/// Side of a square in pixels, and number of squares in a row; a number has two rows.
const SIDE: usize = 40;
const ROW: usize = 16;

/// Script that draws the clock, and reads it from a video: `delays` are the ages of the shown frames, in milliseconds.
/// `arrivals` are these without the time for which the browser itself has held the frames since they were complete, as far as
/// the browser reports it, which it does for WebRTC.
pub(crate) const CLOCK: &str = r"
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
    window.read_clock = (video, arrivals = []) => {
        const canvas = new OffscreenCanvas(ROW * SIDE, 4 * SIDE);
        const context = canvas.getContext('2d', {willReadFrequently: true});
        const delays = [];
        const look = (_, {receiveTime}) => {
            video.requestVideoFrameCallback(look);
            const now = Date.now() % 2 ** 32;
            const held = receiveTime === undefined ? 0 : performance.now() - receiveTime;
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
            arrivals.push(now - then - held);
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

/// Script of a page that shows its clock over a direct connection between two of its own.
pub(crate) const STRAIGHT: &str = r"
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

/// Audio that is published beside the video.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Audio {
    None,
    /// A tone in AAC.
    Tone,
}

impl Audio {
    /// Returns ffmpeg's arguments after its first input. ffmpeg makes as much audio as it needs beside the video.
    fn input(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Tone => &["-f", "lavfi", "-i", "sine=f=440:r=48000", "-c:a", "aac"],
        }
    }
}

/// Starts an ffmpeg that publishes frames from this process, as OBS does with a low delay.
pub(crate) fn encode_clock(url: &str, audio: Audio) -> Process {
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
        .args(audio.input())
        .args(["-c:v", "libx264", "-preset", "ultrafast"])
        .args(["-tune", "zerolatency", "-g", "60", "-b:v", "1M"])
        .args(["-flush_packets", "1", "-f", "flv", url])
        .start()
}

/// Draws a frame with the time in it, in Y, U and V.
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
