//! Generator of `crates/server/assets/demo.flv`, the loop that `serve --demo` publishes.
//!
//! The clip lasts 10.24 s, because that is the shortest time that both clocks divide: 256 frames at 25 per second, and 441 AAC
//! frames of 1024 samples at 44.1 kHz. Video and audio therefore end at the same instant, and a loop with continuous timestamps
//! keeps them together forever.
//!
//! The audio is encoded three times in a row and the middle turn is cut out: an AAC frame overlaps the one before it, so the
//! last frame of that turn already leads into its first.

use std::fs;
use std::path::Path;

use crate::report::Report;
use crate::run::{self, Failure, Workspace};

/// Number of AAC frames in one turn of the loop.
const AUDIO_FRAMES: usize = 441;
/// Number of the encoder's priming frames before the first turn.
const PRIMING_FRAMES: usize = 1;
/// Maximum size in bytes: the clip is part of the binary.
const SIZE_MAX: u64 = 600_000;

/// One chime in each eighth of the loop, four partials of a bell, in a pattern of five notes.
const CHIME: &str = "0.22*min(1\\,mod(t\\,1.28)*200)*exp(-3.4*mod(t\\,1.28))*(\
    sin(2*PI*st(0\\,NOTE)*mod(t\\,1.28))\
    +0.5*sin(2*PI*2*ld(0)*mod(t\\,1.28))\
    +0.3*sin(2*PI*2.4*ld(0)*mod(t\\,1.28))*exp(-2*mod(t\\,1.28))\
    +0.2*sin(2*PI*3*ld(0)*mod(t\\,1.28))*exp(-4*mod(t\\,1.28)))";

/// Frequencies in Hz: G4 E4 F4 C4, C4 F4 G4 E4.
const NOTES: [&str; 8] = [
    "392", "329.63", "349.23", "261.63", "261.63", "349.23", "392", "329.63",
];

/// A moving test card, a clock, and a bar that lights up with each chime.
const PICTURE: &str = "testsrc2=size=640x360:rate=25,\
    drawbox=x=0:y=300:w=640:h=60:color=0x101820@0.85:t=fill,\
    drawbox=x=0:y=292:w=640:h=8:color=0xffc857:t=fill:enable='lt(mod(t,1.28),0.16)',\
    drawtext=font='DejaVu Sans Mono':fontsize=34:fontcolor=white:x=24:y=314:text='%{pts\\:hms}',\
    drawtext=font='DejaVu Sans':fontsize=26:fontcolor=0xffc857:x=w-tw-24:y=318:text='carillon demo'";

pub(crate) fn make(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let work = workspace.target.join("demo-clip");
    fs::create_dir_all(&work)?;
    let clip = workspace.root.join("crates/server/assets/demo.flv");
    fs::create_dir_all(clip.parent().unwrap_or(&workspace.root))?;
    let picture = work.join("picture.h264");
    let turns = work.join("turns.aac");
    let audio = work.join("sound.aac");

    encode_picture(workspace, &picture)?;
    encode_audio(workspace, &turns)?;
    fs::write(&audio, middle_turn(&fs::read(&turns)?)?)?;
    mux(workspace, &picture, &audio, &clip)?;

    let size = fs::metadata(&clip)?.len();
    if size > SIZE_MAX {
        return Err(Failure(format!(
            "the clip has {size} bytes, the limit is {SIZE_MAX}"
        )));
    }
    println!("{}: {size} bytes", clip.display());
    report.count(1, 0);
    Ok(())
}

fn encode_picture(workspace: &Workspace, to: &Path) -> Result<(), Failure> {
    let mut command = ffmpeg(workspace);
    command.args(["-f", "lavfi", "-i", PICTURE, "-frames:v", "256"]);
    command.args([
        "-c:v",
        "libx264",
        "-profile:v",
        "main",
        "-preset",
        "veryslow",
        "-bf",
        "0",
    ]);
    command.args([
        "-pix_fmt", "yuv420p", "-b:v", "310k", "-maxrate", "380k", "-bufsize", "380k",
    ]);
    // Eight groups of 1.28 s: a joiner waits no longer than that, and the loop ends with a group.
    command.args([
        "-x264-params",
        "keyint=32:min-keyint=32:scenecut=0:rc-lookahead=32",
    ]);
    run::run(command.args(["-flags:v", "+bitexact"]).arg(to))
}

