//! An independent WebRTC peer: the Python package `aiortc`, in an environment of its own.

use std::fs;
use std::path::Path;

use crate::run::{self, Failure, Workspace};

/// The package and everything it needs, as they are known to work together.
const REQUIREMENTS: &str = "\
aioice==0.13.0\n\
aiortc==1.16.0\n\
av==18.1.0\n\
cffi==2.1.1\n\
cryptography==50.0.2\n\
dnspython==2.9.2\n\
google-crc32c==1.9.0\n\
ifaddr==0.2.0\n\
pycparser==3.12\n\
pyee==13.0.1\n\
pylibsrtp==1.0.0\n\
pyOpenSSL==26.4.0\n\
typing_extensions==4.16.0\n\
";

/// Installs it at `target/tools/aiortc`, where the tests look for its Python.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.target.join("tools/aiortc");
    let python = folder.join("bin/python");
    if is_in_place(workspace, &python) {
        return Ok(());
    }
    println!("downloading aiortc");
    download(workspace, &folder, &python).map_err(|failure| {
        Failure(format!(
            "{failure}\naiortc could not be had through pip; the WebRTC scenarios need it at {}",
            folder.display()
        ))
    })
}

fn is_in_place(workspace: &Workspace, python: &Path) -> bool {
    let script = "import aiortc; print(aiortc.__version__)";
    let version = run::capture(&mut workspace.command(python, &["-c", script]));
    version.is_ok_and(|version| REQUIREMENTS.contains(&format!("aiortc=={}\n", version.trim())))
}

fn download(workspace: &Workspace, folder: &Path, python: &Path) -> Result<(), Failure> {
    let mut environment = workspace.command("python3", &["-m", "venv", "--clear"]);
    environment.arg(folder);
    run::run(&mut environment)?;
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let mut pip = workspace.command(python, &["-m", "pip", "install", "--quiet"]);
    pip.args(["--only-binary=:all:", "--requirement"])
        .arg(&requirements);
    run::run(&mut pip)
}
