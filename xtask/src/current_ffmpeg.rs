//! An ffmpeg of this year in addition to the distribution's: Debian's cannot carry HEVC, AV1, VP9 and Opus
//! over RTMP, nor publish over WebRTC. The Python package `imageio-ffmpeg` ships a static build that needs nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::run::{self, Failure, Workspace};
use crate::wheel;

/// The package, and the digests of its wheels for Linux on x86-64 and aarch64.
const REQUIREMENT: &str = "imageio-ffmpeg==0.8.1 \
    --hash=sha256:050d6850601c3b3890bd2b28306f3b842b3daea390a561101174375a1c460bda \
    --hash=sha256:fad3176f859b25869e60a8ed79957d4e3ed74a97a95e5f0cdcb91455f6c6d00e\n";
/// Version of the ffmpeg inside.
const VERSION: &str = "9.0.2";

/// Encoders that the scenarios use.
const CODECS: &[&str] = &[
    "libx265",
    "libsvtav1",
    "libvpx-vp9",
    "libopus",
    "flac",
    "ac3",
];

/// Installs ffmpeg at `target/tools/bin/ffmpeg-current`, where the tests look for it.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let program = workspace.target.join("tools/bin/ffmpeg-current");
    if !is_in_place(workspace, &program) {
        println!("downloading ffmpeg {VERSION} (imageio-ffmpeg)");
        download(workspace, &program).map_err(|failure| {
            Failure(format!(
                "{failure}\na current ffmpeg could not be had through pip; the scenarios of RTMP and WebRTC \
                 need version {VERSION} at {}",
                program.display()
            ))
        })?;
    }
    if !is_in_place(workspace, &program) {
        return Err(Failure(format!(
            "{} is not ffmpeg {VERSION} with RTMPS and WHIP",
            program.display()
        )));
    }
    let list = run::capture(&mut workspace.command(&program, &["-hide_banner", "-encoders"]))?;
    let missing = crate::tools::absent(&list, CODECS);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "{} was built without {}",
        program.display(),
        missing.join(", ")
    )))
}

fn is_in_place(workspace: &Workspace, program: &Path) -> bool {
    let says = |argument| run::capture(&mut workspace.command(program, &[argument]));
    says("-version").is_ok_and(|text| text.contains(VERSION))
        && says("-protocols").is_ok_and(|text| text.contains("rtmps"))
        && says("-muxers").is_ok_and(|text| text.contains(" whip "))
}

fn download(workspace: &Workspace, program: &Path) -> Result<(), Failure> {
    let folder = workspace.target.join("tools/ffmpeg-current");
    wheel::unpack(workspace, REQUIREMENT, &folder)?;
    let unpacked = wheel::only(&folder.join("imageio_ffmpeg/binaries"), "ffmpeg-linux", "")?;
    fs::set_permissions(&unpacked, fs::Permissions::from_mode(0o755))?;
    if let Some(parent) = program.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(&unpacked, program)?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}