fn encode_audio(workspace: &Workspace, to: &Path) -> Result<(), Failure> {
    let note = NOTES
        .iter()
        .rev()
        .enumerate()
        .fold("0".to_owned(), |rest, (index, hertz)| {
            let slot = NOTES.len() - 1 - index;
            format!("if(eq(floor(mod(t\\,10.24)/1.28)\\,{slot})\\,{hertz}\\,{rest})")
        });
    let chime = CHIME.replace("NOTE", &note);
    // Three turns, and one frame more for the priming that shifts them.
    let source = format!("aevalsrc={chime}|{chime}:s=44100:d=31");
    let mut command = ffmpeg(workspace);
    command.args(["-f", "lavfi", "-i", &source, "-c:a", "aac", "-b:a", "96k"]);
    run::run(
        command
            .args(["-flags:a", "+bitexact", "-f", "adts"])
            .arg(to),
    )
}

fn mux(workspace: &Workspace, picture: &Path, audio: &Path, to: &Path) -> Result<(), Failure> {
    let mut command = ffmpeg(workspace);
    command
        .args(["-framerate", "25", "-i"])
        .arg(picture)
        .arg("-i")
        .arg(audio);
    command.args([
        "-map",
        "0:v",
        "-map",
        "1:a",
        "-c",
        "copy",
        "-map_metadata",
        "-1",
    ]);
    run::run(command.args(["-fflags", "+bitexact", "-f", "flv"]).arg(to))
}

fn ffmpeg(workspace: &Workspace) -> std::process::Command {
    workspace.command("ffmpeg", &["-hide_banner", "-loglevel", "error", "-y"])
}

/// Returns the second of the encoded turns, frame by frame.
fn middle_turn(stream: &[u8]) -> Result<Vec<u8>, Failure> {
    let frames = adts_frames(stream)
        .ok_or_else(|| Failure("the encoder wrote something that is not ADTS".to_owned()))?;
    let first = PRIMING_FRAMES + AUDIO_FRAMES;
    frames
        .get(first..first + AUDIO_FRAMES)
        .map(<[&[u8]]>::concat)
        .ok_or_else(|| Failure(format!("only {} AAC frames were encoded", frames.len())))
}

/// Splits a stream at the lengths of the ADTS headers (ISO/IEC 13818-7 §6.2).
fn adts_frames(mut stream: &[u8]) -> Option<Vec<&[u8]>> {
    let mut frames = Vec::new();
    while let [0xff, second, _, length_high, length_mid, length_low, ..] = *stream {
        let length = (usize::from(length_high & 0x03) << 11)
            | (usize::from(length_mid) << 3)
            | usize::from(length_low >> 5);
        if second & 0xf6 != 0xf0 || length < 7 || stream.len() < length {
            return None;
        }
        let (frame, rest) = stream.split_at(length);
        frames.push(frame);
        stream = rest;
    }
    stream.is_empty().then_some(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adts_splits_at_its_lengths() {
        let frame = |body: u8| [0xff, 0xf1, 0x50, 0x80, 0x01, 0x1f, 0xfc, body];
        let stream = [frame(1), frame(2), frame(3)].concat();
        let frames = adts_frames(&stream).expect("three frames");
        assert_eq!(frames, [frame(1), frame(2), frame(3)]);
        assert!(adts_frames(&stream[..20]).is_none(), "a cut frame");
        assert!(adts_frames(&[0; 16]).is_none(), "not ADTS");
    }

    #[test]
    fn picture_and_audio_last_equally_long() {
        assert_eq!(AUDIO_FRAMES * 1024 * 25, 256 * 44_100);
    }
}
