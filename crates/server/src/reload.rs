//! Reloading in a running server: its certificate, its file of keys, and the files of the logs for other programs, which may
//! have been moved away. Open connections are not affected; on an error, the current state is kept.

use std::fmt::Display;
use std::sync::Arc;
use std::time::SystemTime;

use auth::AuthorityGate;
use reports::log::LineLog;
use web::tls::{Certificate, Renewal};

/// Everything a running server can reload; call [`run`](Self::run) on SIGHUP.
#[derive(Clone, Debug)]
pub(crate) struct Reload {
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) access: LineLog,
    pub(crate) sessions: LineLog,
    pub(crate) gate: Arc<AuthorityGate>,
}

impl Reload {
    /// Reloads, and logs the result. May wait for a disk.
    pub(crate) fn run(&self) {
        let certificate = match &self.certificate {
            None => "none".to_owned(),
            Some(certificate) => renew(certificate),
        };
        let (access_log, session_log) = (reopened(&self.access), reopened(&self.sessions));
        let keys = self.gate.reread_keys();
        tracing::info!(
            certificate,
            keys,
            access_log,
            session_log,
            "SIGHUP: done. The configuration is read at a start only"
        );
    }
}

fn reopened(log: &LineLog) -> String {
    match log.reopen() {
        Ok(None) => "no file".to_owned(),
        Ok(Some(path)) => format!("opened anew: {}", path.display()),
        Err(error) => {
            tracing::error!(%error, "a log stays what it was: it cannot be opened anew");
            kept(&error)
        }
    }
}

fn renew(certificate: &Certificate) -> String {
    match certificate.renew(SystemTime::now()) {
        Ok(Renewal::New(facts)) => format!("new: {facts}"),
        Ok(Renewal::Same(facts)) => format!("the same: {facts}"),
        Err(error) => {
            tracing::error!(%error, "the certificate stays what it was: the new one is of no use");
            kept(&error)
        }
    }
}

fn kept(error: &dyn Display) -> String {
    format!("as before: {error}")
}
