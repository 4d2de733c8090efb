//! Certificates signed by the tests' own authority.

use std::time::Duration;

use crate::{ServerBuilder, Tool, temp_folder, write_file};

/// Time limit for openssl to make a key.
const DEADLINE: Duration = Duration::from_secs(60);

/// A certificate for `localhost`, and the authority that signed it.
#[derive(Debug)]
pub struct Certificate {
    folder: tempfile::TempDir,
}

impl Certificate {
    /// Creates an authority and a certificate.
    ///
    /// # Panics
    /// Panics if openssl fails.
    #[must_use]
    pub fn make() -> Self {
        let made = Self {
            folder: temp_folder(),
        };
        // None of the extensions that the system's configuration adds.
        made.write("req.conf", "[req]\ndistinguished_name = dn\n[dn]\n");
        let authority = ["basicConstraints=critical,CA:TRUE"];
        made.openssl("ca", "/CN=authority", &authority, &[]);
        made.renew();
        made
    }

    /// Makes another pair of certificate and key, signed by the same authority, in the same files.
    pub fn renew(&self) {
        self.openssl(
            "cert",
            "/CN=localhost",
            &[
                "basicConstraints=critical,CA:FALSE",
                "subjectAltName=IP:127.0.0.1,DNS:localhost",
            ],
            &["-CA", &self.file("ca.pem"), "-CAkey", &self.file("ca.key")],
        );
    }

    /// Replaces the key, so that it no longer fits the certificate.
    pub fn renew_key_only(&self) {
        let certificate = self.pem();
        self.renew();
        self.write("cert.pem", &certificate);
    }

    /// Returns the certificate as PEM text.
    ///
    /// # Panics
    /// Panics if the file is gone.
    pub fn pem(&self) -> String {
        let file = self.file("cert.pem");
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Returns the certificate's serial number.
    pub fn serial(&self) -> String {
        let said = Tool::new("openssl")
            .args(["x509", "-noout", "-serial", "-in", &self.file("cert.pem")])
            .run(DEADLINE);
        let said = String::from_utf8_lossy(&said).trim().to_lowercase();
        said.trim_start_matches("serial=").to_owned()
    }

    fn openssl(&self, name: &str, subject: &str, extensions: &[&str], signer: &[&str]) {
        let extensions = extensions.iter().flat_map(|one| ["-addext", *one]);
        let finished = Tool::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-config", &self.file("req.conf"), "-subj", subject])
            .args(extensions)
            .args(signer)
            .args(["-out", &self.file(&format!("{name}.pem"))])
            .args(["-keyout", &self.file(&format!("{name}.key"))])
            .finish(DEADLINE);
        assert!(finished.status.success(), "{}", finished.stderr);
    }

    fn write(&self, name: &str, text: &str) {
        write_file(self.folder.path(), name, text);
    }

    /// Returns the path of one of the files: `ca.pem`, `ca.key`, `cert.pem`, `cert.key`.
    pub fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Returns the path of the PEM file that clients must trust.
    pub fn path(&self) -> String {
        self.file("ca.pem")
    }

    /// Configures a server that presents the certificate on TLS ports for these sections: `http` is HTTPS, `rtmp` RTMPS.
    pub fn serve_at(&self, sections: &[&str], server: ServerBuilder) -> ServerBuilder {
        let listening = sections.iter().fold(server, |server, section| {
            server.set(section, "tls_listen", "[\"127.0.0.1:0\"]")
        });
        self.serve(listening)
    }

    /// Configures a server that presents the certificate to clients that request TLS on a clear-text port.
    pub fn serve(&self, server: ServerBuilder) -> ServerBuilder {
        let file = |name| format!("\"{}\"", self.file(name));
        server.set("http", "certificate", &file("cert.pem")).set(
            "http",
            "private_key",
            &file("cert.key"),
        )
    }
}
