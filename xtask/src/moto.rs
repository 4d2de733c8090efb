//! A server of object storage: the Python package `moto`, in an environment of its own.

use std::fs;
use std::path::Path;

use crate::run::{self, Failure, Workspace};

/// The package and what its server needs for S3 and IAM, as they are known to work together.
const REQUIREMENTS: &str = "\
blinker==1.9.0\n\
boto3==1.44.5\n\
botocore==1.44.5\n\
certifi==2026.10.18\n\
cffi==2.1.1\n\
charset-normalizer==3.5.2\n\
click==8.5.1\n\
cryptography==50.0.2\n\
Flask==3.1.3\n\
flask-cors==6.0.5\n\
idna==3.20\n\
itsdangerous==2.2.0\n\
Jinja2==3.1.6\n\
jmespath==1.1.0\n\
MarkupSafe==3.0.4\n\
moto==5.2.5\n\
py-partiql-parser==0.6.3\n\
pycparser==3.12\n\
python-dateutil==2.9.0.post0\n\
PyYAML==6.0.3\n\
requests==2.34.2\n\
responses==0.26.3\n\
s3transfer==0.19.3\n\
six==1.17.0\n\
urllib3==2.8.0\n\
Werkzeug==3.1.9\n\
xmltodict==1.0.4\n\
";

/// Installs it at `target/tools/moto`, where the tests look for its Python.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.target.join("tools/moto");
    let python = folder.join("bin/python");
    if is_in_place(workspace, &python) {
        return Ok(());
    }
    println!("downloading moto");
    download(workspace, &folder, &python).map_err(|failure| {
        Failure(format!(
            "{failure}\nmoto could not be had through pip; the scenarios of uploads need it at {}",
            folder.display()
        ))
    })
}

fn is_in_place(workspace: &Workspace, python: &Path) -> bool {
    let script = "import moto, moto.server; print(moto.__version__)";
    let version = run::capture(&mut workspace.command(python, &["-c", script]));
    version.is_ok_and(|version| REQUIREMENTS.contains(&format!("moto=={}\n", version.trim())))
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
