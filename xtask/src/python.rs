//! Python packages that the tests drive, each in an environment of its own below `target/tools`.

use std::fs;
use std::path::Path;

use crate::run::{self, Failure, Workspace};
use crate::steps::Tier;

/// A Python environment.
struct Environment {
    /// Name of the package.
    package: &'static str,
    /// Folder below `target/tools`, where the tests look for its Python.
    folder: &'static str,
    /// The package and everything it needs, in versions that are known to work together.
    requirements: &'static str,
    /// Code that prints the installed version.
    probe: &'static str,
    /// Tests that need the package, for people.
    used_by: &'static str,
    /// Tier of the tests that need the package.
    tier: Tier,
}

const ENVIRONMENTS: &[Environment] = &[
    // An independent WebRTC peer.
    Environment {
        package: "aiortc",
        folder: "aiortc",
        requirements: "\
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
",
        probe: "import aiortc; print(aiortc.__version__)",
        used_by: "the WebRTC scenarios",
        tier: Tier::Core,
    },
    // An object storage server, with what it needs for S3 and IAM.
    Environment {
        package: "moto",
        folder: "moto",
        requirements: "\
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
",
        probe: "import moto, moto.server; print(moto.__version__)",
        used_by: "the scenarios of uploads",
        tier: Tier::All,
    },
    // An independent issuer of tokens.
    Environment {
        package: "PyJWT",
        folder: "pyjwt",
        requirements: "\
cffi==2.1.1\n\
cryptography==50.0.2\n\
pycparser==3.12\n\
PyJWT==2.15.1\n\
",
        probe: "from importlib.metadata import version; print(version('PyJWT'))",
        used_by: "the scenarios of tokens",
        tier: Tier::All,
    },
    // An independent receiver of webhooks, by the specification's authors. It needs no other package.
    Environment {
        package: "standardwebhooks",
        folder: "webhooks",
        requirements: "standardwebhooks==1.1.0\n",
        probe: "from importlib.metadata import version; print(version('standardwebhooks'))",
        used_by: "the scenarios of webhooks",
        tier: Tier::Core,
    },
];

/// Installs those of a tier that are missing; `All` includes those of the core.
pub(crate) fn install(workspace: &Workspace, tier: Tier) -> Result<(), Failure> {
    let mut wanted = ENVIRONMENTS
        .iter()
        .filter(|environment| tier == Tier::All || environment.tier == tier);
    wanted.try_for_each(|environment| environment.install(workspace))
}

impl Environment {
    fn install(&self, workspace: &Workspace) -> Result<(), Failure> {
        let folder = workspace.target.join("tools").join(self.folder);
        let python = folder.join("bin/python");
        if self.is_in_place(workspace, &python) {
            return Ok(());
        }
        println!("downloading {}", self.package);
        self.download(workspace, &folder, &python)
            .map_err(|failure| {
                Failure(format!(
                    "{failure}\n{} could not be had through pip; {} need it at {}",
                    self.package,
                    self.used_by,
                    folder.display()
                ))
            })
    }

    fn is_in_place(&self, workspace: &Workspace, python: &Path) -> bool {
        let version = run::capture(&mut workspace.command(python, &["-c", self.probe]));
        version.is_ok_and(|version| {
            let wanted = format!("{}=={}", self.package, version.trim());
            self.requirements.lines().any(|line| line == wanted)
        })
    }

    fn download(&self, workspace: &Workspace, folder: &Path, python: &Path) -> Result<(), Failure> {
        let mut environment = workspace.command("python3", &["-m", "venv", "--clear"]);
        environment.arg(folder);
        run::run(&mut environment)?;
        let requirements = folder.join("requirements.txt");
        fs::write(&requirements, self.requirements)?;
        let mut pip = workspace.command(python, &["-m", "pip", "install", "--quiet"]);
        pip.args(["--only-binary=:all:", "--requirement"])
            .arg(&requirements);
        run::run(&mut pip)
    }
}
